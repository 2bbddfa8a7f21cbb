"""Ordinary writes: from where the PRP entries point through the page buffer to flash."""

from collections import deque
from collections.abc import Generator
from typing import Any

from firmware_model.block_io import BlockIo, Extent, cut
from firmware_model.core import Cores
from firmware_model.dma import split
from firmware_model.dma_orders import DmaOrders
from firmware_model.ftl.map_reader import MapReader
from firmware_model.ftl.store import PageStore
from firmware_model.outcome import CommandError, Outcome, Stop, settle
from firmware_model.page_buffer import Frame, pair_mask
from firmware_model.page_reader import PageReader
from firmware_model.parameters import Task
from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout

__all__ = ["BlockWrite"]

Pieces = list[tuple[int, int]]


class BlockWrite:
    """Serves write commands, several at a time; a command completes when its pages are safe.

    Blocks of one command that lie in one flash page are one job. Its data is fetched, then put into
    the page's frame of the buffer, where every read finds it from then on, and the whole page is
    programmed from there. Of a page that is written in part the rest is read first; if it was never
    written the rest is zeros. Jobs of one page follow each other in the order in which their data
    has come.
    """

    def __init__(
        self,
        env: Any,
        layout: PageLayout,
        cores: Cores,
        dma: DmaOrders,
        blocks: BlockIo,
        reader: PageReader,
        places: MapReader,
        store: PageStore,
    ) -> None:
        self._env = env
        self._layout = layout
        self._cores = cores
        self._dma = dma
        self._blocks = blocks
        self._reader = reader
        self._places = places
        self._store = store
        self._turns: dict[int, deque[Any]] = {}
        self.commands = 0

    def serve(
        self, entry: Any, cause: Cause, *, request: int, stop: Stop
    ) -> Generator[Any, Any, Cause]:
        """Carry out one write command (a ``SubmissionEntry``) until all of it is on flash.

        Raises
        ------
        CommandError
            With the status for the completion entry; each page of it is as before or new.
        """
        self.commands += 1
        first, length, pieces, cause = yield from self._blocks.decode(
            entry, cause, request=request, stop=stop
        )
        jobs = []
        for extent in self._blocks.extents(first, length):
            cause = yield from self._reader.admit(cause, request=request)
            parts = cut(pieces, extent.place, extent.length)
            jobs.append(self._env.process(self._job(extent, parts, cause, request)))
        return (yield from settle(self._env, cause, jobs))

    def _job(
        self, extent: Extent, pieces: Pieces, cause: Cause, request: int
    ) -> Generator[Any, Any, Outcome]:
        try:
            data, cause = yield from self._fetch(extent, pieces, cause, request)
        except CommandError as error:
            self._reader.jobs.release(error.cause)
            return Outcome(error.cause, error.status)
        cause = yield from self._take_turn(extent.page, cause)
        try:
            frame, cause = yield from self._frame(extent, cause, request)
        except CommandError as error:
            self._end_turn(extent.page, error.cause)
            return Outcome(error.cause, error.status)
        while frame.fills:
            _, cause = yield frame.fills[0].landed
        everything = pair_mask(self._layout, 0, self._layout.page_bytes)
        frame.data[extent.start : extent.start + extent.length] = data
        frame.valid = everything
        outcome = yield from self._write(extent.page, frame, cause, request)
        self._end_turn(extent.page, outcome.cause)
        task = Task.BLOCK_IO
        cause = yield from self._reader.finish(frame, task, outcome.cause, request=request)
        return Outcome(cause, outcome.status)

    def _fetch(
        self, extent: Extent, pieces: Pieces, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[bytearray, Cause]]:
        """The job's data out of host memory."""
        parts = split(pieces, self._dma.descriptor_bytes)
        cause = yield from self._cores.run(
            Task.BLOCK_IO, "block_io", cause, request=request, piece=len(parts)
        )
        data, reads, done = bytearray(extent.length), [], 0
        for address, length in parts:
            reads.append(
                self._dma.start_read(
                    address, data, done, length, cause, request=request, kind="data"
                )
            )
            done += length
        cause = yield from settle(self._env, cause, reads)
        return data, cause

    def _frame(
        self, extent: Extent, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[Frame, Cause]]:
        """Pin the page's frame, with all that this job does not write in it.

        Raises
        ------
        CommandError
            UNRECOVERED_READ_ERROR; the job has ended.
        """
        everything = pair_mask(self._layout, 0, self._layout.page_bytes)
        rest = everything & ~pair_mask(self._layout, extent.start, extent.length)
        if not rest:
            return (yield from self._reader.claim(extent.page, everything, cause, request=request))
        try:
            place, cause = yield from self._places.find(extent.page, cause, request=request)
        except CommandError as error:
            self._reader.jobs.release(error.cause)
            raise
        if place is not None:
            return (
                yield from self._reader.fetch(extent.page, rest, cause, request=request, whole=True)
            )
        frame, cause = yield from self._reader.claim(
            extent.page, everything, cause, request=request
        )
        if not frame.valid:
            frame.data[:] = bytes(self._layout.page_bytes)
        return frame, cause

    def _write(
        self, page: int, frame: Frame, cause: Cause, request: int
    ) -> Generator[Any, Any, Outcome]:
        """Program the frame's page; where that cannot be done the frame loses its data."""
        try:
            sequence, cause = yield from self._places.begin(page, cause, request=request)
            data = bytes(frame.data)
            cause = yield from self._store.write(page, sequence, data, cause, request=request)
            return Outcome(cause)
        except CommandError as error:
            frame.valid = 0
            return Outcome(error.cause, error.status)

    def _take_turn(self, page: int, cause: Cause) -> Generator[Any, Any, Cause]:
        if page not in self._turns:
            self._turns[page] = deque()
            return cause
        turn = self._env.event()
        self._turns[page].append(turn)
        granted: Cause = yield turn
        return granted

    def _end_turn(self, page: int, cause: Cause) -> None:
        waiting = self._turns[page]
        if waiting:
            waiting.popleft().succeed(cause)
        else:
            del self._turns[page]
