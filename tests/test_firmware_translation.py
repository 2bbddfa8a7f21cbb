"""Positions of a list to bytes of pages, and the extent map."""

import pytest

from firmware_model.translation import ExtentMap, UnmappedPage, grouping_counts, pieces_of_list
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage, Striping

LAYOUT = PageLayout(page_bytes=4096, spare_bytes=1024)
STRIPING = Striping(channels=2, ways=2, luns=1, rows=8)


def test_positions_of_a_list_that_begins_in_one_page_and_ends_in_another():
    # The list begins 16 bytes before the end of page 2: ids 0 and 1 there, 2 to 513 in page 3.
    pages = pieces_of_list(3 * 4096 - 16, [2, 0, 514, 1, 513, 0], 8, 100, 4096)
    assert pages == {
        3: [(0, 8, 100), (4088, 8, 132)],
        2: [(4080, 8, 108), (4088, 8, 124), (4080, 8, 140)],
        4: [(0, 8, 116)],
    }


@pytest.mark.parametrize("here", range(1, 8))
def test_id_that_straddles_two_pages_comes_in_two_pieces(here):
    pages = pieces_of_list(4096 - here, [0, 1], 8, 4, 4096)
    assert pages == {
        0: [(4096 - here, here, 4)],
        1: [(0, 8 - here, 4 + here), (8 - here, 8, 12)],
    }


def test_narrow_ids_take_64_bit_places():
    assert pieces_of_list(8, [0, 3], 4, 4, 4096) == {0: [(8, 4, 4), (20, 4, 12)]}


def test_empty_list_needs_no_page():
    assert pieces_of_list(8, [], 8, 4, 4096) == {}


def test_grouping_compares_each_piece_with_the_pages_before_its_own():
    # By hand: a; b (a); a (a); c (a, b); b (a, b).
    groups = {"a": [0, 2], "b": [1, 4], "c": [3]}
    assert grouping_counts(groups.values()) == {"page": 3, "more": 2, "compare": 6}
    assert grouping_counts([[0]]) == {"page": 1, "more": 0, "compare": 0}


def test_extents_are_where_the_striping_says():
    extents = ExtentMap(LAYOUT, STRIPING)
    extents.load(3, 4)
    assert extents.physical(3) == PhysicalPage(1, 1, 0, 0)
    assert extents.physical(6) == PhysicalPage(0, 1, 0, 1)
    for page in (2, 7):
        with pytest.raises(UnmappedPage, match=f"Logical page {page} must be written"):
            extents.physical(page)


@pytest.mark.parametrize(("first", "pages"), [(0, 4), (6, 1), (4, 1), (2, 8)])
def test_extents_do_not_overlap(first, pages):
    extents = ExtentMap(LAYOUT, STRIPING)
    extents.load(3, 4)
    with pytest.raises(ValueError, match="must not overlap"):
        extents.load(first, pages)
    extents.load(0, 3)
    extents.load(7, 1)


@pytest.mark.parametrize(("first", "pages"), [(-1, 2), (31, 2), (0, 0)])
def test_extents_lie_in_the_array(first, pages):
    with pytest.raises(ValueError, match="must lie in pages 0 to 31"):
        ExtentMap(LAYOUT, STRIPING).load(first, pages)
