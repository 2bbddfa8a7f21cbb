"""The gather unit: descriptors in DRAM, in; dense ids, out. Synthesisable."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.axi4 import Axi4Read
from rtl.contract.gather import (
    AXI_ID_BITS,
    MAX_DISTINCT,
    MAX_FAN_OUT,
    GatherDone,
    GatherLaunch,
    GatherStatus,
    result_transfer,
)
from rtl.gather.burst import DEPTH
from rtl.gather.descriptors import DescriptorChecker, DescriptorFetcher, DescriptorRun
from rtl.gather.ids import BeatMerger, IdReader, IdRequester
from rtl.gather.meter import LaunchMeter
from rtl.gather.positions import PositionSource
from rtl.gather.results import ResultWriter

__all__ = ["COUNTS", "PULSES", "GatherUnit", "LaunchControl", "ReadArbiter"]

DESCRIPTOR_ID, POSITION_ID, ID_ID = range(3)
METERED = ("delivered", "output_stalled", "memory_stalled", "gap")
PULSES = ("seen", "refused", "empty", "issued", "merged", "blocked", "beat", *METERED)
COUNTS = ("words", "ids")
"""What the unit says of a clock, for counters: a bit, or a number."""


class ReadArbiter(wiring.Component):
    """Joins read ports, each with the AXI ID of its number, into one; lower numbers come first.

    A request is held in a register until it is taken. Beats go to the port that their ID names.

    Parameters
    ----------
    axi : Axi4Read
        Signature of all ports.
    ports : int
        How many.

    Members
    -------
    port0, port1, ... : In(Axi4Read)
        The ports.
    axi : Out(Axi4Read)
        The bus.
    """

    def __init__(self, axi, ports):
        if not 1 <= ports <= 1 << axi.id_bits:
            raise ValueError(f"ID width must tell {ports} ports apart, not {axi.id_bits} bits")
        self._ports = ports
        super().__init__({"axi": Out(axi), **{f"port{n}": In(axi) for n in range(ports)}})

    def elaborate(self, platform):
        m = Module()
        ports = [getattr(self, f"port{number}") for number in range(self._ports)]
        ar, r = self.axi.ar, self.axi.r
        room, earlier = Signal(), Const(0, 1)
        m.d.comb += room.eq(~ar.valid | ar.ready)
        with m.If(room):
            m.d.sync += ar.valid.eq(0)
        for number, port in enumerate(ports):
            m.d.comb += port.ar.ready.eq(room & ~earlier)
            with m.If(port.ar.valid & port.ar.ready):
                m.d.sync += [ar.valid.eq(1), ar.payload.eq(port.ar.payload)]
            earlier = earlier | port.ar.valid
            m.d.comb += [
                port.r.payload.eq(r.payload),
                port.r.valid.eq(r.valid & (r.payload.id == number)),
            ]
            with m.If(r.payload.id == number):
                m.d.comb += r.ready.eq(port.r.ready)
        return m


class LaunchControl(wiring.Component):
    """Takes one launch at a time, starts its descriptors, watches its results, reports its end.

    A launch of no descriptors, or at an address that is not 32-byte aligned (BAD_DESCRIPTOR), gives
    no words; its ``first`` and ``last`` are its ``started``.

    Members
    -------
    now : In(48)
        Edge number.
    launches : In(stream of GatherLaunch)
        Launches.
    runs : Out(stream of DescriptorRun)
        To the descriptor fetcher.
    words : In
        Result words that are handed over in this clock.
    header, last : In(1)
        The first of them is a header; the last of them is the launch's last.
    status : In(8)
        Status of that header.
    done : Out(stream of GatherDone)
        Ends, in order.
    busy : Out(1)
        A launch is in the unit.
    abort : In(1)
        Give up the launch that is in the unit, if there is one whose last word has not left.
    cut, aborting : Out(1)
        The launch is given up in this clock; it has been.
    """

    now: In(48)
    launches: In(stream.Signature(GatherLaunch))
    runs: Out(stream.Signature(DescriptorRun))
    words: In(4)
    header: In(1)
    last: In(1)
    status: In(8)
    done: Out(stream.Signature(GatherDone))
    busy: Out(1)
    abort: In(1)
    cut: Out(1)
    aborting: Out(1)

    def elaborate(self, platform):
        m = Module()
        launch, done = self.launches.payload, self.done.payload
        aligned = launch.descriptor_address[:5] == 0
        m.d.comb += [
            self.runs.payload.address.eq(launch.descriptor_address),
            self.runs.payload.count.eq(launch.count),
        ]
        with m.FSM():
            with m.State("IDLE"):
                void = ~aligned | (launch.count == 0)
                m.d.comb += [
                    self.runs.valid.eq(self.launches.valid & ~void),
                    self.launches.ready.eq(void | self.runs.ready),
                ]
                with m.If(self.launches.valid & self.launches.ready):
                    m.d.sync += [
                        done.eq(0),
                        done.tag.eq(launch.tag),
                        done.status.eq(Mux(aligned, GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR)),
                        done.started.eq(self.now),
                        done.first.eq(self.now),
                        done.last.eq(self.now),
                    ]
                    with m.If(void):
                        m.next = "DONE"
                    with m.Else():
                        m.next = "RUN"
            with m.State("RUN"):
                m.d.comb += self.busy.eq(1)
                with m.If(self.words != 0):
                    m.d.sync += [done.words.eq(done.words + self.words), done.last.eq(self.now)]
                    with m.If(done.words == 0):
                        m.d.sync += done.first.eq(self.now)
                    with m.If(self.header & (done.status == GatherStatus.OK)):
                        m.d.sync += done.status.eq(self.status)
                    with m.If(self.last):
                        m.next = "DONE"
                with m.If(self.abort & ~self.aborting & ~(self.words.any() & self.last)):
                    m.d.comb += self.cut.eq(1)
                    m.d.sync += [self.aborting.eq(1), done.status.eq(GatherStatus.ABORTED)]
            with m.State("DONE"):
                m.d.comb += [self.busy.eq(1), self.done.valid.eq(1)]
                m.d.sync += self.aborting.eq(0)
                with m.If(self.done.ready):
                    m.next = "IDLE"
        return m


class GatherUnit(wiring.Component):
    """Samples lists: reads descriptors, positions and ids over AXI4, streams counts and ids.

    For each descriptor, in order: one ``ResultHeader`` word, then ``count`` ids, zero-extended to
    64 bits. A refused descriptor (see ``DescriptorChecker`` and ``IdRequester``) or a failed read
    gives a header with its status and no ids; the unit goes on with the next. A launch that is
    aborted ends with the targets that it has come to, all others being left out: those whose ids
    were all requested are whole, the others ABORTED, at least one of them if any is missing. It
    waits for reads in flight, and for its words to be taken. Descriptors and positions are fetched
    ahead, so id reads of one target follow those of the one before without a gap, at up to one a
    clock; an id in the same beat as the one before it in the launch needs no read of its own. One
    launch at a time; the next may be waiting.

    Parameters
    ----------
    data_bits : int
        Width of the bus, 256 to 1024.
    id_bits : int
        Width of AXI IDs, at least 2 (three are used).
    outstanding : int
        Id reads in flight; a power of two.
    result_words : int
        Result words of a transfer at most: 1, 2, 4 or 8.
    max_fan_out : int
        Largest fan-out accepted; a power of two. Two such targets' ids are buffered.
    max_distinct : int
        Largest fan-out accepted where ids are drawn without replacement.

    Members
    -------
    now : In(48)
        Edge number.
    launches : In(stream of GatherLaunch)
        Launches.
    axi : Out(Axi4Read)
        To the DRAM; 64 address bits.
    results : Out(stream of result_transfer)
        The dense results.
    done : Out(stream of GatherDone)
        One a launch, after its last word.
    busy : Out(1)
        A launch is in the unit.
    abort : In(1)
        Ends the launch that is in the unit with ABORTED; without one it does nothing.
    seen, refused, empty, issued, merged, blocked : Out(1)
        One clock each a descriptor looked at, refused, of an empty list; an id read requested; an
        id for which the read before it will do; a request held up since ``outstanding`` are in
        flight.
    beat : Out(1)
        A beat was taken from the bus.
    words, ids : Out
        Result words delivered in this clock; those of them that are ids.
    delivered, output_stalled, memory_stalled, gap : Out(1)
        As of the :class:`LaunchMeter`: what a clock with ``busy`` went to.
    """

    def __init__(
        self,
        *,
        data_bits=512,
        id_bits=AXI_ID_BITS,
        outstanding=16,
        result_words=2,
        max_fan_out=MAX_FAN_OUT,
        max_distinct=MAX_DISTINCT,
    ):
        if data_bits not in (256, 512, 1024):
            raise ValueError(f"Data width must be 256, 512 or 1024 bits, not {data_bits!r}")
        if not isinstance(id_bits, int) or id_bits < 2:
            raise ValueError(f"ID width must be at least 2 bits, not {id_bits!r}")
        for name, value, least in (
            ("Outstanding", outstanding, 2),
            ("Largest fan-out", max_fan_out, 1),
        ):
            if not isinstance(value, int) or value < least or value & value - 1:
                raise ValueError(f"{name} must be a power of two from {least} up, not {value!r}")
        if not isinstance(max_distinct, int) or not 1 <= max_distinct <= MAX_DISTINCT:
            raise ValueError(
                f"Largest fan-out without replacement must be 1 to {MAX_DISTINCT}, "
                f"not {max_distinct!r}"
            )
        self._data_bits = data_bits
        self._outstanding = outstanding
        self._result_words = result_words
        self._max_fan_out = max_fan_out
        self._max_distinct = max_distinct
        self._axi = Axi4Read(64, data_bits, id_bits)
        super().__init__(
            {
                "now": In(48),
                "launches": In(stream.Signature(GatherLaunch)),
                "axi": Out(self._axi),
                "results": Out(stream.Signature(result_transfer(result_words))),
                "done": Out(stream.Signature(GatherDone)),
                "abort": In(1),
                "busy": Out(1),
                **dict.fromkeys(PULSES, Out(1)),
                **dict.fromkeys(COUNTS, Out(range(result_words + 1))),
            }
        )

    @property
    def data_bits(self):
        return self._data_bits

    @property
    def id_bits(self):
        return self._axi.id_bits

    @property
    def outstanding(self):
        return self._outstanding

    @property
    def result_words(self):
        return self._result_words

    @property
    def max_fan_out(self):
        return self._max_fan_out

    @property
    def max_distinct(self):
        return self._max_distinct

    def elaborate(self, platform):
        m = Module()
        axi = self._axi
        m.submodules.control = control = LaunchControl()
        m.submodules.fetcher = fetcher = DescriptorFetcher(axi, id=DESCRIPTOR_ID)
        m.submodules.checker = checker = DescriptorChecker(self._max_fan_out, self._max_distinct)
        m.submodules.source = source = PositionSource(
            axi, id=POSITION_ID, max_distinct=self._max_distinct
        )
        m.submodules.requester = requester = IdRequester()
        m.submodules.merger = merger = BeatMerger(self._data_bits)
        m.submodules.reader = reader = IdReader(axi, id=ID_ID, outstanding=self._outstanding)
        m.submodules.writer = writer = ResultWriter(
            2 * self._max_fan_out, result_words=self._result_words
        )
        m.submodules.arbiter = arbiter = ReadArbiter(axi, 3)
        m.submodules.meter = meter = LaunchMeter(self._outstanding + 2 * DEPTH)
        connect(m, fetcher.axi, arbiter.port0)
        connect(m, source.axi, arbiter.port1)
        connect(m, reader.axi, arbiter.port2)
        connect(m, arbiter.axi, flipped(self.axi))
        connect(m, flipped(self.launches), control.launches)
        connect(m, control.runs, fetcher.runs)
        connect(m, fetcher.descriptors, checker.descriptors)
        connect(m, checker.jobs, source.jobs)
        connect(m, source.started, requester.jobs)
        connect(m, source.positions, requester.positions)
        connect(m, requester.requests, merger.requests)
        connect(m, merger.merged, reader.requests)
        connect(m, reader.outcomes, writer.outcomes)
        connect(m, writer.results, flipped(self.results))
        connect(m, control.done, flipped(self.done))
        m.d.comb += [
            reader.credit.eq(writer.credit),
            writer.reserve.eq(reader.issued | reader.merged),
            control.now.eq(self.now),
            control.abort.eq(self.abort),
            fetcher.abort.eq(control.cut),
            source.aborting.eq(control.aborting),
            requester.aborting.eq(control.aborting),
            self.words.eq(
                Mux(self.results.valid & self.results.ready, self.results.payload.count, 0)
            ),
            control.words.eq(self.words),
            control.header.eq(writer.header),
            control.last.eq(self.results.payload.last),
            control.status.eq(writer.results.payload.words[0][32:40]),
            self.seen.eq(checker.seen),
            self.refused.eq(checker.refused),
            self.empty.eq(checker.empty),
            self.issued.eq(reader.issued),
            self.merged.eq(reader.merged),
            self.blocked.eq(reader.blocked),
            self.busy.eq(control.busy),
            self.ids.eq(self.words - (self.words.any() & writer.header)),
            self.beat.eq(self.axi.r.valid & self.axi.r.ready),
            meter.busy.eq(control.busy),
            meter.request.eq(self.axi.ar.valid),
            meter.granted.eq(self.axi.ar.valid & self.axi.ar.ready),
            meter.beats.eq(self.axi.ar.payload.len),
            meter.answer.eq(self.beat),
            meter.word.eq(self.results.valid),
            meter.taken.eq(self.results.ready),
            *(getattr(self, name).eq(getattr(meter, name)) for name in METERED),
        ]
        return m
