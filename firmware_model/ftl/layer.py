"""The flash translation layer of a device, put together."""

from collections.abc import Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.dma import Dram
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.collector import Collector
from firmware_model.ftl.core import Ftl
from firmware_model.ftl.images import MapImage, PageImages
from firmware_model.ftl.map_reader import MapReader
from firmware_model.ftl.scan import Scan
from firmware_model.ftl.store import PageStore
from firmware_model.parameters import FirmwareParameters
from rtl.contract.bch import BchCode
from rtl.contract.kernel import Cause

__all__ = ["TranslationLayer"]


class TranslationLayer:
    """State, processes and tables of a device that can be written.

    Raises
    ------
    ValueError
        If the namespace leaves too few spare blocks.
    """

    def __init__(
        self,
        env: Any,
        parameters: FirmwareParameters,
        cores: Cores,
        scheduler: FlashScheduler,
        dram: Dram,
        code: BchCode,
    ) -> None:
        assert parameters.ftl is not None, "the device has a translation layer"
        layout = parameters.layout
        pages = -(-parameters.nvme.namespace_blocks // layout.lbas)
        self.ftl = Ftl(parameters.ftl, layout, parameters.striping, pages)
        images = PageImages(layout, code)
        self.store = PageStore(env, cores, scheduler, dram, self.ftl, images)
        self.places = MapReader(env, cores, scheduler, self.ftl, self.store)
        self._scan = Scan(env, cores, scheduler, self.ftl, images)
        for scope in range(self.ftl.blocks.scopes):
            Collector(env, cores, scheduler, self.ftl, images, self.store, self.places, scope)

    def load(self, first_page: int, pages: int) -> list[tuple[int, MapImage]]:
        """Pages of an image lie at their identity places.

        Returns what must be loaded into the flash beside them: first logical page, and contents.
        """
        logical = self.ftl.load(first_page, pages)
        first = logical.start - self.ftl.map.pages
        loaded = range(first_page, first_page + pages)
        image = MapImage(range(first, first + len(logical)), loaded, self.ftl.layout.page_bytes)
        return [(logical.start, image)]

    def recover(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Find the map again after a loss of power, before any command."""
        return self._scan.run(cause)

    def counts(self) -> dict[str, int]:
        """Its counters; ``programs`` are all pages that were programmed and are good."""
        counts = dict(vars(self.ftl.counters))
        counts["programs"] = (
            counts["host_pages"] + counts["map_pages_written"] + counts["moved_pages"]
        )
        counts["free_blocks"] = sum(
            self.ftl.blocks.free(scope) for scope in range(self.ftl.blocks.scopes)
        )
        counts["most_erases"] = max(self.ftl.blocks.erases.values(), default=0)
        return {f"ftl_{name}": count for name, count in counts.items()}
