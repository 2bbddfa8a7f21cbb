"""Properties of parts of the gather unit, each part for itself between free neighbours."""

from rtl.formal.gather_abort import ControlCheck, PickerCheck
from rtl.formal.gather_ids import ID_AXI, IdReaderCheck
from rtl.formal.gather_reads import ARBITER_AXI, READ_AXI, ArbiterCheck, BurstCheck
from rtl.formal.gather_results import WORDS, ResultCheck, ResultPath
from rtl.formal.gather_staging import StagingCheck
from rtl.formal.property import Property
from rtl.gather.arbiter import ReadArbiter
from rtl.gather.burst import BurstReader
from rtl.gather.control import LaunchControl
from rtl.gather.ids import IdReader
from rtl.gather.positions import Picker
from rtl.gather.results import ResultWriter, TargetCollector
from rtl.gather.staging import StagingWriter

__all__ = ["GATHER_PART_PROPERTIES"]

PICKER_CLOCKS = 4
"""A longest job of the check, and a clock more."""


def _picker(design=Picker):
    return PickerCheck(design(), settle=PICKER_CLOCKS)


def _control(design=LaunchControl):
    return ControlCheck(design())


BURST = {"burst": 4, "depth": 8}
BURST_CLOCKS = 14
"""The longest stretch of the check, read without stalls."""
CANCELLED_CLOCKS = 10
IDS_CLOCKS = 11
"""From two requests to the outcome of the second, without stalls."""
PORTS = 3
ROWS = 4


def _bursts(design=BurstReader, *, cancels=False):
    reader = design(READ_AXI, id=1, **BURST)
    return BurstCheck(reader, settle=BURST_CLOCKS, cancels=cancels, **BURST)


def _cancelled(design=BurstReader):
    return _bursts(design, cancels=True)


def _arbiter(design=ReadArbiter):
    ids = [range(number, number + 1) for number in range(PORTS)]
    return ArbiterCheck(design(ARBITER_AXI, PORTS, urgent=1), ids=ids)


def _ids(design=IdReader):
    reader = design(ID_AXI, ids=range(1, 2), outstanding=2, result_words=1)
    return IdReaderCheck(reader, settle=IDS_CLOCKS)


def _results(design=(TargetCollector, ResultWriter)):
    collector, writer = design
    path = ResultPath(
        collector(ROWS, result_words=WORDS, records=8),
        writer(1, ROWS, result_words=WORDS),
        rows=ROWS,
    )
    return ResultCheck(path)


def _staging(design=StagingWriter):
    return StagingCheck(design(data_bits=64, id_bits=1, slots=2, slot_bytes=32))


GATHER_PART_PROPERTIES = (
    Property(
        "gather-picker-ends",
        "the picker gives each job its words and one end; given up, a job ends with the word on "
        "offer, an explicit one with its last position",
        "bmc",
        12,
        _picker,
    ),
    Property(
        "gather-launch-ends",
        "a launch ends once, in the clock after its last word has left and nothing given up is on "
        "the bus, ABORTED if it was given up before that word",
        "bmc",
        12,
        _control,
    ),
    Property(
        "gather-bursts",
        "bursts of a burst reader lie within 4 KB, stay until they are taken, and are together "
        "what was asked for; their beats come out once and in order",
        "bmc",
        16,
        _bursts,
        is_quick=True,
    ),
    Property(
        "gather-bursts-cancelled",
        "so if it is cancelled in any clock: then nothing more is asked for, and no beat that was "
        "given up comes out",
        "bmc",
        CANCELLED_CLOCKS,
        _cancelled,
    ),
    Property(
        "gather-arbiter",
        "the arbiter neither loses, repeats nor changes a request or a beat, keeps those of a port "
        "in order, and gives a beat to the port of its ID",
        "bmc",
        9,
        _arbiter,
        is_quick=True,
    ),
    Property(
        "gather-ids-whole",
        "the id reader neither loses, repeats nor reorders an id: each outcome is that of its "
        "request, with the id at its address, or that it could not be read",
        "bmc",
        15,
        _ids,
    ),
    Property(
        "gather-results-whole",
        "from outcomes to result words: each target's header, then its ids, once and in order; of "
        "a failed one its status alone",
        "bmc",
        17,
        _results,
        is_quick=True,
    ),
    Property(
        "staging-writes",
        "the staging writer keeps the rules of AXI4 writes; its bursts and beats are those of its "
        "requests, once and in order, and a request ends once, behind its last response",
        "bmc",
        7,
        _staging,
    ),
)
