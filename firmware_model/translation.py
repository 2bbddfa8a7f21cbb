"""From list positions and logical blocks to bytes of logical pages, and on to flash addresses."""

from bisect import bisect_right
from collections.abc import Iterable, Sized
from typing import NamedTuple

from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["ExtentMap", "Piece", "UnmappedPage", "grouping_counts", "pieces_of_list"]


class UnmappedPage(Exception):
    """A logical page that was never written was asked for: an error of the run."""


class Piece(NamedTuple):
    """``length`` bytes at ``start`` of a page that belong at ``target`` of a result."""

    start: int
    length: int
    target: int


def pieces_of_list(
    list_byte: int, positions: Iterable[int], id_bytes: int, target: int, page_bytes: int
) -> dict[int, list[Piece]]:
    """Which bytes of which logical pages hold the ids at ``positions`` of a list.

    The list begins at byte ``list_byte`` of the namespace. Id i of the result is the 64-bit word at
    ``target`` + 8 i; an id that straddles two pages gives a piece of each. Pages come in the order
    in which the positions first need them.
    """
    pages: dict[int, list[Piece]] = {}
    for position in positions:
        page, start = divmod(list_byte + int(position) * id_bytes, page_bytes)
        here = min(id_bytes, page_bytes - start)
        pages.setdefault(page, []).append(Piece(start, here, target))
        if here < id_bytes:
            pages.setdefault(page + 1, []).append(Piece(0, id_bytes - here, target + here))
        target += 8
    return pages


def grouping_counts(groups: Iterable[Sized]) -> dict[str, int]:
    """What the cost of grouping pieces by their pages depends on.

    ``groups`` are the pieces of each page, in the order of :func:`pieces_of_list`. ``page`` is
    their number and ``more`` that of the pieces that are not a page's first. ``compare`` counts
    comparisons of two page numbers: a piece is compared with the pages found so far, oldest first,
    until one is its own; the first piece of a page is compared with all of them in vain.
    """
    more = [len(group) - 1 for group in groups]
    return {
        "page": len(more),
        "more": sum(more),
        "compare": sum(number + (number + 1) * count for number, count in enumerate(more)),
    }


class ExtentMap:
    """Logical to physical pages of a bulk-loaded namespace.

    Extents are loaded where the striping puts their logical pages: the map records which pages
    hold data. Ordinary writes will need a table a page.

    Parameters
    ----------
    layout, striping : PageLayout, Striping
    """

    def __init__(self, layout: PageLayout, striping: Striping) -> None:
        self.layout = layout
        self._striping = striping
        self._starts: list[int] = []
        self._ends: list[int] = []

    def load(self, first_page: int, pages: int) -> None:
        """Mark ``pages`` logical pages from ``first_page`` on as written, in no simulated time.

        Raises
        ------
        ValueError
            If they leave the array or overlap an extent.
        """
        end = first_page + pages
        if pages < 1 or first_page < 0 or end > self._striping.pages:
            raise ValueError(
                f"An extent must lie in pages 0 to {self._striping.pages - 1}, "
                f"not {first_page} to {end - 1}"
            )
        index = bisect_right(self._starts, first_page)
        before_ends = index == 0 or self._ends[index - 1] <= first_page
        if not before_ends or (index < len(self._starts) and self._starts[index] < end):
            raise ValueError(
                f"An extent must not overlap another one, not {first_page} to {end - 1}"
            )
        self._starts.insert(index, first_page)
        self._ends.insert(index, end)

    def physical(self, page: int) -> PhysicalPage:
        """Flash address of a logical page; :exc:`UnmappedPage` where none was written."""
        index = bisect_right(self._starts, page) - 1
        if index < 0 or page >= self._ends[index]:
            raise UnmappedPage(f"Logical page {page} must be written before it is read")
        return self._striping.physical(page)
