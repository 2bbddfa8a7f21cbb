"""Rules about what LUNs may be told, for all operations."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import StatusBit
from rtl.nand.checks.block_history import BlockHistory
from rtl.nand.checks.command_set import RESUMES, SUSPENDS, TARGET
from rtl.nand.checks.lun_history import LunHistory
from rtl.nand.checks.lun_shadows import LunShadows
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits
from rtl.nand.checks.suspend_check import SuspendCheck

__all__ = ["LunCheck"]

UNUSED_BITS = 0xFF & ~sum(StatusBit)
BUSY_AT_ONCE = (
    Request.READ,
    Request.READ_PLANE,
    Request.READ_CACHE,
    Request.READ_NEXT,
    Request.READ_END,
    Request.PROGRAM,
    Request.PROGRAM_CACHE,
    Request.PROGRAM_PLANE,
    Request.ERASE,
    Request.ERASE_PLANE,
    *RESUMES,
)
"""Make a LUN busy."""
OF_LUN = (*BUSY_AT_ONCE, Request.CHOOSE, Request.LOAD)
"""Need a LUN that is ready."""
ASKS_WAY = tuple(request for request in TARGET if request is not Request.RESET)
"""Need a way all of whose LUNs are ready, and their arrays at rest."""


class LunCheck(wiring.Component):
    """Rules BUSY to T_WB_BUSY, TARGET_IDLE, STATUS_BITS, and those of histories and suspends.

    A LUN is busy from a confirm cycle of its own, and a way from the last cycle of FFh, ECh or EEh
    or the data of EFh, until R/B# or a status byte says ready. ONFI 3.1, section 5.3 (Reset), 5.13
    (status), 5.6, 5.7, 5.26 and 5.27 (what is asked of a target).

    Parameters
    ----------
    part, period_ps, ways, are_erased, emitted
        As for :class:`rtl.nand.checker.BusChecker`.

    Members
    -------
    now, rb_n : In
        Number of the edge that ends this clock, and the ways' R/B# at it.
    way, request, lun, row, opened : In
        A command that is complete in this clock, see
        :class:`rtl.nand.checks.operation_sequence.OperationSequence`.
    answers : In(1)
        A burst begins in this clock with what ``way`` was asked for as a whole.
    source_way, source_lun, status_valid, status : In
        LUN that data comes from, and its status byte.
    source_fresh, way_fresh : Out(1)
        That LUN, or ``way`` as a whole, became ready less than tRR ago.
    late : Out(ways)
        R/B# is still high at tWB.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, period_ps, ways, are_erased=False, emitted=False):
        self._part = part
        self._ways = ways
        rest = {
            "busy_cycles": cycles(part.t_wb_ps, period_ps),
            "rest_cycles": cycles(part.t_rr_ps, period_ps),
        }
        self._luns = LunShadows(luns=ways * part.luns, **rest)
        self._targets = LunShadows(luns=ways, obeys_always=True, **rest)
        self._history = LunHistory(part, ways=ways)
        self._suspends = None if part.suspend is None else SuspendCheck(part, ways=ways)
        self._blocks = BlockHistory(part, ways=ways, are_erased=are_erased, emitted=emitted)
        way, lun = range(max(ways, 2)), range(max(part.luns, 2))
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "rb_n": In(ways),
                "way": In(way),
                "request": In(Request),
                "lun": In(lun),
                "row": In(range(max(part.rows, 2))),
                "opened": In(STAMP_BITS),
                "answers": In(1),
                "source_way": In(way),
                "source_lun": In(lun),
                "status_valid": In(1),
                "status": In(8),
                "source_fresh": Out(1),
                "way_fresh": Out(1),
                "late": Out(ways),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.luns = luns = self._luns
        m.submodules.targets = targets = self._targets
        m.submodules.history = history = self._history
        m.submodules.blocks = blocks = self._blocks
        own, broken = Signal(rule_bits()), [history.broken, blocks.broken]
        on_way = Signal(self._ways * self._part.luns)
        # LUNs with an array at work behind RDY, or held.
        engaged, refused = Signal.like(on_way), Signal()
        m.d.comb += [engaged.eq(history.working), refused.eq(history.refused)]
        told = self._ask(m, own, on_way, engaged, refused)
        self._connect(m, on_way, told)
        self._read_status(m, own, engaged)
        if self._suspends is not None:
            m.submodules.suspends = suspends = self._suspends
            broken.append(suspends.broken)
            m.d.comb += [
                engaged.eq(history.working | suspends.holds),
                refused.eq(history.refused | suspends.refused),
                suspends.answers.eq(luns.status_ready),
                suspends.rests.eq(history.rests),
            ]
        late = (luns.late.word_select(way, self._part.luns).any() for way in range(self._ways))
        m.d.comb += [
            self.late.eq(targets.late | Cat(*late)),
            own.t_wb_busy.eq(self.late.any()),
            own.t_wb_access.eq(luns.is_early | targets.is_early),
            self.source_fresh.eq(luns.is_fresh),
            self.way_fresh.eq(targets.is_fresh),
            self.broken.eq(reduce(or_, (part.as_value() for part in [own, *broken]))),
        ]
        return m

    def _connect(self, m, on_way, told):
        luns, targets, per_way = self._luns, self._targets, self._part.luns
        target = self.way * per_way + self.lun
        m.d.comb += [
            luns.rb_n.eq(Cat(ready.replicate(per_way) for ready in self.rb_n)),
            luns.target.eq(target),
            luns.source.eq(self.source_way * per_way + self.source_lun),
            targets.rb_n.eq(self.rb_n),
            targets.target.eq(self.way),
            targets.source.eq(self.way),
        ]
        for shadows in (luns, targets):
            opened = Mux(self.answers, self.now, self.opened)
            m.d.comb += [shadows.now.eq(self.now), shadows.opened.eq(opened)]
        histories = [self._history, self._suspends] if self._suspends else [self._history]
        for component in (*histories, self._blocks):
            m.d.comb += [component.target.eq(target), component.row.eq(self.row)]
            m.d.comb += component.request.eq(told)
        for component in histories:
            m.d.comb += component.on_way.eq(on_way)
        with m.If((self.request != Request.NONE) | self.answers):
            m.d.comb += on_way.eq(((1 << per_way) - 1) << (self.way * per_way))

    def _ask(self, m, own, on_way, engaged, refused):
        """Judge a request by who is busy; returns what can be taken, for the histories."""
        luns, targets = self._luns, self._targets
        at_lun, at_way = Signal.like(on_way), Signal(self._ways)
        is_early = luns.is_early | targets.is_early
        is_busy = Signal()
        with m.If((self.request != Request.NONE) | self.answers):
            m.d.comb += [at_lun.eq(1 << luns.target), at_way.eq(1 << self.way)]
        way_busy = (targets.busy & at_way).any()
        told = Signal(Request)
        with m.Switch(self.request):
            with m.Case(*SUSPENDS):
                m.d.comb += [luns.ask.eq(at_lun), targets.ask.eq(at_way), told.eq(self.request)]
            with m.Case(*OF_LUN):
                m.d.comb += [
                    luns.ask.eq(at_lun),
                    targets.ask.eq(at_way),
                    is_busy.eq((luns.busy & at_lun).any() | way_busy),
                    own.busy.eq(is_busy & ~is_early),
                ]
                with m.If(~is_busy):
                    m.d.comb += told.eq(self.request)
            with m.Case(Request.STATUS, Request.STATUS_LUN):
                is_of_lun = self.request == Request.STATUS_LUN
                m.d.comb += [
                    luns.ask.eq(Mux(is_of_lun, at_lun, on_way)),
                    targets.ask.eq(at_way),
                    told.eq(self.request),
                ]
            with m.Case(*ASKS_WAY):
                m.d.comb += [
                    luns.ask.eq(on_way),
                    targets.ask.eq(at_way),
                    is_busy.eq(((luns.busy | engaged) & on_way).any() | way_busy),
                    own.target_idle.eq(is_busy & ~is_early),
                ]
                with m.If(~is_busy):
                    m.d.comb += told.eq(self.request)
            with m.Case(Request.RESET):
                m.d.comb += [luns.reset.eq(on_way), told.eq(self.request)]
        with m.If(self.answers):
            m.d.comb += [
                luns.ask.eq(on_way),
                targets.ask.eq(at_way),
                own.busy.eq(((luns.busy & on_way).any() | way_busy) & ~is_early),
            ]
        begins = told.as_value().matches(*BUSY_AT_ONCE) & ~refused
        alone = told.as_value().matches(Request.RESET, Request.PARAMETERS, Request.GET_FEATURES)
        m.d.comb += [
            luns.confirm.eq(begins),
            targets.confirm.eq(alone | (self.request == Request.SET_FEATURES)),
        ]
        return told

    def _read_status(self, m, own, engaged):
        """Take a status byte for what it says, and look whether it can be right."""
        luns, history = self._luns, self._history
        source = Signal.like(history.working)
        ready, rests = (
            (self.status & bit).any() for bit in (StatusBit.RDY.value, StatusBit.ARDY.value)
        )
        with m.If(self.status_valid):
            m.d.comb += source.eq(1 << luns.source)
            with m.If(ready):
                m.d.comb += luns.status_ready.eq(source)
                m.d.comb += self._targets.status_ready.eq(1 << self.source_way)
            with m.If(rests):
                m.d.comb += history.rests.eq(source)
            is_working = (engaged & source).any()
            m.d.comb += own.status_bits.eq(
                (self.status & UNUSED_BITS).any() | Mux(ready, ~rests & ~is_working, rests)
            )
