"""What the gather unit collects and gives out: ids of targets, and staged data."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, connect

from rtl.contract.gather import ResultHeader
from rtl.formal.monitors import claim_stable, transfers
from rtl.gather.row_ring import RowRing

__all__ = ["ResultCheck", "ResultPath"]

COUNT_BITS = 4
ID_BITS = 2
"""Of an id that are free."""
MOST_IDS = 3
"""Of a target."""
WORDS = 2
"""Of a transfer: a first one has room for one id."""


class ResultPath(wiring.Component):
    """Collector, ring and writer of one lane, joined as they are in the unit.

    Parameters
    ----------
    collector, writer : TargetCollector, ResultWriter
        Of the same rows, and of :data:`WORDS` words.
    rows : int
        Of the ring.

    Attributes
    ----------
    collector, writer
        As given: outcomes go into the one, results come out of the other.
    """

    def __init__(self, collector, writer, *, rows):
        self.collector = collector
        self.writer = writer
        self._rows = rows
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.collector = collector = self.collector
        m.submodules.writer = writer = self.writer
        m.submodules.ring = ring = RowRing(self._rows, WORDS)
        connect(m, collector.records, writer.records0)
        m.d.comb += [
            collector.released.eq(writer.released0),
            ring.write_enable.eq(collector.write_enable << collector.write_place),
            ring.write_row.eq(collector.write_row),
            ring.write_data.eq(collector.write_data),
            ring.row.eq(writer.row0),
            writer.ids0.eq(ring.ids),
        ]
        return m


class ResultCheck(wiring.Component):
    """A result path that is given outcomes, and asked for results, in any clock.

    Outcomes come three clocks after they were begun, which is when there is no ``hold`` and, where
    one needs a row, ``credit``. Targets have up to :data:`MOST_IDS` outcomes, each with an id or
    not, and of any of four statuses. The model checker chooses the target, and its id, that are
    followed.

    Claims: of each target, in order, a header comes out with the number of its ids and OK, then
    these ids in order; or, if one of its outcomes was not OK, with the first such status and none.
    A transfer has as many words as it can; ``last`` is in the last one of a target that had it, and
    nowhere else. Nothing comes out that did not go in. A transfer on offer is stable.

    Parameters
    ----------
    path : ResultPath
        What is checked.
    """

    clk: In(1)
    offer: In(1)
    id: In(ID_BITS)
    status: In(2)
    read: In(1)
    end: In(1)
    last: In(1)
    taken: In(1)

    def __init__(self, path):
        self._path = path
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.path = path = self._path
        m.d.comb += [ClockSignal().eq(self.clk), path.writer.results.ready.eq(self.taken)]
        claim_stable(m, path.writer.results)
        self._target, self._place = AnyConst(COUNT_BITS), AnyConst(range(MOST_IDS))
        self._begin(m, path.collector)
        self._follow_in(m, path.collector)
        self._follow_out(m, path.writer.results)
        return m

    def _begin(self, m, collector):
        """Outcomes as a reader may give them: rows are reserved as they begin."""
        begun, ids, outcomes = Signal(), Signal(range(MOST_IDS + 1)), Signal(range(MOST_IDS + 1))
        needs_row, ends = Signal(), Signal()
        shape = data.StructLayout({"valid": 1, "outcome": collector.outcome.shape()})
        early, later = Signal(shape), Signal(shape)
        m.d.comb += [
            # The first row of a target has a place for one id, those behind it for two.
            needs_row.eq((ids == 0) | ids[0]),
            begun.eq(self.offer & ~collector.hold & (~self.read | ~needs_row | collector.credit)),
            collector.reserve.eq(begun & self.read & needs_row),
            ends.eq(self.end | (outcomes == MOST_IDS - 1)),
        ]
        with m.If(begun):
            m.d.sync += [ids.eq(ids + self.read), outcomes.eq(outcomes + 1)]
            with m.If(ends):
                m.d.sync += [ids.eq(0), outcomes.eq(0)]
        outcome = early.outcome
        m.d.sync += [
            early.valid.eq(begun),
            outcome.id.eq(self.id),
            outcome.status.eq(self.status),
            outcome.read.eq(self.read),
            outcome.end.eq(ends),
            outcome.last.eq(ends & self.last),
            later.eq(early),
            collector.outcome_valid.eq(later.valid),
            collector.outcome.eq(later.outcome),
        ]

    def _follow_in(self, m, collector):
        """What the followed target must give: its header, and its followed id."""
        outcome, given = collector.outcome, collector.outcome_valid
        number, ids, status = Signal(COUNT_BITS), Signal(range(MOST_IDS + 1)), Signal(8)
        first = Mux(status != 0, status, outcome.status)
        self._came = number
        self._header = Signal(ResultHeader, name="expected")
        self._is_last, self._id = Signal(), Signal(ID_BITS)
        followed = given & (number == self._target)
        with m.If(followed & outcome.read & (ids == self._place)):
            m.d.sync += self._id.eq(outcome.id)
        with m.If(followed & outcome.end):
            m.d.sync += [
                self._header.count.eq(Mux(first == 0, ids + outcome.read, 0)),
                self._header.status.eq(first),
                self._is_last.eq(outcome.last),
            ]
        with m.If(given):
            m.d.sync += [ids.eq(ids + outcome.read), status.eq(first)]
            with m.If(outcome.end):
                m.d.sync += [number.eq(number + 1), ids.eq(0), status.eq(0)]

    def _follow_out(self, m, results):
        """Transfers, taken apart: a header where no id is owed, and ids where some are."""
        number, owed, place = Signal(COUNT_BITS), Signal(16), Signal(16)
        transfer, is_followed = results.payload, Signal()
        header = data.View(ResultHeader, transfer.words[0])
        has_header, ids, left = owed == 0, Signal(16), Signal(16)
        m.d.comb += [
            is_followed.eq(results.valid & (number == self._target)),
            left.eq(Mux(has_header, header.count, owed)),
            ids.eq(transfer.count - has_header),
        ]
        with m.If(results.valid):
            room = Mux(has_header, WORDS - 1, WORDS)
            m.d.comb += [
                Assert(number != self._came),
                Assert(ids == Mux(left < room, left, room)),
                Assert(~transfer.last | (left == ids)),
            ]
        with m.If(is_followed & has_header):
            m.d.comb += [
                Assert(header.count == self._header.count),
                Assert(header.status == self._header.status),
            ]
        with m.If(is_followed & (left == ids)):
            m.d.comb += Assert(transfer.last == self._is_last)
        for word in range(WORDS):
            # Words behind a header are ids, too.
            is_id = (word < transfer.count) & ~((word == 0) & has_header)
            with m.If(is_followed & is_id & (place + word - has_header == self._place)):
                m.d.comb += Assert(transfer.words[word] == self._id)
        with m.If(transfers(results)):
            m.d.sync += [owed.eq(left - ids), place.eq(place + ids)]
            with m.If(left == ids):
                m.d.sync += [number.eq(number + 1), place.eq(0)]
