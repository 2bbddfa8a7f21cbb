"""Gets pages into the page buffer: hit, merge with a read in flight, or flash read."""

from collections.abc import Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.outcome import CommandError
from firmware_model.page_buffer import Frame, PageBuffer
from firmware_model.parameters import Task
from firmware_model.slots import Slots
from firmware_model.translation import ExtentMap
from rtl.contract.kernel import Cause
from rtl.contract.nvme import Status

__all__ = ["PageReader"]


class PageReader:
    """What sampling and ordinary reads share: translation, page buffer and flash.

    ``jobs`` bounds the pages on which the firmware works at a time. A job claims one frame, uses it
    and releases it, and never waits for a second frame with the first one pinned.
    """

    def __init__(
        self,
        cores: Cores,
        extents: ExtentMap,
        buffer: PageBuffer,
        scheduler: FlashScheduler,
        jobs: Slots,
        counters: Counters,
    ) -> None:
        self.jobs = jobs
        self._cores = cores
        self._extents = extents
        self._buffer = buffer
        self._scheduler = scheduler
        self._counters = counters

    def admit(self, cause: Cause, *, request: int) -> Generator[Any, Any, Cause]:
        """Take an entry of the job table and spend the translation of one page."""
        cause = yield from self.jobs.acquire(cause)
        self._counters.page_jobs += 1
        return (yield from self._cores.run(Task.TRANSLATE, "translate", cause, request=request))

    def fetch(
        self, page: int, pairs: int, cause: Cause, *, request: int, whole: bool
    ) -> Generator[Any, Any, tuple[Frame, Cause]]:
        """Pin the frame of ``page`` with at least the codeword pairs of the mask ``pairs`` in it.

        Raises
        ------
        CommandError
            UNRECOVERED_READ_ERROR; the frame is released.
        UnmappedPage
            If the page was never written.
        """
        place = self._extents.physical(page)
        frame, cause = yield from self._buffer.claim(page, cause)
        ok = True
        missing = pairs & ~frame.valid & ~frame.arriving
        if missing:
            self._counters.misses += 1
            self._counters.refills += bool(frame.valid or frame.fills)
            everything = (1 << self._extents.layout.codewords // 2) - 1
            fill = self._buffer.begin_fill(frame, everything if whole else missing)
            raw, cause = yield from self._scheduler.read(
                place, fill.first, fill.count, cause, request=request
            )
            self._buffer.end_fill(frame, fill, raw, cause)
            ok = raw is not None
        elif pairs & ~frame.valid:
            self._counters.merges += 1
        else:
            self._counters.hits += 1
        while ok and pairs & ~frame.valid:
            # The rest is on its way for somebody else.
            rest = [fill for fill in frame.fills if fill.pairs & pairs & ~frame.valid]
            if not rest:
                ok = False  # it failed while this job read its own part
            else:
                ok, cause = yield rest[0].landed
        if not ok:
            self._buffer.release(frame, cause)
            raise CommandError(Status.UNRECOVERED_READ_ERROR, cause)
        return frame, cause

    def finish(self, frame: Frame | None, cause: Cause) -> None:
        """End a job: release its frame, if it got one, and its entry in the table."""
        if frame is not None:
            self._buffer.release(frame, cause)
        self.jobs.release(cause)
