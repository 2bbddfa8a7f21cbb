"""Data output and input of a die on an SDR bus; simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.interface_timing import EDO_LIMIT_PS
from rtl.contract.nand_part import cycles

__all__ = ["SdrDieInput", "SdrDieOutput"]


class SdrDieOutput(wiring.Component):
    """Puts out a byte tREA after each fall of RE#, and takes it away as soon as it may.

    That is tRHOH after RE# has risen; but if it falls again within 30 ns of its last fall, tRLOH
    after that. Hold times are rounded down. Ref: ONFI 3.1, section 4.3 (tRHOH, tRLOH) and 4.15.

    Parameters
    ----------
    times : SdrReadTimes
    period_ps : int

    Members
    -------
    ce_n, re_n, word, fetch, take, is_half, dq_i, dqs_i, oe, active
        As in :class:`rtl.nand.die_output.DieOutput`, with one phase; there is no strobe.
    """

    def __init__(self, times, *, period_ps):
        self._delay = cycles(times.t_rea_ps, period_ps)
        self._hold_high = times.t_rhoh_ps // period_ps
        self._hold_low = times.t_rloh_ps // period_ps
        self._short = cycles(EDO_LIMIT_PS, period_ps)
        super().__init__(
            {
                "ce_n": In(1, init=1),
                "re_n": In(1, init=1),
                "word": In(8),
                "fetch": Out(1),
                "take": Out(1),
                "is_half": Out(1),
                "dq_i": Out(8),
                "dqs_i": Out(1),
                "oe": Out(1),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layout = {
            "level": 1,
            "asked": self._delay,
            "oe": 1,
            "dq": 8,
            "since_fall": range(self._short + 1),
            "left": range(max(self._hold_high, self._hold_low) + 1),
        }
        state = Signal(
            data.StructLayout(layout), init={"level": 1, "since_fall": self._short, "oe": 0}
        )
        fall, rise, due = Signal(), Signal(), Signal()
        m.d.comb += [
            fall.eq(~self.ce_n & state.level & ~self.re_n),
            rise.eq(~state.level & self.re_n),
            due.eq(Cat(fall, state.asked)[self._delay - 1]),
            self.take.eq(due & ~self.ce_n),
            # What comes first is fetched again and again until RE# falls.
            self.fetch.eq(~self.ce_n & self.re_n),
            self.active.eq(state.oe | state.asked.any() | ~state.level),
            self.oe.eq(state.oe),
            self.dq_i.eq(state.dq),
        ]
        with m.If(~self.ce_n | self.active):
            m.d.sync += [
                state.level.eq(self.re_n | self.ce_n),
                state.asked.eq(Cat(fall, state.asked)),
            ]
            with m.If(fall):
                m.d.sync += state.since_fall.eq(1)
            with m.Elif(state.since_fall != self._short):
                m.d.sync += state.since_fall.eq(state.since_fall + 1)
            with m.If(self.take):
                m.d.sync += [state.oe.eq(1), state.dq.eq(self.word)]
            self._hold(m, state, fall, rise)
            with m.If(self.ce_n):
                m.d.sync += [state.oe.eq(0), state.dq.eq(0), state.asked.eq(0), state.left.eq(0)]
        return m

    def _hold(self, m, state, fall, rise):
        """Count down to the clock that is the last one with the byte."""
        is_last = Signal()

        def keep(clocks):
            m.d.sync += state.left.eq(clocks)
            m.d.comb += is_last.eq(clocks == 0)

        is_short = state.since_fall < self._short
        with m.If(fall & (state.oe | self.take) & is_short):
            keep(self._hold_low)
        with m.Elif(rise):
            keep(self._hold_high)
        with m.Elif(state.left != 0):
            m.d.sync += state.left.eq(state.left - 1)
            m.d.comb += is_last.eq(state.left == 1)
        with m.If(is_last):
            m.d.sync += [state.oe.eq(0), state.dq.eq(0)]


class SdrDieInput(wiring.Component):
    """Takes a byte at each rise of WE# with both latch enables low, and hands them on in pairs.

    Bytes count from tADL (tCCS after 85h) after the last address cycle on, from rise to rise.

    Parameters
    ----------
    load_wait, load_more_wait : int
        Clocks of tADL and tCCS.

    Members
    -------
    now, ce_n, cle, ale, we_n, re_n, dq, load, load_more, enable, take, pair, active
        As in :class:`rtl.nand.die_input.DieInput`, with one phase.
    """

    def __init__(self, *, load_wait, load_more_wait):
        self._load_wait = load_wait
        self._load_more_wait = load_more_wait
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "ce_n": In(1, init=1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "re_n": In(1, init=1),
                "dq": In(8),
                "load": In(1),
                "load_more": In(1),
                "enable": In(1),
                "take": Out(1),
                "pair": Out(16),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        opens_from = Signal(STAMP_BITS)
        was_low, holds, first = Signal(), Signal(), Signal(8)
        m.d.sync += was_low.eq(~self.ce_n & ~self.we_n)
        m.d.comb += [self.active.eq(was_low), self.pair.eq(Cat(first, self.dq))]
        with m.If(was_low & self.we_n):
            with m.If(self.cle | self.ale):
                m.d.sync += holds.eq(0)
            with m.Elif(self.enable & (self.now >= opens_from)):
                m.d.sync += [holds.eq(~holds), first.eq(self.dq)]
                m.d.comb += self.take.eq(holds)
        with m.If(self.load | self.load_more):
            wait = Mux(self.load_more, self._load_more_wait, self._load_wait)
            m.d.sync += opens_from.eq(self.now + wait)
        return m
