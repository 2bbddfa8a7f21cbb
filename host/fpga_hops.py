"""Host half of the FPGA-CSD whose card goes from hop to hop by itself: one doorbell a mini-batch.

Hypothetical: the card needs an NVMe queue pair of its own, which today's SmartSSD cannot have.
"""

from collections.abc import Generator
from typing import Any

from host.driver import NvmeDriver, status_name
from host.errors import DeviceError, FpgaError, NvmeError, ResultError
from host.fpga_csd import FpgaCsdParameters, check_fan_outs, decode_launch
from host.hop_order import HopEnd, decode_answer, encode_order
from host.sampler import check_hop
from host.subgraph import HopResult, Subgraph
from host.trace import MiniBatch
from rtl.contract.gather import GatherStatus
from rtl.contract.hops import HopStatus
from rtl.contract.kernel import Cause, HopPort

__all__ = ["FpgaHopsHost"]

WRONG = {
    HopStatus.BAD_ORDER: "order must be one of a mini-batch",
    HopStatus.LIST_TOO_LARGE: "list of node {0} must fit the window beside the row pointers",
    HopStatus.BAD_ID: "ids must be nodes of the row pointers, not {0}",
    HopStatus.FRONTIER_FULL: "frontier of {0} nodes must fit the hop sequencer",
}


class FpgaHopsHost:
    """One worker that has a card sample whole mini-batches.

    Parameters
    ----------
    driver : NvmeDriver
        Whose core the worker has; no command of its queue is used.
    hops : HopPort
        The card.
    nodes : int
        Of the graph: ids are below.
    parameters : FpgaCsdParameters
        Of the gather unit; positions are drawn by the device.
    """

    def __init__(
        self, driver: NvmeDriver, hops: HopPort, nodes: int, parameters: FpgaCsdParameters
    ) -> None:
        self.driver = driver
        self.parameters = parameters
        self._hops = hops
        self._nodes = nodes

    def sample(self, batch: MiniBatch, cause: Cause) -> Generator[Any, Any, tuple[Subgraph, Cause]]:
        """Sample all hops of a mini-batch; ``cause`` (now) started it.

        Raises
        ------
        TraceError
            If a fan-out is larger than the gather unit takes.
        NvmeError
            If a read of the card failed.
        FpgaError
            If the gather unit reports an error, or what must fit the card does not.
        ResultError
            If the bytes that arrived are not a result of what was asked for.
        """
        check_fan_outs(batch, self.parameters)
        cpu, request = self.driver.cpu, batch.request
        build_ps = len(batch.targets) * cpu.costs.build_target_ps
        cause = yield from cpu.work("build", build_ps, cause, request=request)
        answer, raw, cause = yield from self._hops.sample(
            encode_order(batch), cause, request=request
        )
        end = decode_answer(answer)
        if end.status != HopStatus.OK:
            raise _error(end)
        hops = self._decode(batch, end.sizes, raw)
        slots, ids = sum(len(hop.counts) for hop in hops), sum(len(hop.ids) for hop in hops)
        parse_ps = slots * cpu.costs.parse_target_ps + ids * cpu.costs.parse_id_ps
        cause = yield from cpu.work("parse", parse_ps, cause, request=request)
        return Subgraph(batch.targets, hops), cause

    def _decode(
        self, batch: MiniBatch, sizes: tuple[int, ...], raw: bytes
    ) -> tuple[HopResult, ...]:
        if len(sizes) != len(batch.fan_outs) or sum(sizes) != len(raw):
            raise ResultError(
                f"answer must have {len(batch.fan_outs)} sizes that add up to {len(raw)} bytes, "
                f"not {list(sizes)}"
            )
        hops: list[HopResult] = []
        slots, place = len(batch.targets), 0
        for fan_out, size in zip(batch.fan_outs, sizes, strict=True):
            hop = decode_launch(raw[place : place + size], slots)
            check_hop(hop, len(hops), fan_out, self._nodes)
            hops.append(hop)
            slots, place = len(hop.ids), place + size
        return tuple(hops)


def _error(end: HopEnd) -> DeviceError:
    where = f"hop {end.hop} on the card"
    if end.status == HopStatus.READ_FAILED:
        return NvmeError(end.detail, status_name(end.detail), f"peer-to-peer read in {where}")
    if end.status == HopStatus.GATHER_FAILED:
        names = {int(status): status.name for status in GatherStatus}
        found = names.get(end.detail, f"status {end.detail}")
        return FpgaError(f"launch in {where} must end with OK, not {found}")
    rule = WRONG.get(HopStatus(end.status), "order must end with a known status")
    return FpgaError(f"In {where}: {rule.format(end.detail)}")
