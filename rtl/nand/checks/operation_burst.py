# amaranth: UnusedElaboratable=no
# (The memory is made before what else is.)
"""Rules about RE# for parts that put out more than pages and status."""

from amaranth.hdl import Signal
from amaranth.lib import memory
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.nand.checks.burst import BurstCheck, Source
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import age

__all__ = ["OperationBurst"]

ANSWERED = (Request.IDENTIFY, Request.PARAMETERS, Request.GET_FEATURES)


class OperationBurst(BurstCheck):
    """As :class:`BurstCheck`; data that was asked for by 90h, ECh or EEh comes without a choice.

    Such data stays with its way while other ways are busy on the bus, each burst from its
    beginning. After a status 00h shows again what was chosen, or asked for, before.

    Members
    -------
    keeps_output, resumes : In(1)
        From :class:`rtl.nand.checks.operation_sequence.OperationSequence`.
    way_fresh : In(1)
        The selected way has become ready from ECh, EEh, EFh or FFh less than tRR ago.
    answers, goes_on : Out(1)
        A burst begins in this clock of what 90h, ECh or EEh asked for, or after 00h of what was
        chosen before.
    asked_edge : Out(48)
        When the selected way was last asked so.
    """

    def __init__(self, part, *, period_ps, ways, phases):
        self._ways = ways
        more = {
            "keeps_output": In(1),
            "resumes": In(1),
            "way_fresh": In(1),
            "answers": Out(1),
            "goes_on": Out(1),
            "asked_edge": Out(STAMP_BITS),
        }
        super().__init__(part, period_ps=period_ps, ways=ways, phases=phases, members=more)

    def _follow_source(self, m, source, position, known_lun):
        super()._follow_source(m, source, position, known_lun)
        is_chosen = Signal()
        answering, is_hidden = Signal(self._ways), Signal(self._ways)
        way = (1 << self.way)[: self._ways]
        is_elsewhere = self.source_way != self.way
        with m.If(self.begun & ~self.keeps_output):
            m.d.sync += [is_chosen.eq(0), answering.eq(answering & ~way)]
        with m.Elif(self.begun & is_elsewhere):
            m.d.sync += is_chosen.eq(0)
        with m.Switch(self.request):
            with m.Case(Request.NONE):
                pass
            with m.Case(Request.STATUS):
                m.d.sync += is_hidden.eq(is_hidden | way)
            with m.Case(Request.STATUS_LUN):
                m.d.sync += is_hidden.eq(is_hidden | way)
                with m.If(self.lun != self.source_lun):
                    m.d.sync += is_chosen.eq(0)
            with m.Case(*ANSWERED):
                m.d.sync += [answering.eq(answering | way), is_hidden.eq(is_hidden & ~way)]
            with m.Default():
                is_choice = self.request == Request.CHOOSE
                m.d.sync += [is_chosen.eq(is_choice), answering.eq(answering & ~way)]
        is_own = source.as_value().matches(Source.DATA, Source.STATUS) & ~is_elsewhere
        answers = (answering & (~is_hidden | self.resumes.replicate(self._ways)) & way).any()
        with m.If(self.start & ~is_own):
            with m.If(self.resumes & is_chosen & ~is_elsewhere):
                m.d.comb += self.goes_on.eq(1)
                m.d.sync += source.eq(Source.DATA)
            with m.Elif(answers):
                m.d.comb += self.answers.eq(1)
                m.d.sync += [
                    source.eq(Source.ANSWER),
                    self.source_way.eq(self.way),
                    self.source_lun.eq(0),
                    position.eq(0),
                    is_hidden.eq(is_hidden & ~way),
                ]
        self._keep_edges(m)

    def _keep_edges(self, m):
        store = memory.Memory(shape=STAMP_BITS, depth=max(2, self._ways), init=[])
        m.submodules.asked = store
        read, write = store.read_port(domain="comb"), store.write_port()
        m.d.comb += [
            read.addr.eq(self.way),
            self.asked_edge.eq(read.data),
            write.addr.eq(self.way),
            write.data.eq(self.now),
            write.en.eq(self.request.as_value().matches(*ANSWERED)),
        ]

    def _check_start(self, m, source, waited):
        with m.If(self.answers):
            m.d.comb += [
                self.broken.t_whr.eq(age(self.now, self.asked_edge) < self._limit("whr")),
                self.broken.t_rr.eq(self.way_fresh),
            ]
        with m.Elif(~self.goes_on):
            super()._check_start(m, source, waited)
