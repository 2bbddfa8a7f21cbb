"""Kernel stand-in for a flash-channel unit of a part that does more than plain reads."""

from collections import defaultdict

from rtl.contract.channel import ArrayDone, ArrayOperation, ChannelStatus
from rtl.contract.codec import pack
from rtl.contract.onfi import plane
from rtl.contract.operations import OPERATIONS, Finish
from tests.nand_bench import FIELDS, UnitBench
from tests.scenarios.nand_reads import page_image
from tests.scenarios.onfi_die_luns import FOR_ALL, KINDS, RESUMES, SUSPENDS

__all__ = ["OperationUnitBench"]

READS = (
    ArrayOperation.READ,
    ArrayOperation.READ_PLANE,
    ArrayOperation.READ_CACHE_RANDOM,
    ArrayOperation.READ_CACHE_SEQUENTIAL,
)
CACHED = {
    ArrayOperation.READ_CACHE_RANDOM: ("t_rcbsy_ps", "t_r_ps"),
    ArrayOperation.READ_CACHE_SEQUENTIAL: ("t_rcbsy_ps", "t_r_ps"),
    ArrayOperation.PROGRAM_CACHE: ("t_cbsy_ps", "t_prog_ps"),
}
"""Times from begin to ready, and from there to the end of the array's work."""
TIMES = {
    ArrayOperation.READ: "t_r_ps",
    ArrayOperation.READ_PLANE: "t_dbsy_ps",
    ArrayOperation.READ_CACHE_END: "t_rcbsy_ps",
    ArrayOperation.PROGRAM: "t_prog_ps",
    ArrayOperation.PROGRAM_PLANE: "t_dbsy_ps",
    ArrayOperation.ERASE: "t_bers_ps",
    ArrayOperation.ERASE_PLANE: "t_dbsy_ps",
    ArrayOperation.RESET: "t_rst_ps",
    ArrayOperation.PARAMETER_PAGE: "t_r_ps",
    ArrayOperation.GET_FEATURES: "t_feat_ps",
    ArrayOperation.SET_FEATURES: "t_feat_ps",
}
PROGRAMS = (
    ArrayOperation.PROGRAM,
    ArrayOperation.PROGRAM_CACHE,
    ArrayOperation.PROGRAM_PLANE,
)
ERASES = (ArrayOperation.ERASE, ArrayOperation.ERASE_PLANE)
LANDS = (Finish.TRANSFER, Finish.OUTPUT)
WORD_BYTES = 128


class OperationUnitBench(UnitBench):
    """As :class:`UnitBench`, for commands of all operations; ``cells`` has the pages written.

    What an operation does to the cells it does at its begin. Pages that nothing was written to
    since the start are those of :func:`page_image`; the parameter page and all features are so,
    too, of a LUN that does not exist. ``launch`` has the bytes of the launch slots, ``fails`` the
    array operations that the die says have failed.
    """

    def __init__(self, part, ways, *, launch=None, fails=(), **options):
        super().__init__(part, ways, fields=(*FIELDS, "nand_status"), **options)
        self.cells, self.features = {}, {}
        self._free_ps, self._ends, self._left_ps = defaultdict(int), {}, {}
        self._launch, self._fails = launch or {}, fails

    def run(self, commands, **limits):
        """Play ``commands``; returns the completions in their order."""
        self._commands = {command.tag: command for command in commands}
        return super().run(commands, **limits)

    def page(self, way, lun, row):
        """What the cells of a page hold."""
        return self.cells.get((way, lun, row), page_image(self.part, way, lun, row))

    def _set_inputs(self, ctx, edge):
        if edge == 0:
            launch = self.unit.launch
            for slot, raw in self._launch.items():
                _write(ctx, launch.storage.data, raw, slot * launch.slot_words)
        super()._set_inputs(ctx, edge)
        command = self._commands.get(ctx.get(self.unit.command.tag))
        if command is not None:
            ctx.set(self.unit.command.slot, command.slot)

    def _begin(self, ctx, edge, begin):
        way, lun, row = int(begin.way), int(begin.lun), int(begin.row)
        operation, number = ArrayOperation(begin.operation), int(begin.number)
        self.begins.append((edge, operation, way, lun, row))
        place = 0 if operation in FOR_ALL else plane(self.part, row)
        register = (lun * self.part.planes + place) * 2 + int(begin.register)
        memory = self.unit.dies[way].pages[register].data
        brings = self._work(operation, (way, lun, row), lambda: self._read(ctx, memory))
        if operation in (*SUSPENDS, *RESUMES):
            self._suspend(operation, edge * self.period_ps, (way, lun), number)
            return
        free_ps = max(edge * self.period_ps, self._free_ps[way, lun])
        if operation in CACHED:
            first, whole = (self._time(name) for name in CACHED[operation])
            self._answer(free_ps + first, (way, lun), number, is_cached=1)
            free_ps += first + whole
        else:
            free_ps += self._time(TIMES[operation])
        self._free_ps[way, lun] = free_ps
        answer = {"memory": memory, "brings": brings, "fail": operation in self._fails}
        end = self._answer(free_ps, (way, lun), number, **answer)
        if operation in KINDS:
            self._ends[way, lun] = free_ps, end

    def _suspend(self, operation, edge_ps, place, number):
        """Put the end of a program or an erase off; what would be over by then ends."""
        if operation in RESUMES:
            free_ps = edge_ps + self._left_ps.pop(place)
            self._ends[place] = free_ps, self._answer(free_ps, place, number)
            return
        asked = "t_program_suspend_ps" if operation is SUSPENDS[0] else "t_erase_suspend_ps"
        aside_ps = getattr(self.part.suspend, asked)
        end_ps, end = self._ends[place]
        if end_ps - edge_ps > aside_ps:
            self._left_ps[place] = end_ps - edge_ps
            self._inputs[end_ps // self.period_ps + 1].remove(end)
            self._answer(edge_ps + aside_ps, place, number, is_cached=1)
            self._free_ps[place] = edge_ps + aside_ps

    def _time(self, name):
        return getattr(self.part if hasattr(self.part, name) else self.part.extended, name)

    def _work(self, operation, place, register):
        """Do what the operation does; returns what it brings into the page register, or None."""
        way, lun, row = place
        if operation in READS:
            return self.page(*place)
        if operation in PROGRAMS:
            self.cells[place] = register()
        if operation in ERASES:
            first = row - row % self.part.pages_per_block
            for page in range(first, first + self.part.pages_per_block):
                self.cells[way, lun, page] = b"\xff" * self.part.raw_page_bytes
        if operation == ArrayOperation.PARAMETER_PAGE:
            return page_image(self.part, way, self.part.luns, 0)
        if operation == ArrayOperation.SET_FEATURES:
            self.features[way, row] = register()[:4]
        if operation == ArrayOperation.GET_FEATURES:
            unknown = page_image(self.part, way, self.part.luns, row)
            return self.features.get((way, row), unknown)[:4]
        return None

    def _answer(self, at_ps, place, number, *, memory=None, brings=None, is_cached=0, fail=0):
        way, lun = place

        def answer(ctx):
            if brings is not None:
                _write(ctx, memory, brings)
            index = way * self.part.luns + lun
            self._numbers[index] ^= 1
            bits = {"is_cached": is_cached, "fail": fail}
            done = pack(ArrayDone, number=number, toggle=self._numbers[index], **bits)
            word = ctx.get(self.unit.array_done) & ~(0xFFFF << 16 * index)
            ctx.set(self.unit.array_done, word | int.from_bytes(done, "little") << 16 * index)

        self._inputs[at_ps // self.period_ps + 1].append(answer)
        return answer

    def _read(self, ctx, memory):
        count = -(-self.part.raw_page_bytes // WORD_BYTES)
        words = (ctx.get(memory[word]).to_bytes(WORD_BYTES, "little") for word in range(count))
        return b"".join(words)[: self.part.raw_page_bytes]

    def _collect(self, ctx, edge, completion):
        if completion["status"] == ChannelStatus.TIMEOUT:
            return
        if OPERATIONS[self._commands[completion["tag"]].operation].finish in LANDS:
            super()._collect(ctx, edge, completion)


def _write(ctx, memory, raw, first=0):
    for word in range(-(-len(raw) // WORD_BYTES)):
        part = raw[WORD_BYTES * word : WORD_BYTES * (word + 1)]
        ctx.set(memory[first + word], int.from_bytes(part, "little"))
