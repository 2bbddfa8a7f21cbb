# amaranth: UnusedElaboratable=no
# (The memories are made before what else is.)
"""Ready and busy of a die's LUNs; simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ArrayDone
from rtl.nand.earliest import earliest

__all__ = ["DieLuns"]

NEVER = (1 << STAMP_BITS) - 1


class DieLuns(wiring.Component):
    """Counts tWB, says when an array operation begins, and waits for its end.

    ::

        edge     n    n+1  ...  n+tWB        k
        start   _-_____________________________
        begin   _____________-_________________
        ready   -------------__________---------

    ``k`` is the first edge after the kernel's answer. Until n + tWB the LUN still looks ready, as
    a real one may: whoever looks too early is deceived. The LUN of ``start`` starts unless it is
    busy or has started.

    States are vectors with a bit a LUN, numbers lie in memories, and what only counts at certain
    edges is computed at those alone: a channel has many dies, of which nearly all only wait.

    Parameters
    ----------
    luns : int
        LUNs of the die.
    busy_cycles : int
        Clocks from ``start`` to ``begin`` (tWB), at least 1.
    row_bits : int
        Width of a row address within a LUN.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    start, lun, row : In
        The confirm cycle of a read.
    abort : In(1)
        All are ready at the next edge; their operation numbers move on, so that late answers are
        stale.
    done : In(16 * luns)
        The kernel's answers, an :class:`ArrayDone` a LUN; dropped unless the number is that of the
        operation under way.
    begin, begin_lun, number, begin_row : Out
        An array operation begins at this edge; the others are zero while none does.
    ready : Out(luns)
        What R/B# and the status bytes show at this edge.
    idle : Out(luns)
        Ready, and no start is waiting for its tWB.
    unseen : Out(1)
        An answer has come that no edge has taken yet.
    deadline : Out(48)
        Edge of the next ``begin``; all ones if there is none.

    Raises
    ------
    ValueError
        If ``busy_cycles`` is not a positive integer.
    """

    def __init__(self, *, luns, busy_cycles, row_bits):
        if not isinstance(busy_cycles, int) or busy_cycles < 1:
            raise ValueError(f"busy_cycles must be a positive integer, not {busy_cycles!r}")
        self._luns = luns
        self._busy_cycles = busy_cycles
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "start": In(1),
                "lun": In(range(max(luns, 2))),
                "row": In(row_bits),
                "abort": In(1),
                "done": In(16 * luns),
                "begin": Out(1),
                "begin_lun": Out(range(max(luns, 2))),
                "number": Out(8),
                "begin_row": Out(row_bits),
                "ready": Out(luns),
                "idle": Out(luns),
                "unseen": Out(1),
                "deadline": Out(STAMP_BITS, init=NEVER),
            }
        )

    def elaborate(self, platform):
        m = Module()
        luns = self._luns
        busy, armed, seen = (Signal(luns, name=name) for name in ("busy", "armed", "seen"))
        unseen, finished = Signal(luns), Signal(luns)
        beginning, starting = Signal(luns), Signal(luns)
        numbers = Signal(data.ArrayLayout(8, luns))
        answers = [ArrayDone(self.done.word_select(lun, 16)) for lun in range(luns)]
        m.d.comb += [
            unseen.eq(Cat(answer.toggle for answer in answers) ^ seen),
            self.unseen.eq(unseen.any()),
            self.ready.eq(~beginning & (~busy | finished)),
            self.idle.eq(self.ready & ~armed),
        ]
        with m.If(self.unseen):
            for lun, answer in enumerate(answers):
                m.d.comb += finished[lun].eq(unseen[lun] & (answer.number == numbers[lun]))
        with m.If(self.start):
            m.d.comb += starting.eq((1 << self.lun) & self.idle)
        self._keep_deadlines(m, armed, starting, beginning, numbers)
        with m.If(self.unseen | self.begin | self.start | self.abort):
            m.d.sync += [
                seen.eq(seen ^ unseen),
                busy.eq((busy & ~finished | beginning) & ~self.abort.replicate(luns)),
                armed.eq((armed & ~beginning | starting) & ~self.abort.replicate(luns)),
            ]
            for lun in range(luns):
                with m.If(starting[lun] | self.abort):
                    m.d.sync += numbers[lun].eq(numbers[lun] + 1)
        return m

    def _keep_deadlines(self, m, armed, starting, beginning, numbers):
        """Keep the edge and the row of each start, until its operation begins."""
        edges = self._memory(m, "edges", STAMP_BITS, starting, self.now + self._busy_cycles)
        rows = self._memory(m, "rows", len(self.row), starting, self.row)
        with m.If(armed.any()):
            due = [Mux(armed[lun], edge, NEVER) for lun, edge in enumerate(edges)]
            m.d.comb += self.deadline.eq(earliest(due))
            for lun, edge in enumerate(edges):
                with m.If(armed[lun] & (edge == self.now)):
                    m.d.comb += [
                        beginning[lun].eq(1),
                        self.begin.eq(1),
                        self.begin_lun.eq(lun),
                        self.number.eq(numbers[lun]),
                        self.begin_row.eq(rows[lun]),
                    ]

    def _memory(self, m, name, width, starting, value):
        """A number for each LUN, written when it starts; returns all of them as values."""
        store = memory.Memory(shape=width, depth=max(self._luns, 2), init=[])
        m.submodules[name] = store
        write = store.write_port()
        m.d.comb += [
            write.en.eq(starting.any()),
            write.addr.eq(self.lun),
            write.data.eq(value),
        ]
        values = []
        for lun in range(self._luns):
            read = store.read_port(domain="comb")
            m.d.comb += read.addr.eq(lun)
            values.append(read.data)
        return values
