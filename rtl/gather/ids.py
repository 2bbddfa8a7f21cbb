"""Id reads: many in flight, one outcome a position, in order."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import Burst
from rtl.contract.gather import GatherStatus
from rtl.gather.descriptors import Job
from rtl.gather.positions import Pick
from rtl.gather.queue import Queue

__all__ = ["IdReader", "IdRequester", "Outcome", "Request"]

POSITION = data.StructLayout({"position": 32, "tag": Pick})


class Request(data.Struct):
    """One position on its way: an id to read at ``address``, or (``read`` clear) nothing to read.

    ``status`` is why nothing is read. ``end`` closes the target, ``last`` the launch with it.
    """

    address: 64
    status: 8
    read: 1
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


class IdReader(wiring.Component):
    """Issues one single-beat AXI read a request and pairs the answers with the requests.

    All reads have one AXI ID, so answers come in order. A read is issued only with a ``credit``,
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
        A place is free; each issued read takes one (``issued``).
    issued, blocked : Out(1)
        A read went out in this clock; one could not since ``outstanding`` are in flight.
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
        flight = data.StructLayout(
            {"lane": lane_bits, "status": 8, "read": 1, "wide": 1, "end": 1, "last": 1}
        )
        m.submodules.flights = flights = Queue(flight, self._outstanding)
        self._issue(m, flights.entries, lane_bits)
        self._answer(m, flights.head, lanes)
        return m

    def _issue(self, m, flight, lane_bits):
        request, ar = self.requests.payload, self.axi.ar
        m.d.comb += [
            ar.payload.addr.eq(request.address),
            ar.payload.size.eq(Mux(request.wide, 3, 2)),
            ar.payload.burst.eq(Burst.INCR),
            ar.payload.id.eq(self._id),
            ar.valid.eq(self.requests.valid & request.read & self.credit & flight.ready),
            self.issued.eq(ar.valid & ar.ready),
            self.blocked.eq(self.requests.valid & request.read & self.credit & ~flight.ready),
            flight.valid.eq(self.requests.valid & (~request.read | self.issued)),
            flight.payload.lane.eq(request.address[2 : 2 + lane_bits]),
            self.requests.ready.eq(flight.valid & flight.ready),
        ]
        m.d.comb += [
            flight.payload[name].eq(request[name])
            for name in ("status", "read", "wide", "end", "last")
        ]

    def _answer(self, m, flight, lanes):
        head, r, outcome = flight.payload, self.axi.r, self.outcomes.payload
        low, high = Signal(32), Signal(32)
        m.d.comb += [
            low.eq(r.payload.data.word_select(head.lane, 32)),
            high.eq(r.payload.data.word_select(head.lane | 1, 32)),
            outcome.id.eq(low | Mux(head.wide, high << 32, 0)),
            outcome.read.eq(head.read),
            outcome.status.eq(
                Mux(head.read & r.payload.resp[1], GatherStatus.BUS_ERROR, head.status)
            ),
            outcome.end.eq(head.end),
            outcome.last.eq(head.last),
            self.outcomes.valid.eq(flight.valid & (~head.read | r.valid)),
            flight.ready.eq(self.outcomes.valid & self.outcomes.ready),
            r.ready.eq(flight.valid & head.read & self.outcomes.ready),
        ]
