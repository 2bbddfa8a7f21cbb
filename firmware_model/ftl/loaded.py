"""Pages of a bulk-loaded image, which lie at their identity places."""

from firmware_model.ftl.geometry import FtlParameters
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["LoadedPages"]


class LoadedPages:
    """Extents of an image, and the blocks that they fill."""

    def __init__(self, parameters: FtlParameters, striping: Striping) -> None:
        self._parameters = parameters
        self._striping = striping
        self._pages: list[tuple[int, int]] = []
        self._blocks: list[tuple[int, int]] = []
        """Numbers of blocks with loaded pages, first and last."""
        self.edges: set[int] = set()
        """Numbers of blocks that may be loaded in part."""

    def add(self, first_page: int, pages: int) -> None:
        """These pages hold data."""
        ends = first_page, first_page + pages - 1
        self._pages.append(ends)
        rows = [self._striping.physical(page).row for page in ends]
        first, last = (row // self._parameters.pages_per_block for row in rows)
        self.edges |= {first, last}
        self._blocks.append((first, last))

    def has_block(self, number: int) -> bool:
        """Whether blocks of this number hold loaded pages."""
        return any(first <= number <= last for first, last in self._blocks)

    def has_page(self, place: PhysicalPage) -> bool:
        """Whether a loaded page lies there."""
        page = self._striping.logical(*place)
        return any(first <= page <= last for first, last in self._pages)

    def blocks_of(self, plane: int) -> int:
        """How many blocks of a plane of each LUN hold loaded pages."""
        planes = self._parameters.planes
        return _length(
            {
                (-(-(first - plane) // planes), (last - plane) // planes)
                for first, last in self._blocks
            }
        )


def _length(ranges: set[tuple[int, int]]) -> int:
    """How many numbers lie in any of some ranges, ends included."""
    total, end = 0, -1
    for first, last in sorted(ranges):
        total += max(0, last - max(first, end + 1) + 1)
        end = max(end, last)
    return total
