"""A die as far as its pins go, for a model checker: ready/busy and data strobe, no storage."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.nand_part import cycles
from rtl.contract.operations import OPERATIONS

__all__ = ["CONFIRMS", "DiePins"]

CONFIRMS = sorted({steps.confirm for steps in OPERATIONS.values() if steps.confirm is not None})
"""Command cycles that make a die busy."""


class DiePins(wiring.Component):
    """Answers :data:`CONFIRMS` on R/B# and RE# on DQS, at the times that :class:`NandDie` has.

    The array time is free: an operation ends in the clock in which ``answer`` is high, and after
    ``longest_busy`` clocks at the latest. What DQ carries is the business of whoever instantiates
    this: a model checker leaves it free.

    Parameters
    ----------
    part : NandPart
        Its tWB, of at least two clocks, and tDQSRE.
    period_ps : int
        Clock period.
    phases : int
        Transfers a clock.
    longest_busy : int
        Clocks of the longest array operation.

    Members
    -------
    ce_n, cle, ale, we_n, re_n, dq_o : In
        The way's pins, as in :class:`PhySignature`.
    answer : In(1)
        The kernel: the array operation is done.
    confirmed : Out(1)
        The edge that ends this clock latches one of :data:`CONFIRMS`.
    rb_n, dqs_i, oe : Out
        The way's answers.

    Raises
    ------
    ValueError
        If tWB is shorter than two clocks, or ``longest_busy`` than one.
    """

    def __init__(self, part, *, period_ps, phases, longest_busy):
        self._t_wb = cycles(part.t_wb_ps, period_ps)
        self._t_dqsre = cycles(part.t_dqsre_ps, period_ps)
        self._longest_busy = longest_busy
        if self._t_wb < 2:
            raise ValueError(f"tWB must be at least two clocks, not {self._t_wb}")
        if longest_busy < 1:
            raise ValueError(f"Longest busy time must be at least a clock, not {longest_busy!r}")
        super().__init__(
            {
                "ce_n": In(1, init=1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "re_n": In(phases, init=-1),
                "dq_o": In(8),
                "answer": In(1),
                "confirmed": Out(1),
                "rb_n": Out(1, init=1),
                "dqs_i": Out(phases),
                "oe": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._keep_ready(m)
        self._strobe(m)
        return m

    def _keep_ready(self, m):
        """R/B# falls tWB after a confirm cycle and rises with the answer."""
        was_low = Signal()
        until_busy = Signal(range(self._t_wb))
        age = Signal(range(self._longest_busy + 1))
        m.d.sync += was_low.eq(~self.we_n & ~self.ce_n)
        m.d.comb += self.confirmed.eq(was_low & self.we_n & self.cle & self.dq_o.matches(*CONFIRMS))
        with m.If(self.confirmed):
            m.d.sync += until_busy.eq(self._t_wb - 1)
        with m.Elif(until_busy != 0):
            m.d.sync += until_busy.eq(until_busy - 1)
        with m.If(until_busy == 1):
            m.d.sync += [self.rb_n.eq(0), age.eq(0)]
        with m.Elif(~self.rb_n):
            m.d.sync += age.eq(age + 1)
            with m.If(self.answer | (age == self._longest_busy - 1)):
                m.d.sync += self.rb_n.eq(1)

    def _strobe(self, m):
        """DQS repeats RE# of a burst tDQSRE later; a burst ends when CE# rises."""
        is_burst = Signal()
        asked = Signal()
        m.d.comb += asked.eq(~self.ce_n & (is_burst | ~self.re_n.all()))
        m.d.sync += is_burst.eq(asked)
        stage = Cat(asked, self.re_n & asked.replicate(len(self.re_n)))
        for number in range(self._t_dqsre):
            after = Signal(len(stage), name=f"stage{number}")
            m.d.sync += after.eq(stage)
            stage = after
        m.d.comb += [self.oe.eq(stage[0]), self.dqs_i.eq(stage[1:])]
