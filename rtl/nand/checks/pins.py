"""Rules about levels and write cycles: chip enables, WE#, and what it latches."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.nand_part import cycles
from rtl.nand.checks.rules import age, rule_bits, rules_of, stamp

__all__ = ["PinCheck"]


class PinCheck(wiring.Component):
    """Rules CE_ONE_LOW to T_CH, and T_RHW; finds the write cycles for the other parts.

    An edge is the clock that first samples the new level. ONFI 3.1, section 4.15 (the tables of
    tWP, tWH, tWC, tCALS, tCAH, tCS, tCH, tRHW).

    Parameters
    ----------
    part, period_ps, ways
        As for :class:`rtl.nand.checker.BusChecker`.

    Members
    -------
    ce_n, cle, ale, we_n, dq, dq_oe, now : In
        The pins and the number of the edge that ends this clock.
    reading, burst_start : In(1)
        RE# is not idle; RE# falls for a burst in this clock.
    last_data : In(48)
        Edge of the last data edge of RE#.
    last_write : In(48)
        Edge of the last data edge of DQS to a die; only of a part that takes data.
    written : Out(1)
        WE# rises in this clock with CE# low before it.
    way : Out
        Which CE# is low, or was last.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, period_ps, ways):
        self._part = part
        self._period_ps = period_ps
        self._ways = ways
        self._takes_data = part.extended is not None
        super().__init__(
            ({"last_write": In(STAMP_BITS)} if self._takes_data else {})
            | {
                "ce_n": In(ways, init=-1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "dq": In(8),
                "dq_oe": In(1),
                "now": In(STAMP_BITS),
                "reading": In(1),
                "burst_start": In(1),
                "last_data": In(STAMP_BITS),
                "written": Out(1),
                "way": Out(range(max(ways, 2))),
                "broken": Out(rule_bits(rules_of(part))),
            }
        )

    def _limit(self, name):
        return cycles(getattr(self._part, f"t_{name}_ps"), self._period_ps)

    def elaborate(self, platform):
        m = Module()
        selected = Signal()
        low = Signal(self._ways)
        m.d.comb += [
            low.eq(~self.ce_n),
            selected.eq(low.any()),
            self.broken.ce_one_low.eq((low & (low - 1)[: self._ways]).any()),
            self.broken.no_target.eq(~selected & (~self.we_n | self.reading)),
            self.broken.latch_both.eq(self.cle & self.ale),
        ]
        self._find_way(m, low, selected)
        self._check_writes(m, selected)
        return m

    def _find_way(self, m, low, selected):
        held = Signal.like(self.way)
        m.d.comb += self.way.eq(held)
        for way in reversed(range(self._ways)):
            with m.If(low[way]):
                m.d.comb += self.way.eq(way)
        with m.If(selected):
            m.d.sync += held.eq(self.way)

    def _check_writes(self, m, selected):
        now, broken = self.now, self.broken
        latched = Cat(self.cle, self.ale, self.dq_oe, self.dq)
        before = Signal.like(latched)
        ce_before = Signal(self._ways, init=-1)
        we_before = Signal(init=1)
        selected_before = Signal()
        fall, rise, change = Signal(), Signal(), Signal()
        fell, rose, changed, chosen = (
            stamp(name) for name in ("fell", "rose", "changed", "chosen")
        )
        m.d.comb += [
            fall.eq(we_before & ~self.we_n),
            rise.eq(~we_before & self.we_n),
            change.eq(latched != before),
            self.written.eq(rise & selected_before),
        ]
        m.d.sync += [
            before.eq(latched),
            ce_before.eq(self.ce_n),
            we_before.eq(self.we_n),
            selected_before.eq(selected),
        ]
        with m.If(fall):
            m.d.sync += fell.eq(now)
            m.d.comb += [
                broken.t_wh.eq(age(now, rose) < self._limit("wh")),
                broken.t_rhw.eq(age(now, self.last_data) < self._limit("rhw")),
            ]
        with m.If(rise):
            m.d.sync += rose.eq(now)
            m.d.comb += [
                broken.t_wp.eq(age(now, fell) < self._limit("wp")),
                broken.t_wc.eq(age(now, rose) < self._limit("wc")),
                broken.t_cals.eq(change | ~self.dq_oe | (age(now, changed) < self._limit("cals"))),
            ]
        with m.Elif(change):
            m.d.comb += broken.t_cah.eq(age(now, rose) < self._limit("cah"))
        with m.If(change):
            m.d.sync += changed.eq(now)
        with m.If((ce_before & ~self.ce_n).any()):
            m.d.sync += chosen.eq(now)
            m.d.comb += broken.t_cs.eq(self.burst_start | rise)
        with m.Elif(rise | self.burst_start):
            m.d.comb += broken.t_cs.eq(age(now, chosen) < self._limit("cs"))
        with m.If((~ce_before & self.ce_n).any()):
            limit = self._limit("ch")
            edges = [rose, self.last_data]
            if self._takes_data:
                edges.append(self.last_write)
            m.d.comb += broken.t_ch.eq(rise | Cat(age(now, edge) < limit for edge in edges).any())
