# amaranth: UnusedElaboratable=no
"""Collects the ids of each target and lets them out behind its header, or none of them."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.gather import GatherStatus, ResultHeader, result_transfer
from rtl.gather.ids import Outcome
from rtl.gather.queue import Queue, RunUp
from rtl.gather.rows import RowCount

__all__ = ["ResultWriter", "TargetCollector", "TargetRecord"]

UNDER_WAY = 6
"""Outcomes that can still come after ``hold``, and one more."""
STEPS = 3
"""Registers of a transfer: row asked for, row read, words put together."""


class TargetRecord(data.Struct):
    """A target all of whose outcomes are in."""

    count: 16
    status: 8
    last: 1


class TargetCollector(wiring.Component):
    """Keeps the ids of targets in rows of a ring until they are complete.

    A target begins a row, whose first place is that of its header if a row has several. The rows of
    a failed target are given back.

    Parameters
    ----------
    rows : int
        Of the ring; a power of two, at least twice those of the largest target to keep reads going.
    result_words : int
        Places of a row.
    records : int
        Complete targets that can wait; a power of two from 8 up.

    Members
    -------
    outcome, outcome_valid : In
        As from the reader.
    hold : Out(1)
        No outcome should be begun.
    reserve : In(1)
        A row is taken, for the id of a read that is being issued.
    credit : Out(1)
        A row can be reserved.
    write_enable, write_row, write_place, write_data : Out
        The ring's write port.
    records : Out(stream of TargetRecord)
        Complete targets; the ids of a good one are in the next rows of the ring.
    released : In(1)
        The oldest row of the ring has been read.
    """

    def __init__(self, rows, *, result_words, records=16):
        self._rows = rows
        self._result_words = result_words
        self._records = records
        flags = ("hold", "credit", "write_enable")
        super().__init__(
            {
                "outcome": In(Outcome),
                "outcome_valid": In(1),
                "reserve": In(1),
                "released": In(1),
                **dict.fromkeys(flags, Out(1)),
                "write_row": Out(range(rows)),
                "write_place": Out(range(result_words)),
                "write_data": Out(64),
                "records": Out(stream.Signature(TargetRecord)),
            }
        )

    @property
    def rows(self):
        return self._rows

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Queue(TargetRecord, self._records)
        m.submodules.place = place = RowCount(self._result_words)
        connect(m, kept.head, flipped(self.records))
        outcome, record = self.outcome, kept.entries.payload
        base, current, after = (
            Signal(range(self._rows), name=name) for name in ("base", "current", "after")
        )
        count, used = Signal(16), Signal(range(self._rows + 1))
        status, failed, ends, takes = Signal(8), Signal(), Signal(), Signal()
        bad = Signal()
        next_row, next_used = Signal(range(self._rows)), Signal(range(self._rows + 1))
        m.d.comb += [
            record.status.eq(Mux(bad, status, outcome.status)),
            failed.eq(bad | (outcome.status != GatherStatus.OK)),
            record.count.eq(Mux(failed, 0, count + outcome.read)),
            record.last.eq(outcome.last),
            ends.eq(self.outcome_valid & outcome.end),
            kept.entries.valid.eq(ends),
            place.step.eq(self.outcome_valid),
            place.read.eq(outcome.read),
            place.end.eq(outcome.end),
            self.write_enable.eq(self.outcome_valid & outcome.read),
            takes.eq(self.write_enable & place.needs_row),
            self.write_row.eq(Mux(place.needs_row, after, current)),
            self.write_place.eq(place.place),
            self.write_data.eq(outcome.id),
            next_row.eq(after + takes),
            next_used.eq(used + takes),
        ]
        with m.If(takes):
            m.d.sync += current.eq(after)
        with m.If(ends):
            m.d.sync += [count.eq(0), status.eq(0), bad.eq(0), used.eq(0)]
            with m.If(failed):
                m.d.sync += after.eq(base)
            with m.Else():
                m.d.sync += [after.eq(next_row), base.eq(next_row)]
        with m.Elif(self.outcome_valid):
            m.d.sync += [
                count.eq(count + outcome.read),
                status.eq(record.status),
                bad.eq(failed),
                after.eq(next_row),
                used.eq(next_used),
            ]
        m.d.sync += self.hold.eq(kept.level >= self._records - UNDER_WAY)
        self._count_rows(m, Mux(ends & failed, next_used, 0))
        return m

    def _count_rows(self, m, given_back):
        """Rows that are free, less 1, so that the sign says whether there is any."""
        free = Signal(range(-1, self._rows), init=self._rows - 1)
        back = Signal(range(self._rows + 1))
        m.d.sync += [back.eq(given_back), free.eq(free - self.reserve + self.released + back)]
        m.d.comb += self.credit.eq(~free[-1])


class ResultWriter(wiring.Component):
    """From the records of lanes to the result stream: target after target, lanes in turn.

    A target is its header and then its ids: in its first transfer the header with the first ids,
    in each further one as many as it takes. Without stalls there is a transfer in each clock.

    Parameters
    ----------
    lanes : int
        How many there are.
    rows, result_words : int
        Of each lane's ring, as of the :class:`TargetCollector`.

    Members
    -------
    records0, records1, ... : In(stream of TargetRecord)
        Complete targets of each lane.
    row0, row1, ... : Out
        Row of the lane's ring that is read in this clock.
    released0, released1, ... : Out(1)
        It is not needed again.
    ids0, ids1, ... : In(64 * result_words)
        What was in it, :data:`ROW_CLOCKS` clocks later.
    results : Out(stream of result_transfer)
        The words.
    header : Out(1)
        The first word on offer is a header.
    """

    def __init__(self, lanes, rows, *, result_words):
        self._lanes = lanes
        self._rows = rows
        self._result_words = result_words
        members = {}
        for lane in range(lanes):
            members |= {
                f"records{lane}": In(stream.Signature(TargetRecord)),
                f"row{lane}": Out(range(rows)),
                f"released{lane}": Out(1),
                f"ids{lane}": In(64 * result_words),
            }
        results = stream.Signature(result_transfer(result_words))
        shown = data.StructLayout({"transfer": result_transfer(result_words), "header": 1})
        self.run_up = RunUp(shown, STEPS)
        super().__init__({**members, "results": Out(results), "header": Out(1)})

    def _ports(self, name):
        return Array([getattr(self, f"{name}{lane}") for lane in range(self._lanes)])

    def elaborate(self, platform):
        m = Module()
        width = self._result_words
        m.submodules.run_up = run_up = self.run_up
        asked = Signal(
            data.StructLayout(
                {
                    "record": TargetRecord,
                    "lane": range(max(self._lanes, 2)),
                    "fill": range(width + 1),
                    "header": 1,
                    "last": 1,
                }
            )
        )
        self._choose(m, run_up, asked)
        # The row is read while what to do with it waits.
        first, second = Signal.like(asked, name="first"), Signal.like(asked, name="second")
        header = data.View(ResultHeader, Signal(64, name="header_word"))
        rows = Array([getattr(self, f"ids{lane}") for lane in range(self._lanes)])
        out = Signal.like(run_up.arrived, name="out")
        m.d.sync += [
            first.eq(asked),
            second.eq(first),
            out.transfer.words.eq(rows[second.lane]),
            out.transfer.count.eq(second.fill),
            out.transfer.last.eq(second.last),
            out.header.eq(second.header),
        ]
        with m.If(second.header):
            m.d.sync += out.transfer.words[0].eq(header.as_value())
        m.d.comb += [
            header.count.eq(second.record.count),
            header.status.eq(second.record.status),
            run_up.arrived.eq(out),
            self.results.payload.eq(run_up.head.payload.transfer),
            self.results.valid.eq(run_up.head.valid),
            self.header.eq(run_up.head.payload.header),
            run_up.head.ready.eq(self.results.ready),
        ]
        return m

    def _choose(self, m, run_up, asked):
        """The next transfer of the target in hand; behind its last, the target of the next lane."""
        width = self._result_words
        lanes = [getattr(self, f"records{lane}") for lane in range(self._lanes)]
        turn = Signal(asked.lane.shape())
        record, lane, valid = Signal(TargetRecord), Signal(asked.lane.shape()), Signal()
        begun, ends, left = Signal(), Signal(), Signal(16)
        room, ids = Signal(range(width + 1)), Signal(range(width + 1))
        fire, load, given = Signal(), Signal(), Signal(TargetRecord)
        offered = Signal()
        m.d.comb += [
            given.eq(Array([one.payload for one in lanes])[turn]),
            offered.eq(Array([one.valid for one in lanes])[turn]),
            room.eq(Mux(begun, width, width - 1)),
            ids.eq(Mux(ends, left, room)),
            run_up.asked.eq(valid),
            fire.eq(valid & run_up.ready),
            load.eq(~valid | (fire & ends)),
            asked.record.eq(record),
            asked.lane.eq(lane),
            asked.fill.eq(ids + ~begun),
            asked.header.eq(~begun),
            asked.last.eq(record.last & ends),
        ]
        with m.If(fire):
            m.d.sync += [begun.eq(1), left.eq(left - room), ends.eq(left <= room + width)]
        with m.If(load):
            m.d.sync += [
                valid.eq(offered),
                record.eq(given),
                lane.eq(turn),
                left.eq(given.count),
                ends.eq(given.count <= width - 1),
                begun.eq(0),
            ]
            if self._lanes > 1:
                with m.If(offered):
                    m.d.sync += turn.eq(turn + 1)
        for number, one in enumerate(lanes):
            m.d.comb += one.ready.eq(load & (turn == number))
        self._release(m, lane, fire & (ids != 0))

    def _release(self, m, lane, uses_row):
        """The lane's oldest row is read, and then its next."""
        for number in range(self._lanes):
            row = Signal(range(self._rows), name=f"oldest{number}")
            released = getattr(self, f"released{number}")
            m.d.comb += [
                released.eq(uses_row & (lane == number)),
                getattr(self, f"row{number}").eq(row),
            ]
            m.d.sync += row.eq(row + released)
