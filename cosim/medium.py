"""What the flash cells hold: page images with data, metadata, real parity and fill.

Extents of logical pages are loaded in no simulated time; nothing but their table is kept. The image
of a page is built when a die senses it, and the last few are kept. Pages that dies have programmed
are kept as they came over the bus, until their block is erased.
"""

from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cosim.bit_errors import BitErrors
from cosim.programmed import ProgrammedBlocks
from rtl.contract.bch import BchCode
from rtl.contract.codec import byte_size
from rtl.contract.nand_part import NandPart
from rtl.contract.page import FILL, PageLayout, PageMetadata, metadata_chunk
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
        self._all_fit = ids.dtype.kind == "u" and ids.dtype.itemsize <= id_bytes
        """By their type alone."""
        self.length_bytes = len(ids) * id_bytes

    def read(self, offset: int, length: int) -> bytes:
        first = offset // self._id_bytes
        last = -(-(offset + length) // self._id_bytes)
        ids = np.asarray(self._ids[first:last])
        fit = self._all_fit or not ids.size
        if not fit and not 0 <= int(ids.min()) <= int(ids.max()) < 1 << 8 * self._id_bytes:
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
    programs_per_page : int
        How often a page may be programmed after an erase: see :class:`ProgrammedBlocks`.
    errors : BitErrors, optional
        Which bits read wrong; none if it is absent.
    is_formatted : bool
        What holds no data was erased before the run and reads so, which firmware that looks for its
        pages after a loss of power must see. Else to sense it is an error.

    Raises
    ------
    ValueError
        If the four do not describe the same pages, or a number is not positive.
    """

    def __init__(
        self,
        part: NandPart,
        layout: PageLayout,
        code: BchCode,
        striping: Striping,
        *,
        cached_pages: int = 64,
        programs_per_page: int = 1,
        errors: BitErrors | None = None,
        is_formatted: bool = False,
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
        self._errors = errors
        self._is_formatted = is_formatted
        self._images: OrderedDict[int, bytes] = OrderedDict()
        self._extents: list[_Extent] = []
        self._written = 0
        self._flipped: dict[int, set[int]] = {}
        self._blocks = ProgrammedBlocks(part, programs_per_page=programs_per_page)
        self._pages_per_block: int = part.pages_per_block
        self._failing_pages: set[int] = set()
        self._failing_blocks: set[int] = set()

    def load_extent(self, first_page: int, source: ContentSource) -> int:
        """Fill logical pages from ``first_page`` on with ``source``; returns how many.

        The rest of the last page is zero.

        Raises
        ------
        ValueError
            If the source is empty, the array ends before it does, a page is written already, or
            anything was programmed or erased before.
        """
        if len(self._blocks):
            raise ValueError("An extent must be loaded before anything is programmed or erased")
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

    @property
    def bit_errors(self) -> int:
        """Bits that were sensed wrong, those of :meth:`flip_bit` not counted."""
        return 0 if self._errors is None else self._errors.drawn

    def sense(self, channel: int, way: int, lun: int, row: int, level: int = 0) -> bytes:
        """What a die reads of one page at a read level, ``layout.raw_bytes`` long.

        Raises
        ------
        UnwrittenPage
            If no extent covers the page.
        ValueError
            If the array has no such page.
        """
        image = self.stored(channel, way, lun, row)
        self.sensed += 1
        if self._errors is None:
            return image
        return self._errors.flip(image, PhysicalPage(channel, way, lun, row), level)

    def stored(self, channel: int, way: int, lun: int, row: int) -> bytes:
        """Image of one page as its cells hold it, :meth:`flip_bit` included.

        Raises
        ------
        UnwrittenPage
            If no extent covers the page, and its block was not erased nor the page programmed.
        ValueError
            If the array has no such page.
        """
        place = PhysicalPage(channel, way, lun, row)
        page: int = self.striping.logical(*place)
        image = self._blocks.find(place)
        if image is None:
            image = self._loaded_image(place, page)
        return self._with_faults(page, image)

    def program(self, channel: int, way: int, lun: int, row: int, image: bytes) -> bool:
        """Store a page as it came to the die; returns whether the cells took it.

        Raises
        ------
        BadProgram
            If the page cannot be programmed now: see :class:`ProgrammedBlocks`.
        ValueError
            If the array has no such page, or the image is of another size.
        """
        if len(image) != self._layout.raw_bytes:
            raise ValueError(f"Image must be {self._layout.raw_bytes} bytes, not {len(image)}")
        place = PhysicalPage(channel, way, lun, row)
        page: int = self.striping.logical(*place)
        is_done = page not in self._failing_pages
        self._blocks.program(place, image if is_done else None, self._is_loaded)
        self._flipped.pop(page, None)
        return is_done

    def erase(self, channel: int, way: int, lun: int, row: int) -> bool:
        """Erase the block of ``row``; returns whether that was done.

        Raises
        ------
        ValueError
            If the array has no such page.
        """
        first = self._first_page(channel, way, lun, row)
        is_done = first not in self._failing_blocks
        self._erase(channel, way, lun, row, is_done)
        return is_done

    def spoil_page(self, channel: int, way: int, lun: int, row: int) -> None:
        """A program of the page was cut off: noise is read from it."""
        self._blocks.program(PhysicalPage(channel, way, lun, row), None, self._is_loaded)

    def spoil_block(self, channel: int, way: int, lun: int, row: int) -> None:
        """An erase of the block of ``row`` was cut off: noise is read from all of it."""
        self._erase(channel, way, lun, row, False)

    def fail_programs(self, channel: int, way: int, lun: int, row: int) -> None:
        """Let all programs of a page fail from now on."""
        self._failing_pages.add(self.striping.logical(channel, way, lun, row))

    def fail_erases(self, channel: int, way: int, lun: int, row: int) -> None:
        """Let all erases of the block of ``row`` fail from now on."""
        self._failing_blocks.add(self._first_page(channel, way, lun, row))

    def flip_bit(self, channel: int, way: int, lun: int, row: int, bit: int) -> None:
        """Make one cell of a written page read wrong; a second call heals it, and so does an erase.

        Bit ``bit`` is bit ``bit mod 8`` (0 the lowest) of the byte at column ``bit div 8``.
        """
        bits = 8 * self._layout.raw_bytes
        if not 0 <= bit < bits:
            raise ValueError(f"bit must be in 0 to {bits - 1}, not {bit}")
        place = PhysicalPage(channel, way, lun, row)
        page: int = self.striping.logical(*place)
        if self._blocks.find(place) is None:
            self._find(place, page)
        self._flipped.setdefault(page, set()).symmetric_difference_update({bit})

    def _first_page(self, channel: int, way: int, lun: int, row: int) -> int:
        """Logical page of the first page of a row's block: the block's name here."""
        first: int = self.striping.logical(channel, way, lun, row - row % self._pages_per_block)
        return first

    def _erase(self, channel: int, way: int, lun: int, row: int, is_done: bool) -> None:
        self._blocks.erase(PhysicalPage(channel, way, lun, row), is_done=is_done)
        if self._flipped:
            first = row - row % self._pages_per_block
            for other in range(first, first + self._pages_per_block):
                self._flipped.pop(self.striping.logical(channel, way, lun, other), None)

    def _is_loaded(self, place: PhysicalPage) -> bool:
        return self._extent(self.striping.logical(*place)) is not None

    def _extent(self, page: int) -> _Extent | None:
        index = bisect_right(self._extents, page, key=lambda extent: extent.first_page) - 1
        if index < 0 or page >= self._extents[index].first_page + self._extents[index].pages:
            return None
        return self._extents[index]

    def _find(self, place: PhysicalPage, page: int) -> _Extent:
        extent = self._extent(page)
        if extent is None:
            raise UnwrittenPage(
                f"Flash page at channel {place.channel}, way {place.way}, LUN {place.lun}, "
                f"row {place.row} must be written before it is read"
            )
        return extent

    def _loaded_image(self, place: PhysicalPage, page: int) -> bytes:
        if self._is_formatted and self._extent(page) is None:
            return bytes([FILL]) * self._layout.raw_bytes
        extent = self._find(place, page)
        image = self._images.pop(page, None)
        if image is None:
            image = self._build(page, extent)
        self._images[page] = image
        if len(self._images) > self._cached_pages:
            self._images.popitem(last=False)
        return image

    def _build(self, page: int, extent: _Extent) -> bytes:
        layout = self._layout
        offset = (page - extent.first_page) * layout.page_bytes
        length = min(layout.page_bytes, extent.source.length_bytes - offset)
        content = extent.source.read(offset, length)
        if len(content) != length:
            raise ValueError(
                f"Source of page {page} must give {length} bytes at {offset}, not {len(content)}"
            )
        raw = content.ljust(layout.page_bytes, b"\0")
        sequence = extent.sequence + page - extent.first_page
        raw += metadata_chunk(page, sequence, layout.chunk_bytes)
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
