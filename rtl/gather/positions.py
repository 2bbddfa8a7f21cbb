"""Positions of each job: read from DRAM ahead of their use, or drawn; one a clock, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.mixer import GOLDEN
from rtl.gather.burst import BurstReader
from rtl.gather.descriptors import Job
from rtl.gather.distinct import DistinctFilter
from rtl.gather.queue import Queue
from rtl.mixer import PositionMixer

__all__ = ["Pick", "Picker", "PositionFetcher", "PositionSource"]

POSITION_BYTES = 4


class Pick(data.Struct):
    """What travels beside a position.

    ``none``: stands for a job of no positions. ``fault``: the position could not be read.
    ``distinct``: it must be none of those before it in its job. ``last``: of its job.
    """

    none: 1
    distinct: 1
    fault: 1
    last: 1


class PositionFetcher(wiring.Component):
    """Requests the explicit positions of each job and passes the job on, ahead of the picker.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID.
    ahead : int
        Jobs that can be waiting for the picker; a power of two.

    Members
    -------
    jobs : In(stream of Job)
        Jobs in.
    axi : Out(Axi4Read)
        The bus.
    fetched : Out(stream of Job)
        The same jobs, in order.
    beats : Out(stream of data, error)
        Bus words that hold the positions of the explicit ones among them, in order.
    """

    def __init__(self, axi, *, id, ahead=8):
        self._axi = axi
        self._id = id
        self._ahead = ahead
        beat = data.StructLayout({"data": axi.data_bits, "error": 1})
        super().__init__(
            {
                "jobs": In(stream.Signature(Job)),
                "axi": Out(axi),
                "fetched": Out(stream.Signature(Job)),
                "beats": Out(stream.Signature(beat)),
            }
        )

    @property
    def ahead(self):
        return self._ahead

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = BurstReader(self._axi, id=self._id)
        m.submodules.waiting = waiting = Queue(Job, self._ahead)
        connect(m, reader.axi, flipped(self.axi))
        connect(m, reader.beats, flipped(self.beats))
        connect(m, waiting.head, flipped(self.fetched))
        job, stretch = self.jobs.payload, reader.stretches.payload
        beat_bytes = self._axi.data_bits // 8
        each = beat_bytes // POSITION_BYTES
        first = job.positions_address[2 : beat_bytes.bit_length() - 1]
        needed = Signal()
        m.d.comb += [
            needed.eq(job.explicit & (job.count != 0)),
            stretch.address.eq(job.positions_address & -beat_bytes),
            stretch.beats.eq((job.count + first + (each - 1)) // each),
            reader.stretches.valid.eq(self.jobs.valid & needed & waiting.entries.ready),
            waiting.entries.payload.eq(job),
            waiting.entries.valid.eq(self.jobs.valid & (~needed | reader.stretches.ready)),
            self.jobs.ready.eq(waiting.entries.ready & (~needed | reader.stretches.ready)),
        ]
        return m


class Picker(wiring.Component):
    """Turns each job into a run of words for the mixer; the job itself goes ahead of the first.

    Parameters
    ----------
    data_bits : int
        Width of a bus word.

    Members
    -------
    fetched, beats : In
        As from the :class:`PositionFetcher`.
    words : Out(stream of word, degree, bypass, tag)
        As a :class:`PositionMixer` takes them; a job of no positions gives one with ``tag.none``.
    started : Out(stream of Job)
        The job, with its first word.
    aborting : In(1)
        Jobs end with the word on offer, but explicit ones, all of whose beats are taken.
    """

    def __init__(self, data_bits):
        self._data_bits = data_bits
        beat = data.StructLayout({"data": data_bits, "error": 1})
        word = data.StructLayout({"word": 32, "degree": 32, "bypass": 1, "tag": Pick})
        super().__init__(
            {
                "fetched": In(stream.Signature(Job)),
                "beats": In(stream.Signature(beat)),
                "words": Out(stream.Signature(word)),
                "aborting": In(1),
                "started": Out(stream.Signature(Job)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        job, beats, words = self.fetched.payload, self.beats, self.words.payload
        each = self._data_bits // 32
        lane_bits = (each - 1).bit_length()
        number, counter, lane_after = Signal(16), Signal(32), Signal(lane_bits)
        range_after = Signal(32)
        first, last, read, lane = Signal(), Signal(), Signal(), Signal(lane_bits)
        offered, fire, drawn = Signal(), Signal(), Signal(32)
        m.d.comb += [
            first.eq(number == 0),
            last.eq((job.count == 0) | (number == job.count - 1) | (self.aborting & ~job.explicit)),
            read.eq(job.explicit & (job.count != 0)),
            lane.eq(Mux(first, job.positions_address[2 : 2 + lane_bits], lane_after)),
            words.bypass.eq(read | job.whole),
            words.degree.eq(Mux(first, job.range, range_after)),
            drawn.eq(Mux(first, job.key, counter) + GOLDEN),
            words.word.eq(
                Mux(
                    read,
                    beats.payload.data.word_select(lane, 32),
                    Mux(job.whole, number, drawn),
                )
            ),
            words.tag.distinct.eq(job.distinct),
            words.tag.none.eq(job.count == 0),
            words.tag.fault.eq(read & beats.payload.error),
            words.tag.last.eq(last),
            offered.eq(self.fetched.valid & (~read | beats.valid)),
            self.words.valid.eq(offered & (~first | self.started.ready)),
            self.started.valid.eq(offered & first & self.words.ready),
            self.started.payload.eq(job),
            fire.eq(self.words.valid & self.words.ready),
            self.fetched.ready.eq(fire & last),
            beats.ready.eq(fire & read & (last | (lane == each - 1))),
        ]
        with m.If(fire):
            m.d.sync += [
                number.eq(Mux(last, 0, number + 1)),
                counter.eq(drawn),
                range_after.eq(words.degree + job.distinct),
                lane_after.eq(lane + 1),
            ]
        return m


class PositionSource(wiring.Component):
    """Fetcher, picker, mixer and filter in a row.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID.
    max_distinct : int
        Largest fan-out of a job without replacement.

    Members: ``jobs`` in; ``axi``; ``started`` out, each job before its first position;
    ``positions`` out (position, tag: :class:`Pick`); ``aborting`` in: jobs may end early.
    """

    def __init__(self, axi, *, id, max_distinct):
        self._axi = axi
        self._id = id
        self._max_distinct = max_distinct
        position = data.StructLayout({"position": 32, "tag": Pick})
        super().__init__(
            {
                "jobs": In(stream.Signature(Job)),
                "axi": Out(axi),
                "started": Out(stream.Signature(Job)),
                "aborting": In(1),
                "positions": Out(stream.Signature(position)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetcher = fetcher = PositionFetcher(self._axi, id=self._id)
        m.submodules.picker = picker = Picker(self._axi.data_bits)
        m.submodules.mixer = mixer = PositionMixer(Pick)
        m.submodules.distinct = distinct = DistinctFilter(Pick, self._max_distinct)
        m.submodules.started = started = Queue(Job, 16)
        m.d.comb += picker.aborting.eq(self.aborting)
        connect(m, flipped(self.jobs), fetcher.jobs)
        connect(m, fetcher.axi, flipped(self.axi))
        connect(m, fetcher.fetched, picker.fetched)
        connect(m, fetcher.beats, picker.beats)
        connect(m, picker.words, mixer.words)
        connect(m, picker.started, started.entries)
        connect(m, started.head, flipped(self.started))
        connect(m, mixer.positions, distinct.drawn)
        connect(m, distinct.positions, flipped(self.positions))
        return m
