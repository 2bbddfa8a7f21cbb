"""Positions of each job: read from DRAM ahead of their use, or drawn; one a clock, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.mixer import GOLDEN
from rtl.gather.burst import BurstReader
from rtl.gather.distinct import DistinctFilter
from rtl.gather.jobs import Job
from rtl.gather.queue import Pair, Queue, RunUp
from rtl.mixer import PositionMixer

__all__ = ["Pick", "Picker", "PositionCutter", "PositionFetcher", "PositionSource", "Target"]

POSITION_BYTES = 4
WORD = data.StructLayout({"word": 32, "error": 1})
"""An explicit position; ``error``: it could not be read."""


class Pick(data.Struct):
    """What travels beside a position.

    ``none``: stands for a job of no positions. ``fault``: the position could not be read.
    ``distinct``: it must be none of those before it in its job. ``last``: of its job.
    """

    none: 1
    distinct: 1
    fault: 1
    last: 1


class Target(data.Struct):
    """What of a job is needed to read its ids."""

    list_address: 64
    degree: 32
    status: 8
    wide: 1
    last: 1


class Cut(data.Struct):
    """Explicit positions of a job: how many, less 1, and which of its beat is the first one."""

    more: 16
    lane: 8


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
    aborting : In(1)
        From the clock after the next one on nothing more is asked for, and what has been is
        dropped; ``beats`` are made up, as many as are taken, with ``error``.
    settled : Out(1)
        Nothing that was dropped is on the bus any more.
    axi : Out(Axi4Read)
        The bus.
    fetched : Out(stream of Job)
        The same jobs, in order.
    cuts, beats : Out(stream of Cut), Out(stream of data, error)
        Where the positions of the explicit ones are, and the bus words that hold them, in order.
    """

    def __init__(self, axi, *, id, ahead=8):
        self._axi = axi
        self._id = id
        self._ahead = ahead
        beat = data.StructLayout({"data": axi.data_bits, "error": 1})
        super().__init__(
            {
                "jobs": In(stream.Signature(Job)),
                "aborting": In(1),
                "settled": Out(1),
                "axi": Out(axi),
                "fetched": Out(stream.Signature(Job)),
                "cuts": Out(stream.Signature(Cut)),
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
        # No more than there are jobs: those that the picker is at have been cut by then, or are.
        m.submodules.cuts = cuts = Queue(Cut, 2 * self._ahead, can_fill=False)
        connect(m, reader.axi, flipped(self.axi))
        connect(m, waiting.head, flipped(self.fetched))
        connect(m, cuts.head, flipped(self.cuts))
        job, wants = self.jobs.payload, Signal()
        beat_bytes = self._axi.data_bits // 8
        each = beat_bytes // POSITION_BYTES
        bits = each.bit_length() - 1
        first = job.positions_address[2 : 2 + bits]
        # Beats of a stretch are summed up in two steps, each of few bits or of one sum.
        place, beats, small = Signal(64), Signal(16 - bits), Signal(bits + 2)
        room, fire = Signal(), Signal()
        cut, is_cut = Signal(Cut), Signal()
        given_up, was_given_up = Signal(), Signal()
        m.d.sync += [given_up.eq(self.aborting), was_given_up.eq(given_up)]
        m.d.comb += [
            reader.cancel.eq(given_up & ~was_given_up),
            self.settled.eq(reader.settled),
            self.beats.valid.eq(reader.beats.valid | given_up),
            self.beats.payload.data.eq(reader.beats.payload.data),
            self.beats.payload.error.eq(reader.beats.payload.error | given_up),
            reader.beats.ready.eq(self.beats.ready),
            # Whatever the job is, so that its bits need not be looked at first.
            room.eq(waiting.entries.ready & ~wants),
            fire.eq(self.jobs.valid & room),
            reader.stretches.valid.eq(wants),
            reader.stretches.payload.address.eq(place),
            reader.stretches.payload.beats.eq(beats + small[bits:]),
            cuts.entries.valid.eq(is_cut),
            cuts.entries.payload.eq(cut),
            waiting.entries.payload.eq(job),
            waiting.entries.valid.eq(fire),
            self.jobs.ready.eq(room),
        ]
        # From registers, since it takes its time to all bits of a queue; beats come later still.
        m.d.sync += [
            is_cut.eq(fire & job.read),
            cut.more.eq(job.count - 1),
            cut.lane.eq(first),
        ]
        with m.If(fire):
            m.d.sync += [
                wants.eq(job.read),
                place.eq(job.positions_address & -beat_bytes),
                beats.eq(job.count[bits:]),
                small.eq(job.count[:bits] + first + (each - 1)),
            ]
        with m.Elif(reader.stretches.ready):
            m.d.sync += wants.eq(0)
        with m.If(given_up):
            m.d.sync += wants.eq(0)
        return m


class PositionCutter(wiring.Component):
    """Cuts explicit positions out of bus words, one a clock, ahead of the picker.

    Parameters
    ----------
    data_bits : int
        Width of a bus word.

    Members
    -------
    cuts, beats : In
        As from the :class:`PositionFetcher`.
    words : Out(stream of word, error)
        The positions, of all explicit jobs one after the other.
    """

    def __init__(self, data_bits):
        self._data_bits = data_bits
        beat = data.StructLayout({"data": data_bits, "error": 1})
        super().__init__(
            {
                "cuts": In(stream.Signature(Cut)),
                "beats": In(stream.Signature(beat)),
                "words": Out(stream.Signature(WORD)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.run_up = run_up = RunUp(WORD, 2, held=False)
        connect(m, run_up.head, flipped(self.words))
        cut, beat, each = self.cuts.payload, self.beats.payload, self._data_bits // 32
        bits = (each - 1).bit_length()
        active, left, lane, last = Signal(), Signal(16), Signal(bits), Signal()
        fire, load, ends_beat = Signal(), Signal(), Signal()
        m.d.comb += [
            run_up.asked.eq(active & self.beats.valid),
            fire.eq(run_up.asked & run_up.ready),
            load.eq(~active | (fire & last)),
            self.cuts.ready.eq(load),
            self.beats.ready.eq(fire & ends_beat),
        ]
        with m.If(fire):
            m.d.sync += [
                lane.eq(lane + 1),
                left.eq(left - 1),
                last.eq(left == 1),
                ends_beat.eq((left == 1) | (lane + 1 == each - 1)),
            ]
        with m.If(load):
            m.d.sync += [
                active.eq(self.cuts.valid),
                lane.eq(cut.lane),
                left.eq(cut.more),
                last.eq(cut.more == 0),
                ends_beat.eq((cut.more == 0) | (cut.lane[:bits] == each - 1)),
            ]
        # A quarter of the beat first, then the word.
        low = max(bits - 2, 0)
        part, error, within = Signal(32 << low), Signal(), Signal(low)
        m.d.sync += [
            part.eq(beat.data.word_select(lane[low:], 32 << low)),
            error.eq(beat.error),
            within.eq(lane[:low]),
            run_up.arrived.word.eq(part.word_select(within, 32)),
            run_up.arrived.error.eq(error),
        ]
        return m


class Picker(wiring.Component):
    """Turns each job into a run of words for the mixer; its target goes ahead of the first.

    Members
    -------
    fetched : In(stream of Job)
        Jobs.
    given : In(stream of word, error)
        As from the :class:`PositionCutter`.
    words : Out(stream of word, degree, bypass, tag)
        As a :class:`PositionMixer` takes them; a job of no positions gives one with ``tag.none``.
    started : Out(stream of Target)
        The target, before its first word.
    aborting : In(1)
        Jobs end with the word on offer, but explicit ones, all of whose positions are taken.
    """

    fetched: In(stream.Signature(Job))
    given: In(stream.Signature(WORD))
    words: Out(
        stream.Signature(
            data.StructLayout({"word": 32, "degree": 32, "bypass": 1, "tag": Pick}),
        )
    )
    started: Out(stream.Signature(Target))
    aborting: In(1)

    def elaborate(self, platform):
        m = Module()
        job, words, target = self.fetched.payload, self.words.payload, self.started.payload
        active, read, whole, distinct, none = (
            Signal(name=name) for name in ("active", "read", "whole", "distinct", "none")
        )
        counter, reach, number, left = Signal(32), Signal(32), Signal(16), Signal(16)
        is_last, last, fire, load = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            last.eq(is_last | (self.aborting & ~read)),
            words.bypass.eq(read | whole),
            words.degree.eq(reach),
            words.word.eq(Mux(read, self.given.payload.word, Mux(whole, number, counter))),
            words.tag.distinct.eq(distinct),
            words.tag.none.eq(none),
            words.tag.fault.eq(read & self.given.payload.error),
            words.tag.last.eq(last),
            self.words.valid.eq(active & (~read | self.given.valid)),
            fire.eq(self.words.valid & self.words.ready),
            self.given.ready.eq(fire & read),
            load.eq(~active | (fire & last)),
            self.fetched.ready.eq(load & self.started.ready),
            self.started.valid.eq(load & self.fetched.valid),
            *(target[name].eq(job[name]) for name, _ in Target.as_shape()),
        ]
        with m.If(fire):
            m.d.sync += [
                number.eq(number + 1),
                counter.eq(counter + GOLDEN),
                reach.eq(reach + distinct),
                left.eq(left - 1),
                is_last.eq(left <= 2),
            ]
        with m.If(load):
            m.d.sync += [
                active.eq(self.fetched.valid & self.started.ready),
                number.eq(0),
                counter.eq(job.word),
                reach.eq(job.range),
                left.eq(job.count),
                is_last.eq(job.count <= 1),
                read.eq(job.read),
                whole.eq(job.whole),
                distinct.eq(job.distinct),
                none.eq(job.none),
            ]
        return m


class PositionSource(wiring.Component):
    """Fetcher, cutter, picker, mixer and filter in a row.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID.
    max_distinct : int
        Largest fan-out of a job without replacement.

    Members: ``jobs`` in; ``axi``; ``started`` out, each target before its first position;
    ``positions`` out (position, tag: :class:`Pick`); ``aborting`` in: jobs may end early, and
    positions are not read; ``settled`` as of the :class:`PositionFetcher`.
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
                "started": Out(stream.Signature(Target)),
                "aborting": In(1),
                "settled": Out(1),
                "positions": Out(stream.Signature(position)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetcher = fetcher = PositionFetcher(self._axi, id=self._id)
        m.submodules.cutter = cutter = PositionCutter(self._axi.data_bits)
        m.submodules.picker = picker = Picker()
        m.submodules.mixer = mixer = PositionMixer(Pick)
        m.submodules.distinct = distinct = DistinctFilter(Pick, self._max_distinct)
        # As many as there are clocks from a word to the read of its position, for lists of one.
        m.submodules.started = started = Queue(Target, 32, can_fill=False)
        # A clock later, since all that follows a job's last word waits for it.
        m.d.sync += picker.aborting.eq(self.aborting)
        m.d.comb += [
            fetcher.aborting.eq(self.aborting),
            self.settled.eq(fetcher.settled),
        ]
        connect(m, flipped(self.jobs), fetcher.jobs)
        connect(m, fetcher.axi, flipped(self.axi))
        connect(m, fetcher.fetched, picker.fetched)
        m.submodules.cuts = cuts = Pair(Cut)
        connect(m, fetcher.cuts, cuts.entries)
        connect(m, cuts.head, cutter.cuts)
        connect(m, fetcher.beats, cutter.beats)
        connect(m, cutter.words, picker.given)
        connect(m, picker.words, mixer.words)
        # Written a clock later, from registers: the wires to all bits of a target take their time.
        # So is whether there is room: as many targets can be on their way then.
        target, comes, room = Signal(Target), Signal(), Signal()
        m.d.sync += [
            target.eq(picker.started.payload),
            comes.eq(picker.started.valid & picker.started.ready),
            room.eq(started.level < started.depth - 2),
        ]
        m.d.comb += [
            picker.started.ready.eq(room),
            started.entries.valid.eq(comes),
            started.entries.payload.eq(target),
        ]
        connect(m, started.head, flipped(self.started))
        connect(m, mixer.positions, distinct.drawn)
        connect(m, distinct.positions, flipped(self.positions))
        return m
