"""Id reads: many in flight, one outcome a position, in order; neighbours in a beat share it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import Burst
from rtl.contract.gather import GatherStatus
from rtl.gather.descriptors import Job
from rtl.gather.positions import Pick
from rtl.gather.queue import Queue

__all__ = ["BeatMerger", "IdReader", "IdRequester", "Outcome", "Request"]

FLAGS = ("read", "shared", "wide", "end", "last")
POSITION = data.StructLayout({"position": 32, "tag": Pick})


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
    """Joins positions with their jobs and computes addresses; one a clock, one clock of latency.

    A position at or beyond the list's degree refuses the target with BAD_DESCRIPTOR, one that could
    not be read with BUS_ERROR, any position with ABORTED while ``aborting`` is set; what follows in
    that target is not read either.

    Members: ``jobs``, ``positions`` and ``aborting`` in, ``requests`` out.
    """

    jobs: In(stream.Signature(Job))
    positions: In(stream.Signature(POSITION))
    aborting: In(1)
    requests: Out(stream.Signature(Request))

    def elaborate(self, platform):
        m = Module()
        job, pick, request = self.jobs.payload, self.positions.payload, Signal(Request)
        failed, fire, bad = Signal(), Signal(), Signal()
        status = Signal(GatherStatus)
        m.d.comb += [
            bad.eq(
                ~pick.tag.none & (self.aborting | pick.tag.fault | (pick.position >= job.degree))
            ),
            request.address.eq(
                job.list_address + Mux(job.wide, pick.position << 3, pick.position << 2)
            ),
            request.status.eq(status),
            request.read.eq(~pick.tag.none & ~bad & ~failed),
            request.wide.eq(job.wide),
            request.end.eq(pick.tag.last),
            request.last.eq(pick.tag.last & job.last),
            fire.eq(
                self.jobs.valid
                & self.positions.valid
                & (~self.requests.valid | self.requests.ready)
            ),
            self.positions.ready.eq(fire),
            self.jobs.ready.eq(fire & pick.tag.last),
        ]
        with m.If(pick.tag.none):
            m.d.comb += status.eq(job.status)
        with m.Elif(self.aborting):
            m.d.comb += status.eq(GatherStatus.ABORTED)
        with m.Elif(bad):
            m.d.comb += status.eq(
                Mux(pick.tag.fault, GatherStatus.BUS_ERROR, GatherStatus.BAD_DESCRIPTOR)
            )
        with m.If(fire):
            m.d.sync += [
                self.requests.payload.eq(request),
                self.requests.valid.eq(1),
                failed.eq((failed | bad) & ~pick.tag.last),
            ]
        with m.Elif(self.requests.ready):
            m.d.sync += self.requests.valid.eq(0)
        return m


class BeatMerger(wiring.Component):
    """Marks requests as ``shared``; one a clock, one clock of latency.

    A launch's first read is never shared: what the beat holds may have been written since.

    Parameters
    ----------
    data_bits : int
        Width of a beat.

    Members: ``requests`` in, ``merged`` out.
    """

    def __init__(self, data_bits):
        self._data_bits = data_bits
        requests = stream.Signature(Request)
        super().__init__({"requests": In(requests), "merged": Out(requests)})

    @property
    def data_bits(self):
        return self._data_bits

    def elaborate(self, platform):
        m = Module()
        given, taken = self.requests.payload, self.merged.payload
        beat = given.address[(self._data_bits // 8).bit_length() - 1 :]
        newest, known, same, fire = Signal.like(beat), Signal(), Signal(), Signal()
        m.d.comb += [
            self.requests.ready.eq(~self.merged.valid | self.merged.ready),
            fire.eq(self.requests.valid & self.requests.ready),
            same.eq(known & (beat == newest)),
        ]
        with m.If(fire):
            m.d.sync += [
                taken.eq(given),
                taken.shared.eq(given.read & same),
                self.merged.valid.eq(1),
                known.eq((known | given.read) & ~given.last),
            ]
            with m.If(given.read):
                m.d.sync += newest.eq(beat)
        with m.Elif(self.merged.ready):
            m.d.sync += self.merged.valid.eq(0)
        return m


class IdReader(wiring.Component):
    """Reads one beat a request over AXI, none for a shared one, and pairs answers with requests.

    All reads have one AXI ID, so answers come in order. A request goes on only with a ``credit``,
    a place that is kept for its id; at most ``outstanding`` requests are in flight.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    id : int
        AXI ID.
    outstanding : int
        Requests in flight; a power of two.

    Members
    -------
    requests : In(stream of Request)
        What to read.
    credit : In(1)
        A place is free; each issued or merged request takes one.
    issued, merged, blocked : Out(1)
        A read went out in this clock; a shared request went on; one of either could not since
        ``outstanding`` are in flight.
    axi : Out(Axi4Read)
        The bus.
    outcomes : Out(stream of Outcome)
        One a request, in order.
    """

    def __init__(self, axi, *, id, outstanding):
        self._axi = axi
        self._id = id
        self._outstanding = outstanding
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "credit": In(1),
                "issued": Out(1),
                "merged": Out(1),
                "blocked": Out(1),
                "axi": Out(axi),
                "outcomes": Out(stream.Signature(Outcome)),
            }
        )

    @property
    def outstanding(self):
        return self._outstanding

    def elaborate(self, platform):
        m = Module()
        lanes = self._axi.data_bits // 32
        lane_bits = (lanes - 1).bit_length()
        flight = data.StructLayout({"lane": lane_bits, "status": 8, **dict.fromkeys(FLAGS, 1)})
        m.submodules.flights = flights = Queue(flight, self._outstanding)
        self._issue(m, flights.entries, lane_bits)
        self._answer(m, flights.head, lanes)
        return m

    def _issue(self, m, flight, lane_bits):
        request, ar = self.requests.payload, self.axi.ar
        beat_bytes = self._axi.data_bits // 8
        wanted = self.requests.valid & request.read & self.credit
        m.d.comb += [
            ar.payload.addr.eq(request.address & -beat_bytes),
            ar.payload.size.eq(beat_bytes.bit_length() - 1),
            ar.payload.burst.eq(Burst.INCR),
            ar.payload.id.eq(self._id),
            ar.valid.eq(wanted & ~request.shared & flight.ready),
            self.issued.eq(ar.valid & ar.ready),
            self.merged.eq(wanted & request.shared & flight.ready),
            self.blocked.eq(wanted & ~flight.ready),
            flight.valid.eq(self.requests.valid & (~request.read | self.issued | self.merged)),
            flight.payload.lane.eq(request.address[2 : 2 + lane_bits]),
            self.requests.ready.eq(flight.valid & flight.ready),
        ]
        m.d.comb += [flight.payload[name].eq(request[name]) for name in ("status", *FLAGS)]

    def _answer(self, m, flight, lanes):
        head, r, outcome = flight.payload, self.axi.r, self.outcomes.payload
        beat = data.StructLayout({"data": self._axi.data_bits, "error": 1})
        newest, used = Signal(beat), Signal(beat)
        low, high, fresh = Signal(32), Signal(32), Signal()
        m.d.comb += [
            fresh.eq(head.read & ~head.shared),
            used.data.eq(Mux(head.shared, newest.data, r.payload.data)),
            used.error.eq(Mux(head.shared, newest.error, r.payload.resp[1])),
            low.eq(used.data.word_select(head.lane, 32)),
            high.eq(used.data.word_select(head.lane | 1, 32)),
            outcome.id.eq(low | Mux(head.wide, high << 32, 0)),
            outcome.read.eq(head.read),
            outcome.status.eq(Mux(head.read & used.error, GatherStatus.BUS_ERROR, head.status)),
            outcome.end.eq(head.end),
            outcome.last.eq(head.last),
            self.outcomes.valid.eq(flight.valid & (~fresh | r.valid)),
            flight.ready.eq(self.outcomes.valid & self.outcomes.ready),
            r.ready.eq(flight.valid & fresh & self.outcomes.ready),
        ]
        with m.If(r.valid & r.ready):
            m.d.sync += newest.eq(used)
