"""NS_config: the structure in host memory that describes one sampling command, and its result.

One 4,096-byte header block at PRP1 (:class:`Header`, then two segment lists) names the body
(one :class:`BodyEntry` a target, each followed by its positions or its key) and the place of the
result (per target a 32-bit count, then that many 64-bit ids).
"""

from amaranth.lib import data, enum

__all__ = [
    "BLOCK_BYTES",
    "BODY_LIST_OFFSET",
    "LIST_PAGE_SLOTS",
    "LIST_SLOTS",
    "MAGIC",
    "MAX_DISTINCT",
    "RESULT_LIST_OFFSET",
    "VERSION",
    "BodyEntry",
    "Header",
    "Mode",
    "Segment",
    "SegmentFlag",
]

MAGIC = 0x4643_534E
"""The bytes ``NSCF`` in memory order."""
VERSION = 1
BLOCK_BYTES = 4096
LIST_SLOTS = 126
"""Slots of each of the two segment lists in the header block."""
BODY_LIST_OFFSET = 64
RESULT_LIST_OFFSET = BODY_LIST_OFFSET + 16 * LIST_SLOTS
LIST_PAGE_SLOTS = 256
"""Slots of a further list page (4,096 bytes, page-aligned), reached by a chained last slot."""


MAX_DISTINCT = 256
"""Largest fan-out that a device draws without replacement."""


class Mode(enum.IntEnum, shape=16):
    """How the positions of each list come about."""

    EXPLICIT = 0
    """The positions follow each body entry (32 bits each), drawn by the host."""
    DRAW = 1
    """A 32-bit key follows each body entry; the device draws the positions with the mixer."""
    DRAW_DISTINCT = 2
    """The same without replacement; both by the rules of :mod:`rtl.contract.sampling`."""


class SegmentFlag(enum.IntFlag, shape=32):
    """Flags of a segment list slot."""

    NONE = 0
    CHAIN = 1
    """This last slot's address is a further list page, its length the slots used there times 16."""


class Header(data.Struct):
    """First 64 bytes of the header block.

    ``length`` is 4,096. ``crc`` is CRC-32 (IEEE 802.3, as zlib's) over the whole block with this
    field zero. ``body_segments`` and ``result_segments`` count the slots used in the block itself.
    """

    magic: 32
    version: 16
    length: 16
    crc: 32
    mode: 16
    id_bytes: 16
    target_count: 32
    body_bytes: 32
    result_bytes: 32
    body_segments: 16
    result_segments: 16
    reserved0: 64
    reserved1: 64
    reserved2: 64
    reserved3: 64


class Segment(data.Struct):
    """One piece of host memory, 16 bytes."""

    address: 64
    length: 32
    flags: 32


class BodyEntry(data.Struct):
    """One target, 16 bytes: ``degree`` ids, the first ``offset`` bytes into block ``lba``.

    Followed by ``fan_out`` 32-bit positions (:attr:`Mode.EXPLICIT`; none where degree is 0) or by
    one 32-bit key (:attr:`Mode.DRAW`, :attr:`Mode.DRAW_DISTINCT`).
    """

    lba: 64
    degree: 32
    offset: 16
    fan_out: 16
