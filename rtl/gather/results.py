"""Collects the ids of each target and lets them out behind its header, or none of them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.contract.gather import GatherStatus, ResultHeader, result_transfer
from rtl.gather.ids import Outcome
from rtl.gather.queue import Queue

__all__ = ["ResultWriter", "TargetCollector", "TargetRecord"]


class TargetRecord(data.Struct):
    """A target all of whose outcomes are in."""

    count: 16
    status: 8
    last: 1


class TargetCollector(wiring.Component):
    """Keeps ids in a ring until their target is complete; gives a failed target's places back.

    Parameters
    ----------
    places : int
        Ids of the ring; a power of two, at least twice the largest fan-out to keep reads going.

    Members
    -------
    outcomes : In(stream of Outcome)
        Outcomes in order.
    reserve : In(1)
        A place is taken, for the id of a read that is being issued.
    credit : Out(1)
        A place can be reserved.
    write_enable, write_address, write_data : Out
        The ring's write port.
    records : Out(stream of TargetRecord)
        Complete targets; the ids of a good one are the next ``count`` of the ring.
    released : In(1)
        The oldest id of the ring has left.
    """

    def __init__(self, places):
        self._places = places
        super().__init__(
            {
                "outcomes": In(stream.Signature(Outcome)),
                "reserve": In(1),
                "credit": Out(1),
                "write_enable": Out(1),
                "write_address": Out(range(places)),
                "write_data": Out(64),
                "records": Out(stream.Signature(TargetRecord)),
                "released": In(1),
            }
        )

    @property
    def places(self):
        return self._places

    def elaborate(self, platform):
        m = Module()
        outcome, record = self.outcomes.payload, self.records.payload
        begin, count = Signal(range(self._places)), Signal(range(self._places + 1))
        status, free = Signal(8), Signal(range(self._places + 1), init=self._places)
        failed, fire, total, given_back = (
            Signal(),
            Signal(),
            Signal(range(self._places + 1)),
            Signal(range(self._places + 1)),
        )
        m.d.comb += [
            record.status.eq(Mux(status != GatherStatus.OK, status, outcome.status)),
            failed.eq(record.status != GatherStatus.OK),
            total.eq(count + outcome.read),
            record.count.eq(Mux(failed, 0, total)),
            record.last.eq(outcome.last),
            self.records.valid.eq(self.outcomes.valid & outcome.end),
            self.outcomes.ready.eq(~outcome.end | self.records.ready),
            fire.eq(self.outcomes.valid & self.outcomes.ready),
            self.write_enable.eq(fire & outcome.read),
            self.write_address.eq(begin + count),
            self.write_data.eq(outcome.id),
            given_back.eq(Mux(fire & outcome.end & failed, total, 0)),
            self.credit.eq(free != 0),
        ]
        m.d.sync += free.eq(free - self.reserve + self.released + given_back)
        with m.If(fire):
            with m.If(outcome.end):
                m.d.sync += [begin.eq(begin + record.count), count.eq(0), status.eq(0)]
            with m.Else():
                m.d.sync += [count.eq(total), status.eq(record.status)]
        return m


class ResultWriter(wiring.Component):
    """From outcomes to result words: header, then ids, target after target; one word a clock.

    A target with any bad outcome gives a header with the first bad status, count 0 and no ids.

    Parameters
    ----------
    places : int
        As of the :class:`TargetCollector`.
    records : int
        Complete targets that can wait; a power of two.
    result_words : int
        Words of a transfer at most. Each has one.

    Members
    -------
    outcomes, reserve, credit :
        As of the collector.
    results : Out(stream of result_transfer)
        The words.
    header : Out(1)
        The first word on offer is a header.
    """

    def __init__(self, places, *, records=16, result_words=2):
        self._places = places
        self._records = records
        super().__init__(
            {
                "outcomes": In(stream.Signature(Outcome)),
                "reserve": In(1),
                "credit": Out(1),
                "results": Out(stream.Signature(result_transfer(result_words))),
                "header": Out(1),
            }
        )

    @property
    def places(self):
        return self._places

    def elaborate(self, platform):
        m = Module()
        m.submodules.collector = collector = TargetCollector(self._places)
        m.submodules.records = records = Queue(TargetRecord, self._records)
        m.submodules.ring = ring = memory.Memory(shape=64, depth=self._places, init=[])
        write, read = ring.write_port(), ring.read_port()
        connect(m, collector.records, records.entries)
        results, record = self.results, records.head.payload
        left, oldest = Signal(16), Signal(range(self._places))
        header = data.View(ResultHeader, Signal(64, name="header_word"))
        fire = Signal()
        m.d.comb += [
            collector.outcomes.payload.eq(self.outcomes.payload),
            collector.outcomes.valid.eq(self.outcomes.valid),
            self.outcomes.ready.eq(collector.outcomes.ready),
            collector.reserve.eq(self.reserve),
            self.credit.eq(collector.credit),
            write.en.eq(collector.write_enable),
            write.addr.eq(collector.write_address),
            write.data.eq(collector.write_data),
            header.count.eq(record.count),
            header.status.eq(record.status),
            self.header.eq(left == 0),
            results.valid.eq(records.head.valid),
            results.payload.words[0].eq(Mux(self.header, header.as_value(), read.data)),
            results.payload.count.eq(1),
            results.payload.last.eq(record.last & Mux(self.header, record.count == 0, left == 1)),
            fire.eq(results.valid & results.ready),
            collector.released.eq(fire & ~self.header),
            read.addr.eq(oldest + collector.released),
            records.head.ready.eq(fire & Mux(self.header, record.count == 0, left == 1)),
        ]
        with m.If(fire):
            m.d.sync += left.eq(Mux(self.header, record.count, left - 1))
        with m.If(collector.released):
            m.d.sync += oldest.eq(oldest + 1)
        return m
