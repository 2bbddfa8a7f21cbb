# amaranth: UnusedElaboratable=no
"""The gather unit: descriptors in DRAM, in; dense ids, out. Synthesisable."""

from amaranth.hdl import Cat, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.axi4 import Axi4Read
from rtl.contract.gather import (
    AXI_ID_BITS,
    MAX_DISTINCT,
    MAX_FAN_OUT,
    MAX_OUTSTANDING,
    GatherDone,
    GatherLaunch,
    result_transfer,
)
from rtl.gather.arbiter import ReadArbiter
from rtl.gather.burst import DEPTH as POSITION_DEPTH
from rtl.gather.control import LaunchControl
from rtl.gather.descriptors import BURST, DescriptorFetcher
from rtl.gather.descriptors import DEPTH as DESCRIPTOR_DEPTH
from rtl.gather.jobs import DescriptorChecker
from rtl.gather.lane import GatherLane, JobDealer
from rtl.gather.meter import LaunchMeter
from rtl.gather.results import ResultWriter
from rtl.gather.rows import ring_rows

__all__ = ["COUNTS", "LANES", "PULSES", "GatherUnit", "id_ranges"]

LANES = (1, 2, 4, 8)
METERED = ("delivered", "output_stalled", "memory_stalled", "gap")
PULSES = ("seen", "refused", "empty", "beat", *METERED)
LANE_COUNTS = ("issued", "merged", "blocked")
WORD_COUNTS = ("words", "ids")
COUNTS = (*LANE_COUNTS, *WORD_COUNTS)
"""What the unit says of a clock, for counters: a bit, or a number."""
MOST_IDS = 8
"""AXI IDs of a lane's id reads at most."""
RUN = 32
"""Id reads of a lane before the next one's turn: ids of a list often lie in a row of the DRAM."""


def id_ranges(lanes, id_bits, outstanding):
    """AXI IDs of the unit's ports: descriptors, positions of each lane, ids of each lane.

    Each lane has as many for its ids as there are, a power of two, at most :data:`MOST_IDS` and no
    more than it has reads in flight.
    """
    first = [range(number, number + 1) for number in range(1 + lanes)]
    each = min(MOST_IDS, outstanding // lanes)
    while each * (lanes + -(-len(first) // each)) > 1 << id_bits:
        each //= 2
    begin = each * -(-len(first) // each)
    return first + [range(begin + lane * each, begin + (lane + 1) * each) for lane in range(lanes)]


def _is_power(value):
    return isinstance(value, int) and value > 0 and value & value - 1 == 0


class GatherUnit(wiring.Component):
    """Samples lists: reads descriptors, positions and ids over AXI4, streams counts and ids.

    For each descriptor, in order: one ``ResultHeader`` word, then ``count`` ids, zero-extended to
    64 bits. A refused descriptor (see ``DescriptorChecker`` and ``IdRequester``) or a failed read
    gives a header with its status and no ids; the unit goes on with the next. A launch that is
    aborted ends with the targets that it has come to, all others being left out: those whose ids
    were all requested are whole, the others ABORTED, at least one of them if any is missing. It
    waits for reads in flight, and for its words to be taken. One launch at a time; the next may be
    waiting.

    Descriptors are dealt to lanes in turn. Each lane draws or fetches positions, and asks for up to
    one id a clock; an id in the same beat as the one before it in its lane needs no read of its
    own. Descriptors and positions are fetched ahead, so that reads of a target follow those of the
    one before it without a gap. AXI ID 0 reads descriptors, the next ``lanes`` positions. Behind
    them each lane has up to :data:`MOST_IDS` for its ids, which it takes by turns, so that the
    memory may answer in another order: :func:`id_ranges`.

    Parameters
    ----------
    data_bits : int
        Width of the bus, 64 to 1024.
    id_bits : int
        Width of AXI IDs: 1 + 2 * ``lanes`` at least, as many as there are for ids of a lane.
    lanes : int
        1, 2, 4 or 8.
    outstanding : int
        Id reads in flight of all lanes together; a power of two, at most ``MAX_OUTSTANDING``. Each
        lane has an equal share, at least 2; ids without a read of their own count, too, until those
        before them are there.
    result_words : int
        Result words of a transfer at most: 1, 2, 4 or 8.
    max_fan_out : int
        Largest fan-out accepted; a power of two. Each lane buffers two such targets' ids.
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
    seen, refused, empty : Out(1)
        One clock each a descriptor looked at, refused, of an empty list.
    issued, merged, blocked : Out
        In how many lanes an id read was requested; an id went on for which the read before it will
        do; a request was held up since as many as the lane's share are in flight.
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
        lanes=1,
        outstanding=16,
        result_words=2,
        max_fan_out=MAX_FAN_OUT,
        max_distinct=MAX_DISTINCT,
    ):
        if data_bits not in (64, 128, 256, 512, 1024):
            raise ValueError(f"Data width must be 64 to 1024 bits by doubling, not {data_bits!r}")
        if lanes not in LANES:
            raise ValueError(f"Lanes must be 1, 2, 4 or 8, not {lanes!r}")
        least_bits = (2 * lanes).bit_length()
        if not isinstance(id_bits, int) or id_bits < least_bits:
            raise ValueError(f"ID width must be at least {least_bits} bits, not {id_bits!r}")
        if not _is_power(outstanding) or not 2 * lanes <= outstanding <= MAX_OUTSTANDING:
            raise ValueError(
                f"Outstanding must be a power of two from {2 * lanes} (twice the lanes) to "
                f"{MAX_OUTSTANDING}, not {outstanding!r}"
            )
        if not _is_power(max_fan_out):
            raise ValueError(
                f"Largest fan-out must be a power of two from 1 up, not {max_fan_out!r}"
            )
        if not isinstance(max_distinct, int) or not 1 <= max_distinct <= MAX_DISTINCT:
            raise ValueError(
                f"Largest fan-out without replacement must be 1 to {MAX_DISTINCT}, "
                f"not {max_distinct!r}"
            )
        self._data_bits = data_bits
        self._lanes = lanes
        self._outstanding = outstanding
        self._result_words = result_words
        self._max_fan_out = max_fan_out
        self._max_distinct = max_distinct
        self._axi = Axi4Read(64, data_bits, id_bits)
        self._id_ranges = id_ranges(lanes, id_bits, outstanding)
        self._rows = ring_rows(max_fan_out, result_words)
        self._writer = ResultWriter(lanes, self._rows, result_words=result_words)
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
                **dict.fromkeys(LANE_COUNTS, Out(range(lanes + 1))),
                **dict.fromkeys(WORD_COUNTS, Out(range(result_words + 1))),
            }
        )

    @property
    def data_bits(self):
        return self._data_bits

    @property
    def id_bits(self):
        return self._axi.id_bits

    @property
    def axi_ids(self):
        """AXI IDs of descriptors, then of each lane's positions, then of each lane's ids."""
        return self._id_ranges

    @property
    def lanes(self):
        return self._lanes

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

    @property
    def agree(self):
        """Value: registers of the results agree. It always holds, for model checking."""
        return self._writer.run_up.pair.agree

    def elaborate(self, platform):
        m = Module()
        axi = self._axi
        m.submodules.control = control = LaunchControl()
        m.submodules.fetcher = fetcher = DescriptorFetcher(axi, id=0)
        m.submodules.checker = checker = DescriptorChecker(self._max_fan_out, self._max_distinct)
        m.submodules.dealer = dealer = JobDealer(self._lanes)
        m.submodules.writer = writer = self._writer
        # Id readers keep each beat in a memory as wide, behind a register of their own.
        others = 1 + self._lanes
        m.submodules.arbiter = arbiter = ReadArbiter(
            axi, others + self._lanes, urgent=others, run=RUN, held=others, ids=self._id_ranges
        )
        lanes = [self._lane(m, number) for number in range(self._lanes)]
        connect(m, fetcher.axi, arbiter.port0)
        connect(m, arbiter.axi, flipped(self.axi))
        connect(m, flipped(self.launches), control.launches)
        connect(m, control.runs, fetcher.runs)
        connect(m, fetcher.descriptors, checker.descriptors)
        connect(m, checker.jobs, dealer.jobs)
        connect(m, writer.results, flipped(self.results))
        connect(m, control.done, flipped(self.done))
        for number, lane in enumerate(lanes):
            connect(m, getattr(dealer, f"jobs{number}"), lane.jobs)
            connect(m, lane.position_axi, getattr(arbiter, f"port{1 + number}"))
            connect(m, lane.id_axi, getattr(arbiter, f"port{1 + self._lanes + number}"))
            connect(m, lane.records, getattr(writer, f"records{number}"))
            m.d.comb += [
                lane.aborting.eq(control.aborting),
                lane.fresh.eq(control.runs.valid),
                lane.row.eq(getattr(writer, f"row{number}")),
                lane.released.eq(getattr(writer, f"released{number}")),
                getattr(writer, f"ids{number}").eq(lane.ids),
            ]
        m.d.comb += [
            control.now.eq(self.now),
            control.abort.eq(self.abort),
            control.settled.eq(Cat(fetcher.settled, *(lane.settled for lane in lanes)).all()),
            self.busy.eq(control.busy),
        ]
        # A clock later: until then no launch ends and another begins.
        m.d.sync += fetcher.abort.eq(control.cut)
        self._watch(m, control, writer)
        self._count(m, checker, lanes)
        return m

    def _lane(self, m, number):
        lane = GatherLane(
            self._axi,
            position_id=1 + number,
            ids=self._id_ranges[1 + self._lanes + number],
            outstanding=self._outstanding // self._lanes,
            max_distinct=self._max_distinct,
            rows=self._rows,
            result_words=self._result_words,
        )
        m.submodules[f"lane{number}"] = lane
        return lane

    def _watch(self, m, control, writer):
        """What of a launch leaves the unit in this clock."""
        results = self.results
        m.d.comb += [
            control.leaves.eq(results.valid & results.ready),
            self.words.eq(Mux(control.leaves, results.payload.count, 0)),
            self.ids.eq(self.words - (self.words.any() & writer.header)),
            control.words.eq(results.payload.count),
            control.header.eq(writer.header),
            control.last.eq(results.payload.last),
            control.status.eq(writer.results.payload.words[0][32:40]),
        ]

    def _count(self, m, checker, lanes):
        fetched = DESCRIPTOR_DEPTH + self._lanes * POSITION_DEPTH
        m.submodules.meter = meter = LaunchMeter(self._outstanding + fetched)
        ar, r = self.axi.ar, self.axi.r
        m.d.comb += [
            self.seen.eq(checker.seen),
            self.refused.eq(checker.refused),
            self.empty.eq(checker.empty),
            self.beat.eq(r.valid & r.ready),
            *(
                getattr(self, name).eq(sum(getattr(lane, name) for lane in lanes))
                for name in LANE_COUNTS
            ),
            meter.busy.eq(self.busy),
            meter.request.eq(ar.valid),
            meter.granted.eq(ar.valid & ar.ready),
            # No burst is longer.
            meter.beats.eq(ar.payload.len[: (BURST - 1).bit_length()]),
            meter.answer.eq(self.beat),
            meter.word.eq(self.results.valid),
            meter.taken.eq(self.results.ready),
            *(getattr(self, name).eq(getattr(meter, name)) for name in METERED),
        ]
