"""The map again, from the metadata codewords that a scan of all blocks has found."""

from collections.abc import Mapping, Sequence

from firmware_model.ftl.core import Ftl
from firmware_model.ftl.geometry import Block
from rtl.contract.striping import PhysicalPage

__all__ = ["ERASED", "NOISE", "Metadata", "Rebuild"]

Metadata = tuple[int, int, int]
"""(logical page, sequence, copies) of a page, or one of:"""
ERASED = -1, 0, 0
NOISE = -2, 0, 0
"""Neither erased nor with metadata that can be read."""


class Rebuild:
    """Newest version of every page, by sequence number, and then the map from them.

    A page whose program was cut off has no metadata that can be read, so that the version before it
    counts, which nobody has erased: that is done only once the new one is safe. Two pages of one
    sequence number are a copy that the collector made, and what it was made from: the latter
    counts, so that what a collection has used up before it was cut off is free again. Nothing is
    written: map pages that are behind are corrected in the log.

    Parameters
    ----------
    ftl : Ftl
        As made, with nothing loaded or written.
    """

    def __init__(self, ftl: Ftl) -> None:
        self._ftl = ftl
        self._newest: dict[int, tuple[tuple[int, int], PhysicalPage]] = {}
        self._written: list[Block] = []
        """Blocks that are not erased."""
        self._last = 0

    def add(self, block: Block, pages: Sequence[Metadata]) -> None:
        """What all pages of a block hold. Loaded ones may begin behind erased ones."""
        written = [number for number, found in enumerate(pages) if found != ERASED]
        if not written:
            return
        self._written.append(block)
        for number in written:
            page, sequence, copies = pages[number]
            if not 0 <= page < self._ftl.map.all_pages:
                continue
            self._last = max(self._last, sequence)
            known = self._newest.get(page)
            version = sequence, -copies
            if known is None or known[0] < version:
                self._newest[page] = version, self._ftl.parameters.page(block, number)

    @property
    def map_pages(self) -> dict[int, PhysicalPage]:
        """Places of the map pages, by index: they are to be read for :meth:`finish`."""
        first = self._ftl.map.pages
        return {
            page - first: place
            for page, (_, place) in self._newest.items()
            if self._ftl.map.is_map_page(page)
        }

    def finish(self, contents: Mapping[int, bytes]) -> None:
        """Give the map, the blocks and the sequence number to the translation layer.

        ``contents`` are the data of :attr:`map_pages`, by index; one that could not be read is
        absent.
        """
        ftl = self._ftl
        number = {
            page: int(ftl.striping.logical(*place)) for page, (_, place) in self._newest.items()
        }
        directory = {
            index: number[ftl.map.pages + index] for index in self.map_pages if index in contents
        }
        ftl.map.restore(directory)
        hosts = {page: place for page, place in number.items() if not ftl.map.is_map_page(page)}
        for index in sorted({*directory, *(ftl.map.index(page) for page in hosts)}):
            ftl.map.correct(index, contents.get(index), hosts)
        masks = dict.fromkeys(self._written, 0)
        for page, (_, place) in self._newest.items():
            if not ftl.map.is_map_page(page) or page - ftl.map.pages in directory:
                block, at = ftl.parameters.block(place)
                masks[block] |= 1 << at
        for block in self._written:
            ftl.blocks.adopt(block, masks[block])
        ftl.blocks.start_found()
        ftl.sequence = self._last + 1
