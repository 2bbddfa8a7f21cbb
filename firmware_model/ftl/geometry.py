"""Blocks and pages of a flash array as the flash translation layer counts them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["ALLOCATION", "RESERVE", "Block", "FtlParameters", "Unit"]

ALLOCATION = ("channel", "way", "lun", "plane")
RESERVE = 2
"""Free blocks that the host leaves to a collector: one to copy to, and one if that fails."""


class Block(NamedTuple):
    """One block of the array; ``number`` counts within its LUN."""

    channel: int
    way: int
    lun: int
    number: int


class Unit(NamedTuple):
    """A plane of a LUN: what has one block open for writes."""

    channel: int
    way: int
    lun: int
    plane: int


@dataclass(frozen=True, kw_only=True)
class FtlParameters:
    """Geometry and policies of a flash translation layer.

    Parameters
    ----------
    pages_per_block, planes : int
        Of the part. Block b of a LUN is in plane b mod ``planes``.
    order : tuple of str
        ``"channel"``, ``"way"``, ``"lun"`` and ``"plane"``, the first of which changes fastest from
        one written page to the next.
    map_cache_pages : int
        Pages of the map that the SSD's DRAM holds.
    gc_free_blocks : int
        Blocks are reclaimed while no more than these are free; at least :data:`RESERVE`, which only
        the collector may use up.
    gc_scope : str
        Of what they are: ``"global"``, or ``"channel"`` with a collector for each.

    Raises
    ------
    ValueError
        If a number is too small, the order does not name each unit once, or the scope is unknown.
    """

    pages_per_block: int
    planes: int = 1
    order: tuple[str, ...] = ALLOCATION
    map_cache_pages: int = 16
    gc_free_blocks: int = RESERVE
    gc_scope: str = "global"

    def __post_init__(self) -> None:
        for name, least in (
            ("pages_per_block", 2),
            ("planes", 1),
            ("map_cache_pages", 1),
            ("gc_free_blocks", RESERVE),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, not {value!r}")
        if sorted(self.order) != sorted(ALLOCATION):
            raise ValueError(
                f"order must name each of {', '.join(ALLOCATION)} once, not {self.order!r}"
            )
        if self.gc_scope not in ("global", "channel"):
            raise ValueError(f"gc_scope must be global or channel, not {self.gc_scope!r}")

    def units(self, striping: Striping) -> list[Unit]:
        """All planes of the array in the order in which pages are written."""
        sizes = {
            "channel": striping.channels,
            "way": striping.ways,
            "lun": striping.luns,
            "plane": self.planes,
        }
        slowest_first = [range(sizes[name]) for name in reversed(self.order)]
        found = []
        for numbers in product(*slowest_first):
            place = dict(zip(reversed(self.order), numbers, strict=True))
            found.append(Unit(**place))
        return found

    def scope(self, channel: int) -> int:
        """Which collector serves a channel."""
        return channel if self.gc_scope == "channel" else 0

    def block(self, place: PhysicalPage) -> tuple[Block, int]:
        """The block of a page, and its number there."""
        number, page = divmod(place.row, self.pages_per_block)
        return Block(place.channel, place.way, place.lun, number), page

    def page(self, block: Block, page: int) -> PhysicalPage:
        """Place of page ``page`` of a block."""
        channel, way, lun, number = block
        return PhysicalPage(channel, way, lun, number * self.pages_per_block + page)

    def pages(self, block: Block) -> Iterator[PhysicalPage]:
        """All pages of a block, in the order in which they are programmed."""
        return (self.page(block, page) for page in range(self.pages_per_block))
