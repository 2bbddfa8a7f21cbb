"""Rules about RE#: when a burst may begin, its shape, and where its data comes from."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.nand_part import cycles
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import age, rule_bits, rules_of, stamp
from rtl.nand.checks.sequence import COLUMN_BITS
from rtl.nand.checks.strobe import is_half, transfers

__all__ = ["BurstCheck"]


class Source(enum.Enum, shape=2):
    """What a burst would bring."""

    NONE = 0
    DATA = 1
    STATUS = 2
    ANSWER = 3
    """What a way was asked for as a whole."""


class BurstCheck(wiring.Component):
    """Rules T_RR to PAGE_END, but T_RHW. ONFI 3.1, section 4.15 (tRR, tWHR, tCCS, tRPRE, tRPST).

    After a 30h the rules of this project are stricter than ONFI's for a single LUN: data is read
    only after 05h-E0h, since other LUNs' commands lie between. The choice holds until the next
    command byte to any way, so that a LUN that was ready at E0h is ready at the burst.

    Members
    -------
    ce_n, re_n, now, way : In
        Pins, number of the edge that ends this clock, and which CE# is low.
    request, lun, column, begun : In
        From :class:`rtl.nand.checks.sequence.SequenceCheck`.
    source_fresh : In(1)
        The LUN ``source_way``, ``source_lun`` became ready less than tRR ago.
    reading, start : Out(1)
        RE# is not idle; a burst begins in this clock.
    bursting : Out(1)
        A burst began before this clock.
    last_data : Out(48)
        Edge of the last data edge.
    status_data : Out(1)
        This clock asks for the status of a LUN that is known to be ``source_lun``.
    source_way, source_lun : Out
        Where data comes from.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, period_ps, ways, phases, members=None):
        self._part = part
        self._period_ps = period_ps
        self._phases = phases
        way, lun = range(max(ways, 2)), range(max(part.luns, 2))
        super().__init__(
            (members or {})
            | {
                "ce_n": In(ways, init=-1),
                "re_n": In(phases, init=-1),
                "now": In(STAMP_BITS),
                "way": In(way),
                "request": In(Request),
                "lun": In(lun),
                "column": In(COLUMN_BITS),
                "begun": In(1),
                "source_fresh": In(1),
                "reading": Out(1),
                "start": Out(1),
                "bursting": Out(1),
                "last_data": Out(STAMP_BITS),
                "status_data": Out(1),
                "source_way": Out(way),
                "source_lun": Out(lun),
                "broken": Out(rule_bits(rules_of(part))),
            }
        )

    def _limit(self, name):
        return cycles(getattr(self._part, f"t_{name}_ps"), self._period_ps)

    def elaborate(self, platform):
        m = Module()
        source, chosen_edge = Signal(Source), stamp("chosen_edge")
        position = Signal(COLUMN_BITS + 1)
        known_lun = Signal()
        self._follow_source(m, source, position, known_lun)
        with m.If(self.request != Request.NONE):
            m.d.sync += [chosen_edge.eq(self.now), self.source_way.eq(self.way)]
        data = self._check_shape(m)
        m.d.comb += self.status_data.eq(data & (source == Source.STATUS) & known_lun)
        with m.If(data & source.as_value().matches(Source.DATA, Source.ANSWER)):
            count = transfers(self._edges)
            m.d.sync += position.eq(position + count)
            m.d.comb += self.broken.page_end.eq(position + count > self._part.raw_page_bytes)
        with m.If(self.start):
            self._check_start(m, source, age(self.now, chosen_edge))
        return m

    def _follow_source(self, m, source, position, known_lun):
        """Keep what a burst would bring: from what is asked for until the next command byte."""
        with m.If(self.begun):
            m.d.sync += source.eq(Source.NONE)
        with m.If(self.request == Request.CHOOSE):
            m.d.sync += [
                source.eq(Source.DATA),
                self.source_lun.eq(self.lun),
                position.eq(self.column),
            ]
        with m.Elif(self.request == Request.STATUS_LUN):
            m.d.sync += [
                source.eq(Source.STATUS),
                self.source_lun.eq(self.lun),
                known_lun.eq(1),
            ]
        with m.Elif(self.request == Request.STATUS):
            m.d.sync += [source.eq(Source.STATUS), known_lun.eq(self._part.luns == 1)]

    def _check_start(self, m, source, waited):
        broken = self.broken
        with m.If((source == Source.NONE) | (self.source_way != self.way)):
            m.d.comb += broken.burst_source.eq(1)
        with m.Elif(source == Source.STATUS):
            m.d.comb += broken.t_whr.eq(waited < self._limit("whr"))
        with m.Else():
            m.d.comb += [
                broken.t_ccs.eq(waited < self._limit("ccs")),
                broken.t_rr.eq(self.source_fresh),
            ]

    def _check_shape(self, m):
        """Preamble, data edges, postamble; returns whether this clock has data edges."""
        selected, data, any_data = Signal(), Signal(), Signal()
        level = Signal(init=1)
        started, last_data = stamp("started"), stamp("last_data_edge")
        self._edges = edges = self.re_n ^ Cat(level, self.re_n[:-1])
        since = age(self.now, last_data)
        m.d.comb += [
            selected.eq(~self.ce_n.all()),
            self.reading.eq(~self.re_n.all()),
            self.start.eq(selected & self.reading & ~self.bursting),
            data.eq(selected & self.bursting & edges.any()),
            self.last_data.eq(last_data),
        ]
        with m.If(self.start):
            m.d.sync += [started.eq(self.now), any_data.eq(0), self.bursting.eq(1)]
        with m.If(selected & (self.reading | self.bursting)):
            m.d.sync += level.eq(self.re_n[-1])
        with m.If(data):
            m.d.sync += [last_data.eq(self.now), any_data.eq(1)]
            is_short = Signal()
            m.d.sync += is_short.eq(~edges.all())
            m.d.comb += self.broken.burst_length.eq(~(edges.all() | is_half(edges)))
            with m.If(any_data):
                m.d.comb += self.broken.burst_pause.eq((since != 1) | is_short)
            with m.Else():
                preamble = age(self.now, started)
                m.d.comb += self.broken.t_rpre.eq(preamble < self._limit("rpre"))
        with m.If(self.bursting & ~selected):
            m.d.sync += self.bursting.eq(0)
            m.d.comb += [
                self.broken.burst_length.eq(~any_data | level),
                self.broken.t_rpst.eq(any_data & (since <= self._limit("rpst"))),
            ]
        return data
