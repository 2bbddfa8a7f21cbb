"""Host half of the firmware-CSD that goes from hop to hop by itself: one command a mini-batch."""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from host.buffers import check_segment_bytes
from host.chain_config import ChainConfig
from host.driver import Command, Completion, NvmeDriver
from host.errors import ResultError
from host.ns_config import Placement
from host.sampler import check_hop
from host.subgraph import HopResult, Subgraph, decode_hop
from host.trace import MiniBatch
from rtl.contract.kernel import Cause, latest
from rtl.contract.ns_config import RowPointers
from rtl.contract.nvme import SAMPLING_BIT, Opcode

__all__ = ["FirmwareHopsHost", "FirmwareHopsParameters"]


@dataclass(frozen=True, kw_only=True)
class FirmwareHopsParameters:
    """How commands are made.

    Raises
    ------
    ValueError
        If a value is out of range.
    """

    nodes: int
    """Of the graph: ids are below."""
    placement: Placement = field(default_factory=Placement)
    row_pointers: RowPointers = RowPointers.DRAM
    pointer_lba: int = 0
    """First block of the row pointers on flash."""
    segment_bytes: int = 4096
    """Contiguous pieces of the host's buffers."""

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"nodes must be at least 1, not {self.nodes!r}")
        check_segment_bytes(self.segment_bytes)


class FirmwareHopsHost:
    """One worker that has a firmware-CSD sample whole mini-batches."""

    def __init__(self, driver: NvmeDriver, parameters: FirmwareHopsParameters) -> None:
        self.driver = driver
        self.parameters = parameters

    def sample(self, batch: MiniBatch, cause: Cause) -> Generator[Any, Any, tuple[Subgraph, Cause]]:
        """Sample all hops of a mini-batch; ``cause`` (now) started it.

        Raises
        ------
        NvmeError
            If the command fails.
        ResultError
            If the bytes that arrived are not a result of what was asked for.
        """
        cpu, request = self.driver.cpu, batch.request
        cause = yield from cpu.work(
            "draw", len(batch.fan_outs) * cpu.costs.key_ps, cause, request=request
        )
        build_ps = len(batch.targets) * cpu.costs.build_target_ps
        cause = yield from cpu.work("build", build_ps, cause, request=request)
        config = self._config(batch)
        command = Command(
            opcode=Opcode.WRITE,
            prp1=config.address,
            cdw12=1 << SAMPLING_BIT,
            label=f"sampling of {len(batch.fan_outs)} hops from {len(batch.targets)} targets",
        )
        event, cause = yield from self.driver.submit(command, cause, request=request)
        completion: Completion = yield event
        raw = config.result.load()
        config.release()
        cause = latest((cause, completion.check()))
        hops = self._decode(batch, raw[: completion.result])
        slots, ids = sum(len(hop.counts) for hop in hops), sum(len(hop.ids) for hop in hops)
        parse_ps = slots * cpu.costs.parse_target_ps + ids * cpu.costs.parse_id_ps
        cause = yield from cpu.work("parse", parse_ps, cause, request=request)
        return Subgraph(batch.targets, hops), cause

    def _config(self, batch: MiniBatch) -> ChainConfig:
        known = self.parameters
        return ChainConfig(
            self.driver.memory,
            batch,
            known.placement,
            nodes=known.nodes,
            row_pointers=known.row_pointers,
            pointer_lba=known.pointer_lba,
            segment_bytes=known.segment_bytes,
        )

    def _decode(self, batch: MiniBatch, raw: bytes) -> tuple[HopResult, ...]:
        hops: list[HopResult] = []
        slots, place = len(batch.targets), 0
        for fan_out in batch.fan_outs:
            hop, size = decode_hop(raw[place:], slots)
            hops.append(check_hop(hop, len(hops), fan_out, self.parameters.nodes))
            slots, place = len(hop.ids), place + size
        if place != len(raw):
            raise ResultError(f"results must be {place} bytes long by their counts, not {len(raw)}")
        return tuple(hops)
