# amaranth: UnusedElaboratable=no
# (The part is made in the constructor, which must refuse what it refuses.)
"""Ready and busy of a die's LUNs; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS, ArrayDone
from rtl.nand.die_starts import DieStarts

__all__ = ["DieLuns"]


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
        self._luns = luns
        self._starts = DieStarts(luns=luns, busy_cycles=busy_cycles, width=row_bits)
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
        m.submodules.starts = starts = self._starts
        busy, seen = Signal(luns), Signal(luns)
        unseen, finished, starting = Signal(luns), Signal(luns), Signal(luns)
        numbers = Signal(data.ArrayLayout(8, luns))
        answers = [ArrayDone(self.done.word_select(lun, 16)) for lun in range(luns)]
        m.d.comb += [
            unseen.eq(Cat(answer.toggle for answer in answers) ^ seen),
            self.unseen.eq(unseen.any()),
            self.ready.eq(~starts.beginning & (~busy | finished)),
            self.idle.eq(self.ready & ~starts.armed),
            starts.now.eq(self.now),
            starts.start.eq(starting.any()),
            starts.lun.eq(self.lun),
            starts.word.eq(self.row),
            starts.cancel.eq(self.abort),
            self.begin.eq(starts.begin),
            self.begin_lun.eq(starts.begin_lun),
            self.begin_row.eq(starts.begin_word),
            self.deadline.eq(starts.deadline),
        ]
        with m.If(self.unseen):
            for lun, answer in enumerate(answers):
                m.d.comb += finished[lun].eq(unseen[lun] & (answer.number == numbers[lun]))
        with m.If(self.start):
            m.d.comb += starting.eq((1 << self.lun) & self.idle)
        with m.If(starts.begin):
            m.d.comb += self.number.eq(numbers[starts.begin_lun])
        with m.If(self.unseen | starts.begin | self.start | self.abort):
            m.d.sync += [
                seen.eq(seen ^ unseen),
                busy.eq((busy & ~finished | starts.beginning) & ~self.abort.replicate(luns)),
            ]
            for lun in range(luns):
                with m.If(starting[lun] | self.abort):
                    m.d.sync += numbers[lun].eq(numbers[lun] + 1)
        return m
