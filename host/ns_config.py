"""Builder of NS_config, the structure in host memory that describes one sampling command."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from host.buffers import ScatteredBuffer, check_segment_bytes
from host.sampler import HopPlan
from rtl.contract.codec import byte_size, pack, record_dtype
from rtl.contract.kernel import HostMemory
from rtl.contract.ns_config import (
    BLOCK_BYTES,
    BODY_LIST_OFFSET,
    CHAIN_HEADER_OFFSET,
    LIST_PAGE_SLOTS,
    LIST_SLOTS,
    MAGIC,
    RESULT_LIST_OFFSET,
    VERSION,
    BodyEntry,
    Header,
    Mode,
    Segment,
    SegmentFlag,
)

__all__ = ["CommandStructure", "NsConfig", "Placement", "encode_body", "result_size"]

SLOT_BYTES = byte_size(Segment)
POSITION_BYTES = 4
CRC_OFFSET = record_dtype(Header).fields["crc"][1]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the edge list array lies on the namespace.

    Raises
    ------
    ValueError
        If a block has no size of NVMe, or ids are not 4 or 8 bytes wide.
    """

    base_lba: int = 0
    lba_bytes: int = 4096
    id_bytes: int = 8

    def __post_init__(self) -> None:
        if self.base_lba < 0:
            raise ValueError(f"base_lba must be at least 0, not {self.base_lba!r}")
        if self.lba_bytes not in (512, 4096):
            raise ValueError(f"lba_bytes must be 512 or 4096, not {self.lba_bytes!r}")
        if self.id_bytes not in (4, 8):
            raise ValueError(f"id_bytes must be 4 or 8, not {self.id_bytes!r}")


def encode_body(plan: HopPlan, mode: Mode, placement: Placement) -> bytes:
    """One body entry a slot, each followed by its positions or its key.

    Empty lists have no positions, and keep their key. With explicit positions a list that yields
    fewer ids than the fan-out has their number as its fan-out.
    """
    head = byte_size(BodyEntry)
    tail = plan.fan_out if mode == Mode.EXPLICIT else 1
    record = np.dtype([("entry", record_dtype(BodyEntry)), ("tail", "<u4", (tail,))])
    rows = np.zeros(len(plan), dtype=record)
    place = plan.starts * placement.id_bytes
    rows["entry"]["lba"] = placement.base_lba + place // placement.lba_bytes
    rows["entry"]["offset"] = place % placement.lba_bytes
    rows["entry"]["degree"] = plan.degrees
    rows["entry"]["fan_out"] = plan.fan_out
    if mode != Mode.EXPLICIT:
        rows["tail"][:, 0] = plan.keys
        return rows.tobytes()
    rows["entry"]["fan_out"] = np.where(plan.degrees > 0, plan.counts, plan.fan_out)
    rows["tail"] = plan.positions()
    raw = rows.view(np.uint8).reshape(len(plan), record.itemsize)
    keep = np.arange(record.itemsize) < head + POSITION_BYTES * plan.counts[:, None]
    return raw[keep].tobytes()


def result_size(plan: HopPlan) -> int:
    """Bytes of the result: a 32-bit count a slot and a 64-bit word an id."""
    return 4 * len(plan) + 8 * plan.samples


class CommandStructure:
    """One sampling command's structure, built in host memory.

    Parameters
    ----------
    memory : HostMemory
    body : bytes
        What its segments shall hold.
    result_bytes : int
        Room for the result.
    header : mapping of str to int
        Fields of the header that do not follow from these.
    tail : bytes
        What follows the header's first half.
    segment_bytes : int
        Contiguous pieces of body and result.

    Attributes
    ----------
    address
        The header block (PRP1).
    body, result
        The scattered buffers that it names; the device fills the second.

    Raises
    ------
    ValueError
        If the segment size is not one of host memory.
    """

    def __init__(
        self,
        memory: HostMemory,
        body: bytes,
        result_bytes: int,
        header: Mapping[str, int],
        *,
        tail: bytes = b"",
        segment_bytes: int = 4096,
    ) -> None:
        check_segment_bytes(segment_bytes)
        self._memory = memory
        self._list_pages: list[int] = []
        self.body = ScatteredBuffer(memory, len(body), segment_bytes)
        self.body.store(body)
        self.result = ScatteredBuffer(memory, result_bytes, segment_bytes)
        self.address = memory.allocate(BLOCK_BYTES, BLOCK_BYTES)
        memory.store(self.address, self._header_block(header, tail))

    def _header_block(self, fields: Mapping[str, int], tail: bytes) -> bytes:
        lists = [
            self._slots(self.body.segments, LIST_SLOTS),
            self._slots(self.result.segments, LIST_SLOTS),
        ]
        header = pack(
            Header,
            magic=MAGIC,
            length=BLOCK_BYTES,
            body_bytes=self.body.length,
            result_bytes=self.result.length,
            body_segments=len(lists[0]) // SLOT_BYTES,
            result_segments=len(lists[1]) // SLOT_BYTES,
            **fields,
        )
        block = bytearray(BLOCK_BYTES)
        for offset, part in (
            (0, header),
            (CHAIN_HEADER_OFFSET, tail),
            (BODY_LIST_OFFSET, lists[0]),
            (RESULT_LIST_OFFSET, lists[1]),
        ):
            block[offset : offset + len(part)] = part
        block[CRC_OFFSET : CRC_OFFSET + 4] = zlib.crc32(block).to_bytes(4, "little")
        return bytes(block)

    def _slots(self, segments: Sequence[tuple[int, int]], room: int) -> bytes:
        """Encode a segment list; what ``room`` slots do not hold goes to chained list pages."""
        slots = _encode_segments(segments[: room if len(segments) <= room else room - 1])
        if len(segments) > room:
            further = self._slots(segments[room - 1 :], LIST_PAGE_SLOTS)
            page = self._memory.allocate(BLOCK_BYTES, BLOCK_BYTES)
            self._list_pages.append(page)
            self._memory.store(page, further)
            slots += pack(Segment, address=page, length=len(further), flags=int(SegmentFlag.CHAIN))
        return slots

    def release(self) -> None:
        """Give all of its memory back."""
        self.body.release()
        self.result.release()
        for page in [*self._list_pages, self.address]:
            self._memory.release(page)
        self._list_pages = []


class NsConfig(CommandStructure):
    """That of one hop's command, of version 1; see :class:`CommandStructure`."""

    def __init__(
        self,
        memory: HostMemory,
        plan: HopPlan,
        mode: Mode,
        placement: Placement,
        *,
        segment_bytes: int = 4096,
    ) -> None:
        super().__init__(
            memory,
            encode_body(plan, mode, placement),
            result_size(plan),
            {
                "version": VERSION,
                "mode": int(mode),
                "id_bytes": placement.id_bytes,
                "target_count": len(plan),
            },
            segment_bytes=segment_bytes,
        )


def _encode_segments(segments: Sequence[tuple[int, int]]) -> bytes:
    rows: npt.NDArray[np.void] = np.zeros(len(segments), dtype=record_dtype(Segment))
    if segments:
        rows["address"], rows["length"] = zip(*segments, strict=True)
    return rows.tobytes()
