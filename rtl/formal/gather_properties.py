"""Properties of the gather unit at its AXI port and its streams."""

from rtl.formal import gather_claims as claims
from rtl.formal.free import FreeCheck
from rtl.formal.gather import MOST_IDS, GatherCheck
from rtl.formal.property import Property
from rtl.gather.core import GatherUnit

__all__ = ["GATHER_PROPERTIES", "gather_unit"]

READ_CLOCKS = 26


def gather_unit(**changes):
    """The unit of the checks, as small as can be; a broken one takes the same arguments."""
    parameters = {
        "data_bits": 64,
        "id_bits": 2,
        "lanes": 1,
        "outstanding": 2,
        "result_words": 1,
        "max_fan_out": MOST_IDS,
        "max_distinct": MOST_IDS,
    }
    return GatherUnit(**parameters | changes)


def _gather(claim, **arguments):
    return lambda design=gather_unit: GatherCheck(design(), claim, **arguments)


def _free(claim):
    return lambda design=gather_unit: FreeCheck(design(), claim)


GATHER_PROPERTIES = (
    Property(
        "gather-results-stable",
        "a result word of the gather unit, and the end of a launch, stays, unchanged, until it is "
        "taken",
        "prove",
        5,
        _free(claims.results_are_stable),
    ),
    Property(
        "gather-ends-once",
        "one launch at a time is in the gather unit, and ends once, by its tag; `busy` says so",
        "prove",
        5,
        _free(claims.launches_end_once),
    ),
    Property(
        "gather-reads-legal",
        "its read requests are whole, aligned beats of one 4 KB block, and stay, unchanged, until "
        "they are taken",
        "bmc",
        READ_CLOCKS,
        _gather(claims.reads_are_legal, aborts=True),
    ),
)
