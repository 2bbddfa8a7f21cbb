"""What the flash cells hold: page images with data, metadata, real parity and fill.

Extents of logical pages are loaded in no simulated time; nothing but their table is kept. The image
of a page is built when a die senses it, and the last few are kept.
"""

from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rtl.contract.bch import BchCode
from rtl.contract.codec import byte_size, pack
from rtl.contract.nand_part import NandPart
from rtl.contract.page import FILL, METADATA_MAGIC, PageLayout, PageMetadata
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["ContentSource", "FlashMedium", "IdArray", "UnwrittenPage"]


class UnwrittenPage(Exception):
    """A die was told to sense a page that holds no data."""

    # Made with its message only: SimPy makes the exceptions that leave it again from their args.


class ContentSource(Protocol):
    """Bytes of an extent, made piece by piece."""

    length_bytes: int

    def read(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset`` on; both lie within ``length_bytes``."""


class IdArray:
    """An edge list array as it lies on flash: little-endian ids of ``id_bytes`` bytes.

    Parameters
    ----------
    ids : array of integers
        One-dimensional; may be memory-mapped and of any integer type. Never copied as a whole.
    id_bytes : int
        4 or 8.

    Raises
    ------
    ValueError
        If ``ids`` or ``id_bytes`` is not as above; from :meth:`read`, if an id does not fit.
    """

    def __init__(self, ids: NDArray[Any], id_bytes: int) -> None:
        if id_bytes not in (4, 8):
            raise ValueError(f"id_bytes must be 4 or 8, not {id_bytes!r}")
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise ValueError(
                f"ids must be a one-dimensional array of integers, not {ids.dtype}{ids.shape}"
            )
        self._ids = ids
        self._id_bytes = id_bytes
        self.length_bytes = len(ids) * id_bytes

    def read(self, offset: int, length: int) -> bytes:
        first = offset // self._id_bytes
        last = -(-(offset + length) // self._id_bytes)
        ids = np.asarray(self._ids[first:last])
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < 1 << 8 * self._id_bytes:
            raise ValueError(
                f"ids {first} to {last - 1} must fit in {self._id_bytes} bytes each, "
                f"not reach from {ids.min()} to {ids.max()}"
            )
        raw = ids.astype(f"<u{self._id_bytes}").tobytes()
        skip = offset - first * self._id_bytes
        return raw[skip : skip + length]


@dataclass(frozen=True)
class _Extent:
    first_page: int
    pages: int
    sequence: int
    source: ContentSource


class FlashMedium:
    """Cells of all dies of a device.

    Parameters
    ----------
    part : NandPart
        Geometry of a LUN.
    layout : PageLayout
        Columns of a page.
    code : BchCode
        Code of every codeword.
    striping : Striping
        Where each logical page lies.
    cached_pages : int
        Page images kept, least recently sensed dropped first.

    Raises
    ------
    ValueError
        If the four do not describe the same pages, or ``cached_pages`` is not positive.
    """

    def __init__(
        self,
        part: NandPart,
        layout: PageLayout,
        code: BchCode,
        striping: Striping,
        *,
        cached_pages: int = 64,
    ) -> None:
        for name, found, needed in (
            ("layout.page_bytes", layout.page_bytes, part.page_bytes),
            ("layout.spare_bytes", layout.spare_bytes, part.spare_bytes),
            ("code.chunk_bytes", code.chunk_bytes, layout.chunk_bytes),
            ("code.parity_bytes", code.parity_bytes, layout.parity_bytes),
            ("striping.luns", striping.luns, part.luns),
            ("striping.rows", striping.rows, part.rows),
        ):
            if found != needed:
                raise ValueError(f"{name} must be {needed} as in the rest, not {found}")
        if layout.chunk_bytes < byte_size(PageMetadata):
            raise ValueError(
                f"layout.chunk_bytes must hold {byte_size(PageMetadata)} bytes of metadata, "
                f"not {layout.chunk_bytes}"
            )
        if cached_pages < 1:
            raise ValueError(f"cached_pages must be positive, not {cached_pages!r}")
        self.striping = striping
        self.sensed = 0
        """Calls of :meth:`sense` that found a written page."""
        self._layout = layout
        self._code = code
        self._cached_pages = cached_pages
        self._images: OrderedDict[int, bytes] = OrderedDict()
        self._extents: list[_Extent] = []
        self._written = 0
        self._flipped: dict[int, set[int]] = {}

    def load_extent(self, first_page: int, source: ContentSource) -> int:
        """Fill logical pages from ``first_page`` on with ``source``; returns how many.

        The rest of the last page is zero.

        Raises
        ------
        ValueError
            If the source is empty, the array ends before it does, or a page is written already.
        """
        pages = -(-source.length_bytes // self._layout.page_bytes)
        if pages < 1:
            raise ValueError("An extent must hold at least one byte, not 0")
        if first_page < 0 or first_page + pages > self.striping.pages:
            raise ValueError(
                f"An extent must lie in pages 0 to {self.striping.pages - 1}, "
                f"not {first_page} to {first_page + pages - 1}"
            )
        place = bisect_right(self._extents, first_page, key=lambda extent: extent.first_page)
        for other in self._extents[max(place - 1, 0) : place + 1]:
            if (
                first_page < other.first_page + other.pages
                and other.first_page < first_page + pages
            ):
                raise ValueError(
                    f"An extent must be loaded into unwritten pages, not {first_page} to "
                    f"{first_page + pages - 1}: {other.first_page} to "
                    f"{other.first_page + other.pages - 1} hold data"
                )
        self._extents.insert(place, _Extent(first_page, pages, self._written + 1, source))
        self._written += pages
        return pages

    def sense(self, channel: int, way: int, lun: int, row: int) -> bytes:
        """Image of one page, ``layout.raw_bytes`` long, flipped bits included.

        Raises
        ------
        UnwrittenPage
            If no extent covers the page.
        ValueError
            If the array has no such page.
        """
        page, extent = self._find(PhysicalPage(channel, way, lun, row))
        self.sensed += 1
        image = self._images.pop(page, None)
        if image is None:
            image = self._build(page, extent)
        self._images[page] = image
        if len(self._images) > self._cached_pages:
            self._images.popitem(last=False)
        return self._with_faults(page, image)

    def flip_bit(self, channel: int, way: int, lun: int, row: int, bit: int) -> None:
        """Make one cell of a written page read wrong; a second call heals it.

        Bit ``bit`` is bit ``bit mod 8`` (0 the lowest) of the byte at column ``bit div 8``.
        """
        bits = 8 * self._layout.raw_bytes
        if not 0 <= bit < bits:
            raise ValueError(f"bit must be in 0 to {bits - 1}, not {bit}")
        page, _ = self._find(PhysicalPage(channel, way, lun, row))
        self._flipped.setdefault(page, set()).symmetric_difference_update({bit})

    def _find(self, place: PhysicalPage) -> tuple[int, _Extent]:
        page: int = self.striping.logical(*place)
        index = bisect_right(self._extents, page, key=lambda extent: extent.first_page) - 1
        if index < 0 or page >= self._extents[index].first_page + self._extents[index].pages:
            raise UnwrittenPage(
                f"Flash page at channel {place.channel}, way {place.way}, LUN {place.lun}, "
                f"row {place.row} must be written before it is read"
            )
        return page, self._extents[index]

    def _build(self, page: int, extent: _Extent) -> bytes:
        layout = self._layout
        offset = (page - extent.first_page) * layout.page_bytes
        length = min(layout.page_bytes, extent.source.length_bytes - offset)
        content = extent.source.read(offset, length)
        if len(content) != length:
            raise ValueError(
                f"Source of page {page} must give {length} bytes at {offset}, not {len(content)}"
            )
        metadata = pack(
            PageMetadata,
            logical_page=page,
            sequence=extent.sequence + page - extent.first_page,
            magic=METADATA_MAGIC,
        )
        raw = content.ljust(layout.page_bytes, b"\0")
        raw += metadata.ljust(layout.chunk_bytes, bytes([FILL]))
        chunks = np.frombuffer(raw, dtype=np.uint8).reshape(-1, layout.chunk_bytes)
        codewords = np.hstack([chunks, self._code.encode(chunks)])
        return bytes(codewords.tobytes()).ljust(layout.raw_bytes, bytes([FILL]))

    def _with_faults(self, page: int, image: bytes) -> bytes:
        flipped = self._flipped.get(page)
        if not flipped:
            return image
        cells = bytearray(image)
        for bit in flipped:
            cells[bit // 8] ^= 1 << bit % 8
        return bytes(cells)
