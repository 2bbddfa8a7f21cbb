"""Gets pages into the page buffer: hit, merge with a read in flight, or flash read."""

from collections.abc import Generator
from functools import partial
from typing import Any

from firmware_model.buffer_work import (
    claim_work,
    fill_work,
    grant_work,
    release_work,
    wake_work,
)
from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.flash_queues import FlashClass
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.map_reader import MapReader
from firmware_model.outcome import CommandError
from firmware_model.page_buffer import Fill, Frame, PageBuffer
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

    All that is done to the page buffer is a step: ``buffer_claim`` (look-up, eviction, pin),
    ``buffer_grant`` by a job that had to wait for a frame, ``buffer_fill`` when data has landed,
    ``buffer_wake`` by each job that was waiting for it, and ``buffer_release``. What a step does is
    done at its end; what it costs follows from the state at its beginning.
    """

    def __init__(
        self,
        cores: Cores,
        extents: ExtentMap,
        places: MapReader | None,
        buffer: PageBuffer,
        scheduler: FlashScheduler,
        jobs: Slots,
        counters: Counters,
    ) -> None:
        self.jobs = jobs
        self._translate = cores.routine(Task.TRANSLATE, "translate")
        self._claim = cores.routine(Task.TRANSLATE, "buffer_claim")
        self._grant = cores.routine(Task.TRANSLATE, "buffer_grant")
        self._fill = cores.routine(Task.FLASH_COMPLETION, "buffer_fill")
        self._wake = cores.routine(Task.FLASH_COMPLETION, "buffer_wake")
        self._release = {task: cores.routine(task, "buffer_release") for task in Task}
        self._extents = extents
        self._places = places
        self._buffer = buffer
        self._scheduler = scheduler
        self._counters = counters

    def admit(self, cause: Cause, *, request: int) -> Generator[Any, Any, Cause]:
        """Take an entry of the job table and spend the translation of one page."""
        cause = yield from self.jobs.acquire(cause)
        self._counters.page_jobs += 1
        end: Cause = yield self._translate.step(cause, request=request)
        return end

    def fetch(
        self,
        page: int,
        pairs: int,
        cause: Cause,
        *,
        request: int,
        whole: bool,
        kind: FlashClass = FlashClass.BACKGROUND,
    ) -> Generator[Any, Any, tuple[Frame, Cause]]:
        """Pin the frame of ``page`` with at least the codeword pairs of the mask ``pairs`` in it.

        Raises
        ------
        CommandError
            UNRECOVERED_READ_ERROR, or what looking up the page has ended with; the job has ended.
        UnmappedPage
            If the page was never written.
        """
        place = self._extents.physical(page) if self._places is None else None
        frame, cause = yield from self.claim(page, pairs, cause, request=request)
        ok = True
        if self._places is not None and pairs & ~frame.valid & ~frame.arriving:
            try:
                place, cause = yield from self._places.hold(page, cause, request=request, kind=kind)
            except CommandError as error:
                task = Task.TRANSLATE
                cause = yield from self.finish(frame, task, error.cause, request=request)
                raise CommandError(error.status, cause) from error
        missing = pairs & ~frame.valid & ~frame.arriving
        if missing:
            assert place is not None, "what is missing has been looked up"
            self._counters.misses += 1
            self._counters.refills += bool(frame.valid or frame.fills)
            everything = (1 << self._extents.layout.codewords // 2) - 1
            fill = self._buffer.begin_fill(frame, everything if whole else missing)
            raw, cause = yield from self._scheduler.read(
                place, fill.first, fill.count, cause, request=request, kind=kind
            )
            ok = raw is not None
            work = partial(fill_work, frame, fill, pairs, ok=ok)
            cause = yield self._fill.step_by_state(cause, work, request=request)
            self._buffer.end_fill(frame, fill, raw, cause)
            if self._places is not None:
                self._places.release(place, cause)
        else:
            if pairs & ~frame.valid:
                self._counters.merges += 1
            else:
                self._counters.hits += 1
            if place is not None and self._places is not None:
                self._places.release(place, cause)  # another job has asked for it meanwhile
        while ok and pairs & ~frame.valid:
            # The rest is on its way for somebody else.
            rest = [fill for fill in frame.fills if fill.pairs & pairs & ~frame.valid]
            if not rest:
                ok = False  # it failed while this job read its own part
            else:
                ok, cause = yield from self._wait(frame, rest[0], pairs, request)
        if not ok:
            cause = yield from self.finish(frame, Task.FLASH_COMPLETION, cause, request=request)
            raise CommandError(Status.UNRECOVERED_READ_ERROR, cause)
        return frame, cause

    def finish(
        self, frame: Frame, task: Task, cause: Cause, *, request: int
    ) -> Generator[Any, Any, Cause]:
        """End a job by a step of ``task``: its frame and its entry in the table are free then."""
        work = partial(release_work, self._buffer, frame)
        cause = yield self._release[task].step_by_state(cause, work, request=request)
        self._buffer.release(frame, cause)
        self.jobs.release(cause)
        return cause

    def _wait(
        self, frame: Frame, fill: Fill, pairs: int, request: int
    ) -> Generator[Any, Any, tuple[bool, Cause]]:
        """Wait for a read that another job asked for; says whether it could be corrected."""
        fill.waiting += 1
        ok, cause = yield fill.landed
        work = partial(wake_work, frame, fill, pairs, ok=ok)
        cause = yield self._wake.step_by_state(cause, work, request=request)
        fill.waiting -= 1
        return ok, cause

    def claim(
        self, page: int, pairs: int, cause: Cause, *, request: int
    ) -> Generator[Any, Any, tuple[Frame, Cause]]:
        """Pin the frame of ``page``, with all steps that it takes."""
        work = partial(claim_work, self._buffer, page, pairs)
        cause = yield self._claim.step_by_state(cause, work, request=request)
        claim = yield from self._buffer.claim(page, cause)
        cause = claim.cause
        if claim.waited:
            work = partial(grant_work, claim.frame, pairs)
            cause = yield self._grant.step_by_state(cause, work, request=request)
        return claim.frame, cause
