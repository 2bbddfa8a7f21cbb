"""Descriptors, results and kernel-side words of the gather unit."""

from amaranth.lib import data, enum

__all__ = [
    "AXI_ID_BITS",
    "BUSY_PARTS",
    "DESCRIPTOR_MAGIC",
    "MAX_DISTINCT",
    "MAX_FAN_OUT",
    "MAX_OUTSTANDING",
    "RESULT_WORDS",
    "GatherCounters",
    "GatherDescriptor",
    "GatherDone",
    "GatherEvent",
    "GatherLaunch",
    "GatherMode",
    "GatherStatus",
    "ResultHeader",
    "StageRequest",
    "ViolationSource",
    "result_transfer",
]

DESCRIPTOR_MAGIC = 0x47
MAX_FAN_OUT = 256
"""Largest fan-out of a descriptor, where the unit is not made for another one."""

MAX_DISTINCT = 64
"""Largest fan-out that the unit draws without replacement, likewise."""

MAX_OUTSTANDING = 1024
"""Most reads in flight that a unit is made for: at 64 bytes each, 64 KiB of buffers. At a beat a
clock of 250 MHz they cover 4 us, several refreshes of a DRAM."""

AXI_ID_BITS = 6
"""Width of the unit's AXI IDs, likewise; a unit may use all of them."""

RESULT_WORDS = (1, 2, 4, 8)
"""Result words that a unit can hand over in one transfer at most."""


class GatherMode(enum.IntEnum, shape=8):
    """Where the positions of a list come from."""

    EXPLICIT = 0
    """``fan_out`` 32-bit positions at ``positions_address`` in the FPGA's DRAM."""
    DRAW = 1
    """Drawn by the mixer from ``key``, with replacement; a step of a walk, too."""
    DRAW_DISTINCT = 2
    """Drawn by the mixer from ``key``, without replacement: see :mod:`rtl.contract.sampling`."""


class GatherStatus(enum.IntEnum, shape=8):
    """Outcome of one target, or of a launch (then the first bad one)."""

    OK = 0
    BAD_DESCRIPTOR = 1
    BUS_ERROR = 2
    ABORTED = 3
    """Given up since the launch was to be; a launch so ended has fewer targets than descriptors."""


class GatherDescriptor(data.Struct):
    """One list to sample, 32 bytes, in the FPGA's DRAM at a 32-byte boundary.

    Ids are little-endian words of ``1 << id_log2`` bytes (2 or 3), at an address aligned to them.
    A list of degree 0 gives no ids. ``positions_address`` is aligned to 4 bytes.
    """

    magic: 8
    mode: 8
    id_log2: 8
    reserved0: 8
    fan_out: 16
    reserved1: 16
    list_address: 64
    degree: 32
    key: 32
    positions_address: 64


class ResultHeader(data.Struct):
    """First 64-bit word of each target's result; ``count`` 64-bit ids follow."""

    count: 32
    status: 8
    reserved0: 8
    reserved1: 16


def result_transfer(result_words):
    """Layout of one transfer of the result stream: 1 to ``result_words`` words of 64 bits.

    ``words``: the first ``count`` of them count, in order; a transfer may be partly filled.
    ``last``: the last of them is the launch's last. :exc:`ValueError` if ``result_words`` is none
    of :data:`RESULT_WORDS`.
    """
    if result_words not in RESULT_WORDS:
        raise ValueError(f"result_words must be 1, 2, 4 or 8, not {result_words!r}")
    return data.StructLayout(
        {
            "words": data.ArrayLayout(64, result_words),
            "count": range(result_words + 1),
            "last": 1,
        }
    )


class GatherLaunch(data.Struct):
    """Kernel to unit: sample ``count`` descriptors from ``descriptor_address`` on."""

    descriptor_address: 64
    count: 32
    tag: 16
    reserved: 16


class StageRequest(data.Struct):
    """Kernel to unit: write ``length`` bytes from the staging memory to DRAM ``address``.

    The address and the length are multiples of the DRAM port's width in bytes (64 by default).
    """

    address: 64
    length: 32
    tag: 16
    reserved: 16


class GatherDone(data.Struct):
    """Unit to kernel: a launch has delivered all of its result words.

    ``started``, ``first`` and ``last`` are the edge numbers at which the launch was accepted, the
    first result word was delivered and the last one was.
    """

    tag: 16
    status: 8
    reserved: 8
    words: 32
    started: 48
    first: 48
    last: 48
    reserved2: 48


class GatherEvent(data.Struct):
    """What the unit has to say at one edge; each part counts only where its valid bit is set.

    ``staged_error``: the staging request was malformed or a write of it failed. ``violation_rule``
    is a rule and, times 16, a :class:`ViolationSource`. ``interrupt_cause`` is INTERRUPT_CAUSE of
    the descriptor rings when their interrupt was sent.
    """

    done_valid: 1
    staged_valid: 1
    violation_valid: 1
    staged_error: 1
    interrupt_valid: 1
    reserved: 3
    violation_rule: 8
    staged_tag: 16
    done: GatherDone
    interrupt_cause: 32


class ViolationSource(enum.IntEnum, shape=4):
    """Who saw a rule broken: bits 7:4 of ``violation_rule``."""

    READ_PORT = 0
    """Checker of the gather core's AXI port; the rule is an ``rtl.contract.axi.AxiRule``."""
    WRITE_PORT = 1
    """Checker of the DRAM's write port, likewise."""
    LANDING = 2
    """Rule 1: a launch gave more result words than the landing memory holds."""
    MAILBOX = 3
    """Rule 1: a launch came while its queue was full. Rule 2: a staging request did. Rule 3: a
    write to a register of the rings did."""
    RING_PORT = 4
    """Checker of the port by which completion entries are written, likewise."""


BUSY_PARTS = ("transfers", "output_stalls", "memory_stalls", "gaps")
"""Counters that share the clocks of ``busy`` among them."""


class GatherCounters(data.Struct):
    """Event counts since reset, for statistics and for tests of what a trace reaches.

    launches, descriptors
        Accepted launches; descriptors looked at.
    bad_descriptors, empty
        Of the latter: refused, and well-formed ones with an empty list.
    id_reads
        AXI reads of ids, one beat each.
    merges
        Ids without one of their own: they are in the beat that was read for the id before them in
        their lane.
    outstanding_full
        Clocks, of each lane, in which a position waited since as many reads as the lane's share of
        ``outstanding`` were in flight.
    ties
        Clocks in which both ports wanted the DRAM.
    row_hits, row_misses, refreshes
        DRAM accesses to an open row and to another one; refreshes that an access came after.
    output_stalls
        Clocks in which result words were on offer and not taken.
    memory_stalls
        Clocks of a launch without a word on offer, while a read was asked for or on the bus.
    gaps
        Clocks of a launch with neither.
    busy
        Clocks with a launch in the unit, from the one after it was accepted until its end was told:
        ``transfers`` + ``output_stalls`` + ``memory_stalls`` + ``gaps``.
    transfers
        Clocks in which result words were delivered, one or several.
    words, ids
        Result words delivered; those of them that are ids, not headers.
    beats
        Beats that the unit read: of descriptors, positions and ids.
    quiet_entries
        Quiet periods, counted when an input ends them (so that it does not matter whether the
        clock was stopped).
    """

    launches: 32
    descriptors: 32
    bad_descriptors: 32
    empty: 32
    id_reads: 32
    merges: 32
    outstanding_full: 32
    ties: 32
    row_hits: 32
    row_misses: 32
    refreshes: 32
    output_stalls: 32
    memory_stalls: 32
    gaps: 32
    busy: 32
    transfers: 32
    words: 32
    ids: 32
    beats: 32
    quiet_entries: 32
