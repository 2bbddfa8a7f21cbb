# amaranth: UnusedElaboratable=no
"""Id reads: many in flight, one outcome a position, in order; neighbours in a beat share it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import Burst
from rtl.contract.gather import GatherStatus
from rtl.gather.beat_places import BeatPlaces
from rtl.gather.positions import Pick, Target
from rtl.gather.queue import QUEUED, Queue, RunUp
from rtl.gather.rows import RowCount

__all__ = ["IdReader", "IdRequester", "Outcome", "Request"]

FLAGS = ("read", "shared", "wide", "end", "last")
POSITION = data.StructLayout({"position": 32, "tag": Pick})
STEPS = 4
"""Registers of a request: joined with its target, judged, placed, compared."""
ASKED = 4
"""Reads that can wait for their turn on the bus, so that there are some when it comes."""


class Request(data.Struct):
    """One position on its way: an id to read at ``address``, or (``read`` clear) nothing to read.

    ``status`` is why nothing is read. ``shared``: the id is in the beat of the read before it, so
    there is nothing to ask for. ``end`` closes the target, ``last`` the launch with it.
    """

    address: 64
    status: 8
    read: 1
    shared: 1
    wide: 1
    end: 1
    last: 1


class Outcome(data.Struct):
    """What became of a request: ``id`` counts only where ``read`` is set and ``status`` is OK."""

    id: 64
    status: 8
    read: 1
    end: 1
    last: 1


class IdRequester(wiring.Component):
    """Joins positions with their targets and computes addresses; one a clock.

    A position at or beyond the list's degree refuses the target with BAD_DESCRIPTOR, one that could
    not be read with BUS_ERROR, any position with ABORTED while ``aborting`` is set; what follows in
    that target is not read either. A read of the beat that was read before it is ``shared``, but
    the first one after ``fresh``: what the beat holds may have been written since.

    What has been taken runs through without a stop, into a queue. Latency is :attr:`latency`.

    Parameters
    ----------
    data_bits : int
        Width of a beat.

    Members: ``targets``, ``positions``, ``aborting`` and ``fresh`` in, ``requests`` out.
    """

    def __init__(self, data_bits):
        self._data_bits = data_bits
        self.run_up = RunUp(Request, STEPS)
        super().__init__(
            {
                "targets": In(stream.Signature(Target)),
                "positions": In(stream.Signature(POSITION)),
                "aborting": In(1),
                "fresh": In(1),
                "requests": Out(stream.Signature(Request)),
            }
        )

    @property
    def data_bits(self):
        return self._data_bits

    @property
    def latency(self):
        """Clocks from a position to its request: the registers, and the queue."""
        return STEPS + QUEUED

    def elaborate(self, platform):
        m = Module()
        m.submodules.run_up = run_up = self.run_up
        fire = Signal()
        m.d.comb += [
            run_up.asked.eq(self.targets.valid & self.positions.valid),
            fire.eq(run_up.asked & run_up.ready),
            self.positions.ready.eq(fire),
            self.targets.ready.eq(fire & self.positions.payload.tag.last),
            self.requests.payload.eq(run_up.head.payload),
            self.requests.valid.eq(run_up.head.valid),
            run_up.head.ready.eq(self.requests.ready),
        ]
        joined = Signal(data.StructLayout({"target": Target, "pick": POSITION, "valid": 1}))
        m.d.sync += [
            joined.target.eq(self.targets.payload),
            joined.pick.eq(self.positions.payload),
            joined.valid.eq(fire),
        ]
        offset, base, judged = self._judge(m, joined)
        self._place(m, run_up.arrived, offset, base, judged)
        return m

    def _judge(self, m, joined):
        """Second register: whether the position is good, and how far its id is from the first."""
        target, pick = joined.target, joined.pick
        judged = Signal(
            data.StructLayout({"valid": 1, "none": 1, "bad": 1, "request": Request}), name="judged"
        )
        offset, base, status = Signal(35), Signal(64), Signal(GatherStatus)
        with m.If(pick.tag.none):
            m.d.comb += status.eq(target.status)
        with m.Elif(self.aborting):
            m.d.comb += status.eq(GatherStatus.ABORTED)
        with m.Elif(pick.tag.fault):
            m.d.comb += status.eq(GatherStatus.BUS_ERROR)
        with m.Elif(pick.position >= target.degree):
            m.d.comb += status.eq(GatherStatus.BAD_DESCRIPTOR)
        m.d.sync += [
            offset.eq(Mux(target.wide, pick.position << 3, pick.position << 2)),
            base.eq(target.list_address),
            judged.valid.eq(joined.valid),
            judged.none.eq(pick.tag.none),
            judged.bad.eq(~pick.tag.none & (status != GatherStatus.OK)),
            judged.request.status.eq(status),
            judged.request.wide.eq(target.wide),
            judged.request.end.eq(pick.tag.last),
            judged.request.last.eq(pick.tag.last & target.last),
        ]
        return offset, base, judged

    def _place(self, m, arrived, offset, base, judged):
        """Third register: the address. Fourth: whether it is in the beat of the read before."""
        placed, placed_valid, failed = Signal(Request), Signal(), Signal()
        m.d.sync += [
            placed.eq(judged.request),
            placed.address.eq(base + offset),
            placed.read.eq(~judged.none & ~judged.bad & ~failed),
            placed_valid.eq(judged.valid),
        ]
        with m.If(judged.valid):
            m.d.sync += failed.eq((failed | judged.bad) & ~judged.request.end)
        beat = placed.address[(self._data_bits // 8).bit_length() - 1 :]
        newest, known = Signal.like(beat, name="newest_beat"), Signal()
        m.d.sync += [
            arrived.eq(placed),
            arrived.shared.eq(placed.read & known & (beat == newest)),
        ]
        with m.If(placed_valid & placed.read):
            m.d.sync += [known.eq(1), newest.eq(beat)]
        with m.If(self.fresh):
            m.d.sync += known.eq(0)


class IdReader(wiring.Component):
    """Reads one beat a request over AXI, none for a shared one, and pairs answers with requests.

    Reads take the AXI IDs by turns, so answers may come in another order; each has a place of its
    own (:class:`BeatPlaces`), so ``axi.r`` never waits. What needs a row of the ring goes on only
    with a ``credit``; at most ``outstanding`` requests are on their way, from here until their beat
    has been looked at.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    ids : range
        AXI IDs: a power of two of them, at most ``outstanding``, from a multiple of it on.
    outstanding : int
        Requests in flight; a power of two.
    result_words : int
        Ids of a row of the ring; the first row of a target has one place less, for its header,
        unless there is but one.

    Members
    -------
    requests : In(stream of Request)
        What to read.
    credit : In(1)
        A row is free.
    reserve : Out(1)
        It is taken in this clock.
    hold : In(1)
        No outcome more than those of four clocks can be taken.
    issued, merged, blocked : Out(1)
        A read went out in this clock; a shared request went on; one of either could not since
        ``outstanding`` are in flight.
    axi : Out(Axi4Read)
        The bus.
    outcome, outcome_valid : Out
        One a request, in order: it is there for one clock.
    """

    def __init__(self, axi, *, ids, outstanding, result_words):
        self._axi = axi
        self._ids = ids
        self._outstanding = outstanding
        self._result_words = result_words
        flags = ("reserve", "issued", "merged", "blocked", "outcome_valid")
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "credit": In(1),
                "hold": In(1),
                "axi": Out(axi),
                "outcome": Out(Outcome),
                **dict.fromkeys(flags, Out(1)),
            }
        )

    @property
    def outstanding(self):
        return self._outstanding

    @property
    def _id_width(self):
        return (len(self._ids) - 1).bit_length()

    def elaborate(self, platform):
        m = Module()
        lane_bits = (self._axi.data_bits // 32 - 1).bit_length()
        self._flight = data.StructLayout(
            {"lane": lane_bits, "status": 8, **dict.fromkeys(FLAGS, 1)}
        )
        m.submodules.flights = flights = Queue(self._flight, self._outstanding, can_fill=False)
        # One of the requests on their way is not in the queue: that whose beat is waited for.
        under_way = Signal(range(self._outstanding + 1))
        # Written a clock later, from registers: no beat comes as soon.
        flight, begun = Signal(self._flight), Signal()
        m.d.comb += begun.eq(self._issue(m, flight, under_way[-1], lane_bits))
        m.d.sync += flights.entries.valid.eq(begun)
        m.d.comb += flights.entries.payload.eq(flight)
        ended = self._answer(m, flights.head)
        with m.If(begun & ~ended):
            m.d.sync += under_way.eq(under_way + 1)
        with m.Elif(ended & ~begun):
            m.d.sync += under_way.eq(under_way - 1)
        return m

    def _issue(self, m, flight, full, lane_bits):
        """Let a request go that has all it needs; returns whether one goes."""
        request, valid = self.requests.payload, self.requests.valid
        go, may = Signal(), Signal()
        beat_bits = (self._axi.data_bits // 8).bit_length() - 1
        m.submodules.rows = rows = RowCount(self._result_words)
        m.submodules.asked = asked = Queue(64 - beat_bits, ASKED)
        ar, turn = self.axi.ar, Signal(self._id_width)
        m.d.comb += [
            self.requests.ready.eq(go),
            may.eq(valid & request.read & (~rows.needs_row | self.credit)),
            self.issued.eq(may & ~request.shared & ~full & asked.entries.ready),
            self.merged.eq(may & request.shared & ~full),
            self.blocked.eq(may & full),
            go.eq((valid & ~request.read & ~full) | self.issued | self.merged),
            self.reserve.eq((self.issued | self.merged) & rows.needs_row),
            rows.step.eq(go),
            rows.read.eq(request.read),
            rows.end.eq(request.end),
            asked.entries.valid.eq(self.issued),
            asked.entries.payload.eq(request.address[beat_bits:]),
            ar.valid.eq(asked.head.valid),
            asked.head.ready.eq(ar.ready),
            ar.payload.addr.eq(asked.head.payload << beat_bits),
            ar.payload.size.eq(beat_bits),
            ar.payload.burst.eq(Burst.INCR),
            ar.payload.id.eq(self._ids.start | turn),
        ]
        with m.If(ar.valid & ar.ready):
            m.d.sync += turn.eq((turn + 1)[: self._id_width])
        m.d.sync += flight.lane.eq(request.address[2 : 2 + lane_bits])
        m.d.sync += [flight[name].eq(request[name]) for name in ("status", *FLAGS)]
        return go

    def _answer(self, m, flight):
        """Pair beats with requests; returns whether a request is over."""
        r = self.axi.r
        beat = data.StructLayout({"data": self._axi.data_bits, "error": 1})
        m.submodules.beats = beats = BeatPlaces(beat, self._outstanding, len(self._ids))
        first, first_valid, fresh, fire = Signal(self._flight), Signal(), Signal(), Signal()
        picked, picked_valid, turns = Signal(self._flight), Signal(), Signal()
        oldest, newest = Signal(beat), Signal(beat)
        paired, paired_valid = Signal(self._flight), Signal()
        m.d.comb += [
            r.ready.eq(1),
            beats.arrives.eq(r.valid),
            beats.id.eq(r.payload.id),
            beats.beat.data.eq(r.payload.data),
            beats.beat.error.eq(r.payload.resp[1]),
            flight.ready.eq(~first_valid | fire),
            fire.eq(first_valid & (~fresh | beats.head.valid) & ~self.hold),
            beats.head.ready.eq(fire & fresh),
        ]
        with m.If(flight.ready):
            m.d.sync += [
                first.eq(flight.payload),
                first_valid.eq(flight.valid),
                fresh.eq(flight.payload.read & ~flight.payload.shared),
            ]
        # Two steps, so that what enables a whole beat's register is a register itself.
        m.d.sync += [
            picked.eq(first),
            picked_valid.eq(fire),
            turns.eq(beats.head.ready),
            oldest.eq(beats.head.payload),
            paired.eq(picked),
            paired_valid.eq(picked_valid),
        ]
        with m.If(turns):
            m.d.sync += newest.eq(oldest)
        self._cut_out(m, newest, paired, paired_valid)
        return fire

    def _cut_out(self, m, newest, paired, valid):
        """The id, and what became of its request."""
        pair, low, high = Signal(64), Signal(32), Signal(32)
        m.d.comb += [
            pair.eq(newest.data.word_select(paired.lane >> 1, 64)),
            low.eq(pair.word_select(paired.lane[0], 32)),
            high.eq(pair[32:]),
        ]
        m.d.sync += [
            self.outcome_valid.eq(valid),
            self.outcome.id.eq(low | Mux(paired.wide, high << 32, 0)),
            self.outcome.read.eq(paired.read),
            self.outcome.status.eq(
                Mux(paired.read & newest.error, GatherStatus.BUS_ERROR, paired.status)
            ),
            self.outcome.end.eq(paired.end),
            self.outcome.last.eq(paired.last),
        ]
