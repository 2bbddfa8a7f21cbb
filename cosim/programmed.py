"""Blocks that were erased or programmed while the simulation ran, and what they hold."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from rtl.contract.nand_part import NandPart
from rtl.contract.page import FILL
from rtl.contract.striping import PhysicalPage

__all__ = ["BadProgram", "ProgrammedBlocks"]


class BadProgram(Exception):
    """A die was told to program a page that cannot take it."""

    # Made with its message only, as UnwrittenPage.


@dataclass
class _Block:
    """One block since it was first erased or programmed in this run."""

    next_page: int = 0
    """First of those that may still be programmed for the first time."""
    was_erased: bool = False
    """Pages that are not here are erased; else they are as they came."""
    is_spoiled: bool = False
    """An erase did not come to its end: no page can be told from noise."""
    erases: int = 0
    programs: dict[int, int] = field(default_factory=dict)
    """How often each page was programmed since the last erase."""
    images: dict[int, bytes | None] = field(default_factory=dict)
    """What these pages hold; None is noise."""


class ProgrammedBlocks:
    """Cells of which the rest of a device's medium need know nothing.

    Pages of a block are programmed in ascending order, some may be left out, each at most
    ``programs_per_page`` times after an erase (ONFI 3.1, sections 5.9 and 5.18); a further program
    of a page can only make zeros of ones. A block that was neither erased nor programmed in this
    run is as it came: what was loaded counts as programmed, all else as erased. Where a program or
    an erase failed or was cut off, noise is read, the same each time, until the block is erased.

    Parameters
    ----------
    part : NandPart
        Geometry of a LUN.
    programs_per_page : int
        How often a page may be programmed after an erase.

    Raises
    ------
    ValueError
        If ``programs_per_page`` is not positive.
    """

    def __init__(self, part: NandPart, *, programs_per_page: int = 1) -> None:
        if programs_per_page < 1:
            raise ValueError(f"programs_per_page must be positive, not {programs_per_page!r}")
        self._raw_bytes: int = part.raw_page_bytes
        self._pages_per_block: int = part.pages_per_block
        self._programs_per_page = programs_per_page
        self._blocks: dict[tuple[int, int, int, int], _Block] = {}

    def __len__(self) -> int:
        return len(self._blocks)

    def find(self, place: PhysicalPage) -> bytes | None:
        """Image of a page; None if that is what was loaded before the run, or nothing was."""
        key, page = self._split(place)
        block = self._blocks.get(key)
        if block is None:
            return None
        if page in block.images:
            image = block.images[page]
            return self._noise(place, block) if image is None else image
        if block.is_spoiled:
            return self._noise(place, block)
        return bytes([FILL]) * self._raw_bytes if block.was_erased else None

    def program(
        self, place: PhysicalPage, image: bytes | None, is_loaded: Callable[[PhysicalPage], bool]
    ) -> None:
        """Store a page, or noise if ``image`` is None.

        Parameters
        ----------
        place : PhysicalPage
        image : bytes or None
            Of the raw page's size.
        is_loaded : callable
            Whether a page was loaded before the run.

        Raises
        ------
        BadProgram
            If the page cannot take it.
        """
        block, page = self._open(place, is_loaded), self._split(place)[1]
        programs = block.programs.get(page, 0)
        if block.is_spoiled:
            raise BadProgram(f"{_name(place)} must be erased before it is programmed")
        if page < block.next_page and programs == 0:
            raise BadProgram(
                f"{_name(place)} must be programmed before page {block.next_page - 1} of its "
                "block, or that must be erased in between"
            )
        if programs == self._programs_per_page:
            raise BadProgram(
                f"{_name(place)} must be programmed at most {programs} times after an erase, "
                "not once more"
            )
        old = block.images.get(page)
        if image is not None and programs and old is not None:
            image = (np.frombuffer(old, np.uint8) & np.frombuffer(image, np.uint8)).tobytes()
        block.programs[page] = programs + 1
        block.images[page] = image
        block.next_page = max(block.next_page, page + 1)

    def erase(self, place: PhysicalPage, *, is_done: bool) -> None:
        """Erase the block of ``place``; all of it is noise if that is not done."""
        block = self._blocks.setdefault(self._split(place)[0], _Block())
        block.was_erased, block.next_page = True, 0
        block.is_spoiled = not is_done
        block.erases += 1
        block.programs.clear()
        block.images.clear()

    def _split(self, place: PhysicalPage) -> tuple[tuple[int, int, int, int], int]:
        block, page = divmod(place.row, self._pages_per_block)
        return (place.channel, place.way, place.lun, block), page

    def _open(self, place: PhysicalPage, is_loaded: Callable[[PhysicalPage], bool]) -> _Block:
        """The block of ``place``, known from now on."""
        key, page = self._split(place)
        if key not in self._blocks:
            first = place.row - page
            pages = (place._replace(row=first + page) for page in range(self._pages_per_block))
            loaded = [index for index, page in enumerate(pages) if is_loaded(page)]
            block = _Block(next_page=loaded[-1] + 1 if loaded else 0)
            block.programs = dict.fromkeys(loaded, self._programs_per_page)
            self._blocks[key] = block
        return self._blocks[key]

    def _noise(self, place: PhysicalPage, block: _Block) -> bytes:
        return np.random.default_rng([*place, block.erases]).bytes(self._raw_bytes)


def _name(place: PhysicalPage) -> str:
    return (
        f"Flash page at channel {place.channel}, way {place.way}, LUN {place.lun}, row {place.row}"
    )
