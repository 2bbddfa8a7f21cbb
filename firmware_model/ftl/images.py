"""Bytes of flash pages: what is programmed, and what a rebuild makes of what it reads."""

import numpy as np

from firmware_model.ftl.page_map import ENTRY_BYTES, NOWHERE
from rtl.contract.bch import BchCode
from rtl.contract.page import FILL, PageLayout, metadata_chunk, parse_metadata

__all__ = ["MapImage", "PageImages", "is_erased"]


class PageImages:
    """Codewords of a page with its metadata, made as the channel's encoder makes them.

    Parameters
    ----------
    layout : PageLayout
    code : BchCode
        Of every codeword.
    """

    def __init__(self, layout: PageLayout, code: BchCode) -> None:
        self.layout = layout
        self._code = code

    def encode(self, data: bytes, page: int, sequence: int, copies: int = 0) -> bytes:
        """A whole raw page with ``data``, that of the logical page ``page``."""
        layout = self.layout
        if len(data) != layout.page_bytes:
            raise ValueError(f"data must be {layout.page_bytes} bytes, not {len(data)}")
        content = data + metadata_chunk(page, sequence, layout.chunk_bytes, copies=copies)
        chunks = np.frombuffer(content, np.uint8).reshape(-1, layout.chunk_bytes)
        words = np.hstack([chunks, self._code.encode(chunks)])
        return bytes(words.tobytes()).ljust(layout.raw_bytes, bytes([FILL]))

    def metadata(self, raw: bytes) -> tuple[int, int, int] | None:
        """(logical page, sequence, copies) of a metadata codeword as read; None if it is none."""
        found: tuple[int, int, int] | None = parse_metadata(raw[: self.layout.chunk_bytes])
        return found

    def data(self, raw: bytes) -> bytes:
        """Data of a page's codewords as read, without parity."""
        return bytes(self.layout.strip(raw[: self.layout.data_bytes]))


def is_erased(raw: bytes, most: int) -> bool:
    """Whether at most ``most`` cells of what was read have lost their ones."""
    return 8 * len(raw) - int.from_bytes(raw, "little").bit_count() <= most


class MapImage:
    """Map pages of pages that lie at their identity places, computed where they are read.

    Map pages ``indices`` one after the other; see ``cosim.medium.ContentSource``.

    Parameters
    ----------
    indices : range
    loaded : range
        Logical pages with data; all others are nowhere.
    page_bytes : int
        Of a map page.
    """

    def __init__(self, indices: range, loaded: range, page_bytes: int) -> None:
        self._first = indices.start * (page_bytes // ENTRY_BYTES)
        self._loaded = loaded
        self.length_bytes = len(indices) * page_bytes

    def read(self, offset: int, length: int) -> bytes:
        first, last = offset // ENTRY_BYTES, -(-(offset + length) // ENTRY_BYTES)
        pages = np.arange(self._first + first, self._first + last)
        here = (pages >= self._loaded.start) & (pages < self._loaded.stop)
        raw = np.where(here, pages, NOWHERE).astype("<u4").tobytes()
        return bytes(raw[offset - ENTRY_BYTES * first :][:length])
