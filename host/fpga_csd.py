"""Host half of the FPGA-CSD: blocks go from SSD to card peer to peer, the gather unit samples."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from host.driver import NvmeDriver
from host.errors import FpgaError, ResultError, TraceError
from host.gather_orders import LAUNCHES, RingOrders, SingleOrders, padded, status_name
from host.graph import Graph
from host.ns_config import Placement
from host.peer_reads import PeerReads
from host.sampler import MODES, HopPlan, check_result, plan_hop
from host.subgraph import HopResult, Subgraph
from host.trace import MiniBatch
from host.window import Round, WindowLayout, rounds
from rtl.contract.codec import record_dtype
from rtl.contract.gather import MAX_DISTINCT, MAX_FAN_OUT, GatherStatus, ResultHeader
from rtl.contract.kernel import Cause, FpgaPort, Kernel
from rtl.contract.sampling import Sampling

__all__ = ["FpgaCsdHost", "FpgaCsdParameters", "check_fan_outs", "decode_launch"]


@dataclass(frozen=True, kw_only=True)
class FpgaCsdParameters:
    """How blocks are read and gathered.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    placement: Placement = field(default_factory=Placement)
    positions: str = "host"
    """Who draws: ``host`` (only blocks with a sampled id are read) or ``device`` (whole lists)."""
    launch: str = "single"
    """``single`` launches, or a descriptor ``ring``."""
    reads_in_flight: int = 32
    """Peer-to-peer reads outstanding; 1 is one after the other."""
    whole_lists: bool = False
    """Read whole lists where the host draws, too."""
    unique_reads: bool = True
    """Read what several slots of a round need only once."""
    max_transfer_bytes: int = 128 << 10
    """Largest NVMe read (MDTS of the device)."""
    result_bytes: int = 1 << 20
    """Room for the results of one launch on the card."""
    max_fan_out: int = MAX_FAN_OUT
    """Largest fan-out that the gather unit was built for."""
    max_distinct: int = MAX_DISTINCT
    """Largest fan-out for which it draws without replacement."""

    def __post_init__(self) -> None:
        if self.positions not in MODES:
            raise ValueError(f"positions must be {' or '.join(MODES)}, not {self.positions!r}")
        if self.launch not in LAUNCHES:
            raise ValueError(f"launch must be {' or '.join(LAUNCHES)}, not {self.launch!r}")
        if self.reads_in_flight < 1:
            raise ValueError(f"reads_in_flight must be at least 1, not {self.reads_in_flight!r}")
        if self.max_transfer_bytes < self.placement.lba_bytes:
            raise ValueError(
                f"max_transfer_bytes must be at least a block of {self.placement.lba_bytes}, "
                f"not {self.max_transfer_bytes!r}"
            )
        if self.result_bytes < 16:
            raise ValueError(f"result_bytes must be at least 16, not {self.result_bytes!r}")
        for name in ("max_fan_out", "max_distinct"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")

    @property
    def explicit(self) -> bool:
        """Whether the host draws."""
        return self.positions == "host"

    def fan_out_limit(self, sampling: Sampling) -> int:
        """Largest fan-out that can be sampled so."""
        if self.explicit or sampling != Sampling.DISTINCT:
            return self.max_fan_out
        return min(self.max_fan_out, self.max_distinct)


class FpgaCsdHost:
    """One worker that samples mini-batches with an SSD and an FPGA card."""

    def __init__(
        self,
        kernel: Kernel,
        driver: NvmeDriver,
        card: FpgaPort,
        graph: Graph,
        parameters: FpgaCsdParameters,
    ) -> None:
        self.driver = driver
        self.card = card
        self.graph = graph
        self.parameters = parameters
        has_ring = parameters.launch == "ring"
        self.layout = WindowLayout(card.window_bytes, has_ring=has_ring)
        self._orders = (RingOrders if has_ring else SingleOrders)(card, self.layout)
        self.rounds = 0
        """Launches of the gather unit, or doorbells, so far."""
        self._copies = PeerReads(
            kernel, driver, card.p2p_base, parameters.placement, parameters.reads_in_flight
        )

    @property
    def reads(self) -> int:
        """Peer-to-peer reads so far."""
        return self._copies.count

    @property
    def read_waits(self) -> int:
        """Reads that found ``reads_in_flight`` others outstanding."""
        return self._copies.waits

    def sample(self, batch: MiniBatch, cause: Cause) -> Generator[Any, Any, tuple[Subgraph, Cause]]:
        """Sample all hops of a mini-batch; ``cause`` (now) started it.

        The steps of a round follow each other: read the blocks, write descriptors and positions,
        launch, fetch, read the result.

        Raises
        ------
        TraceError
            If a fan-out is larger than the gather unit takes.
        NvmeError
            If a read fails.
        FpgaError
            If the gather unit reports an error, or one list does not fit its window.
        ResultError
            If the bytes that arrived are not a result of what was asked for.
        """
        check_fan_outs(batch, self.parameters)
        frontier: npt.NDArray[Any] = batch.targets
        roots = np.arange(len(frontier), dtype=np.uint32)
        hops = []
        for hop in range(len(batch.fan_outs)):
            plan = plan_hop(self.graph, batch, hop, frontier, roots)
            result, cause = yield from self._hop(plan, cause, batch.request)
            hops.append(result)
            frontier, roots = result.ids, np.repeat(roots, result.counts)
        return Subgraph(batch.targets, tuple(hops)), cause

    def _hop(
        self, plan: HopPlan, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[HopResult, Cause]]:
        cpu, parameters = self.driver.cpu, self.parameters
        drawn = len(plan) * cpu.costs.key_ps
        if parameters.explicit:
            drawn += plan.samples * cpu.costs.draw_ps + plan.comparisons * cpu.costs.compare_ps
        cause = yield from cpu.work("draw", drawn, cause, request=request)
        counts = [np.empty(0, dtype=np.uint32)]
        ids = [np.empty(0, dtype=np.uint64)]
        for part in rounds(
            plan,
            parameters.explicit,
            parameters.placement,
            self.layout,
            unique=parameters.unique_reads,
            max_blocks=parameters.max_transfer_bytes // parameters.placement.lba_bytes,
            result_bytes=parameters.result_bytes,
            whole_lists=parameters.whole_lists,
        ):
            slots = plan.part(part.first, part.end)
            cause = yield from self._copy_blocks(part, slots, cause, request)
            cause = yield from self._write_orders(part, slots, cause, request)
            result, cause = yield from self._gather(slots, cause, request)
            counts.append(result.counts)
            ids.append(result.ids)
        return HopResult(np.concatenate(counts), np.concatenate(ids)), cause

    def _copy_blocks(
        self, part: Round, slots: HopPlan, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        """Read all blocks of a round into the window; several are in flight."""
        cpu = self.driver.cpu
        single = self.parameters.explicit and not self.parameters.whole_lists
        mapped = slots.samples if single else len(slots)
        map_ps = mapped * cpu.costs.map_block_ps
        cause = yield from cpu.work("map", map_ps, cause, request=request)
        failed, cause = yield from self._copies.copy(part.reads, cause, request)
        return cause if failed is None else failed.check()

    def _write_orders(
        self, part: Round, slots: HopPlan, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        """Write descriptors and positions to the card."""
        cpu = self.driver.cpu
        build_ps = len(slots) * cpu.costs.build_target_ps
        cause = yield from cpu.work("build", build_ps, cause, request=request)
        copies = [(*copy, "descriptor") for copy in self._orders.place(part.descriptors)]
        copies.append((self.layout.position_base, padded(part.positions), "positions"))
        for address, data, kind in copies:
            if data:
                cause = yield from self.card.write(address, data, cause, request=request, kind=kind)
        return cause

    def _gather(
        self, slots: HopPlan, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[HopResult, Cause]]:
        self.rounds += 1
        raw, cause = yield from self._orders.run(len(slots), cause, request=request)
        result = decode_launch(raw, len(slots))
        costs = self.driver.cpu.costs
        parse_ps = len(slots) * costs.parse_target_ps + len(result.ids) * costs.parse_id_ps
        cause = yield from self.driver.cpu.work("parse", parse_ps, cause, request=request)
        return check_result(slots, result, self.graph.nodes), cause


def check_fan_outs(batch: MiniBatch, parameters: FpgaCsdParameters) -> None:
    """Refuse a mini-batch that the gather unit cannot sample: :exc:`TraceError`."""
    limit = parameters.fan_out_limit(batch.sampling)
    for hop, fan_out in enumerate(batch.fan_outs):
        if fan_out > limit:
            raise TraceError(
                f"batches[{batch.index}].fan_outs[{hop}] must be at most {limit} for the "
                f"gather unit, not {fan_out}"
            )


def decode_launch(raw: bytes, slots: int) -> HopResult:
    """Read the gather unit's result words: a header a target, then its ids.

    Raises
    ------
    FpgaError
        If a target failed.
    ResultError
        If the words are cut short, or some are left over.
    """
    if len(raw) % 8:
        raise ResultError(f"result must be whole 64-bit words, not {len(raw)} bytes")
    words = np.frombuffer(raw, dtype="<u8").astype(np.uint64)
    headers = np.frombuffer(raw, dtype=record_dtype(ResultHeader))
    body = np.ones(len(words), dtype=bool)
    counts = np.empty(slots, dtype=np.uint32)
    place = 0
    for slot in range(slots):
        if place >= len(words):
            raise ResultError(f"result must hold {slots} targets, not {slot} ({len(raw)} bytes)")
        status = int(headers["status"][place])
        if status != GatherStatus.OK:
            raise FpgaError(f"target {slot} must end with OK, not {status_name(status)}")
        counts[slot] = headers["count"][place]
        body[place] = False
        place += 1 + int(counts[slot])
    if place != len(words):
        raise ResultError(f"result must be {place} words long by its counts, not {len(words)}")
    return HopResult(counts, words[body])
