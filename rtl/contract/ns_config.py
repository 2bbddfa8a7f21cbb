"""NS_config: the structure in host memory that describes one sampling command, and its result.

One 4,096-byte header block at PRP1 (:class:`Header`, then two segment lists) names the body
(one :class:`BodyEntry` a target, each followed by its positions or its key) and the place of the
result (per target a 32-bit count, then that many 64-bit ids).

Version 1 is one hop, whose lists the host names. Version 2 is a chain of hops: its body has the
root targets' nodes, and the device finds their lists, and those of all that it samples, by row
pointers. The header is the same up to byte 32, where a :class:`ChainHeader` follows; the body is a
:class:`HopEntry` for each hop, then a 32-bit node for each root target. The results of all hops lie
back to back. The result's segments have room for as many ids as there can be; how many bytes there
are is dword 0 of the completion entry.
"""

from amaranth.lib import data, enum

__all__ = [
    "BLOCK_BYTES",
    "BODY_LIST_OFFSET",
    "CHAIN_HEADER_OFFSET",
    "CHAIN_VERSION",
    "LIST_PAGE_SLOTS",
    "LIST_SLOTS",
    "MAGIC",
    "MAX_DISTINCT",
    "MAX_HOPS",
    "POINTER_BYTES",
    "RESULT_LIST_OFFSET",
    "VERSION",
    "BodyEntry",
    "ChainHeader",
    "Header",
    "HopEntry",
    "KeyRule",
    "Mode",
    "RowPointers",
    "Segment",
    "SegmentFlag",
]

MAGIC = 0x4643_534E
"""The bytes ``NSCF`` in memory order."""
VERSION = 1
CHAIN_VERSION = 2
"""Of a chain of hops."""
BLOCK_BYTES = 4096
LIST_SLOTS = 126
"""Slots of each of the two segment lists in the header block."""
CHAIN_HEADER_OFFSET = 32
BODY_LIST_OFFSET = 64
RESULT_LIST_OFFSET = BODY_LIST_OFFSET + 16 * LIST_SLOTS
LIST_PAGE_SLOTS = 256
"""Slots of a further list page (4,096 bytes, page-aligned), reached by a chained last slot."""


MAX_DISTINCT = 256
"""Largest fan-out that a device draws without replacement."""
MAX_HOPS = 1024
"""Most hops of a chain."""
POINTER_BYTES = 8
"""Of a row pointer: an unsigned little-endian word. Node v's list is ids p[v] to p[v + 1] - 1."""


class Mode(enum.IntEnum, shape=16):
    """How the positions of each list come about."""

    EXPLICIT = 0
    """The positions follow each body entry (32 bits each), drawn by the host."""
    DRAW = 1
    """A 32-bit key follows each body entry; the device draws the positions with the mixer."""
    DRAW_DISTINCT = 2
    """The same without replacement; both by the rules of :mod:`rtl.contract.sampling`."""


class RowPointers(enum.IntEnum, shape=16):
    """Where a chain's row pointers lie."""

    DRAM = 0
    """In the device's DRAM, from before the first command; ``pointer_lba`` is 0."""
    FLASH = 1
    """In the namespace, back to back from block ``pointer_lba`` on."""


class KeyRule(enum.IntEnum, shape=16):
    """How a chain's targets get the keys of their draws."""

    MIXED = 0
    """Slot s (from 0) of a hop has the mixer of the hop's ``key`` XOR s."""
    CARRIED = 1
    """So it is in the first hop; in further ones a target has that of the list that it comes from,
    one draw further. For random walks: each fan-out is 1."""


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


class ChainHeader(data.Struct):
    """Bytes 32 to 63 of a header block of version 2; ``mode`` must not be :attr:`Mode.EXPLICIT`.

    ``nodes`` is the graph's number of nodes. The edge list array begins with block ``edge_lba``.
    ``result_bytes`` of such a header is what the result takes if no list is empty or short.
    """

    hops: 16
    row_pointers: 16
    keys: 16
    reserved0: 16
    nodes: 32
    reserved1: 32
    edge_lba: 64
    pointer_lba: 64


class HopEntry(data.Struct):
    """One hop of a chain, 8 bytes. ``key`` is what :class:`KeyRule` says."""

    fan_out: 16
    reserved: 16
    key: 32
