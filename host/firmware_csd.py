"""Host half of the firmware-CSD: one NVMe command a hop and group, sampling done in the SSD."""

from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from host.buffers import check_segment_bytes
from host.driver import Command, Completion, NvmeDriver
from host.graph import Graph
from host.ns_config import NsConfig, Placement
from host.sampler import MODES, HopPlan, check_result, group_bounds, plan_hop
from host.subgraph import HopResult, Subgraph, decode_result
from host.trace import MiniBatch
from rtl.contract.kernel import Cause, latest
from rtl.contract.ns_config import Mode
from rtl.contract.nvme import SAMPLING_BIT, Opcode
from rtl.contract.sampling import Sampling

__all__ = ["FirmwareCsdHost", "FirmwareCsdParameters"]


@dataclass(frozen=True, kw_only=True)
class FirmwareCsdParameters:
    """How commands are made.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    placement: Placement = field(default_factory=Placement)
    targets_per_command: int = 1024
    """Root targets whose slots of a hop go into one command."""
    positions: str = "host"
    """Who draws: ``host`` (positions travel with the command) or ``device`` (keys do)."""
    segment_bytes: int = 4096
    """Contiguous pieces of the host's buffers."""

    def __post_init__(self) -> None:
        if self.targets_per_command < 1:
            raise ValueError(
                f"targets_per_command must be at least 1, not {self.targets_per_command!r}"
            )
        if self.positions not in MODES:
            raise ValueError(f"positions must be {' or '.join(MODES)}, not {self.positions!r}")
        check_segment_bytes(self.segment_bytes)


class FirmwareCsdHost:
    """One worker that samples mini-batches with a firmware-CSD."""

    def __init__(self, driver: NvmeDriver, graph: Graph, parameters: FirmwareCsdParameters) -> None:
        self.driver = driver
        self.graph = graph
        self.parameters = parameters

    def sample(self, batch: MiniBatch, cause: Cause) -> Generator[Any, Any, tuple[Subgraph, Cause]]:
        """Sample all hops of a mini-batch; ``cause`` (now) started it.

        A hop's commands are all in flight together; the next hop begins when all results of this
        one have been read.

        Raises
        ------
        NvmeError
            If a command fails.
        ResultError
            If the bytes that arrived are not a result of what was asked for.
        """
        roots = len(batch.targets)
        group = self.parameters.targets_per_command
        bounds = np.append(np.arange(0, roots, group), roots)
        frontier: npt.NDArray[Any] = batch.targets
        roots_of = np.arange(roots, dtype=np.uint32)
        hops = []
        for hop in range(len(batch.fan_outs)):
            plan = plan_hop(self.graph, batch, hop, frontier, roots_of)
            result, cause = yield from self._hop(plan, bounds, cause, batch.request)
            hops.append(result)
            bounds = group_bounds(bounds, result.counts)
            frontier, roots_of = result.ids, np.repeat(roots_of, result.counts)
        return Subgraph(batch.targets, tuple(hops)), cause

    def _hop(
        self, plan: HopPlan, bounds: npt.NDArray[np.int64], cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[HopResult, Cause]]:
        sent = []
        for first, end in pairwise(bounds.tolist()):
            if first == end:
                continue
            part = plan.part(first, end)
            config, event, cause = yield from self._send(part, cause, request)
            sent.append((part, config, event))
        counts = [np.empty(0, dtype=np.uint32)]
        ids = [np.empty(0, dtype=np.uint64)]
        for part, config, event in sent:
            result, cause = yield from self._receive(part, config, event, cause, request)
            counts.append(result.counts)
            ids.append(result.ids)
        return HopResult(np.concatenate(counts), np.concatenate(ids)), cause

    def _send(
        self, part: HopPlan, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[NsConfig, Any, Cause]]:
        cpu, parameters = self.driver.cpu, self.parameters
        drawn = len(part) * cpu.costs.key_ps
        mode = Mode.DRAW_DISTINCT if part.sampling == Sampling.DISTINCT else Mode.DRAW
        if parameters.positions == "host":
            mode = Mode.EXPLICIT
            drawn += part.samples * cpu.costs.draw_ps + part.comparisons * cpu.costs.compare_ps
        cause = yield from cpu.work("draw", drawn, cause, request=request)
        cause = yield from cpu.work(
            "build", len(part) * cpu.costs.build_target_ps, cause, request=request
        )
        config = NsConfig(
            self.driver.memory,
            part,
            mode,
            parameters.placement,
            segment_bytes=parameters.segment_bytes,
        )
        command = Command(
            opcode=Opcode.WRITE,
            prp1=config.address,
            cdw12=1 << SAMPLING_BIT,
            label=f"sampling of {len(part)} targets",
        )
        event, cause = yield from self.driver.submit(command, cause, request=request)
        return config, event, cause

    def _receive(
        self, part: HopPlan, config: NsConfig, event: Any, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[HopResult, Cause]]:
        completion: Completion = yield event
        raw = config.result.load()
        config.release()
        cause = latest((cause, completion.check()))
        result = decode_result(raw, len(part))
        costs = self.driver.cpu.costs
        parse_ps = len(part) * costs.parse_target_ps + len(result.ids) * costs.parse_id_ps
        cause = yield from self.driver.cpu.work("parse", parse_ps, cause, request=request)
        return check_result(part, result, self.graph.nodes), cause
