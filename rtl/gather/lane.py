"""One lane of the gather unit: from jobs to the ids of complete targets."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.gather.ids import IdReader, IdRequester
from rtl.gather.jobs import Job
from rtl.gather.positions import PositionSource
from rtl.gather.results import TargetCollector, TargetRecord
from rtl.gather.row_ring import RowRing

__all__ = ["GatherLane", "JobDealer"]


class JobDealer(wiring.Component):
    """Deals jobs to lanes, one after the other, whatever they are.

    Parameters
    ----------
    lanes : int
        How many.

    Members
    -------
    jobs : In(stream of Job)
        Jobs.
    jobs0, jobs1, ... : Out(stream of Job)
        Those of each lane.
    """

    def __init__(self, lanes):
        self._lanes = lanes
        out = {f"jobs{lane}": Out(stream.Signature(Job)) for lane in range(lanes)}
        super().__init__({"jobs": In(stream.Signature(Job)), **out})

    def elaborate(self, platform):
        m = Module()
        if self._lanes == 1:
            connect(m, flipped(self.jobs), flipped(self.jobs0))
            return m
        turn = Signal(range(self._lanes))
        for lane in range(self._lanes):
            out = getattr(self, f"jobs{lane}")
            m.d.comb += out.payload.eq(self.jobs.payload)
            with m.If(turn == lane):
                m.d.comb += [out.valid.eq(self.jobs.valid), self.jobs.ready.eq(out.ready)]
        with m.If(self.jobs.valid & self.jobs.ready):
            m.d.sync += turn.eq(turn + 1)
        return m


class GatherLane(wiring.Component):
    """Positions, reads and ids of the jobs that it is dealt, in their order.

    Parameters
    ----------
    axi : Axi4Read
        Signature of both ports.
    position_id : int
        AXI ID of positions.
    ids : range
        AXI IDs of ids.
    outstanding : int
        As of the :class:`IdReader`.
    max_distinct : int
        As of the :class:`PositionSource`.
    rows, result_words : int
        As of the :class:`TargetCollector`.

    Members
    -------
    jobs : In(stream of Job)
        What is to be done.
    position_axi, id_axi : Out(Axi4Read)
        The bus.
    aborting, fresh : In(1)
        As of the :class:`IdRequester`.
    settled : Out(1)
        No read of positions that was given up is on the bus any more.
    records : Out(stream of TargetRecord)
        Complete targets.
    row, released, ids
        As of the :class:`ResultWriter`.
    issued, merged, blocked : Out(1)
        As of the :class:`IdReader`.
    """

    def __init__(self, axi, *, position_id, ids, outstanding, max_distinct, rows, result_words):
        self._axi = axi
        self._ids = (position_id, ids)
        self._outstanding = outstanding
        self._max_distinct = max_distinct
        self._rows = rows
        self._result_words = result_words
        super().__init__(
            {
                "jobs": In(stream.Signature(Job)),
                "position_axi": Out(axi),
                "id_axi": Out(axi),
                "aborting": In(1),
                "fresh": In(1),
                "settled": Out(1),
                "records": Out(stream.Signature(TargetRecord)),
                "row": In(range(rows)),
                "released": In(1),
                "ids": Out(64 * result_words),
                **dict.fromkeys(("issued", "merged", "blocked"), Out(1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        axi, (position_id, ids) = self._axi, self._ids
        m.submodules.source = source = PositionSource(
            axi, id=position_id, max_distinct=self._max_distinct
        )
        m.submodules.requester = requester = IdRequester(axi.data_bits)
        m.submodules.reader = reader = IdReader(
            axi, ids=ids, outstanding=self._outstanding, result_words=self._result_words
        )
        m.submodules.collector = collector = TargetCollector(
            self._rows, result_words=self._result_words
        )
        m.submodules.ring = ring = RowRing(self._rows, self._result_words)
        connect(m, flipped(self.jobs), source.jobs)
        connect(m, source.axi, flipped(self.position_axi))
        connect(m, source.started, requester.targets)
        connect(m, source.positions, requester.positions)
        connect(m, requester.requests, reader.requests)
        connect(m, reader.axi, flipped(self.id_axi))
        connect(m, collector.records, flipped(self.records))
        m.d.comb += [
            source.aborting.eq(self.aborting),
            self.settled.eq(source.settled),
            requester.aborting.eq(self.aborting),
            requester.fresh.eq(self.fresh),
            reader.credit.eq(collector.credit),
            reader.hold.eq(collector.hold),
            collector.reserve.eq(reader.reserve),
            collector.outcome.eq(reader.outcome),
            collector.outcome_valid.eq(reader.outcome_valid),
            collector.released.eq(self.released),
            ring.write_enable.eq(collector.write_enable << collector.write_place),
            ring.write_row.eq(collector.write_row),
            ring.write_data.eq(collector.write_data),
            ring.row.eq(self.row),
            self.ids.eq(ring.ids),
            self.issued.eq(reader.issued),
            self.merged.eq(reader.merged),
            self.blocked.eq(reader.blocked),
        ]
        return m
