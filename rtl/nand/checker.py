"""Bus checker of a flash channel: reports each broken ONFI rule; simulation only."""

from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, Signature

from rtl.contract.channel import STAMP_BITS, Violation
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import StatusBit
from rtl.nand.checks.burst import BurstCheck
from rtl.nand.checks.drive import DriveCheck, SdrDriveCheck
from rtl.nand.checks.lun_check import LunCheck
from rtl.nand.checks.lun_shadows import LunShadows
from rtl.nand.checks.operation_burst import OperationBurst
from rtl.nand.checks.operation_sequence import OperationSequence
from rtl.nand.checks.pins import PinCheck
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import LONG_AGO, rule_bits, rules_of
from rtl.nand.checks.sdr_burst import SdrBurstCheck, SdrOperationBurst
from rtl.nand.checks.sdr_write import SdrWriteCheck
from rtl.nand.checks.sequence import SequenceCheck
from rtl.nand.checks.write_burst import WriteCheck
from rtl.nand.limits import check_bus
from rtl.nand.phy import PhySignature

__all__ = ["BusChecker", "PhyMonitorSignature"]

BURST_CHECKS = {
    (False, False): BurstCheck,
    (False, True): OperationBurst,
    (True, False): SdrBurstCheck,
    (True, True): SdrOperationBurst,
}
"""By whether the bus is SDR, and whether the part does more than plain reads."""
RDY_BIT = int(StatusBit.RDY).bit_length() - 1


class PhyMonitorSignature(Signature):
    """All pins of :class:`rtl.nand.phy.PhySignature` in one direction, for one who only looks."""

    def __init__(self, ways, phases=2):
        super().__init__(
            {
                name: Out(member.shape, init=member.init)
                for name, member in PhySignature(ways, phases).members.items()
            }
        )


class BusChecker(wiring.Component):
    """Watches one channel's bus and reports every broken :class:`BusRule`, in the same clock.

    It knows ONFI 3.1 and the part's times, and nothing of the controller: its own shadow of each
    LUN is busy from the confirm cycle until R/B# or a status byte says ready. All times are
    distances of edges, ``cycles()`` of the part's; each rule has a row in ``docs/bus-rules.md``.

    A part without ``extended`` times is used for plain reads: other commands break OPCODE. For one
    with them all rules are watched, and its blocks are to be erased before they are programmed.

    Parameters
    ----------
    part : NandPart
        Geometry and times.
    period_ps : int
        Clock period.
    ways : int
        Ways of the channel.
    phases : int
        Transfers a clock: 1, 2 or 4.
    are_erased : bool
        All blocks are erased at the start; else each is to be erased before it is programmed.
    emitted : bool
        For Verilog, as in :class:`rtl.sim_memory.SimMemory`.

    Members
    -------
    phy : In(PhyMonitorSignature)
        All pins.
    now : In(48)
        Number of the edge that ends this clock.
    violation_valid, violation : Out
        A rule was broken in this clock; of several, that with the lowest number.

    Raises
    ------
    ValueError
        If ``phases`` or ``ways`` is out of range.
    """

    def __init__(self, part, *, period_ps, ways, phases=2, are_erased=False, emitted=False):
        check_bus(part, ways=ways, phases=phases)
        self._part = part
        self._period_ps = period_ps
        self._ways = ways
        self._phases = phases
        self._rules = rules_of(part)
        self._is_extended = part.extended is not None
        self._is_sdr = part.sdr is not None
        self._blocks = {"are_erased": are_erased, "emitted": emitted}
        super().__init__(
            {
                "phy": In(PhyMonitorSignature(ways, phases)),
                "now": In(STAMP_BITS),
                "violation_valid": Out(1),
                "violation": Out(Violation),
            }
        )

    def elaborate(self, platform):
        m = Module()
        clocked = {"period_ps": self._period_ps, "ways": self._ways}
        sequence_check = OperationSequence if self._is_extended else SequenceCheck
        m.submodules.pins = pins = PinCheck(self._part, **clocked)
        m.submodules.sequence = sequence = sequence_check(self._part, ways=self._ways)
        m.submodules.burst = burst = BURST_CHECKS[self._is_sdr, self._is_extended](
            self._part, **clocked, phases=self._phases
        )
        drive_check, response_ps = DriveCheck, self._part.t_dqsre_ps
        if self._is_sdr:
            drive_check, response_ps = SdrDriveCheck, self._part.sdr.t_rea_ps
        m.submodules.drive = drive = drive_check(
            ways=self._ways,
            phases=self._phases,
            delay=cycles(response_ps, self._period_ps),
            rules=self._rules,
        )
        self._connect(m, pins, sequence, burst, drive)
        parts = [pins.broken, sequence.broken, burst.broken, drive.broken]
        if self._is_extended:
            watch = self._watch_pulses if self._is_sdr else self._watch_writes
            write = watch(m, pins, sequence, burst, drive)
            check = self._watch_operations(m, sequence, burst, drive)
            late, parts = check.late, [*parts, write.broken, check.broken]
        else:
            shadows, refused = self._watch_luns(m, pins, sequence, burst, drive)
            late, parts = shadows.late, [*parts, refused]
        found = Signal(rule_bits(self._rules))
        m.d.comb += found.eq(reduce(or_, (part.as_value() for part in parts)))
        with m.If(found.as_value().any()):
            m.d.comb += [self.violation_valid.eq(1), self.violation.way.eq(pins.way)]
            for index in reversed(range(len(late))):
                with m.If(late[index]):
                    m.d.comb += self.violation.way.eq(index * self._ways // len(late))
            for rule in reversed(self._rules):
                with m.If(found[rule.name.lower()]):
                    m.d.comb += self.violation.rule.eq(rule)
        return m

    def _connect(self, m, pins, sequence, burst, drive):
        """Wire the pins to the parts, and the parts to each other."""
        phy = self.phy
        for part, names in (
            (pins, ("ce_n", "cle", "ale", "we_n", "dq_oe")),
            (sequence, ("cle", "ale")),
            (burst, ("ce_n", "re_n")),
            (drive, ("ce_n", "re_n", "dqs_i", "die_oe")),
        ):
            m.d.comb += [getattr(part, name).eq(getattr(phy, name)) for name in names]
        m.d.comb += [
            pins.now.eq(self.now),
            pins.dq.eq(phy.dq_o),
            pins.reading.eq(burst.reading),
            pins.last_data.eq(burst.last_data),
            sequence.now.eq(self.now),
            sequence.written.eq(pins.written),
            sequence.byte.eq(phy.dq_o),
            sequence.way.eq(pins.way),
            sequence.reading.eq(burst.reading),
            sequence.writing.eq(~phy.we_n | phy.cle | phy.ale),
            burst.now.eq(self.now),
            burst.way.eq(pins.way),
            burst.request.eq(sequence.request),
            burst.lun.eq(sequence.lun),
            burst.column.eq(sequence.column),
            burst.begun.eq(sequence.begun),
            drive.bursting.eq(burst.bursting),
            drive.status_data.eq(burst.status_data),
        ]

    def _watch_writes(self, m, pins, sequence, burst, drive):
        """Follow the controller's strobe, and let the other parts know of it."""
        phy = self.phy
        m.submodules.write = write = WriteCheck(
            self._part, period_ps=self._period_ps, phases=self._phases
        )
        for name in ("dq_oe", "dqs_o", "dqs_oe"):
            m.d.comb += getattr(write, name).eq(getattr(phy, name))
        for name in ("request", "column", "takes_data", "is_more", "is_feature"):
            m.d.comb += getattr(write, name).eq(getattr(sequence, name))
        m.d.comb += [
            write.now.eq(self.now),
            write.selected.eq(~phy.ce_n.all()),
            write.reading.eq(burst.reading),
            write.writing.eq(sequence.writing),
            pins.burst_start.eq(burst.start | write.start),
            pins.last_write.eq(write.last_data),
            sequence.burst_start.eq(burst.start),
            sequence.data_done.eq(write.done),
            sequence.data_end.eq(write.end),
            drive.dq_oe.eq(phy.dq_oe | phy.dqs_oe),
        ]
        return write

    def _watch_pulses(self, m, pins, sequence, burst, drive):
        """Follow data to a die on an SDR bus, and let the other parts know of it."""
        m.submodules.write = write = SdrWriteCheck(self._part, period_ps=self._period_ps)
        for name in ("request", "column", "takes_data", "is_more", "is_feature"):
            m.d.comb += getattr(write, name).eq(getattr(sequence, name))
        m.d.comb += [
            write.now.eq(self.now),
            write.selected.eq(~self.phy.ce_n.all()),
            write.written.eq(pins.written),
            write.cle.eq(self.phy.cle),
            write.ale.eq(self.phy.ale),
            pins.burst_start.eq(burst.start),
            pins.last_write.eq(LONG_AGO),
            sequence.burst_start.eq(burst.start),
            sequence.data_done.eq(write.done),
            sequence.data_end.eq(write.end),
            drive.dq_oe.eq(self.phy.dq_oe),
        ]
        return write

    def _watch_operations(self, m, sequence, burst, drive):
        """Follow the LUNs through all operations."""
        m.submodules.luns = check = LunCheck(
            self._part, period_ps=self._period_ps, ways=self._ways, **self._blocks
        )
        for name in ("request", "lun", "row", "opened"):
            m.d.comb += getattr(check, name).eq(getattr(sequence, name))
        for name in ("way", "answers", "source_way", "source_lun"):
            m.d.comb += getattr(check, name).eq(getattr(burst, name))
        m.d.comb += [
            check.now.eq(self.now),
            check.rb_n.eq(self.phy.rb_n),
            check.status_valid.eq(drive.status_valid),
            check.status.eq(self.phy.dq_i),
            burst.keeps_output.eq(sequence.keeps_output),
            burst.resumes.eq(sequence.resumes),
            burst.source_fresh.eq(check.source_fresh),
            burst.way_fresh.eq(check.way_fresh),
        ]
        return check

    def _watch_luns(self, m, pins, sequence, burst, drive):
        """Follow the LUNs; returns them and the rules about busy LUNs broken in this clock."""
        luns, refused = self._part.luns, Signal(rule_bits(self._rules))
        m.submodules.shadows = shadows = LunShadows(
            luns=self._ways * luns,
            busy_cycles=cycles(self._part.t_wb_ps, self._period_ps),
            rest_cycles=cycles(self._part.t_rr_ps, self._period_ps),
        )
        at_target, on_way = Signal(self._ways * luns), Signal(self._ways * luns)
        m.d.comb += [
            shadows.now.eq(self.now),
            shadows.rb_n.eq(Cat(ready.replicate(luns) for ready in self.phy.rb_n)),
            shadows.confirm.eq(sequence.request == Request.READ),
            shadows.target.eq(burst.way * luns + sequence.lun),
            shadows.source.eq(burst.source_way * luns + burst.source_lun),
            shadows.opened.eq(sequence.opened),
            burst.source_fresh.eq(shadows.is_fresh),
            pins.burst_start.eq(burst.start),
            drive.dq_oe.eq(self.phy.dq_oe),
            refused.t_wb_busy.eq(shadows.late.any()),
        ]
        with m.If(drive.status_valid & self.phy.dq_i[RDY_BIT]):
            m.d.comb += shadows.status_ready.eq(1 << shadows.source)
        with m.If(sequence.request != Request.NONE):
            m.d.comb += [
                at_target.eq(1 << shadows.target),
                on_way.eq(((1 << luns) - 1) << (burst.way * luns)),
            ]
        with m.Switch(sequence.request):
            with m.Case(Request.READ, Request.CHOOSE):
                m.d.comb += [
                    shadows.ask.eq(at_target),
                    refused.busy.eq((shadows.busy & at_target).any() & ~shadows.is_early),
                ]
            with m.Case(Request.STATUS):
                m.d.comb += shadows.ask.eq(on_way)
            with m.Case(Request.STATUS_LUN):
                m.d.comb += shadows.ask.eq(at_target)
            with m.Case(Request.RESET):
                m.d.comb += shadows.reset.eq(on_way)
        m.d.comb += refused.t_wb_access.eq(shadows.is_early)
        return shadows, refused
