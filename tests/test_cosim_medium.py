"""What a die senses: every byte of a page image, where each page comes from, and faults."""

import itertools
import struct
import zlib
from dataclasses import fields

import bchlib
import numpy as np
import pytest

from cosim.medium import FlashMedium, IdArray, UnwrittenPage
from rtl.contract.bch import BchCode
from rtl.contract.codec import unpack
from rtl.contract.nand_part import NandPart
from rtl.contract.page import PageLayout, PageMetadata
from rtl.contract.striping import Striping

PAGE_BYTES, SPARE_BYTES = 16_384, 1_664
TIMES = [field.name for field in fields(NandPart) if field.name.endswith("_ps")]
PART = NandPart(
    name="test",
    page_bytes=PAGE_BYTES,
    spare_bytes=SPARE_BYTES,
    pages_per_block=4,
    blocks_per_lun=5,
    luns=2,
    **dict.fromkeys(TIMES, 1000) | {"t_wc_ps": 2000},
)
LAYOUT = PageLayout(page_bytes=PAGE_BYTES, spare_bytes=SPARE_BYTES)
CODE = BchCode(m=12, t=14, chunk_bytes=256)
STRIPING = Striping(channels=2, ways=3, luns=2, rows=20)


def edge_list(pages):
    """Ids that differ in every byte position: a page and a bit of ``pages`` pages."""
    count = int(pages * PAGE_BYTES / 8)
    return np.arange(count, dtype=np.uint64) * np.uint64(0x0102_0304_0506_0709)


def medium_with(ids, *, first_page=0, id_bytes=8, **options):
    medium = FlashMedium(PART, LAYOUT, CODE, STRIPING, **options)
    medium.load_extent(first_page, IdArray(ids, id_bytes))
    return medium


def expected_image(content, page, sequence):
    """The image, assembled by hand from DESIGN's numbers and another library's parity."""
    reference = bchlib.BCH(14, m=12)
    metadata = struct.pack("<QQI4s", page, sequence, 0, b"FTLM")
    metadata += struct.pack("<I", zlib.crc32(metadata)) + b"\xff" * 228
    chunks = content.ljust(16_384, b"\0") + metadata
    image = b""
    for column in range(0, len(chunks), 256):
        chunk = chunks[column : column + 256]
        image += chunk + bytes(reference.encode(chunk))
    assert len(image) == 17_728 + 277
    return image + b"\xff" * 43


def test_image_of_a_full_page_byte_by_byte():
    ids = edge_list(3)
    medium = medium_with(ids, first_page=4)
    # Extent page 1 is logical page 5 = 1 + 2 * 2: channel 1, way 2; it was written second.
    content = b"".join(int(value).to_bytes(8, "little") for value in ids[2048:4096])
    assert medium.sense(1, 2, 0, 0) == expected_image(content, page=5, sequence=2)


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_last_page_is_padded_with_zeros(id_bytes):
    ids = np.arange(2 * PAGE_BYTES // id_bytes + 3, dtype=np.uint32)
    medium = medium_with(ids, id_bytes=id_bytes)
    content = b"".join(int(value).to_bytes(id_bytes, "little") for value in ids[-3:])
    assert medium.sense(0, 1, 0, 0) == expected_image(content, page=2, sequence=3)
    with pytest.raises(UnwrittenPage):
        medium.sense(1, 1, 0, 0)


def test_metadata_counts_writes_over_extents():
    medium = medium_with(edge_list(2.5), first_page=10)
    assert medium.load_extent(2, IdArray(edge_list(1), 8)) == 1
    column = LAYOUT.metadata_column
    found = unpack(PageMetadata, medium.sense(*STRIPING.physical(2))[column : column + 28])
    assert (found.logical_page, found.sequence) == (2, 4)
    assert CODE.check(
        np.frombuffer(medium.sense(*STRIPING.physical(12))[:18_005], np.uint8).reshape(65, 277)
    ).all()


def test_every_page_is_where_the_striping_puts_it():
    ids = edge_list(STRIPING.pages)
    medium = medium_with(ids)
    raw = ids.astype("<u8").tobytes()
    seen = set()
    for place in itertools.product(range(2), range(3), range(2), range(20)):
        data = LAYOUT.strip(medium.sense(*place)[: LAYOUT.data_bytes])
        seen.add(data)
        page = STRIPING.logical(*place)
        assert data == raw[page * PAGE_BYTES : (page + 1) * PAGE_BYTES]
    assert len(seen) == STRIPING.pages == medium.sensed


def test_unwritten_page_names_its_place():
    medium = medium_with(edge_list(1), first_page=1)
    with pytest.raises(
        UnwrittenPage,
        match="Flash page at channel 1, way 2, LUN 1, row 19 must be written before it is read",
    ):
        medium.sense(1, 2, 1, 19)
    with pytest.raises(UnwrittenPage):
        medium.sense(*STRIPING.physical(0))
    with pytest.raises(UnwrittenPage):
        medium.flip_bit(0, 0, 0, 0, 0)
    assert medium.sensed == 0


def test_only_the_last_few_images_are_kept():
    class Counting(IdArray):
        reads = 0

        def read(self, offset, length):
            self.reads += 1
            return super().read(offset, length)

    source = Counting(edge_list(4), 8)
    medium = FlashMedium(PART, LAYOUT, CODE, STRIPING, cached_pages=2)
    medium.load_extent(0, source)
    for page in (0, 1, 0, 2, 0):  # 2 drops 1, the least recently sensed
        medium.sense(*STRIPING.physical(page))
    assert source.reads == 3
    medium.sense(*STRIPING.physical(1))
    assert source.reads == 4


@pytest.mark.parametrize("bit", [0, 7, 8 * 5 + 3, 8 * 18_048 - 1])
def test_flipped_bit_reads_wrong_until_flipped_again(bit):
    medium = medium_with(edge_list(2))
    clean, other = medium.sense(0, 0, 0, 0), medium.sense(1, 0, 0, 0)
    medium.flip_bit(0, 0, 0, 0, bit)
    flipped = medium.sense(0, 0, 0, 0)
    differences = [
        (column, a ^ b) for column, (a, b) in enumerate(zip(clean, flipped, strict=True)) if a != b
    ]
    assert differences == [(bit // 8, 1 << bit % 8)]
    assert medium.sense(1, 0, 0, 0) == other
    medium.flip_bit(0, 0, 0, 0, bit)
    assert medium.sense(0, 0, 0, 0) == clean


@pytest.mark.parametrize("bit", [-1, 8 * 18_048])
def test_flipped_bit_lies_in_the_page(bit):
    with pytest.raises(ValueError, match=f"bit must be in 0 to 144383, not {bit}"):
        medium_with(edge_list(1)).flip_bit(0, 0, 0, 0, bit)


@pytest.mark.parametrize("first_page", [4, 5, 6])
def test_extents_do_not_overlap(first_page):
    medium = medium_with(edge_list(2), first_page=5)
    with pytest.raises(ValueError, match=r"unwritten pages, not .* 5 to 6 hold data"):
        medium.load_extent(first_page, IdArray(edge_list(2), 8))
    assert medium.load_extent(3, IdArray(edge_list(2), 8)) == 2
    assert medium.load_extent(7, IdArray(edge_list(1), 8)) == 1


@pytest.mark.parametrize("first_page", [-1, 239])
def test_extents_lie_in_the_array(first_page):
    medium = FlashMedium(PART, LAYOUT, CODE, STRIPING)
    with pytest.raises(ValueError, match="An extent must lie in pages 0 to 239, not "):
        medium.load_extent(first_page, IdArray(edge_list(2), 8))


def test_empty_extent():
    with pytest.raises(ValueError, match="must hold at least one byte"):
        medium_with(edge_list(0))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1 << 32], np.uint64), "ids 0 to 0 must fit in 4 bytes each, not reach from"),
        (np.array([0, -1], np.int64), "ids 0 to 1 must fit in 4 bytes each, not reach from -1"),
    ],
)
def test_ids_that_do_not_fit(ids, message):
    with pytest.raises(ValueError, match=message):
        medium_with(ids, id_bytes=4).sense(0, 0, 0, 0)


def test_id_array_reads_any_range():
    ids = np.array([0x0403_0201, 0x0807_0605, 0x0C0B_0A09], np.uint32)
    assert IdArray(ids, 4).read(3, 6) == bytes([4, 5, 6, 7, 8, 9])
    assert IdArray(ids, 8).read(2, 8) == bytes([3, 4, 0, 0, 0, 0, 5, 6])


@pytest.mark.parametrize(
    ("ids", "id_bytes", "message"),
    [
        (np.zeros(1, np.uint32), 5, "id_bytes must be 4 or 8, not 5"),
        (np.zeros((1, 1), np.uint32), 4, "one-dimensional array of integers, not uint32"),
        (np.zeros(1), 4, "one-dimensional array of integers, not float64"),
    ],
)
def test_id_array_refuses(ids, id_bytes, message):
    with pytest.raises(ValueError, match=message):
        IdArray(ids, id_bytes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": PageLayout(page_bytes=8192, spare_bytes=1664)}, "layout.page_bytes must be 16"),
        (
            {"layout": PageLayout(page_bytes=PAGE_BYTES, spare_bytes=1700)},
            "layout.spare_bytes must be 1664",
        ),
        ({"code": BchCode(m=13, t=14, chunk_bytes=512)}, "code.chunk_bytes must be 256"),
        ({"code": BchCode(m=12, t=13, chunk_bytes=256)}, "code.parity_bytes must be 21"),
        ({"striping": Striping(channels=2, ways=3, luns=1, rows=20)}, "striping.luns must be 2"),
        ({"striping": Striping(channels=2, ways=3, luns=2, rows=4)}, "striping.rows must be 20"),
        ({"cached_pages": 0}, "cached_pages must be positive, not 0"),
    ],
)
def test_parameters_must_agree(change, message):
    fitting = {"part": PART, "layout": LAYOUT, "code": CODE, "striping": STRIPING}
    with pytest.raises(ValueError, match=message):
        FlashMedium(**{**fitting, **change})
