"""Descriptors, results and kernel-side words of the gather unit."""

from amaranth.lib import data, enum

__all__ = [
    "DESCRIPTOR_MAGIC",
    "GatherDescriptor",
    "GatherDone",
    "GatherEvent",
    "GatherLaunch",
    "GatherMode",
    "GatherStatus",
    "ResultHeader",
    "StageRequest",
]

DESCRIPTOR_MAGIC = 0x47


class GatherMode(enum.IntEnum, shape=8):
    """Where the positions of a list come from."""

    EXPLICIT = 0
    """``fan_out`` 32-bit positions at ``positions_address`` in the FPGA's DRAM."""
    DRAW = 1
    """Drawn by the mixer from ``key``, with replacement."""


class GatherStatus(enum.IntEnum, shape=8):
    """Outcome of one target, or of a launch (then the first bad one)."""

    OK = 0
    BAD_DESCRIPTOR = 1
    BUS_ERROR = 2


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
    """What the unit has to say at one edge; each part counts only where its valid bit is set."""

    done_valid: 1
    staged_valid: 1
    violation_valid: 1
    reserved: 5
    violation_rule: 8
    staged_tag: 16
    done: GatherDone
