"""Rules about DQS from the controller: when data to a die may begin, and its shape."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import FEATURE_BYTES
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import age, rule_bits, stamp
from rtl.nand.checks.sequence import COLUMN_BITS
from rtl.nand.checks.strobe import is_half, transfers

__all__ = ["WriteCheck"]


class WriteCheck(wiring.Component):
    """Rules T_ADL to WRITE_PAGE_END.

    ONFI 3.1, section 4.2 (NV-DDR2 data input) and section 4.15 (tADL, tCCS, tWPRE, tWPST).

    Parameters
    ----------
    part, period_ps, phases
        As for :class:`rtl.nand.checker.BusChecker`; the part has ``extended`` times.

    Members
    -------
    selected, reading, writing : In(1)
        A CE# is low; RE# is not idle; WE# is low, or CLE or ALE is high.
    dq_oe, dqs_o, dqs_oe, now : In
        Pins, and the number of the edge that ends this clock.
    request, column, takes_data, is_more, is_feature : In
        From :class:`rtl.nand.checks.operation_sequence.OperationSequence`.
    start, done, end : Out(1)
        DQS is driven from this clock on; tWPST is over; it is no longer driven.
    last_data : Out(48)
        Edge of the last data edge.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, period_ps, phases):
        self._part = part
        self._period_ps = period_ps
        self._phases = phases
        super().__init__(
            {
                "selected": In(1),
                "reading": In(1),
                "writing": In(1),
                "dq_oe": In(1),
                "dqs_o": In(phases),
                "dqs_oe": In(1),
                "now": In(STAMP_BITS),
                "request": In(Request),
                "column": In(COLUMN_BITS),
                "takes_data": In(1),
                "is_more": In(1),
                "is_feature": In(1),
                "start": Out(1),
                "done": Out(1),
                "end": Out(1),
                "last_data": Out(STAMP_BITS),
                "broken": Out(rule_bits()),
            }
        )

    def _limit(self, name):
        times = self._part if hasattr(self._part, f"t_{name}_ps") else self._part.extended
        return cycles(getattr(times, f"t_{name}_ps"), self._period_ps)

    def elaborate(self, platform):
        m = Module()
        driven, any_data, level = Signal(), Signal(), Signal()
        addressed, started, last_data = (
            stamp(name) for name in ("addressed", "started", "last_in")
        )
        position = Signal(COLUMN_BITS + 1)
        m.d.comb += [
            self.start.eq(self.dqs_oe & ~driven),
            self.end.eq(driven & ~self.dqs_oe),
            self.last_data.eq(last_data),
        ]
        with m.Switch(self.request):
            with m.Case(Request.LOAD, Request.LOAD_MORE):
                m.d.sync += [addressed.eq(self.now), position.eq(self.column)]
            with m.Case(Request.FEATURE_ADDRESS):
                m.d.sync += [addressed.eq(self.now), position.eq(0)]
        with m.If(self.start):
            m.d.sync += [driven.eq(1), started.eq(self.now)]
            self._check_start(m, age(self.now, addressed))
        with m.If(self.dqs_oe):
            m.d.sync += level.eq(self.dqs_o[-1])
            m.d.comb += self.broken.write_alone.eq(self.reading | self.writing | ~self.selected)
            edges = self.dqs_o ^ Cat(level, self.dqs_o[:-1])
            preamble = Mux(driven, age(self.now, started), 0)
            with m.If(edges.any()):
                m.d.sync += [last_data.eq(self.now), any_data.eq(1)]
                m.d.sync += position.eq(position + transfers(edges))
                self._check_data(m, edges, any_data, preamble, age(self.now, last_data), position)
            with m.Elif(any_data):
                since = age(self.now, last_data)
                m.d.comb += self.done.eq(since == self._limit("wpst"))
        with m.If(self.end):
            m.d.sync += [driven.eq(0), any_data.eq(0), level.eq(0)]
            is_whole = ~self.is_feature | (position == FEATURE_BYTES)
            since = age(self.now, last_data)
            m.d.comb += [
                self.broken.write_length.eq(~any_data | level | ~is_whole),
                self.broken.t_wpst.eq(any_data & (since <= self._limit("wpst"))),
            ]
        return m

    def _check_start(self, m, waited):
        with m.If(~self.takes_data | ~self.selected):
            m.d.comb += self.broken.write_source.eq(1)
        with m.Elif(self.is_more):
            m.d.comb += self.broken.t_ccs_write.eq(waited < self._limit("ccs"))
        with m.Else():
            m.d.comb += self.broken.t_adl.eq(waited < self._limit("adl"))

    def _check_data(self, m, edges, any_data, preamble, since, position):
        is_short = Signal()
        m.d.sync += is_short.eq(~edges.all())
        m.d.comb += [
            self.broken.write_driven.eq(~self.dq_oe),
            self.broken.write_length.eq(~(edges.all() | is_half(edges))),
            self.broken.write_page_end.eq(position + transfers(edges) > self._part.raw_page_bytes),
        ]
        with m.If(any_data):
            m.d.comb += self.broken.write_pause.eq((since != 1) | is_short)
        with m.Else():
            m.d.comb += self.broken.t_wpre.eq(preamble < self._limit("wpre"))
