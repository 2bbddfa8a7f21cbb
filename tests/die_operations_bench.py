"""A waveform played on a die of an extended part in Amaranth's simulator, and on its model."""

from functools import cache

from amaranth.sim import Simulator

from rtl.contract.channel import ArrayOperation
from rtl.contract.nand_part import cycles
from rtl.nand.die import NandDie
from tests.scenarios.onfi_bus import PERIOD_PS
from tests.scenarios.onfi_die_luns import FOR_ALL, Begin
from tests.scenarios.onfi_die_operations import OperatedDieModel
from tests.scenarios.onfi_kernel import BUSY, Kernel

OUTPUTS = ("oe", "dqs_i", "dq_i", "rb_n")
WAY = 1


def silent(begin):
    """A kernel that never answers."""
    return ()


class DieSimulator:
    """A die whose simulation can be run again and again, each time from reset."""

    def __init__(self, part, **arguments):
        self.die = NandDie(part, period_ps=PERIOD_PS, **arguments)
        self._simulator = Simulator(self.die)
        self._simulator.add_clock(PERIOD_PS * 1e-12)
        self._simulator.add_testbench(self._run)
        self._has_run = False

    def run(self, bench):
        """Run ``bench``, a function of a context, to its end."""
        self._bench = bench
        if self._has_run:
            self._simulator.reset()
        self._has_run = True
        self._simulator.run()

    async def _run(self, ctx):
        await self._bench(ctx)


@cache
def simulator(part, **arguments):
    """Elaborating a die takes longer than most waveforms."""
    return DieSimulator(part, **arguments)


class OperationPlay:
    """One waveform: pins, begins and registers of the die, clock by clock, and of the model.

    ``kernel`` is called with each :class:`Begin` of the model and returns its answers as (clocks
    after the begin, :class:`Answer`). ``loaded`` has the register that each begin names, as the die
    had it. With ``stop`` the clock stands still whenever the die says it may.
    """

    def __init__(self, bus, kernel=silent, *, identity=b"", stop=False):
        self.bus = bus
        self.part = part = bus.part
        self.stop = stop
        self.pins, self.begins, self.loaded, self.quiet = [], [], [], []
        self.edges_run = 0
        self._run_model(kernel, identity)
        self._done = [0] * part.luns
        player = simulator(part, ways=bus.ways, phases=bus.phases, identity=identity)
        self.die = player.die
        player.run(self._bench)

    def _run_model(self, kernel, identity):
        bus = self.bus
        self.model = model = OperatedDieModel(self.part, PERIOD_PS, WAY, bus.phases, identity)
        self.answers, self.expected, self.expected_loaded = {}, [], []
        for edge, clock in enumerate(bus.clocks):
            known = len(model.begins)
            self.expected.append(model.step(edge, clock))
            for begin in model.begins[known:]:
                page = self._page_of(begin)
                self.expected_loaded.append(bytes(model.registers[page]))
                for delay, answer in kernel(begin):
                    self.answers.setdefault(edge + delay, []).append(answer)
                    model.answer(edge + delay, answer)

    def _page_of(self, begin):
        is_target = begin.operation in FOR_ALL
        number = 0 if is_target else begin.row // self.part.pages_per_block % self.part.planes
        return begin.lun, number, begin.register

    def _memory(self, page):
        lun, number, register = page
        return self.die.pages[(lun * self.part.planes + number) * 2 + register].data

    def _register(self, ctx, page):
        memory = self._memory(page)
        words = [ctx.get(memory[word]) for word in range(-(-self.part.raw_page_bytes // 128))]
        raw = b"".join(word.to_bytes(128, "little") for word in words)
        return raw[: self.part.raw_page_bytes]

    def _answer(self, ctx, answer):
        for page, content in answer.pages.items():
            memory = self._memory((answer.lun, *page))
            raw = content.ljust(-(-len(content) // 128) * 128, b"\xff")
            for word in range(len(raw) // 128):
                value = int.from_bytes(raw[128 * word : 128 * word + 128], "little")
                ctx.set(memory[word], value)
        flags = answer.is_cached | answer.fail << 1 | answer.failc << 2
        toggle = ~self._done[answer.lun] & 0x100
        self._done[answer.lun] = answer.number | toggle | flags << 9
        words = sum(done << 16 * index for index, done in enumerate(self._done))
        ctx.set(self.die.array_done, words)

    async def _bench(self, ctx):
        die, before = self.die, None
        ctx.set(die.way, WAY)
        for edge, clock in enumerate(self.bus.clocks):
            for name, value in clock.items():
                if before is None or before[name] != value:
                    pin = getattr(die.phy, name)
                    ctx.set(pin, value >> WAY & 1 if name == "ce_n" else value)
            for answer in self.answers.get(edge, ()):
                self._answer(ctx, answer)
            quiet, wake = ctx.get(die.quiet), ctx.get(die.wake_edge)
            may_stop = self.stop and quiet and edge < wake and clock == before
            if not may_stop:
                ctx.set(die.now, edge)
            self.pins.append({name: ctx.get(getattr(die.phy, name)) for name in OUTPUTS})
            self.quiet.append(quiet)
            if may_stop:
                continue
            before = clock
            if ctx.get(die.begin_valid):
                self._note_begin(ctx, edge, ctx.get(die.begin))
            self.edges_run += 1
            await ctx.tick()
        self.registers = {page: self._register(ctx, page) for page in self.model.registers}

    def _note_begin(self, ctx, edge, begin):
        assert begin.way == WAY
        operation = ArrayOperation(begin.operation)
        found = Begin(edge, begin.lun, begin.number, operation, begin.row, begin.register)
        self.begins.append(found)
        self.loaded.append(self._register(ctx, self._page_of(found)))

    def check(self):
        """The die did what the model does, in every clock."""
        for edge, (got, want) in enumerate(zip(self.pins, self.expected, strict=True)):
            assert got == want, f"clock {edge}"
        assert self.begins == self.model.begins
        assert self.loaded == self.expected_loaded
        assert self.registers == self.model.registers
        return self

    def data(self, start, count):
        """Bytes whose RE# preamble began in clock ``start``."""
        first = start + self.bus.limit("rpre") + cycles(self.part.t_dqsre_ps, PERIOD_PS)
        clocks = self.pins[first : first + -(-count // self.bus.phases)]
        words = (clock["dq_i"].to_bytes(self.bus.phases, "little") for clock in clocks)
        return b"".join(words)[:count]


def ready_after(bus, confirm, more=0):
    """Wait until the kernel's answer, and tRR."""
    bus.until(confirm + bus.limit("wb") + BUSY + bus.limit("rr") + more)


def out(bus, lun, row, column, count, opcode=0x06):
    """06h, a burst; returns its start."""
    confirm = bus.choose(WAY, lun, row, column, opcode)
    bus.until(confirm + bus.limit("ccs"))
    return bus.burst(count)


def played(bus, kernel=None, tail=20, **arguments):
    """The waveform on die and model, checked; ``tail`` clocks of nothing behind it."""
    bus.tick(tail)
    return OperationPlay(bus, kernel or Kernel(bus.part), **arguments).check()


def operations(play):
    """What the die began: (LUN, operation, row, register)."""
    return [(begin.lun, begin.operation, begin.row, begin.register) for begin in play.begins]
