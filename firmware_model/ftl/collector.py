"""Garbage collection: copies what is valid out of a block, then erases it."""

from collections.abc import Generator
from functools import partial
from typing import Any

from firmware_model.core import Cores
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.block_entry import BlockState
from firmware_model.ftl.block_work import (
    copy_work,
    free_work,
    move_work,
    next_work,
    pick_work,
)
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from firmware_model.ftl.images import PageImages
from firmware_model.ftl.map_reader import MapReader
from firmware_model.ftl.store import PageStore
from firmware_model.outcome import CommandError
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause, FlashResult
from rtl.contract.nvme import Status
from rtl.contract.striping import PhysicalPage

__all__ = ["Collector"]


class Collector:
    """Reclaims blocks of one scope while few of them are free, one block and page at a time.

    Its work is nobody's request (number 0). It needs neither frames of the page buffer nor pages of
    the map: what a page is says its metadata codeword, and where it goes is noted in the map's log
    if need be.
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        scheduler: FlashScheduler,
        ftl: Ftl,
        images: PageImages,
        store: PageStore,
        places: MapReader,
        scope: int,
    ) -> None:
        self._cores = cores
        self._scheduler = scheduler
        self._ftl = ftl
        self._images = images
        self._store = store
        self._places = places
        self._scope = scope
        env.process(self._run())

    def _run(self) -> Generator[Any, Any, None]:
        while True:
            cause: Cause = yield self._store.next_call(self._scope)
            while self._is_needed():
                try:
                    cause, has_gained = yield from self._reclaim(cause)
                except CommandError as error:
                    # A block with a page that cannot be read is left; there may be others.
                    has_gained = error.status == Status.UNRECOVERED_READ_ERROR
                    cause = error.cause
                if not has_gained:
                    break
            self._store.nothing_to_gain(self._scope, cause)

    def _is_needed(self) -> bool:
        return self._ftl.needs_collection(self._scope) or self._ftl.blocks.has_bad(self._scope)

    def _reclaim(self, cause: Cause) -> Generator[Any, Any, tuple[Cause, bool]]:
        blocks = self._ftl.blocks
        cause = yield from self._cores.run_by_state(
            Task.TRANSLATE, "gc_pick", cause, partial(pick_work, blocks, self._scope)
        )
        victim = blocks.victim(self._scope)
        if victim is None:
            return cause, False
        start = 0
        while True:
            cause = yield from self._cores.run_by_state(
                Task.TRANSLATE, "gc_next", cause, partial(next_work, blocks, victim, start)
            )
            place = blocks.next_valid(victim, start)
            if place is None:
                break
            cause = yield from self._move(place, cause)
            _, page = self._ftl.parameters.block(place)
            start = page + 1
        if blocks.state(victim) is not BlockState.BAD:
            cause = yield from self._erase(victim, cause)
        self._ftl.counters.collected_blocks += 1
        self._store.freed(cause)
        self._places.shorten_log(cause)
        return cause, True

    def _move(self, place: PhysicalPage, cause: Cause) -> Generator[Any, Any, Cause]:
        ftl, layout = self._ftl, self._ftl.layout
        result: FlashResult
        length = layout.data_bytes + layout.metadata_bytes
        result, cause = yield from self._scheduler.read_as_it_is(place, 0, length, cause, request=0)
        ok = result.status == ChannelStatus.OK
        found = self._images.metadata(result.data[layout.metadata_column :]) if ok else None
        cause = yield from self._cores.run_by_state(
            Task.TRANSLATE,
            "gc_move",
            cause,
            partial(move_work, ftl.blocks, place, ok=ok, is_whole=found is not None),
        )
        if not ftl.blocks.is_valid(place):
            return cause
        if found is None:
            block, _ = ftl.parameters.block(place)
            cause = yield from self._store.retire(block, cause, copy=False)
            ftl.blocks.give_up(block)
            raise CommandError(Status.UNRECOVERED_READ_ERROR, cause)
        page, sequence, copies = found
        image = self._images.encode(self._images.data(result.data), page, sequence, copies + 1)
        new, cause = yield from self._store.program(image, cause, request=0, scope=self._scope)
        cause = yield from self._cores.run_by_state(
            Task.FLASH_COMPLETION, "gc_commit", cause, partial(copy_work, ftl, page, place, new)
        )
        ftl.commit_move(page, place, new)
        return cause

    def _erase(self, victim: Block, cause: Cause) -> Generator[Any, Any, Cause]:
        cause = yield from self._places.until_unread(victim, cause)
        cause = yield from self._cores.run(Task.TRANSLATE, "gc_erase", cause)
        place = self._ftl.parameters.page(victim, 0)
        done: FlashResult
        done, cause = yield from self._scheduler.carry_out(
            ChannelOperation.ERASE, place, cause, request=0
        )
        is_done = done.status == ChannelStatus.OK
        if is_done:
            cause = yield from self._cores.run_by_state(
                Task.FLASH_COMPLETION,
                "gc_free",
                cause,
                partial(free_work, self._ftl.blocks, victim),
            )
        else:
            cause = yield from self._store.retire(victim, cause)
        self._ftl.erased(victim, is_done=is_done)
        return cause
