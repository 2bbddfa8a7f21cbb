"""Where data, parity and metadata lie in a flash page.

A page is ``page_bytes / chunk_bytes`` data codewords one after the other, then one codeword of FTL
metadata, then fill. Two neighbouring codewords are the unit of partial access, since columns and
lengths must be even on a DDR bus. Default part: 64 codewords of 256 + 21 bytes, metadata read as
278 bytes from column 17,728; block b (4 KB) lies at column 4,432 * (b mod 4).

The chunk of the metadata codeword is one :class:`PageMetadata`, then bytes of FILL; fill after the
codewords is FILL too, as in erased cells.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from zlib import crc32

import numpy as np
from amaranth.lib import data

from rtl.contract.codec import byte_size, pack, unpack

__all__ = [
    "FILL",
    "METADATA_MAGIC",
    "PageLayout",
    "PageMetadata",
    "metadata_chunk",
    "parse_metadata",
]

FILL = 0xFF
METADATA_MAGIC = 0x4D4C_5446
"""The bytes ``FTLM`` in memory order."""


class PageMetadata(data.Struct):
    """What the FTL keeps beside a page's data, 28 bytes: enough to rebuild its map after a crash.

    ``logical_page`` is the page number that this data has for the host, ``sequence`` the place of
    this write in the order of all page writes, from 1, and ``copies`` how often this version was
    copied to another place since. ``crc`` is the CRC-32 of the bytes before.
    """

    logical_page: 64
    sequence: 64
    copies: 32
    magic: 32
    crc: 32


def metadata_chunk(logical_page, sequence, chunk_bytes, *, copies=0):
    """Data of the metadata codeword, ``chunk_bytes`` long: a :class:`PageMetadata`, then FILL.

    Raises
    ------
    ValueError
        If a number does not fit its field.
    """
    head = pack(
        PageMetadata,
        logical_page=logical_page,
        sequence=sequence,
        copies=copies,
        magic=METADATA_MAGIC,
    )[:-4]
    return (head + crc32(head).to_bytes(4, "little")).ljust(chunk_bytes, bytes([FILL]))


def parse_metadata(chunk):
    """(logical page, sequence, copies) of a metadata codeword's data; None if it is none."""
    raw = chunk[: byte_size(PageMetadata)]
    found = unpack(PageMetadata, raw)
    if found.magic != METADATA_MAGIC or found.crc != crc32(raw[:-4]):
        return None
    return int(found.logical_page), int(found.sequence), int(found.copies)


@dataclass(frozen=True, kw_only=True)
class PageLayout:
    """Columns of one page format; all sizes in bytes.

    Raises
    ------
    ValueError
        If a size is not a positive integer, the codewords do not fit the page, or the page is not
        a whole number of codeword pairs and of blocks.
    """

    page_bytes: int
    spare_bytes: int
    chunk_bytes: int = 256
    parity_bytes: int = 21
    lba_bytes: int = 4096

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name} must be a positive integer, not {value!r}")
        if self.page_bytes % (2 * self.chunk_bytes):
            raise ValueError(
                f"page_bytes must be a multiple of {2 * self.chunk_bytes} (a codeword pair), "
                f"not {self.page_bytes}"
            )
        if self.lba_bytes % (2 * self.chunk_bytes) or self.page_bytes % self.lba_bytes:
            raise ValueError(
                f"lba_bytes must be whole codeword pairs that fill the page of {self.page_bytes}, "
                f"not {self.lba_bytes}"
            )
        need = self.data_bytes + self.codeword_bytes + self.codeword_bytes % 2
        if need > self.page_bytes + self.spare_bytes:
            raise ValueError(
                f"page_bytes + spare_bytes must hold {need} bytes of codewords, "
                f"not {self.page_bytes + self.spare_bytes}; chunk_bytes and parity_bytes make them"
            )

    @cached_property
    def codeword_bytes(self):
        return self.chunk_bytes + self.parity_bytes

    @cached_property
    def codewords(self):
        """Data codewords of a page."""
        return self.page_bytes // self.chunk_bytes

    @cached_property
    def pair_bytes(self):
        return 2 * self.codeword_bytes

    @cached_property
    def data_bytes(self):
        """Bytes on the bus of a whole-page read: data codewords without metadata and fill."""
        return self.codewords * self.codeword_bytes

    @property
    def metadata_column(self):
        return self.data_bytes

    @property
    def metadata_bytes(self):
        """Bytes on the bus of the metadata codeword, made even."""
        return self.codeword_bytes + self.codeword_bytes % 2

    @property
    def raw_bytes(self):
        return self.page_bytes + self.spare_bytes

    @property
    def lbas(self):
        """Blocks of a page."""
        return self.page_bytes // self.lba_bytes

    @property
    def lba_codewords(self):
        return self.lba_bytes // self.chunk_bytes

    @property
    def lba_bus_bytes(self):
        """Bytes on the bus of one block."""
        return self.lba_codewords * self.codeword_bytes

    def lba_column(self, index):
        """Column of block ``index`` of the page; :exc:`ValueError` beyond ``lbas`` - 1."""
        if not 0 <= index < self.lbas:
            raise ValueError(f"index must be in 0 to {self.lbas - 1}, not {index!r}")
        return index * self.lba_bus_bytes

    def split(self, raw):
        """Chunks and parities of the whole codewords in ``raw``: two ``uint8`` arrays.

        ``raw`` is a whole number of codewords, as read from a codeword's first column.
        """
        if len(raw) % self.codeword_bytes:
            raise ValueError(
                f"raw must be a whole number of codewords of {self.codeword_bytes} bytes, "
                f"not {len(raw)} bytes"
            )
        words = np.frombuffer(raw, dtype=np.uint8).reshape(-1, self.codeword_bytes)
        return words[:, : self.chunk_bytes], words[:, self.chunk_bytes :]

    def strip(self, raw):
        """Data of the whole codewords in ``raw``, without parity, as bytes."""
        return self.split(raw)[0].tobytes()
