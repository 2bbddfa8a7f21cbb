"""The FPGA card's DRAM window: its layout, and how a hop is cut into rounds that fit it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from host.errors import ListTooLarge
from host.ns_config import Placement
from host.sampler import HopPlan
from rtl.contract.codec import byte_size, record_dtype
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode, ResultHeader
from rtl.contract.gather_rings import MAX_SIZE_LOG2
from rtl.contract.sampling import Sampling

__all__ = ["DESCRIPTOR_BYTES", "BlockRead", "Round", "WindowLayout", "rounds"]

GRAIN = 4096
DESCRIPTOR_BYTES = byte_size(GatherDescriptor)
HEADER_BYTES = byte_size(ResultHeader)
SHARE = 16
"""Descriptors and positions get one part in this many of the window each, data the rest."""


@dataclass(frozen=True)
class WindowLayout:
    """Areas of the window, as byte offsets: data from 0, then descriptors, then positions.

    With ``has_ring`` the area of descriptors is a ring of them, and a completion ring behind it.

    Raises
    ------
    ValueError
        If the window is not whole pages of 4 KiB, at least three.
    """

    window_bytes: int
    has_ring: bool = False

    def __post_init__(self) -> None:
        if self.window_bytes < 3 * GRAIN or self.window_bytes % GRAIN:
            raise ValueError(
                f"window_bytes must be at least {3 * GRAIN} in whole pages of {GRAIN}, "
                f"not {self.window_bytes!r}"
            )

    @property
    def area_bytes(self) -> int:
        """Size of the descriptor area, and of the position area."""
        return max(GRAIN, self.window_bytes // SHARE // GRAIN * GRAIN)

    @property
    def data_bytes(self) -> int:
        return self.window_bytes - 2 * self.area_bytes

    @property
    def descriptor_base(self) -> int:
        return self.data_bytes

    @property
    def descriptor_bytes(self) -> int:
        """Most bytes of descriptors in a round: a ring holds one entry less than its size."""
        return (self.ring_entries - 1) * DESCRIPTOR_BYTES if self.has_ring else self.area_bytes

    @property
    def ring_entries(self) -> int:
        """Entries of the descriptor ring: the power of two that fills at most half of the area."""
        most = min(self.area_bytes // 2 // DESCRIPTOR_BYTES, 1 << MAX_SIZE_LOG2)
        return 1 << most.bit_length() - 1

    @property
    def completion_base(self) -> int:
        return self.descriptor_base + self.ring_entries * DESCRIPTOR_BYTES

    @property
    def completion_entries(self) -> int:
        """Entries of the completion ring; a worker has no more than one under way."""
        return 16

    @property
    def position_base(self) -> int:
        return self.data_bytes + self.area_bytes


@dataclass(frozen=True)
class BlockRead:
    """Blocks to read from the SSD to byte ``offset`` of the window."""

    lba: int
    blocks: int
    offset: int


@dataclass(eq=False)
class Round:
    """Slots ``first`` to ``end`` - 1 of a hop: what to read, and the gather unit's orders."""

    first: int
    end: int
    reads: list[BlockRead] = field(default_factory=list)
    descriptors: bytes = b""
    positions: bytes = b""


class _Open:
    """The round that is being filled."""

    def __init__(self, first: int) -> None:
        self.round = Round(first, first)
        self.used = 0
        self.result_bytes = 0
        self.placed: dict[int, int] = {}
        self.positions: list[int] = []
        self.lists: list[tuple[int, int]] = []


def rounds(
    plan: HopPlan,
    explicit: bool,
    placement: Placement,
    layout: WindowLayout,
    *,
    unique: bool,
    max_blocks: int,
    result_bytes: int,
    whole_lists: bool = False,
) -> Iterator[Round]:
    """Cut a hop into rounds, in slot order, each as large as the window and the result allow.

    With ``explicit`` positions the blocks that hold a sampled id are read one by one, and positions
    count from the start of the data area; drawn by the device, or with ``whole_lists``, whole lists
    are read, in commands of at most ``max_blocks``. ``unique``: what several slots of a round need
    is read once.

    Raises
    ------
    ListTooLarge
        If a single slot does not fit the window or the result.
    """
    filler = (_Listed if whole_lists else _Explicit) if explicit else _Drawn
    fill = filler(plan, placement, layout, unique, max_blocks)
    current = _Open(0)
    for slot in range(len(plan)):
        if _add(fill, current, slot, plan, layout, result_bytes):
            continue
        if current.round.end > current.round.first:
            yield fill.close(current)
            current = _Open(slot)
            if _add(fill, current, slot, plan, layout, result_bytes):
                continue
        raise ListTooLarge(
            int(plan.nodes[slot]),
            f"list of node {plan.nodes[slot]} must fit the window's {layout.data_bytes} bytes of "
            f"data and {layout.area_bytes} of positions, and a result of {result_bytes} bytes, "
            f"not {fill.needs(slot)}",
        )
    if len(plan):
        yield fill.close(current)


def _add(
    fill: "_Explicit | _Drawn",
    current: _Open,
    slot: int,
    plan: HopPlan,
    layout: WindowLayout,
    result_bytes: int,
) -> bool:
    """Take a slot into the round if all that it needs fits."""
    result = HEADER_BYTES + 8 * fill.counts[slot]
    if current.result_bytes + result > result_bytes:
        return False
    if (slot + 1 - current.round.first) * DESCRIPTOR_BYTES > layout.descriptor_bytes:
        return False
    if not fill.add(current, slot):
        return False
    current.result_bytes += result
    current.round.end = slot + 1
    return True


class _Filler:
    def __init__(
        self,
        plan: HopPlan,
        placement: Placement,
        layout: WindowLayout,
        unique: bool,
        max_blocks: int,
    ) -> None:
        self.plan = plan
        self.counts = plan.counts.tolist()
        self.placement = placement
        self.layout = layout
        self.unique = unique
        self.max_blocks = max_blocks

    def descriptors(self, current: _Open, mode: GatherMode) -> np.ndarray[tuple[int], np.dtype]:
        """Descriptor records of a round, list addresses and degrees from ``current.lists``."""
        part = self.plan.part(current.round.first, current.round.end)
        rows = np.zeros(len(part), dtype=record_dtype(GatherDescriptor))
        rows["magic"] = DESCRIPTOR_MAGIC
        rows["mode"] = int(mode)
        rows["id_log2"] = self.placement.id_bytes.bit_length() - 1
        explicit = mode == GatherMode.EXPLICIT
        rows["fan_out"] = np.where(explicit & (part.degrees > 0), part.counts, part.fan_out)
        rows["list_address"], rows["degree"] = zip(*current.lists, strict=True)
        rows["key"] = part.keys
        return rows

    def close_explicit(self, current: _Open) -> Round:
        """Orders that name positions: those of a target lie behind those of the one before."""
        rows = self.descriptors(current, GatherMode.EXPLICIT)
        taken = np.where(rows["degree"] > 0, rows["fan_out"], 0).astype(np.int64)
        before = np.cumsum(taken) - taken
        rows["positions_address"] = self.layout.position_base + 4 * before
        rows["key"] = 0
        current.round.descriptors = rows.tobytes()
        current.round.positions = np.array(current.positions, dtype="<u4").tobytes()
        return current.round

    def has_room_for(self, current: _Open, positions: int) -> bool:
        """Whether the area of positions holds so many more."""
        return len(current.positions) + positions <= self.layout.area_bytes // 4


class _Explicit(_Filler):
    """Single blocks; all of the data area is one list to the gather unit."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        place = (self.plan.starts[:, None] + self.plan.positions()) * self.placement.id_bytes
        self._blocks = (place // self.placement.lba_bytes).tolist()
        self._offsets = (place % self.placement.lba_bytes).tolist()

    def needs(self, slot: int) -> str:
        count = self.counts[slot]
        return f"{len(set(self._blocks[slot][:count]))} blocks and {count} positions"

    def add(self, current: _Open, slot: int) -> bool:
        count = self.counts[slot]
        if not count:
            current.lists.append((0, 0))
            return True
        size = self.placement.lba_bytes
        used, reads, places = current.used, [], []
        fresh: dict[int, int] = {}
        where_ids = zip(self._blocks[slot][:count], self._offsets[slot][:count], strict=True)
        for block, offset in where_ids:
            where = fresh.get(block, current.placed.get(block)) if self.unique else None
            if where is None:
                where = fresh[block] = used
                reads.append(BlockRead(self.placement.base_lba + block, 1, used))
                used += size
            places.append((where + offset) // self.placement.id_bytes)
        if used > self.layout.data_bytes or not self.has_room_for(current, len(places)):
            return False
        current.used = used
        current.placed.update(fresh)
        current.round.reads += reads
        current.positions += places
        current.lists.append((0, self.layout.data_bytes // self.placement.id_bytes))
        return True

    def close(self, current: _Open) -> Round:
        return self.close_explicit(current)


class _Drawn(_Filler):
    """Whole lists, each contiguous in the data area."""

    def _range(self, slot: int) -> tuple[int, int, int]:
        """First block of a slot's list, number of blocks, and byte offset in the first."""
        size, width = self.placement.lba_bytes, self.placement.id_bytes
        begin = int(self.plan.starts[slot]) * width
        end = begin + int(self.plan.degrees[slot]) * width
        return begin // size, -(-end // size) - begin // size, begin % size

    def needs(self, slot: int) -> str:
        return f"{self._range(slot)[1] * self.placement.lba_bytes} bytes of list"

    def add(self, current: _Open, slot: int) -> bool:
        degree = int(self.plan.degrees[slot])
        if not degree:
            current.lists.append((0, 0))
            return True
        node = int(self.plan.nodes[slot])
        block, count, skip = self._range(slot)
        where = current.placed.get(node) if self.unique else None
        if where is None:
            size = self.placement.lba_bytes
            where = current.used
            if where + count * size > self.layout.data_bytes:
                return False
            for done in range(0, count, self.max_blocks):
                blocks = min(self.max_blocks, count - done)
                lba = self.placement.base_lba + block + done
                current.round.reads.append(BlockRead(lba, blocks, where + done * size))
            current.placed[node] = where
            current.used += count * size
        current.lists.append((where + skip, degree))
        return True

    def close(self, current: _Open) -> Round:
        distinct = self.plan.sampling == Sampling.DISTINCT
        mode = GatherMode.DRAW_DISTINCT if distinct else GatherMode.DRAW
        current.round.descriptors = self.descriptors(current, mode).tobytes()
        return current.round


class _Listed(_Drawn):
    """Whole lists, and the positions to take from each."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._positions = self.plan.positions().tolist()

    def needs(self, slot: int) -> str:
        return f"{super().needs(slot)} and {self.counts[slot]} positions"

    def add(self, current: _Open, slot: int) -> bool:
        places = self._positions[slot][: self.counts[slot]]
        if not self.has_room_for(current, len(places)) or not super().add(current, slot):
            return False
        current.positions += places
        return True

    def close(self, current: _Open) -> Round:
        return self.close_explicit(current)
