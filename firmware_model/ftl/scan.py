"""Finds all pages again after a loss of power: reads every metadata codeword of the array."""

from collections.abc import Generator
from functools import partial
from typing import Any

from firmware_model.core import Cores
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from firmware_model.ftl.images import PageImages, is_erased
from firmware_model.ftl.rebuild import ERASED, NOISE, Metadata, Rebuild
from firmware_model.ftl.work import load_work
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelStatus
from rtl.contract.kernel import Cause, FlashResult, latest
from rtl.contract.striping import PhysicalPage

__all__ = ["Scan"]

ERASED_SHARE = 16
"""A page is erased if at most one cell in so many has lost its one: noise has lost half of them."""


class Scan:
    """Reads of all LUNs at once, a page of each at a time; each page costs a step ``scan_page``.

    Nothing is written, so that power may fail during a scan as well.
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        scheduler: FlashScheduler,
        ftl: Ftl,
        images: PageImages,
    ) -> None:
        self._env = env
        self._cores = cores
        self._scheduler = scheduler
        self._ftl = ftl
        self._images = images

    def run(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Give the translation layer its map; it must be as made."""
        rebuild, striping = Rebuild(self._ftl), self._ftl.striping
        luns = [
            self._env.process(self._lun(rebuild, channel, way, lun, cause))
            for channel in range(striping.channels)
            for way in range(striping.ways)
            for lun in range(striping.luns)
        ]
        yield self._env.all_of(luns)
        cause = latest(process.value for process in luns)
        contents = {}
        for index, place in rebuild.map_pages.items():
            pairs = self._ftl.layout.codewords // 2
            raw, cause = yield from self._scheduler.read(place, 0, pairs, cause, request=0)
            cause = yield from self._cores.run_by_state(
                Task.TRANSLATE,
                "map_load",
                cause,
                partial(load_work, self._ftl.map, index, is_new=False),
            )
            if raw is not None:
                contents[index] = self._images.data(raw)
        rebuild.finish(contents)
        return cause

    def _lun(
        self, rebuild: Rebuild, channel: int, way: int, lun: int, cause: Cause
    ) -> Generator[Any, Any, Cause]:
        parameters = self._ftl.parameters
        for number in range(self._ftl.striping.rows // parameters.pages_per_block):
            block = Block(channel, way, lun, number)
            found = []
            for place in parameters.pages(block):
                metadata, cause = yield from self._page(place, cause)
                found.append(metadata)
            rebuild.add(block, found)
        return cause

    def _page(
        self, place: PhysicalPage, cause: Cause
    ) -> Generator[Any, Any, tuple[Metadata, Cause]]:
        layout = self._ftl.layout
        result: FlashResult
        result, cause = yield from self._scheduler.read_as_it_is(
            place, layout.metadata_column, layout.metadata_bytes, cause, request=0
        )
        cause = yield from self._cores.run(Task.TRANSLATE, "scan_page", cause)
        if is_erased(result.data, 8 * len(result.data) // ERASED_SHARE):
            return ERASED, cause
        found = None
        if result.status == ChannelStatus.OK:
            found = self._images.metadata(result.data)
        return NOISE if found is None else found, cause
