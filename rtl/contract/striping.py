"""Where a logical page lies in the flash array: the one striping rule of loader and firmware.

Consecutive logical pages go to different units, so that a long read keeps every channel busy: the
unit that is first in ``order`` changes fastest, and the row last. With the default order, page p of
an 8 x 8 x 2 array is on channel p mod 8, way (p div 8) mod 8, LUN (p div 64) mod 2, row p div 128.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

__all__ = ["DEFAULT_ORDER", "PhysicalPage", "Striping"]

DEFAULT_ORDER = ("channel", "way", "lun")


class PhysicalPage(NamedTuple):
    """Address of one flash page; ``row`` is block * pages_per_block + page, within its LUN."""

    channel: int
    way: int
    lun: int
    row: int


@dataclass(frozen=True, kw_only=True)
class Striping:
    """Bijection between logical page numbers and the pages of a flash array.

    Parameters
    ----------
    channels, ways, luns : int
        Channels, ways a channel, LUNs a way.
    rows : int
        Pages of a LUN (``NandPart.rows``).
    order : tuple of str
        ``"channel"``, ``"way"`` and ``"lun"``, the fastest-changing first.

    Raises
    ------
    ValueError
        If a size is not a positive integer, or ``order`` does not name each unit once.
    """

    channels: int
    ways: int
    luns: int
    rows: int
    order: tuple[str, str, str] = DEFAULT_ORDER

    def __post_init__(self):
        for name in ("channels", "ways", "luns", "rows"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        if sorted(self.order) != sorted(DEFAULT_ORDER):
            raise ValueError(
                f"order must name each of {', '.join(DEFAULT_ORDER)} once, not {self.order!r}"
            )

    @cached_property
    def pages(self):
        """Pages of the whole array."""
        return self.channels * self.ways * self.luns * self.rows

    @cached_property
    def _sizes(self):
        sizes = {"channel": self.channels, "way": self.ways, "lun": self.luns}
        return [(unit, sizes[unit]) for unit in self.order]

    def physical(self, page_number):
        """Place of logical page ``page_number``; :exc:`ValueError` beyond the array."""
        if not 0 <= page_number < self.pages:
            raise ValueError(f"page number must be in 0 to {self.pages - 1}, not {page_number}")
        place = {}
        for unit, size in self._sizes:
            page_number, place[unit] = divmod(page_number, size)
        return PhysicalPage(place["channel"], place["way"], place["lun"], page_number)

    def logical(self, channel, way, lun, row):
        """Logical page number of a place, the inverse of :meth:`physical`.

        Raises
        ------
        ValueError
            If the array has no such place.
        """
        if not 0 <= row < self.rows:
            raise ValueError(f"row must be in 0 to {self.rows - 1}, not {row}")
        place = {"channel": channel, "way": way, "lun": lun}
        page_number = row
        for unit, size in reversed(self._sizes):
            if not 0 <= place[unit] < size:
                raise ValueError(f"{unit} must be in 0 to {size - 1}, not {place[unit]}")
            page_number = page_number * size + place[unit]
        return page_number
