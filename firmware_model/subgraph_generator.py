"""Subgraph generator: from the body of an NS_config to the dense result in host memory."""

from collections.abc import Generator, Sequence
from typing import Any

from firmware_model.body_stream import BodyStream
from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import split
from firmware_model.dma_orders import DmaOrders
from firmware_model.flash_queues import FlashClass
from firmware_model.ns_config import (
    COUNT_BYTES,
    ENTRY_BYTES,
    Entry,
    NsConfig,
    Refusal,
    Target,
    distinct_counts,
    parse_entry,
    target_of,
)
from firmware_model.outcome import CommandError, Outcome, Stop, settle
from firmware_model.page_buffer import pair_mask
from firmware_model.page_reader import PageReader
from firmware_model.parameters import FirmwareParameters, Task
from firmware_model.slots import Slots
from firmware_model.translation import Piece, grouping_counts, pieces_of_list
from rtl.contract.kernel import Cause
from rtl.contract.ns_config import Mode
from rtl.contract.nvme import Status

__all__ = ["PendingSubgraph", "Pieces", "SubgraphGenerator"]

WORD_BYTES = 4
"""The cores copy ids in words."""

Pieces = Sequence[tuple[int, int]]


class SubgraphGenerator:
    """Keeps a pending subgraph for each command and fills it as pages land.

    The body is parsed target by target, and a target's positions are grouped by page; each page
    becomes a job (translation, page buffer or flash, gather). Jobs of one target and of different
    ones end in any order; each writes its ids to their places in the pending subgraph. When all
    have ended the subgraph goes to the host, one DMA descriptor after the other. ``body_dma`` is
    that of :attr:`Task.ISP_CONTROL`, ``result_dma`` that of :attr:`Task.WRITE_BACK`.
    """

    def __init__(
        self,
        env: Any,
        parameters: FirmwareParameters,
        cores: Cores,
        body_dma: DmaOrders,
        result_dma: DmaOrders,
        reader: PageReader,
        counters: Counters,
    ) -> None:
        self.room = Slots(env, "subgraph buffer", parameters.subgraph_buffer_bytes)
        self._env = env
        self._parameters = parameters
        self._cores = cores
        self._group = cores.routine(Task.ISP_CONTROL, "group_pieces")
        self._copy = cores.routine(Task.GATHER, "gather")
        self._body_dma = body_dma
        self._result_dma = result_dma
        self._reader = reader
        self._counters = counters

    def run(
        self,
        config: NsConfig,
        body: Pieces,
        result: Pieces,
        cause: Cause,
        *,
        request: int,
        stop: Stop,
    ) -> Generator[Any, Any, Cause]:
        """Carry out one checked NS_config; ends when the last result byte is in host memory.

        Raises
        ------
        CommandError
            After all of the command's jobs have ended.
        """
        cause = yield from self.claim(config, cause)
        pending = PendingSubgraph(config, request)
        stream = BodyStream(
            self._env,
            self._body_dma,
            split(body, self._body_dma.descriptor_bytes),
            self._parameters.body_pieces_ahead,
            request,
            stop,
        )
        try:
            cause = yield from self._fill(pending, stream, cause)
            cause = yield from self.write_back(pending, result, cause)
        except CommandError as error:
            self.room.release(error.cause, config.result_bytes)
            raise
        self.room.release(cause, config.result_bytes)
        return cause

    def claim(self, config: NsConfig, cause: Cause) -> Generator[Any, Any, Cause]:
        """Take room for the pending subgraph; :exc:`CommandError` if there never is so much."""
        if config.result_bytes > self.room.capacity:
            raise CommandError(Status.NS_CONFIG_LENGTH, cause)
        return (yield from self.room.acquire(cause, config.result_bytes))

    def _fill(
        self, pending: "PendingSubgraph", stream: BodyStream, cause: Cause
    ) -> Generator[Any, Any, Cause]:
        """Parse the body, and wait for the jobs that it gave rise to, also after an error."""
        failure = Status.SUCCESS
        try:
            cause = yield from self._parse(pending, stream, cause)
        except CommandError as error:
            failure = error.status
            cause = yield from stream.drain(error.cause)
        cause = yield from settle(self._env, cause, pending.jobs)
        if failure != Status.SUCCESS:
            raise CommandError(failure, cause)
        return cause

    def _parse(
        self, pending: "PendingSubgraph", stream: BodyStream, cause: Cause
    ) -> Generator[Any, Any, Cause]:
        config = pending.config
        for _ in range(config.target_count):
            raw, cause = yield from stream.take(ENTRY_BYTES, cause)
            entry = parse_entry(raw, config.mode)
            extra, cause = yield from stream.take(entry.extra_bytes, cause)
            _, cause = yield from self.add(pending, entry, extra, cause)
        if stream.left or pending.used != config.result_bytes:
            raise CommandError(Status.NS_CONFIG_LENGTH, cause)
        return cause

    def add(
        self, pending: "PendingSubgraph", entry: Entry, extra: bytes, cause: Cause
    ) -> Generator[Any, Any, tuple[int, Cause]]:
        """Draw or check the positions of one list and start its jobs; the number of its ids.

        Raises
        ------
        CommandError
            If the entry breaks a rule.
        """
        config = pending.config
        cause = yield from self._parse_step(entry, extra, config.mode, cause, pending.request)
        try:
            target = target_of(
                entry,
                extra,
                config,
                lba_bytes=self._parameters.layout.lba_bytes,
                namespace_blocks=self._parameters.nvme.namespace_blocks,
            )
            place = pending.reserve(target)
        except Refusal as refusal:
            raise CommandError(refusal.status, cause) from None
        cause = yield from self._start(pending, target, place, cause)
        return len(target.positions), cause

    def _parse_step(
        self, entry: Entry, extra: bytes, mode: Mode, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        taken = entry.fan_out if entry.degree else 0
        counts = {"list": int(taken > 0)}
        if mode is Mode.DRAW_DISTINCT:
            routine, counts = "body_draw_distinct", distinct_counts(entry, extra)
        elif mode is Mode.DRAW:
            routine, counts["draw"] = "body_draw", taken
        else:
            routine, counts["position"] = "body_parse", taken
        return self._cores.run(
            Task.ISP_CONTROL, routine, cause, request=request, target=1, **counts
        )

    def _start(
        self, pending: "PendingSubgraph", target: Target, place: int, cause: Cause
    ) -> Generator[Any, Any, Cause]:
        """Start one job for each page that holds ids of ``target``."""
        id_bytes, page_bytes = pending.config.id_bytes, self._parameters.layout.page_bytes
        pages = pieces_of_list(target.list_byte, target.positions, id_bytes, place, page_bytes)
        if pages:
            counts = grouping_counts(pages.values())
            cause = yield self._group.step(cause, request=pending.request, **counts)
        self._counters.targets += 1
        self._counters.empty_targets += not target.positions
        self._counters.ids += len(target.positions)
        self._counters.straddles += sum(map(len, pages.values())) - len(target.positions)
        for page, pieces in pages.items():
            cause = yield from self._reader.admit(cause, request=pending.request)
            pending.jobs.append(self._env.process(self._gather(pending, page, pieces, cause)))
        return cause

    def _gather(
        self, pending: "PendingSubgraph", page: int, pieces: list[Piece], cause: Cause
    ) -> Generator[Any, Any, Outcome]:
        """Job: have the page in the buffer, then copy its ids into the pending subgraph."""
        wanted = 0
        for piece in pieces:
            wanted |= pair_mask(self._parameters.layout, piece.start, piece.length)
        try:
            frame, cause = yield from self._reader.fetch(
                page,
                wanted,
                cause,
                request=pending.request,
                whole=self._parameters.sampling_whole_page,
                kind=FlashClass.SAMPLING,
            )
        except CommandError as error:
            return Outcome(error.cause, error.status)
        cause = yield self._copy.step(
            cause,
            request=pending.request,
            id=len(pieces),
            word=sum(-(-piece.length // WORD_BYTES) for piece in pieces),
        )
        for start, length, target in pieces:
            pending.data[target : target + length] = frame.data[start : start + length]
        return Outcome(
            (yield from self._reader.finish(frame, Task.GATHER, cause, request=pending.request))
        )

    def write_back(
        self, pending: "PendingSubgraph", result: Pieces, cause: Cause
    ) -> Generator[Any, Any, Cause]:
        """Write the subgraph, as far as it goes, into the pieces ``result`` of host memory."""
        request = pending.request
        cause = yield from self._cores.run(Task.WRITE_BACK, "finish", cause, request=request)
        writes, done = [], 0
        for address, room in split(result, self._result_dma.descriptor_bytes):
            length = min(room, pending.used - done)
            if not length:
                break
            cause = yield from self._cores.run(Task.WRITE_BACK, "dma_setup", cause, request=request)
            data = bytes(pending.data[done : done + length])
            writes.append(
                self._result_dma.start_write(address, data, cause, request=request, kind="result")
            )
            done += length
        return (yield from settle(self._env, cause, writes))


class PendingSubgraph:
    """Result of one command while its ids arrive: a count and a place for each id, by target."""

    def __init__(self, config: NsConfig, request: int) -> None:
        self.config = config
        self.request = request
        self.data = bytearray(config.result_bytes)
        self.used = 0
        self.jobs: list[Any] = []

    def reserve(self, target: Target) -> int:
        """Room for the ids of the next target; returns the first one's place.

        :exc:`Refusal` with NS_CONFIG_LENGTH if the result is longer than announced.
        """
        start = self.used
        self.used += target.result_bytes
        if self.used > self.config.result_bytes:
            raise Refusal(Status.NS_CONFIG_LENGTH)
        self.data[start : start + COUNT_BYTES] = len(target.positions).to_bytes(
            COUNT_BYTES, "little"
        )
        return start + COUNT_BYTES
