"""Looks pages up in the map, and reads and writes back map pages for that."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeVar

from firmware_model.core import Cores
from firmware_model.flash_queues import FlashClass
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.block_work import begin_work
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from firmware_model.ftl.page_map import MapMiss
from firmware_model.ftl.store import PageStore
from firmware_model.ftl.work import Counts, find_work, keep_work, load_work, log_work, room_work
from firmware_model.outcome import CommandError
from firmware_model.parameters import Task
from firmware_model.translation import UnmappedPage
from rtl.contract.kernel import Cause
from rtl.contract.nvme import Status
from rtl.contract.striping import PhysicalPage

__all__ = ["MapReader"]

Found = TypeVar("Found")


def _find(ftl: Ftl, page: int) -> Counts:
    return find_work(ftl.map, page)


class MapReader:
    """The cache of map pages in the SSD's DRAM, as processes.

    Each look-up is a step ``map_find``, or ``write_begin``. After a miss a place in the cache is
    found (``map_room``): if the cache is full the page that was used longest ago leaves, and is
    written first if it has changed. Then the map page is read and put there
    (``map_load``), where it stays until those who have missed it have looked again. All who miss
    the same map page wait for one read.

    A page that is read is held meanwhile: its block is not erased.
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        scheduler: FlashScheduler,
        ftl: Ftl,
        store: PageStore,
    ) -> None:
        self._env = env
        self._cores = cores
        self._scheduler = scheduler
        self._ftl = ftl
        self._store = store
        self._used = 0
        """Places of the cache that are taken, by pages that are there or come."""
        self._news = env.event()
        self._coming: dict[int, Any] = {}
        self._unread: dict[Block, Any] = {}
        self._is_shortening = False

    def find(
        self,
        page: int,
        cause: Cause,
        *,
        request: int,
        kind: FlashClass = FlashClass.BACKGROUND,
    ) -> Generator[Any, Any, tuple[PhysicalPage | None, Cause]]:
        """Place of a host page at this moment, None if it was never written.

        Raises
        ------
        CommandError
            UNRECOVERED_READ_ERROR where its map page cannot be read, CAPACITY_EXCEEDED where the
            one that must leave for it cannot be written.
        """
        return (
            yield from self._look("map_find", _find, self._ftl.find, page, cause, request, kind)
        )

    def begin(
        self, page: int, cause: Cause, *, request: int
    ) -> Generator[Any, Any, tuple[int, Cause]]:
        """Begin to write a page, no other write of which may be under way: its sequence number.

        Raises
        ------
        CommandError
            As from :meth:`find`.
        """
        look, kind = self._ftl.begin, FlashClass.BACKGROUND
        return (yield from self._look("write_begin", begin_work, look, page, cause, request, kind))

    def _look(
        self,
        routine: str,
        work: Callable[[Ftl, int], Counts],
        action: Callable[[int], Found],
        page: int,
        cause: Cause,
        request: int,
        kind: FlashClass,
    ) -> Generator[Any, Any, tuple[Found, Cause]]:
        """Run a step until it finds the map entry of a page."""
        ftl, has_missed = self._ftl, False
        index = ftl.map.index(page)
        while True:
            cause = yield from self._cores.run_by_state(
                Task.TRANSLATE, routine, cause, partial(work, ftl, page), request=request
            )
            try:
                found = action(page)
            except MapMiss:
                assert not has_missed, "what was waited for stays"
                has_missed = True
                ftl.map.pins[index] += 1
                try:
                    cause = yield from self._load(index, cause, request, kind)
                except CommandError as error:
                    self._unpin(index, error.cause)
                    raise
            else:
                if has_missed:
                    self._unpin(index, cause)
                ftl.counters.map_misses += has_missed
                ftl.counters.map_hits += not has_missed and not ftl.map.is_map_page(page)
                return found, cause

    def _unpin(self, index: int, cause: Cause) -> None:
        """A look-up needs a map page no more, for which it has waited."""
        self._ftl.map.pins[index] -= 1
        self._tell(cause)

    def hold(
        self,
        page: int,
        cause: Cause,
        *,
        request: int,
        kind: FlashClass = FlashClass.BACKGROUND,
    ) -> Generator[Any, Any, tuple[PhysicalPage, Cause]]:
        """Find a page and hold its block until :meth:`release`.

        Raises
        ------
        UnmappedPage
            If it was never written.
        CommandError
            As from :meth:`find`.
        """
        place, cause = yield from self.find(page, cause, request=request, kind=kind)
        if place is None:
            raise UnmappedPage(f"Logical page {page} must be written before it is read")
        self._ftl.blocks.read(place, 1)
        return place, cause

    def release(self, place: PhysicalPage, cause: Cause) -> None:
        """A read of the page at ``place`` has ended by ``cause``, now."""
        self._ftl.blocks.read(place, -1)
        block, _ = self._ftl.parameters.block(place)
        if block in self._unread and not self._ftl.blocks.is_read(block):
            self._unread.pop(block).succeed(cause)

    def shorten_log(self, cause: Cause) -> None:
        """If the log has become long, begin to bring map pages in for its entries.

        They leave the cache as any others do, and are written then. ``cause`` is now.
        """
        if not self._is_shortening and self._ftl.map.is_log_long:
            self._is_shortening = True
            self._env.process(self._shorten_log(cause))

    def _shorten_log(self, cause: Cause) -> Generator[Any, Any, None]:
        try:
            while self._ftl.map.is_log_long:
                cause = yield from self._cores.run_by_state(
                    Task.TRANSLATE, "log_pick", cause, partial(log_work, self._ftl.map)
                )
                index = self._ftl.map.most_logged()
                if index is not None:
                    cause = yield from self._load(index, cause, 0, FlashClass.BACKGROUND)
        except CommandError:
            pass  # those who need the map page will see for themselves
        self._is_shortening = False

    def until_unread(self, block: Block, cause: Cause) -> Generator[Any, Any, Cause]:
        """Wait until nobody holds a page of a block."""
        if self._ftl.blocks.is_read(block):
            self._unread[block] = self._env.event()
            last: Cause = yield self._unread[block]
            return last
        return cause

    def _load(
        self, index: int, cause: Cause, request: int, kind: FlashClass
    ) -> Generator[Any, Any, Cause]:
        """Have a map page in the cache; who has pinned it finds it there."""
        if index in self._coming:
            status, cause = yield self._coming[index]
        else:
            self._coming[index] = self._env.event()
            status = Status.SUCCESS
            try:
                cause = yield from self._make_room(cause, request)
                cause = yield from self._read(index, cause, request, kind)
            except CommandError as error:
                status, cause = error.status, error.cause
            self._coming.pop(index).succeed((status, cause))
            self._tell(cause)
        if status != Status.SUCCESS:
            raise CommandError(status, cause)
        return cause

    def _read(
        self, index: int, cause: Cause, request: int, kind: FlashClass
    ) -> Generator[Any, Any, Cause]:
        """Bring a map page into the room that was made for it."""
        ftl = self._ftl
        place, raw = ftl.find(ftl.map.pages + index), None
        if place is not None:
            ftl.blocks.read(place, 1)
            ftl.counters.map_pages_read += 1
            pairs = ftl.layout.codewords // 2
            raw, cause = yield from self._scheduler.read(
                place, 0, pairs, cause, request=request, kind=kind
            )
            self.release(place, cause)
            if raw is None:
                self._used -= 1
                raise CommandError(Status.UNRECOVERED_READ_ERROR, cause)
        cause = yield from self._cores.run_by_state(
            Task.TRANSLATE,
            "map_load",
            cause,
            partial(load_work, ftl.map, index, is_new=raw is None),
            request=request,
        )
        ftl.map.install(index, None if raw is None else ftl.layout.strip(raw))
        return cause

    def _make_room(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        """Take a place in the cache, that of the page used longest ago if there is no other."""
        table = self._ftl.map
        while True:
            cause = yield from self._cores.run_by_state(
                Task.TRANSLATE,
                "map_room",
                cause,
                lambda: room_work(table, has_room=self._used < table.capacity),
                request=request,
            )
            if self._used < table.capacity:
                self._used += 1
                return cause
            index = table.oldest()
            if index is None:  # all places are of pages that come, leave or are needed
                cause = yield self._news
            else:
                if index in table.dirty:
                    cause = yield from self._write_back(index, cause, request)
                table.drop(index)
                return cause

    def _write_back(self, index: int, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        """Bring a map page that leaves to flash."""
        table = self._ftl.map
        raw = table.snapshot(index)
        try:
            page = table.pages + index
            sequence, cause = yield from self.begin(page, cause, request=request)
            return (yield from self._store.write(page, sequence, raw, cause, request=request))
        except CommandError as error:
            cause = yield from self._cores.run_by_state(
                Task.TRANSLATE,
                "map_keep",
                error.cause,
                partial(keep_work, table, index),
                request=request,
            )
            table.keep(index)
            self._tell(cause)
            raise CommandError(error.status, cause) from error

    def _tell(self, cause: Cause) -> None:
        """Those who wait for a place in the cache look again, after those who wait for a page."""
        news, self._news = self._news, self._env.event()
        news.succeed(cause)
