"""The hop sequencer: logic on the FPGA card that samples all hops of a mini-batch by itself.

Hypothetical: it needs an NVMe queue pair of its own, which today's SmartSSD cannot have. It is a
transaction model; row pointers and neighbour ids are read by the gather unit, in RTL.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cosim.fpga_card import CardWindow, GatherPort
from host.costs import HostCpu
from host.errors import ListTooLarge
from host.fpga_csd import FpgaCsdParameters, decode_launch
from host.hop_order import BadOrder, HopEnd, decode_order
from host.hop_window import POINTER_BYTES, HopWindow
from host.peer_reads import PeerReads
from host.sampler import HopPlan, hop_keys
from host.subgraph import HopResult
from host.trace import MiniBatch
from host.window import Round, rounds
from rtl.contract.codec import byte_size, record_dtype
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode, GatherStatus
from rtl.contract.hops import HopStatus
from rtl.contract.kernel import Cause, latest

__all__ = ["ENTRY_BYTES", "HopSequencer", "SequencerParameters"]

ENTRY_BYTES = 8
"""Of the frontier: a node and the slot of its root target, 32 bits each."""
POSITION_BYTES = 4
DESCRIPTOR_BYTES = byte_size(GatherDescriptor)
GRAIN = 64
"""Writes to the card's DRAM are whole words of its port."""
Nodes = npt.NDArray[np.uint32]
Deliver = Callable[[bytes, Cause], Any]
"""Takes results; the SimPy event returned has the cause of their having left the card."""


@dataclass(frozen=True, kw_only=True)
class SequencerParameters:
    """What the sequencer is made for; its times are the costs of its core."""

    gather: FpgaCsdParameters
    """How blocks are read and gathered."""
    launch_ps: int
    """One launch of the gather unit: its registers, and what the unit says of the end."""
    frontier_bytes: int
    """On-chip memory for the frontier of a hop; that of the next one lies in as much again."""

    @property
    def entries(self) -> int:
        """Nodes that a frontier may have."""
        return self.frontier_bytes // ENTRY_BYTES


class _Stop(Exception):
    """The order cannot be carried out; ``cause`` is now."""

    def __init__(self, status: HopStatus, detail: int, cause: Cause) -> None:
        super().__init__(status, detail, cause)
        self.status, self.detail, self.cause = status, detail, cause


class HopSequencer:
    """Carries out orders, one at a time.

    Each hop goes in parts whose row pointers fit a launch, each part in rounds that fit the window.
    Steps follow each other: read row pointers, read lists, write descriptors, launch. Each of them
    is told to the sequencer by what ended it. A launch waits until the results before it have left.

    Parameters
    ----------
    core : HostCpu
        Its steps and what they cost, as spans ``hops.*``.
    gather, window
        The gather unit and the card's DRAM before it.
    reads : PeerReads
        On the sequencer's own queue pair.
    layout : HopWindow
        Where what lies in the window.
    """

    def __init__(
        self,
        core: HostCpu,
        gather: GatherPort,
        window: CardWindow,
        reads: PeerReads,
        layout: HopWindow,
        parameters: SequencerParameters,
    ) -> None:
        self.rounds = 0
        """Launches of the gather unit for neighbour ids so far."""
        self.pointer_launches = 0
        """Those for row pointers."""
        self.reads = reads
        self._core = core
        self._gather = gather
        self._window = window
        self._layout = layout
        self._areas = layout.rounds
        self._leaving: Any = None
        self._parameters = parameters

    def run(
        self, order: bytes, cause: Cause, deliver: Deliver, *, request: int
    ) -> Generator[Any, Any, tuple[HopEnd, Cause]]:
        """Sample a mini-batch; ``deliver`` takes the result words of each round as they come."""
        costs = self._core.costs
        try:
            batch = decode_order(order)
        except BadOrder:
            cause = yield from self._move("order", 0, len(order), cause, request, "hop_order")
            return HopEnd(HopStatus.BAD_ORDER), cause
        order_ps = len(batch.targets) * costs.parse_id_ps
        cause = yield from self._move("order", order_ps, len(order), cause, request, "hop_order")
        sizes: list[int] = []
        try:
            cause = yield from self._hops(batch, cause, deliver, sizes)
            end = HopEnd(HopStatus.OK, sizes=tuple(sizes))
        except _Stop as stop:
            end, cause = HopEnd(stop.status, len(sizes), stop.detail), stop.cause
        return end, (yield from self._leave(cause))

    def _hops(
        self, batch: MiniBatch, cause: Cause, deliver: Deliver, sizes: list[int]
    ) -> Generator[Any, Any, Cause]:
        """All hops; ``sizes`` grows by the bytes of each."""
        frontier: npt.NDArray[Any] = batch.targets
        roots = np.arange(len(frontier), dtype=np.uint32)
        for hop in range(len(batch.fan_outs)):
            nodes = self._admit(frontier, cause)
            keys = hop_keys(batch, hop, len(nodes), roots)
            found = _Found(is_last=hop + 1 == len(batch.fan_outs))
            for first in range(0, len(nodes), self._part):
                part = slice(first, first + self._part)
                lists, cause = yield from self._pointers(nodes[part], cause, batch.request)
                plan = HopPlan(batch.fan_outs[hop], nodes[part], *lists, keys[part], batch.sampling)
                cause = yield from self._lists(plan, found, cause, deliver, batch.request)
            sizes.append(found.size)
            frontier, roots = found.ids, np.repeat(roots, found.counts)
        return cause

    @property
    def _part(self) -> int:
        """Targets whose row pointers one launch reads: what the areas and a result hold."""
        gather, area = self._parameters.gather, self._areas.area_bytes
        descriptors = area // DESCRIPTOR_BYTES * gather.max_fan_out
        return max(
            1, min(area // (2 * POSITION_BYTES), descriptors // 2, gather.result_bytes // 32)
        )

    def _admit(self, frontier: npt.NDArray[Any], cause: Cause) -> Nodes:
        """The nodes of a frontier, if they are some and fit."""
        beyond = np.flatnonzero(frontier >= self._layout.nodes)
        if beyond.size:
            raise _Stop(HopStatus.BAD_ID, int(frontier[beyond[0]]), cause)
        if len(frontier) > self._parameters.entries:
            raise _Stop(HopStatus.FRONTIER_FULL, len(frontier), cause)
        return frontier.astype(np.uint32)

    def _pointers(
        self, nodes: Nodes, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], Cause]]:
        """Where the lists of ``nodes`` begin, and how long they are: from the card's DRAM.

        The table is one list to the gather unit; of each node positions v and v + 1 are taken.
        """
        places = np.repeat(nodes.astype("<u4"), 2)
        places[1::2] += 1
        rows = self._table_rows(len(places))
        id_ps = len(nodes) * self._core.costs.parse_id_ps
        base = self._areas.position_base
        cause = yield from self._write(base, places.tobytes(), "positions", id_ps, cause, request)
        build_ps = len(rows) * self._core.costs.build_target_ps
        raw, cause = yield from self._launch(rows.tobytes(), len(rows), build_ps, cause, request)
        self.pointer_launches += 1
        cause = yield from self._move("pointers", id_ps, len(raw), cause, request, "pointers")
        bounds = decode_launch(raw, len(rows)).ids.astype(np.int64)
        return (bounds[0::2], bounds[1::2] - bounds[0::2]), cause

    def _table_rows(self, places: int) -> npt.NDArray[np.void]:
        """Descriptors that take ``places`` row pointers by explicit positions."""
        most = self._parameters.gather.max_fan_out
        rows = np.zeros(-(-places // most), dtype=record_dtype(GatherDescriptor))
        rows["magic"] = DESCRIPTOR_MAGIC
        rows["mode"] = int(GatherMode.EXPLICIT)
        rows["id_log2"] = POINTER_BYTES.bit_length() - 1
        first = most * np.arange(len(rows))
        rows["fan_out"] = np.minimum(most, places - first)
        rows["list_address"] = self._layout.table_base
        rows["degree"] = self._layout.nodes + 1
        rows["positions_address"] = self._areas.position_base + POSITION_BYTES * first
        return rows

    def _lists(
        self, plan: HopPlan, found: "_Found", cause: Cause, deliver: Deliver, request: int
    ) -> Generator[Any, Any, Cause]:
        """Sample the lists of a plan, in rounds."""
        gather, costs = self._parameters.gather, self._core.costs
        parts = rounds(
            plan,
            False,
            gather.placement,
            self._areas,
            unique=gather.unique_reads,
            max_blocks=gather.max_transfer_bytes // gather.placement.lba_bytes,
            result_bytes=gather.result_bytes,
        )
        while (part := self._next(parts, cause)) is not None:
            failed, cause = yield from self.reads.copy(part.reads, cause, request)
            if failed is not None:
                raise _Stop(HopStatus.READ_FAILED, failed.status, cause)
            count = part.end - part.first
            build_ps = count * costs.build_target_ps
            raw, cause = yield from self._launch(part.descriptors, count, build_ps, cause, request)
            self.rounds += 1
            self._leaving = deliver(raw, cause)
            kept = found.add(raw, count)
            if found.total > self._parameters.entries and not found.is_last:
                raise _Stop(HopStatus.FRONTIER_FULL, found.total, cause)
            if kept and not found.is_last:
                size = kept * ENTRY_BYTES
                keep_ps = kept * costs.parse_id_ps
                cause = yield from self._move("frontier", keep_ps, size, cause, request, "frontier")
        return cause

    def _next(self, parts: Iterator[Round], cause: Cause) -> Round | None:
        try:
            return next(parts, None)
        except ListTooLarge as error:
            raise _Stop(HopStatus.LIST_TOO_LARGE, error.node, cause) from None

    def _launch(
        self, descriptors: bytes, count: int, build_ps: int, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Write descriptors and have them gathered; returns the result words."""
        base = self._areas.descriptor_base
        cause = yield from self._write(base, descriptors, "descriptor", build_ps, cause, request)
        cause = yield from self._leave(cause)
        launch_ps = self._parameters.launch_ps
        cause = yield from self._core.work("launch", launch_ps, cause, request=request)
        result = yield self._gather.launch(base, count, cause, request=request)
        if result.status != GatherStatus.OK:
            raise _Stop(HopStatus.GATHER_FAILED, int(result.status), result.cause)
        return bytes(result.words), result.cause

    def _leave(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Wait until the results before have left, where the next ones will be."""
        if self._leaving is None:
            return cause
        left: Cause = yield self._leaving
        self._leaving = None
        return latest((cause, left))

    def _write(
        self, address: int, data: bytes, kind: str, duration_ps: int, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        """Write what the sequencer has made into the card's DRAM, in whole words of its port."""
        padded = data.ljust(-(-len(data) // GRAIN) * GRAIN, b"\0")
        cause = yield from self._move("build", duration_ps, len(padded), cause, request, kind)
        return (yield from self._window.write(address, padded, cause, request=request))

    def _move(
        self, what: str, duration_ps: int, length: int, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        return self._core.move(what, duration_ps, length, cause, request=request, kind=kind)


class _Found:
    """What a hop has found so far, from the words of the gather unit."""

    def __init__(self, *, is_last: bool) -> None:
        self.is_last = is_last
        """No frontier comes of it."""
        self.size = 0
        """Bytes of all results."""
        self.total = 0
        """Number of all ids."""
        self._parts = [HopResult(np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint64))]

    def add(self, raw: bytes, slots: int) -> int:
        """Take the result of a launch; returns the number of ids."""
        self.size += len(raw)
        part = decode_launch(raw, slots)
        self._parts.append(part)
        self.total += len(part.ids)
        return len(part.ids)

    @property
    def counts(self) -> npt.NDArray[np.uint32]:
        return np.concatenate([part.counts for part in self._parts])

    @property
    def ids(self) -> npt.NDArray[np.uint64]:
        return np.concatenate([part.ids for part in self._parts])
