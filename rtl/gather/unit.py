# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""The gather unit of a co-simulation: core, DRAM, staging and landing behind mailboxes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.axi4 import Axi4Read, Axi4Write
from rtl.contract.gather import (
    AXI_ID_BITS,
    MAX_FAN_OUT,
    GatherCounters,
    GatherEvent,
    GatherLaunch,
    StageRequest,
    ViolationSource,
)
from rtl.contract.gather_rings import RingWrite
from rtl.gather.axi_checker import AxiOrderChecker, AxiReadChecker, AxiWriteChecker
from rtl.gather.core import GatherUnit
from rtl.gather.dram import ORDER_BITS, SimDram
from rtl.gather.landing import ResultLanding
from rtl.gather.launch_turns import LaunchTurns
from rtl.gather.mailbox import Mailbox
from rtl.gather.own import OwnGatherCore
from rtl.gather.rings import QUANTUM, GatherRings
from rtl.gather.staging import StagingWriter
from rtl.gather.write_arbiter import WriteArbiter

__all__ = ["GatherSimUnit", "ViolationLatch"]

NEVER = (1 << 48) - 1
RING_PORT = 1
"""Port of the write arbiter that is the rings', after that of the staging writer."""
LAUNCH_OVERFLOW, STAGE_OVERFLOW, REGISTER_OVERFLOW = 1, 2, 3
REGISTER_WRITES = 64
"""Writes to registers of the rings that can wait: they are taken one a clock."""


class ViolationLatch(wiring.Component):
    """Keeps the first violation of each source until it has been reported; one a clock.

    Parameters
    ----------
    sources : int
        How many; source n is number n of :class:`ViolationSource`.

    Members
    -------
    found0, found1, ... : In(4)
        Rule that the source sees broken in this clock; 0 is none.
    valid, rule : Out
        Report: source in bits 7:4, rule in bits 3:0.
    """

    def __init__(self, sources):
        self._sources = sources
        super().__init__(
            {
                "valid": Out(1),
                "rule": Out(8),
                **{f"found{number}": In(4) for number in range(sources)},
            }
        )

    def elaborate(self, platform):
        m = Module()
        earlier = Const(0, 1)
        for number in range(self._sources):
            found = getattr(self, f"found{number}")
            kept, rule = Signal(4, name=f"kept{number}"), Signal(4, name=f"rule{number}")
            with m.If(kept != 0):
                m.d.comb += rule.eq(kept)
            with m.Else():
                m.d.comb += rule.eq(found)
            m.d.sync += kept.eq(rule)
            with m.If((rule != 0) & ~earlier):
                m.d.comb += [self.valid.eq(1), self.rule.eq(Cat(rule, Const(number, 4)))]
                m.d.sync += kept.eq(0)
            earlier = earlier | (rule != 0)
        return m


class GatherSimUnit(wiring.Component):
    """One clock domain of the co-simulation; see ``docs/architecture.md``, "The gather unit".

    An event that logic raises at edge n is on ``event`` after edge n. ``wake_edge`` is always
    never: the unit is quiet only when nothing at all is under way, or all that is waits for
    ``result_free``.

    Parameters
    ----------
    times : DramTimes
        The DRAM.
    period_ps : int
        Clock period, even.
    data_bits : int
        Width of the DRAM port, 64 to 1024.
    lanes, outstanding, max_fan_out, result_words, id_bits : int
        As of :class:`GatherUnit`.
    window_bytes : int
        DRAM window, from address 0.
    stage_slots, stage_slot_bytes : int
        As of :class:`StagingWriter`.
    result_bytes : int
        As of :class:`ResultLanding`.
    launch_depth : int
        Launches that can wait; a power of two.
    rings : int
        Descriptor rings beside the launches, 0 to 16; without any there is nothing of them.
    quantum : int
        As of :class:`GatherRings`.
    ring_result_bytes : int
        As ``ring_bytes`` of :class:`ResultLanding`.
    own : object or None
        A block in place of the core, as of :class:`OwnGatherCore`.
    emitted : bool
        As of :class:`SimMemory`.
    """

    def __init__(
        self,
        *,
        times,
        period_ps=4000,
        data_bits=512,
        lanes=1,
        outstanding=16,
        max_fan_out=MAX_FAN_OUT,
        result_words=2,
        id_bits=AXI_ID_BITS,
        window_bytes=1 << 24,
        stage_slots=32,
        stage_slot_bytes=4096,
        result_bytes=1 << 20,
        launch_depth=16,
        rings=0,
        quantum=QUANTUM,
        ring_result_bytes=1 << 20,
        own=None,
        emitted=False,
    ):
        arguments = {
            "data_bits": data_bits,
            "id_bits": id_bits,
            "lanes": lanes,
            "outstanding": outstanding,
            "max_fan_out": max_fan_out,
            "result_words": result_words,
        }
        self.core = GatherUnit(**arguments)
        if own is not None:
            if own.is_verilog and not emitted:
                raise ValueError("A core in Verilog must run in a Verilog simulator")
            self.core = OwnGatherCore(self.core, own, arguments)
        self.dram = SimDram(
            period_ps=period_ps,
            times=times,
            data_bits=data_bits,
            id_bits=id_bits,
            window_bytes=window_bytes,
            emitted=emitted,
        )
        self.staging = StagingWriter(
            data_bits=data_bits,
            id_bits=id_bits,
            slots=stage_slots,
            slot_bytes=stage_slot_bytes,
            emitted=emitted,
        )
        self.landing = ResultLanding(
            capacity_bytes=result_bytes,
            data_bits=data_bits,
            result_words=result_words,
            rings=rings,
            ring_bytes=ring_result_bytes,
            emitted=emitted,
        )
        self._write_axi = Axi4Write(64, data_bits, id_bits)
        self.rings = None
        if rings:
            self.rings = GatherRings(
                self._write_axi,
                id=RING_PORT,
                rings=rings,
                quantum=quantum,
                result_words=ring_result_bytes // 8,
                max_fan_out=max_fan_out,
                lanes=result_words,
            )
        self._checkers = (
            AxiReadChecker(Axi4Read(64, data_bits, id_bits)),
            AxiWriteChecker(self._write_axi),
            AxiOrderChecker(Axi4Read(64, data_bits, id_bits), ORDER_BITS),
        )
        self._launch_depth = launch_depth
        super().__init__(
            {
                "now": In(48),
                "launch": In(GatherLaunch),
                "launch_toggle": In(1),
                "stage": In(StageRequest),
                "stage_toggle": In(1),
                "result_free": In(1),
                "abort": In(1),
                "event": Out(GatherEvent),
                "event_toggle": Out(1),
                "quiet": Out(1),
                "wake_edge": Out(48, init=NEVER),
                "counters": Out(GatherCounters),
                **({"ring_write": In(RingWrite), "ring_write_toggle": In(1)} if rings else {}),
            }
        )

    @property
    def launch_depth(self):
        return self._launch_depth

    def elaborate(self, platform):
        m = Module()
        m.submodules.core, m.submodules.dram = self.core, self.dram
        m.submodules.staging, m.submodules.landing = self.staging, self.landing
        read_checker, write_checker, order_checker = self._checkers
        m.submodules.read_checker, m.submodules.write_checker = read_checker, write_checker
        m.submodules.order_checker = order_checker
        m.submodules.launches = launches = Mailbox(GatherLaunch, self._launch_depth)
        m.submodules.stages = stages = Mailbox(StageRequest, self.staging.slots)
        m.submodules.violations = violations = ViolationLatch(len(ViolationSource))
        connect(m, self.core.axi, read_checker.manager)
        connect(m, read_checker.subordinate, self.dram.read)
        connect(m, write_checker.subordinate, self.dram.write)
        connect(m, self.core.results, self.landing.results)
        connect(m, stages.messages, self.staging.requests)
        m.submodules.turns = turns = LaunchTurns()
        connect(m, turns.launches, self.core.launches)
        connect(m, self.core.done, turns.done)
        started = Signal()
        abort_unread, abort_vain = self._abort(m, launches, turns)
        m.d.comb += [
            launches.word.eq(self.launch),
            launches.toggle.eq(self.launch_toggle),
            stages.word.eq(self.stage),
            stages.toggle.eq(self.stage_toggle),
            self.landing.free.eq(self.result_free),
            self.core.now.eq(self.now),
            self.dram.now.eq(self.now),
            turns.single.payload.eq(launches.messages.payload),
            turns.single.valid.eq(launches.messages.valid & ~self.landing.occupied),
            launches.messages.ready.eq(turns.single.ready & ~self.landing.occupied),
            started.eq(self.core.launches.valid & self.core.launches.ready),
            self.landing.start.eq(started),
            order_checker.taken.eq(self.dram.read.r.valid & self.dram.read.r.ready),
            order_checker.id.eq(self.dram.read.r.payload.id),
            order_checker.order.eq(self.dram.order),
            violations.found0.eq(
                Mux(read_checker.rule != 0, read_checker.rule, order_checker.rule)
            ),
            violations.found1.eq(write_checker.rule),
            violations.found2.eq(self.landing.overflow),
        ]
        with m.If(launches.overflow):
            m.d.comb += violations.found3.eq(LAUNCH_OVERFLOW)
        with m.Elif(stages.overflow):
            m.d.comb += violations.found3.eq(STAGE_OVERFLOW)
        self._report(m, violations)
        unread = launches.unread | stages.unread | self.landing.unread | abort_unread
        otherwise_busy = violations.valid | abort_vain
        if self.rings is None:
            connect(m, self.staging.axi, write_checker.manager)
        else:
            unread |= self._serve_rings(m, turns, write_checker, violations)
            otherwise_busy |= self.rings.busy
        idle = self._rest(m, unread, otherwise_busy)
        self._count(m, started, idle & unread)
        return m

    def _serve_rings(self, m, turns, write_checker, violations):
        """Put the rings beside the launches; returns whether a write to a register is unread."""
        rings, landing, event = self.rings, self.landing, self.event
        m.submodules.rings = rings
        m.submodules.registers = registers = Mailbox(RingWrite, REGISTER_WRITES)
        m.submodules.ring_checker = checker = AxiWriteChecker(self._write_axi)
        m.submodules.writes = writes = WriteArbiter(self._write_axi, 2)
        connect(m, self.staging.axi, writes.port0)
        connect(m, rings.axi, checker.manager)
        connect(m, checker.subordinate, getattr(writes, f"port{RING_PORT}"))
        connect(m, writes.axi, write_checker.manager)
        connect(m, registers.messages, rings.writes)
        connect(m, rings.launches, turns.ring)
        connect(m, turns.ring_done, rings.done)
        results = self.core.results
        m.d.comb += [
            registers.word.eq(self.ring_write),
            registers.toggle.eq(self.ring_write_toggle),
            landing.is_of_ring.eq(turns.is_ring),
            landing.place.eq(rings.place),
            *(getattr(rings, f"word{n}").eq(word) for n, word in enumerate(results.payload.words)),
            rings.count.eq(
                Mux(results.valid & results.ready & turns.is_ring, results.payload.count, 0)
            ),
            violations.found4.eq(checker.rule),
        ]
        with m.If(rings.abort):
            m.d.comb += self.core.abort.eq(1)
        with m.If(registers.overflow):
            m.d.comb += violations.found3.eq(REGISTER_OVERFLOW)
        with m.If(rings.interrupt):
            m.d.sync += event.interrupt_cause.eq(rings.cause)
        return registers.unread

    def _abort(self, m, launches, turns):
        """Give up the launch in the unit, or the oldest that waits as soon as it is in the unit.

        Launches of rings are not meant.
        """
        seen, pending, unread, vain = Signal(), Signal(), Signal(), Signal()
        busy = self.core.busy & ~turns.is_ring
        m.d.sync += seen.eq(self.abort)
        m.d.comb += [
            unread.eq(self.abort != seen),
            vain.eq(pending & ~busy & ~launches.messages.valid),
            self.core.abort.eq(pending & ~turns.is_ring),
        ]
        with m.If(unread):
            m.d.sync += pending.eq(1)
        with m.Elif(busy | vain):
            m.d.sync += pending.eq(0)
        return unread, vain

    def _report(self, m, violations):
        """Put what happened in this clock on the event port."""
        done, staging, event = self.core.done, self.staging, self.event
        interrupt = 0 if self.rings is None else self.rings.interrupt
        ended = done.valid & done.ready
        with m.If(ended | staging.staged | violations.valid | interrupt):
            m.d.sync += [
                self.event_toggle.eq(~self.event_toggle),
                event.interrupt_valid.eq(interrupt),
                event.done_valid.eq(ended),
                event.done.eq(done.payload),
                event.staged_valid.eq(staging.staged),
                event.staged_error.eq(staging.staged & staging.error),
                event.staged_tag.eq(staging.tag),
                event.violation_valid.eq(violations.valid),
                event.violation_rule.eq(violations.rule),
            ]

    def _rest(self, m, unread, otherwise_busy):
        """Whether nothing is under way; the unit is quiet if no input waits to be seen, either."""
        idle = Signal()
        m.d.comb += [
            idle.eq(
                ~self.core.busy
                & ~self.core.launches.valid
                & ~self.dram.busy
                & ~self.staging.busy
                & ~otherwise_busy
            ),
            self.quiet.eq(idle & ~unread),
        ]
        return idle

    def _count(self, m, started, woken):
        counters, core, dram = self.counters, self.core, self.dram
        pulses = {
            "launches": started,
            "descriptors": core.seen,
            "bad_descriptors": core.refused,
            "empty": core.empty,
            "id_reads": core.issued,
            "merges": core.merged,
            "outstanding_full": core.blocked,
            "ties": dram.tie,
            "row_hits": dram.hit,
            "row_misses": dram.miss,
            "output_stalls": core.output_stalled,
            "memory_stalls": core.memory_stalled,
            "gaps": core.gap,
            "busy": core.busy,
            "transfers": core.delivered,
            "words": core.words,
            "ids": core.ids,
            "beats": core.beat,
            "quiet_entries": woken,
        }
        for name, pulse in pulses.items():
            with m.If(pulse != 0):
                m.d.sync += counters[name].eq(counters[name] + pulse)
        m.d.comb += counters.refreshes.eq(dram.refreshes)
