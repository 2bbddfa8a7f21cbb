"""Pages that dies program and blocks that they erase, beside what was loaded before the run."""

import pytest

from cosim.medium import FlashMedium, UnwrittenPage
from cosim.programmed import BadProgram
from tests.test_cosim_medium import CODE, LAYOUT, PART, STRIPING, edge_list, medium_with

RAW = LAYOUT.raw_bytes
BLOCK = PART.pages_per_block
PLACE = (1, 2, 1)
"""Channel, way and LUN of most tests."""
ERASED = bytes([255]) * RAW


def image(seed):
    return bytes([seed, 255 - seed]) * (RAW // 2)


def make(**options):
    return FlashMedium(PART, LAYOUT, CODE, STRIPING, **options)


def loaded(pages):
    """A medium with ``pages`` logical pages, and the rows of LUN 0 of way 0, channel 0, of them."""
    medium = medium_with(edge_list(pages))
    places = map(STRIPING.physical, range(pages))
    return medium, [place.row for place in places if place[:3] == (0, 0, 0)]


def test_a_programmed_page_reads_as_it_came():
    medium = make()
    assert medium.program(*PLACE, 3, image(1))
    assert medium.sense(*PLACE, 3) == image(1)
    assert medium.sensed == 1


def test_other_pages_stay_unwritten():
    medium = make()
    medium.program(*PLACE, 1, image(1))
    for place in ((*PLACE, 0), (*PLACE, BLOCK + 1), (0, 2, 1, 1)):
        with pytest.raises(UnwrittenPage):
            medium.sense(*place)


def test_an_erase_empties_its_block_and_no_other():
    medium = make()
    for row in (BLOCK, 2 * BLOCK):
        medium.program(*PLACE, row, image(row))
    assert medium.erase(*PLACE, BLOCK + 2)
    for row in range(BLOCK, 2 * BLOCK):
        assert medium.sense(*PLACE, row) == ERASED
    assert medium.sense(*PLACE, 2 * BLOCK) == image(2 * BLOCK)


def test_a_page_is_programmed_again_after_an_erase():
    medium = make()
    medium.program(*PLACE, 1, image(1))
    medium.erase(*PLACE, 0)
    medium.program(*PLACE, 0, image(2))
    medium.program(*PLACE, 1, image(3))
    assert [medium.sense(*PLACE, row) for row in (0, 1)] == [image(2), image(3)]


def test_pages_are_programmed_in_ascending_order():
    medium = make()
    medium.program(*PLACE, 2, image(1))
    with pytest.raises(BadProgram, match="LUN 1, row 1 must be programmed before page 2"):
        medium.program(*PLACE, 1, image(1))
    medium.program(*PLACE, 3, image(1))


def test_a_page_is_programmed_once():
    medium = make()
    medium.program(*PLACE, 2, image(1))
    with pytest.raises(BadProgram, match="row 2 must be programmed at most 1 times"):
        medium.program(*PLACE, 2, image(1))


def test_further_programs_of_a_page_make_zeros_of_ones():
    medium = make(programs_per_page=2)
    first = b"\x12\x34" + ERASED[2:]
    second = ERASED[:1] + b"\x0f" + ERASED[2:-1] + b"\0"
    medium.program(*PLACE, 2, first)
    medium.program(*PLACE, 2, second)
    assert medium.sense(*PLACE, 2) == b"\x12\x04" + ERASED[2:-1] + b"\0"
    with pytest.raises(BadProgram, match="at most 2 times"):
        medium.program(*PLACE, 2, first)


def test_a_loaded_page_counts_as_programmed_until_its_block_is_erased():
    medium, rows = loaded(30)
    last = rows[-1]
    assert 0 < last % BLOCK < BLOCK - 1
    for row in (last - 1, last):
        with pytest.raises(BadProgram):
            medium.program(0, 0, 0, row, image(1))
    before = medium.sense(0, 0, 0, last)
    medium.program(0, 0, 0, last + 1, image(1))
    assert medium.sense(0, 0, 0, last) == before
    medium.erase(0, 0, 0, last)
    assert medium.sense(0, 0, 0, last) == ERASED
    medium.program(0, 0, 0, last, image(2))
    assert medium.sense(0, 0, 0, last) == image(2)


def test_nothing_is_loaded_into_cells_that_were_used():
    medium = make()
    medium.erase(*PLACE, 0)
    with pytest.raises(ValueError, match="before anything is programmed or erased"):
        medium.load_extent(0, None)


def test_a_failed_program_leaves_noise():
    medium = make()
    medium.fail_programs(*PLACE, 1)
    assert medium.program(*PLACE, 0, image(1))
    assert not medium.program(*PLACE, 1, image(1))
    noise = medium.sense(*PLACE, 1)
    assert noise not in (image(1), ERASED)
    assert len(set(noise)) == 256
    assert medium.sense(*PLACE, 1) == noise
    medium.erase(*PLACE, 0)
    medium.program(*PLACE, 0, image(1))
    assert not medium.program(*PLACE, 1, image(1))
    assert medium.sense(*PLACE, 1) != noise


def test_a_failed_erase_leaves_noise_that_cannot_be_programmed():
    medium = make()
    medium.program(*PLACE, 0, image(1))
    medium.fail_erases(*PLACE, 2)
    assert not medium.erase(*PLACE, 1)
    assert len({medium.sense(*PLACE, row) for row in range(BLOCK)}) == BLOCK
    with pytest.raises(BadProgram, match="row 0 must be erased before it is programmed"):
        medium.program(*PLACE, 0, image(1))
    assert medium.erase(*PLACE, BLOCK)


def test_what_was_cut_off_is_noise_until_it_is_erased():
    medium = make()
    medium.spoil_page(*PLACE, 1)
    assert len(set(medium.sense(*PLACE, 1))) == 256
    with pytest.raises(BadProgram):
        medium.program(*PLACE, 1, image(1))
    medium.spoil_block(*PLACE, 1)
    assert len(set(medium.sense(*PLACE, 0))) == 256
    with pytest.raises(BadProgram):
        medium.program(*PLACE, 0, image(1))
    medium.erase(*PLACE, 1)
    assert medium.sense(*PLACE, 1) == ERASED


def test_a_flipped_bit_is_gone_with_what_the_page_held():
    medium = make()
    medium.program(*PLACE, 0, image(1))
    medium.flip_bit(*PLACE, 0, 9)
    assert medium.sense(*PLACE, 0)[1] == image(1)[1] ^ 2
    medium.erase(*PLACE, 0)
    assert medium.sense(*PLACE, 0) == ERASED
    medium.flip_bit(*PLACE, 0, 0)
    assert medium.sense(*PLACE, 0)[0] == 0xFE
    medium.program(*PLACE, 0, image(1))
    assert medium.sense(*PLACE, 0) == image(1)


@pytest.mark.parametrize("call", ["program", "erase", "fail_programs", "fail_erases"])
def test_places_that_do_not_exist_are_refused(call):
    arguments = (image(1),) if call == "program" else ()
    with pytest.raises(ValueError, match="row"):
        getattr(make(), call)(*PLACE, PART.rows, *arguments)


def test_an_image_is_a_whole_page():
    with pytest.raises(ValueError, match=f"Image must be {RAW} bytes, not 2"):
        make().program(*PLACE, 0, b"ab")


def test_programs_per_page_must_be_positive():
    with pytest.raises(ValueError, match="programs_per_page must be positive, not 0"):
        make(programs_per_page=0)
