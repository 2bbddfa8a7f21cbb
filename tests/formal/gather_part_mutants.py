"""Parts of the gather unit with a line of their source changed."""

import rtl.gather.arbiter
import rtl.gather.burst
import rtl.gather.control
import rtl.gather.ids
import rtl.gather.positions
import rtl.gather.results
import rtl.gather.staging
from rtl.gather.results import ResultWriter, TargetCollector
from tests.formal.rewritten import rewritten

__all__ = ["GATHER_PART_MUTANTS"]


def burst(*change):
    return rewritten(rtl.gather.burst, "BurstReader", change)


def arbiter(*change):
    return rewritten(rtl.gather.arbiter, "ReadArbiter", change)


def ids(*change):
    return rewritten(rtl.gather.ids, "IdReader", change)


def collector(*change):
    return rewritten(rtl.gather.results, "TargetCollector", change), ResultWriter


def writer(*change):
    return TargetCollector, rewritten(rtl.gather.results, "ResultWriter", change)


def staging(*change):
    return rewritten(rtl.gather.staging, "StagingWriter", change)


GATHER_PART_MUTANTS = {
    "gather-picker-ends": {
        "goes on when given up": rewritten(
            rtl.gather.positions,
            "Picker",
            ("last.eq(is_last | (self.aborting & ~read))", "last.eq(is_last)"),
        ),
    },
    "gather-launch-ends": {
        "does not wait for the bus": rewritten(
            rtl.gather.control,
            "LaunchControl",
            ('m.next = "SETTLE"\n', 'm.next = "DONE"\n'),
        ),
    },
    "gather-bursts": {
        "crosses 4 KB": burst(
            "to_boundary.eq(self._burst - begins_at)", "to_boundary.eq(self._burst)"
        ),
        "asks without room": burst("offered.eq(free >= beats)", "offered.eq(1)"),
        "asks for the end again": burst("idle.eq(final),", "idle.eq(0),"),
    },
    "gather-bursts-cancelled": {
        "hands out what was given up": burst("kept.head.valid & ~dropping", "kept.head.valid"),
        "withdraws a burst": burst("offered.eq(ar.valid & ~ar.ready)", "offered.eq(0)"),
    },
    "gather-arbiter": {
        "to another port": arbiter("r.valid.eq(valid[number])", "r.valid.eq(valid[number - 1])"),
        "takes what does not fit": arbiter("bit & kept.entries.ready", "bit"),
    },
    "gather-ids-whole": {
        "a shared id from the next beat": ids(
            "payload.read & ~flight.payload.shared", "payload.read"
        ),
        "the wrong half": ids("word_select(paired.lane[0], 32)", "word_select(0, 32)"),
        "an error is not told": ids("paired.read & newest.error", "0"),
        "more than are kept": ids("valid & ~request.read & ~full", "valid & ~request.read"),
    },
    "gather-results-whole": {
        "ids of a failed target": collector(
            "Mux(failed, 0, count + outcome.read)", "count + outcome.read"
        ),
        "rows of a failed target kept": collector("after.eq(base)", "after.eq(next_row)"),
        "a row too far": collector("Mux(place.needs_row, after, current)", "after"),
        "a header again": writer("[begun.eq(1), left", "[begun.eq(0), left"),
    },
    "staging-writes": {
        "crosses 4 KB": staging("Mux(left < to_boundary, left, to_boundary)", "left"),
        "a beat moves": staging("(~w.valid | w.ready)", "1"),
        "forgets a failure": staging("error & ~record.payload.final", "0"),
        "writes for a bad request": staging("~record.payload.void & to_end", "to_end"),
    },
}
