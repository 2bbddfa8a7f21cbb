"""Columns of a page: the numbers of the format, worked out for three parts."""

import numpy as np
import pytest

from rtl.contract.page import FILL, PageLayout, metadata_chunk, parse_metadata

COSMOS = {"page_bytes": 16_384, "spare_bytes": 1_664}


def test_default_part():
    layout = PageLayout(**COSMOS)
    # 64 codewords of 256 + 21 = 277 bytes: 64 * 277 = 17,728. A pair is 554 bytes. The metadata
    # codeword, made even, is 278 bytes, and ends at 18,006 of 18,048.
    assert (layout.codewords, layout.codeword_bytes, layout.pair_bytes) == (64, 277, 554)
    assert layout.data_bytes == layout.metadata_column == 17_728
    assert layout.metadata_bytes == 278
    assert layout.raw_bytes == 18_048


def test_blocks_of_the_default_part():
    layout = PageLayout(**COSMOS)
    # 16 codewords of a 4 KB block: 16 * 277 = 4,432 bytes; block b at 4,432 (b mod 4).
    assert (layout.lbas, layout.lba_codewords, layout.lba_bus_bytes) == (4, 16, 4_432)
    assert [layout.lba_column(index) for index in range(4)] == [0, 4_432, 8_864, 13_296]


def test_blocks_of_512_bytes_are_codeword_pairs():
    layout = PageLayout(**COSMOS, lba_bytes=512)
    assert (layout.lbas, layout.lba_codewords, layout.lba_bus_bytes) == (32, 2, 554)
    assert [layout.lba_column(index) for index in (0, 1, 31)] == [0, 554, 17_174]


def test_another_code():
    # 16 codewords of 512 + 13 = 525 bytes: 8,400; metadata 526 bytes: 8,926 in all.
    part = {"page_bytes": 8_192, "chunk_bytes": 512, "parity_bytes": 13}
    layout = PageLayout(**part, spare_bytes=734)
    assert (layout.codewords, layout.data_bytes, layout.metadata_bytes) == (16, 8_400, 526)
    assert (layout.lbas, layout.lba_bus_bytes, layout.raw_bytes) == (2, 4_200, 8_926)
    with pytest.raises(
        ValueError, match=r"page_bytes \+ spare_bytes must hold 8926 bytes of codewords, not 8924"
    ):
        PageLayout(**part, spare_bytes=732)


def test_even_codewords_need_no_rounding():
    layout = PageLayout(page_bytes=2_048, spare_bytes=454, parity_bytes=22, lba_bytes=512)
    assert (layout.codeword_bytes, layout.metadata_bytes, layout.data_bytes) == (278, 278, 2_224)


def test_split_and_strip():
    layout = PageLayout(page_bytes=32, spare_bytes=24, chunk_bytes=4, parity_bytes=2, lba_bytes=8)
    raw = bytes([1, 2, 3, 4, 91, 92, 5, 6, 7, 8, 93, 94])
    chunks, parities = layout.split(raw)
    assert chunks.tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert parities.tolist() == [[91, 92], [93, 94]]
    assert layout.strip(raw) == bytes([1, 2, 3, 4, 5, 6, 7, 8])
    assert layout.strip(b"") == b""
    assert chunks.dtype == np.uint8
    with pytest.raises(ValueError, match="raw must be a whole number of codewords of 6 bytes, not"):
        layout.split(raw[:-1])


@pytest.mark.parametrize("index", [-1, 4])
def test_blocks_beyond_the_page(index):
    with pytest.raises(ValueError, match=f"index must be in 0 to 3, not {index}"):
        PageLayout(**COSMOS).lba_column(index)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"page_bytes": 16_384 + 256},
            r"page_bytes must be a multiple of 512 \(a codeword pair\), not 16640",
        ),
        ({"lba_bytes": 256}, "lba_bytes must be whole codeword pairs that fill the page of 16384"),
        ({"lba_bytes": 4_096 + 512}, "lba_bytes must be whole codeword pairs that fill the page"),
        ({"spare_bytes": 1_621}, "must hold 18006 bytes of codewords, not 18005"),
        ({"chunk_bytes": 0}, "chunk_bytes must be a positive integer, not 0"),
        ({"parity_bytes": -1}, "parity_bytes must be a positive integer, not -1"),
        ({"page_bytes": 16_384.0}, "page_bytes must be a positive integer, not 16384.0"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        PageLayout(**{**COSMOS, **change})


def test_metadata_with_a_wrong_bit_anywhere_is_none():
    chunk = metadata_chunk(0x1234_5678_9ABC, 77, 256, copies=3)
    assert len(chunk) == 256
    assert set(chunk[28:]) == {FILL}
    assert parse_metadata(chunk) == (0x1234_5678_9ABC, 77, 3)
    for bit in range(8 * 28):
        wrong = bytearray(chunk)
        wrong[bit // 8] ^= 1 << bit % 8
        assert parse_metadata(bytes(wrong)) is None, bit
    assert parse_metadata(bytes([FILL]) * 256) is None
