"""Programs logical pages where the translation layer puts them, again elsewhere if that fails."""

from collections.abc import Generator
from functools import partial
from typing import Any

from firmware_model.core import Cores
from firmware_model.dma import Dram
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.block_work import collect_work, commit_work, place_work, retire_work
from firmware_model.ftl.blocks import Stream
from firmware_model.ftl.core import Ftl, Write
from firmware_model.ftl.geometry import Block
from firmware_model.ftl.images import PageImages
from firmware_model.outcome import CommandError
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause, FlashResult
from rtl.contract.nvme import Status
from rtl.contract.striping import PhysicalPage

__all__ = ["PageStore"]


class PageStore:
    """Brings pages to flash; a page is safe when :meth:`write` ends.

    The place is taken by the step ``write_place`` (``gc_place`` of a collector), which is followed
    by the one that queues the program, so that the pages of a block are programmed in order. Who
    finds no place waits for the collectors.

    Parameters
    ----------
    env, cores, scheduler, dram
        What the writes run on.
    ftl : Ftl
    images : PageImages
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        scheduler: FlashScheduler,
        dram: Dram,
        ftl: Ftl,
        images: PageImages,
    ) -> None:
        self._env = env
        self._cores = cores
        self._scheduler = scheduler
        self._dram = dram
        self._ftl = ftl
        self._images = images
        self._waiting: list[Any] = []
        self._under_way = 0
        """Pages that have a place, and are not committed."""
        self._calls: list[Any] = [env.event() for _ in range(ftl.blocks.scopes)]
        self._idle = [False] * ftl.blocks.scopes

    def write(
        self, page: int, sequence: int, data: bytes, cause: Cause, *, request: int
    ) -> Generator[Any, Any, Cause]:
        """Program a new version of a logical page, which has been begun.

        Raises
        ------
        CommandError
            CAPACITY_EXCEEDED where no block can be had any more.
        """
        image = self._images.encode(data, page, sequence)
        try:
            place, cause = yield from self.program(image, cause, request=request)
        except CommandError:
            self._ftl.give_up(page)
            raise
        cause = yield from self._cores.run_by_state(
            Task.FLASH_COMPLETION,
            "write_commit",
            cause,
            lambda: commit_work(self._ftl, page, place),
            request=request,
        )
        self._under_way -= 1
        self._ftl.commit(Write(page, sequence, place))
        self.call(cause)
        return cause

    def program(
        self, image: bytes, cause: Cause, *, request: int, scope: int | None = None
    ) -> Generator[Any, Any, tuple[PhysicalPage, Cause]]:
        """Program a raw page wherever it can be; for the collector of ``scope``, or the host.

        Raises
        ------
        CommandError
            CAPACITY_EXCEEDED, as from :meth:`write`.
        """
        while True:
            cause = yield from self._dram.move(
                "dram.flash-out",
                self._images.layout.page_bytes,
                cause,
                request=request,
                kind="page",
            )
            place, cause = yield from self._place(scope, cause, request)
            self.call(cause)
            done: FlashResult
            done, cause = yield from self._scheduler.carry_out(
                ChannelOperation.PROGRAM, place, cause, request=request, data=image
            )
            if done.status == ChannelStatus.OK:
                return place, cause
            block, _ = self._ftl.parameters.block(place)
            cause = yield from self.retire(block, cause, request=request)
            self._ftl.fail(place)
            self._under_way -= scope is None

    def retire(
        self, block: Block, cause: Cause, *, request: int = 0, copy: bool = True
    ) -> Generator[Any, Any, Cause]:
        """The step at whose end a block is given up."""
        return self._cores.run_by_state(
            Task.FLASH_COMPLETION,
            "block_retire",
            cause,
            lambda: retire_work(self._ftl.blocks, block, copy=copy),
            request=request,
        )

    def _place(
        self, scope: int | None, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[PhysicalPage, Cause]]:
        blocks = self._ftl.blocks
        while True:
            if scope is None:
                cause = yield from self._cores.run_by_state(
                    Task.TRANSLATE,
                    "write_place",
                    cause,
                    partial(place_work, blocks),
                    request=request,
                )
                place = self._ftl.allocate(Stream.HOST)
            else:
                cause = yield from self._cores.run_by_state(
                    Task.TRANSLATE, "gc_place", cause, partial(collect_work, blocks, scope)
                )
                place = self._ftl.allocate(Stream.COLLECTOR, scope)
            if place is not None:
                self._under_way += scope is None
                return place, cause
            if scope is not None:
                raise CommandError(Status.CAPACITY_EXCEEDED, cause)
            self._ftl.counters.space_waits += 1
            turn = self._env.event()
            self._waiting.append(turn)
            self.call(cause, is_urgent=True)
            has_room, cause = yield turn
            if not has_room:
                raise CommandError(Status.CAPACITY_EXCEEDED, cause)

    # With the collectors

    def next_call(self, scope: int) -> Any:
        """Event that comes when a scope may need its collector; its value is a cause, now."""
        self._calls[scope] = self._env.event()
        return self._calls[scope]

    def call(self, cause: Cause, *, is_urgent: bool = False) -> None:
        """Wake collectors whose scope is short of blocks."""
        for scope, call in enumerate(self._calls):
            needed = (
                is_urgent or self._ftl.needs_collection(scope) or self._ftl.blocks.has_bad(scope)
            )
            if needed and not call.triggered:
                self._idle[scope] = False
                call.succeed(cause)

    def freed(self, cause: Cause) -> None:
        """A block is free: all who wait for one look again."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            turn.succeed((True, cause))

    def nothing_to_gain(self, scope: int, cause: Cause) -> None:
        """A collector can reclaim nothing now: if none can, nor will, who waits gives up."""
        self._idle[scope] = True
        if all(self._idle) and not self._under_way:
            waiting, self._waiting = self._waiting, []
            for turn in waiting:
                turn.succeed((False, cause))
