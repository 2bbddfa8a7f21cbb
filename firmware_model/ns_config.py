"""Reads NS_config as the device sees it: bytes in, checked values out; no time passes here.

Every rule has its status. What is about chains of hops only is in :mod:`firmware_model.chain`. In
the order of the checks:

==================  ==============================================================================
NS_CONFIG_MAGIC     ``magic`` is not the four bytes NSCF
NS_CONFIG_VERSION   another ``version``
NS_CONFIG_LENGTH    ``length`` is not the header block's; the segments do not add up to
                    ``body_bytes`` and ``result_bytes``; the body is longer or shorter than its
                    entries; the result of the entries is not ``result_bytes`` long
NS_CONFIG_CRC       the CRC-32 of the header block is another one
NS_CONFIG_MODE      unknown ``mode``, positions in a chain, or ``id_bytes`` other than 4 and 8
NS_CONFIG_COUNT     no target, or more than the body can hold; a segment count of zero or beyond
                    the list; a position beyond its list's end; a fan-out beyond MAX_DISTINCT
                    to be drawn without replacement
NS_CONFIG_ADDRESS   a segment of no length or with unknown flags, a chain that is not in the last
                    slot, not to a page, or too long; an offset beyond the block
LBA_OUT_OF_RANGE    a list that leaves the namespace
==================  ==============================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

import numpy as np

from rtl.contract.codec import byte_size, record_dtype, unpack
from rtl.contract.ns_config import (
    BLOCK_BYTES,
    BODY_LIST_OFFSET,
    CHAIN_VERSION,
    LIST_PAGE_SLOTS,
    LIST_SLOTS,
    MAGIC,
    MAX_DISTINCT,
    RESULT_LIST_OFFSET,
    VERSION,
    BodyEntry,
    Header,
    Mode,
    Segment,
    SegmentFlag,
)
from rtl.contract.nvme import Status
from rtl.contract.sampling import Sampling, comparisons, taken_positions

__all__ = [
    "COUNT_BYTES",
    "ENTRY_BYTES",
    "ID_BYTES",
    "KEY_BYTES",
    "NODE_BYTES",
    "SLOT_BYTES",
    "Entry",
    "NsConfig",
    "Refusal",
    "SegmentList",
    "Target",
    "check_total",
    "distinct_counts",
    "parse_entry",
    "parse_header",
    "parse_segments",
    "require",
    "target_of",
]

ENTRY_BYTES = byte_size(BodyEntry)
ENTRY_RECORD = record_dtype(BodyEntry)
SLOT_BYTES = byte_size(Segment)
NODE_BYTES = 4
POSITION_BYTES = 4
KEY_BYTES = 4
COUNT_BYTES = 4
ID_BYTES = 8
CRC_FIELD = slice(8, 12)


class Refusal(Exception):
    """The structure breaks a rule; ``status`` says which."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class Target(NamedTuple):
    """One list to sample: its first byte in the namespace and the positions to take."""

    list_byte: int
    positions: tuple[int, ...]

    @property
    def result_bytes(self) -> int:
        return COUNT_BYTES + ID_BYTES * len(self.positions)


class Entry(NamedTuple):
    """A body entry before its positions or key; ``extra_bytes`` of those follow it."""

    lba: int
    degree: int
    offset: int
    fan_out: int
    extra_bytes: int


@dataclass(frozen=True, kw_only=True)
class SegmentList:
    """Slots of one list or list page: pieces of memory, and where the list goes on."""

    pieces: tuple[tuple[int, int], ...]
    chain: tuple[int, int] | None
    """Address and number of slots of the next list page."""


@dataclass(frozen=True, kw_only=True)
class NsConfig:
    """A header block that has passed its checks."""

    mode: Mode
    id_bytes: int
    target_count: int
    body_bytes: int
    result_bytes: int
    body: SegmentList
    result: SegmentList
    is_chain: bool = False
    """Of version 2."""


def require(condition: bool, status: Status) -> None:
    """Refuse with ``status`` unless ``condition`` holds."""
    if not condition:
        raise Refusal(status)


def parse_header(block: bytes) -> NsConfig:
    """Check a header block; :exc:`Refusal` with the status of the first rule broken."""
    header = unpack(Header, block[: byte_size(Header)])
    require(header.magic == MAGIC, Status.NS_CONFIG_MAGIC)
    require(header.version in (VERSION, CHAIN_VERSION), Status.NS_CONFIG_VERSION)
    require(header.length == BLOCK_BYTES == len(block), Status.NS_CONFIG_LENGTH)
    cleared = bytearray(block)
    cleared[CRC_FIELD] = bytes(4)
    require(crc32(cleared) == header.crc, Status.NS_CONFIG_CRC)
    require(header.mode in list(Mode), Status.NS_CONFIG_MODE)
    require(header.id_bytes in (4, 8), Status.NS_CONFIG_MODE)
    mode, is_chain = Mode(header.mode), bool(header.version == CHAIN_VERSION)
    require(mode is not Mode.EXPLICIT or not is_chain, Status.NS_CONFIG_MODE)
    least = ENTRY_BYTES + (0 if mode is Mode.EXPLICIT else KEY_BYTES)
    if is_chain:
        least = NODE_BYTES
    require(0 < header.target_count * least <= header.body_bytes, Status.NS_CONFIG_COUNT)
    lists = []
    for offset, slots in (
        (BODY_LIST_OFFSET, header.body_segments),
        (RESULT_LIST_OFFSET, header.result_segments),
    ):
        require(0 < slots <= LIST_SLOTS, Status.NS_CONFIG_COUNT)
        lists.append(parse_segments(block[offset : offset + SLOT_BYTES * slots]))
    return NsConfig(
        mode=mode,
        id_bytes=int(header.id_bytes),
        target_count=int(header.target_count),
        body_bytes=int(header.body_bytes),
        result_bytes=int(header.result_bytes),
        body=lists[0],
        result=lists[1],
        is_chain=is_chain,
    )


def parse_segments(raw: bytes) -> SegmentList:
    """Check the used slots of one list; :exc:`Refusal` with NS_CONFIG_ADDRESS."""
    slots = np.frombuffer(raw, record_dtype(Segment)).tolist()
    chain = None
    if slots and slots[-1][2] == SegmentFlag.CHAIN:
        address, length, _ = slots.pop()
        count, rest = divmod(length, SLOT_BYTES)
        require(address % BLOCK_BYTES == 0 and rest == 0, Status.NS_CONFIG_ADDRESS)
        require(0 < count <= LIST_PAGE_SLOTS, Status.NS_CONFIG_ADDRESS)
        chain = address, count
    for _, length, flags in slots:
        require(length > 0 and flags == SegmentFlag.NONE, Status.NS_CONFIG_ADDRESS)
    return SegmentList(pieces=tuple((slot[0], slot[1]) for slot in slots), chain=chain)


def check_total(pieces: Sequence[tuple[int, int]], total: int) -> None:
    """Check that ``pieces`` add up to ``total`` bytes; :exc:`Refusal` with NS_CONFIG_LENGTH."""
    require(sum(length for _, length in pieces) == total, Status.NS_CONFIG_LENGTH)


def parse_entry(raw: bytes, mode: Mode) -> Entry:
    """Decode the 16 bytes of a body entry."""
    lba, degree, offset, fan_out = np.frombuffer(raw, ENTRY_RECORD).tolist()[0]
    extra = KEY_BYTES
    if mode is Mode.EXPLICIT:
        extra = POSITION_BYTES * fan_out if degree else 0
    return Entry(lba, degree, offset, fan_out, extra)


def distinct_counts(entry: Entry, extra: bytes) -> dict[str, int]:
    """What the cost of drawing one list without replacement depends on.

    ``list`` is a list of which not all is taken, ``draw`` its draws of new positions, ``again``
    those of positions that were there already, ``compare`` comparisons of two positions; ``whole``
    and ``position`` are a list of which all is taken, and its ids.
    """
    drawn = entry.degree > entry.fan_out
    counts = {
        "list": int(drawn),
        "draw": 0,
        "compare": 0,
        "again": 0,
        "whole": int(0 < entry.degree <= entry.fan_out),
        "position": 0 if drawn else entry.degree,
    }
    if drawn and entry.fan_out <= MAX_DISTINCT:
        key = int.from_bytes(extra, "little")
        compared, repeated = comparisons([key], [entry.degree], entry.fan_out)
        counts["draw"] = entry.fan_out - int(repeated[0])
        counts["again"] = int(repeated[0])
        counts["compare"] = int(compared[0])
    return counts


def target_of(
    entry: Entry, extra: bytes, config: NsConfig, *, lba_bytes: int, namespace_blocks: int
) -> Target:
    """Positions and place of one list, checked.

    Raises
    ------
    Refusal
        NS_CONFIG_ADDRESS, LBA_OUT_OF_RANGE or NS_CONFIG_COUNT.
    """
    require(entry.offset < lba_bytes, Status.NS_CONFIG_ADDRESS)
    list_byte = entry.lba * lba_bytes + entry.offset
    if not entry.degree:
        return Target(list_byte, ())
    end = list_byte + entry.degree * config.id_bytes
    require(end <= namespace_blocks * lba_bytes, Status.LBA_OUT_OF_RANGE)
    if config.mode is Mode.EXPLICIT:
        taken = np.frombuffer(extra, "<u4")
        require(bool((taken < entry.degree).all()), Status.NS_CONFIG_COUNT)
        return Target(list_byte, tuple(taken.tolist()))
    sampling = Sampling.REPLACEMENT
    if config.mode is Mode.DRAW_DISTINCT:
        sampling = Sampling.DISTINCT
        fits = entry.degree <= entry.fan_out or entry.fan_out <= MAX_DISTINCT
        require(fits, Status.NS_CONFIG_COUNT)
    key = int.from_bytes(extra, "little")
    taken = taken_positions(sampling, key, entry.degree, entry.fan_out)
    return Target(list_byte, tuple(taken.tolist()))
