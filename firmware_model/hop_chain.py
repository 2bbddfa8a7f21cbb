"""Carries out a chain of hops: each one's sampled ids are the targets of the next."""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from firmware_model.body_stream import BodyStream
from firmware_model.chain import (
    HOP_BYTES,
    HOP_TARGET_BYTES,
    Chain,
    Frontier,
    Hop,
    next_frontier,
    parse_hops,
    root_frontier,
)
from firmware_model.core import Cores
from firmware_model.dma import split
from firmware_model.dma_orders import DmaOrders
from firmware_model.ns_config import KEY_BYTES, NODE_BYTES, Entry, NsConfig, Refusal
from firmware_model.outcome import CommandError, Outcome, Stop, settle
from firmware_model.parameters import FirmwareParameters, Task
from firmware_model.row_pointers import RowPointerReader
from firmware_model.slots import Slots
from firmware_model.subgraph_generator import PendingSubgraph, Pieces, SubgraphGenerator
from rtl.contract.kernel import Cause, latest
from rtl.contract.ns_config import KeyRule, RowPointers
from rtl.contract.nvme import Status

__all__ = ["HopChain"]


class HopChain:
    """Hop by hop: lists of the targets, draws and gathers, then the targets of the next hop.

    A command first takes room for its pending subgraph, then for the targets of its largest hop; as
    all take both in this order, and those that have both wait for neither, none waits for ever. A
    hop begins when the gathers of the one before have ended, for its targets are what they brought.
    Look-ups of row pointers on flash go ahead of the draws, by at most as many targets as the job
    table has entries; one that waits holds nothing that another one waits for.
    """

    def __init__(
        self,
        env: Any,
        parameters: FirmwareParameters,
        cores: Cores,
        dma: DmaOrders,
        generator: SubgraphGenerator,
        rows: RowPointerReader,
    ) -> None:
        self.room = Slots(env, "hop targets", parameters.hop_targets_bytes)
        self.rows = rows
        self._env = env
        self._parameters = parameters
        self._cores = cores
        self._dma = dma
        self._generator = generator

    def run(
        self,
        config: NsConfig,
        chain: Chain,
        body: Pieces,
        result: Pieces,
        cause: Cause,
        *,
        request: int,
        stop: Stop,
    ) -> Generator[Any, Any, tuple[int, Cause]]:
        """Carry out a checked NS_config; the result's bytes, when the last is in host memory.

        Raises
        ------
        CommandError
            After all of the command's jobs have ended.
        """
        generator = self._generator
        cause = yield from generator.claim(config, cause)
        stream = BodyStream(
            self._env,
            self._dma,
            split(body, self._dma.descriptor_bytes),
            self._parameters.body_pieces_ahead,
            request,
            stop,
        )
        work = _Work(self, config, chain, request, stop, stream)
        try:
            cause = yield from work.run(cause)
            cause = yield from generator.write_back(work.pending, result, cause)
        except CommandError as error:
            cause = yield from stream.drain(error.cause)
            work.release(cause)
            raise CommandError(error.status, cause) from None
        work.release(cause)
        return work.pending.used, cause


class _Work:
    """One command on its way through its hops."""

    def __init__(
        self,
        owner: HopChain,
        config: NsConfig,
        chain: Chain,
        request: int,
        stop: Stop,
        stream: BodyStream,
    ) -> None:
        self.pending = PendingSubgraph(config, request)
        self._owner = owner
        self._config = config
        self._chain = chain
        self._request = request
        self._stop = stop
        self._stream = stream
        self._held = 0
        self._counts: list[int] = []
        """Ids of the lists of this hop so far."""

    def release(self, cause: Cause) -> None:
        """Give back all that is held."""
        if self._held:
            self._owner.room.release(cause, self._held)
        self._owner._generator.room.release(cause, self._config.result_bytes)

    def run(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """All hops, up to the last gather."""
        hops, cause = yield from self._hops(cause)
        frontier, cause = yield from self._roots(hops[0], cause)
        for number, hop in enumerate(hops):
            before = self.pending.used
            cause = yield from self._hop(hop, frontier, cause)
            self._stop.check(cause)
            if number + 1 < len(hops):
                frontier, cause = yield from self._next(hops[number + 1], frontier, before, cause)
        return cause

    def _step(self, routine: str, cause: Cause, **counts: int) -> Generator[Any, Any, Cause]:
        return self._owner._cores.run(
            Task.ISP_CONTROL, routine, cause, request=self._request, **counts
        )

    def _hops(self, cause: Cause) -> Generator[Any, Any, tuple[Sequence[Hop], Cause]]:
        """What the body says of each hop; then there is room for the targets of all of them."""
        raw, cause = yield from self._stream.take(HOP_BYTES * self._chain.hops, cause)
        cause = yield from self._step("hop_table", cause, hop=self._chain.hops)
        try:
            hops, most = parse_hops(raw, self._config, self._chain)
        except Refusal as refusal:
            raise CommandError(refusal.status, cause) from None
        room, needed = self._owner.room, HOP_TARGET_BYTES * most
        if needed > room.capacity:
            raise CommandError(Status.NS_CONFIG_COUNT, cause)
        cause = yield from room.acquire(cause, needed)
        self._held = needed
        return hops, cause

    def _roots(self, hop: Hop, cause: Cause) -> Generator[Any, Any, tuple[Frontier, Cause]]:
        """The targets of the first hop, as the body has them: a step for each DMA descriptor."""
        parts, slot, stream = [], 0, self._stream
        while stream.left:
            here = min(stream.left, self._owner._dma.descriptor_bytes // NODE_BYTES * NODE_BYTES)
            raw, cause = yield from stream.take(here, cause)
            cause = yield from self._step("hop_roots", cause, target=here // NODE_BYTES)
            try:
                parts.append(root_frontier(raw, slot, hop, self._chain))
            except Refusal as refusal:
                raise CommandError(refusal.status, cause) from None
            slot += len(parts[-1])
        nodes = np.concatenate([part.nodes for part in parts])
        return Frontier(nodes, np.concatenate([part.keys for part in parts])), cause

    def _next(
        self, hop: Hop, before: Frontier, first: int, cause: Cause
    ) -> Generator[Any, Any, tuple[Frontier, Cause]]:
        """The ids of the hop that has ended, which begin at byte ``first``, as targets."""
        walks = self._chain.keys is KeyRule.CARRIED
        for count in self._counts:
            if walks:
                cause = yield from self._step("hop_walks", cause, slot=1, id=count)
            else:
                cause = yield from self._step(
                    "hop_targets", cause, slot=1, list=int(count > 0), id=count
                )
        raw = bytes(self.pending.data[first : self.pending.used])
        try:
            frontier = next_frontier(raw, self._counts, hop, self._chain, before)
        except Refusal as refusal:
            raise CommandError(refusal.status, cause) from None
        return frontier, cause

    def _hop(self, hop: Hop, frontier: Frontier, cause: Cause) -> Generator[Any, Any, Cause]:
        """Sample the lists of all targets, and wait for all jobs, also after an error."""
        failure = Status.SUCCESS
        self._counts = []
        lookups: deque[Any] = deque()
        try:
            cause = yield from self._sample(hop, frontier, lookups, cause)
        except CommandError as error:
            failure, cause = error.status, error.cause
        while lookups:
            _, outcome = yield lookups.popleft()
            cause = latest([cause, outcome.cause])
        cause = yield from settle(self._owner._env, cause, self.pending.jobs)
        self.pending.jobs.clear()
        if failure != Status.SUCCESS:
            raise CommandError(failure, cause)
        return cause

    def _sample(
        self, hop: Hop, frontier: Frontier, lookups: deque[Any], cause: Cause
    ) -> Generator[Any, Any, Cause]:
        owner, request = self._owner, self._request
        on_flash = self._chain.row_pointers is RowPointers.FLASH
        ahead = owner._parameters.page_jobs
        nodes, keys = frontier.nodes.tolist(), frontier.keys.tolist()
        begun = 0
        for node, key in zip(nodes, keys, strict=True):
            if on_flash:
                while begun < len(nodes) and len(lookups) < ahead:
                    lookups.append(owner._env.process(self._find(nodes[begun], hop, cause)))
                    begun += 1
                entry, outcome = yield lookups.popleft()
                cause = latest([cause, outcome.cause])
                if entry is None:
                    raise CommandError(outcome.status, cause)
            else:
                entry, cause = yield from owner.rows.find(
                    node, hop, self._config, self._chain, cause, request=request
                )
            extra = key.to_bytes(KEY_BYTES, "little")
            count, cause = yield from owner._generator.add(self.pending, entry, extra, cause)
            self._counts.append(count)
        return cause

    def _find(
        self, node: int, hop: Hop, cause: Cause
    ) -> Generator[Any, Any, tuple[Entry | None, Outcome]]:
        """Process: one look-up ahead of the draws."""
        try:
            entry, cause = yield from self._owner.rows.find(
                node, hop, self._config, self._chain, cause, request=self._request
            )
        except CommandError as error:
            return None, Outcome(error.cause, error.status)
        return entry, Outcome(cause)
