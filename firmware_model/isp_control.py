"""In-storage processing control unit: takes a sampling command to its NS_config and checks it."""

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from firmware_model.chain import Chain, is_on_flash, parse_chain
from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma_orders import DmaOrders
from firmware_model.hop_chain import HopChain
from firmware_model.ns_config import (
    SLOT_BYTES,
    NsConfig,
    Refusal,
    SegmentList,
    check_total,
    parse_header,
    parse_segments,
)
from firmware_model.outcome import CommandError, Stop
from firmware_model.parameters import FirmwareParameters, Task
from firmware_model.subgraph_generator import SubgraphGenerator
from rtl.contract.kernel import Cause
from rtl.contract.ns_config import BLOCK_BYTES
from rtl.contract.nvme import PAGE_BYTES, Status

__all__ = ["IspControl", "judge"]

T = TypeVar("T")
Pieces = list[tuple[int, int]]


def judge(cause: Cause, check: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Apply a check of :mod:`firmware_model.ns_config`; a refusal ends the command now."""
    try:
        return check(*arguments, **named)
    except Refusal as refusal:
        raise CommandError(refusal.status, cause) from None


class IspControl:
    """Serves sampling commands, several at a time.

    The header block is fetched by one DMA descriptor and checked, then further list pages; body and
    result belong to the subgraph generator, those of version 2 to ``hops``. ``dma`` is that of
    :attr:`Task.ISP_CONTROL`.
    """

    def __init__(
        self,
        parameters: FirmwareParameters,
        cores: Cores,
        dma: DmaOrders,
        generator: SubgraphGenerator,
        hops: HopChain,
        counters: Counters,
    ) -> None:
        self._parameters = parameters
        self._list_pages = parameters.list_pages
        self._cores = cores
        self._dma = dma
        self._generator = generator
        self._hops = hops
        self._counters = counters

    def serve(
        self, entry: Any, cause: Cause, *, request: int, stop: Stop
    ) -> Generator[Any, Any, tuple[int, Cause]]:
        """Carry out one sampling command (a ``SubmissionEntry``) up to its last result byte.

        Returns dword 0 of the completion entry, too: of a chain of hops the bytes of its result.

        Raises
        ------
        CommandError
            With the status for the completion entry.
        """
        if entry.cdw12 & 0xFFFF or entry.prp2:
            raise CommandError(Status.INVALID_FIELD, cause)
        if entry.prp1 % PAGE_BYTES:
            raise CommandError(Status.PRP_OFFSET_INVALID, cause)
        self._counters.sampling_commands += 1
        block, cause = yield from self._dma.fetch(
            int(entry.prp1), BLOCK_BYTES, cause, request=request, kind="ns_config"
        )
        stop.check(cause)
        self._counters.ns_config_headers += 1
        cause = yield from self._cores.run(Task.ISP_CONTROL, "header_check", cause, request=request)
        config = judge(cause, parse_header, block)
        chain = None
        if config.is_chain:
            chain, cause = yield from self._chain(block, config, cause, request)
        body, cause = yield from self._pieces(config.body, cause, request, stop)
        judge(cause, check_total, body, config.body_bytes)
        result, cause = yield from self._pieces(config.result, cause, request, stop)
        judge(cause, check_total, result, config.result_bytes)
        named: dict[str, Any] = {"request": request, "stop": stop}
        if chain is not None:
            return (yield from self._hops.run(config, chain, body, result, cause, **named))
        return 0, (yield from self._generator.run(config, body, result, cause, **named))

    def _chain(
        self, block: bytes, config: NsConfig, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[Chain, Cause]]:
        """The second half of a header of version 2."""
        self._counters.chains += 1
        cause = yield from self._cores.run(
            Task.ISP_CONTROL,
            "chain_check",
            cause,
            request=request,
            on_flash=int(is_on_flash(block)),
        )
        chain = judge(
            cause,
            parse_chain,
            block,
            config,
            table_nodes=self._hops.rows.table_nodes,
            lba_bytes=self._parameters.layout.lba_bytes,
            namespace_blocks=self._parameters.nvme.namespace_blocks,
        )
        return chain, cause

    def _pieces(
        self, part: SegmentList, cause: Cause, request: int, stop: Stop
    ) -> Generator[Any, Any, tuple[Pieces, Cause]]:
        """All memory pieces of a segment list, further list pages included."""
        pieces: Pieces = []
        pages = 0
        while True:
            cause = yield from self._cores.run(
                Task.ISP_CONTROL,
                "segment_list",
                cause,
                request=request,
                segment=len(part.pieces),
                chain=int(part.chain is not None),
            )
            pieces += part.pieces
            if part.chain is None:
                return pieces, cause
            pages += 1
            if pages > self._list_pages:
                raise CommandError(Status.NS_CONFIG_ADDRESS, cause)
            self._counters.list_pages += 1
            address, slots = part.chain
            raw, cause = yield from self._dma.fetch(
                address, SLOT_BYTES * slots, cause, request=request, kind="ns_config"
            )
            stop.check(cause)
            part = judge(cause, parse_segments, raw)
