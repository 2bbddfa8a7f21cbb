"""The striping rule: neighbours on different channels, a bijection for every order."""

from itertools import permutations

import pytest

from rtl.contract.striping import DEFAULT_ORDER, PhysicalPage, Striping

COSMOS = {"channels": 8, "ways": 8, "luns": 2, "rows": 1000}


def test_default_order_is_channel_then_way_then_lun():
    striping = Striping(**COSMOS)
    # 717 = 5 + 8 * 89, 89 = 1 + 8 * 11, 11 = 1 + 2 * 5: channel 5, way 1, LUN 1, row 5.
    assert striping.physical(717) == PhysicalPage(channel=5, way=1, lun=1, row=5)
    assert [striping.physical(page) for page in (0, 7, 8, 63, 64, 127, 128)] == [
        (0, 0, 0, 0),
        (7, 0, 0, 0),
        (0, 1, 0, 0),
        (7, 7, 0, 0),
        (0, 0, 1, 0),
        (7, 7, 1, 0),
        (0, 0, 0, 1),
    ]


def test_order_names_the_fastest_first():
    striping = Striping(channels=4, ways=3, luns=2, rows=9, order=("lun", "way", "channel"))
    # 33 = 1 + 2 * 16, 16 = 1 + 3 * 5, 5 = 1 + 4 * 1: LUN 1, way 1, channel 1, row 1.
    # 8 = 0 + 2 * 4, 4 = 1 + 3 * 1, 1 = 1 + 4 * 0: LUN 0, way 1, channel 1, row 0.
    assert striping.physical(33) == (1, 1, 1, 1)
    assert striping.physical(8) == (1, 1, 0, 0)
    assert striping.physical(24) == (0, 0, 0, 1)


@pytest.mark.parametrize("order", list(permutations(DEFAULT_ORDER)))
def test_is_a_bijection(order):
    striping = Striping(channels=2, ways=3, luns=5, rows=7, order=order)
    places = {striping.physical(page) for page in range(striping.pages)}
    assert len(places) == striping.pages == 2 * 3 * 5 * 7
    assert all(striping.logical(*striping.physical(page)) == page for page in range(striping.pages))


@pytest.mark.parametrize("page", [-1, 128_000])
def test_page_beyond_the_array(page):
    with pytest.raises(ValueError, match=f"page number must be in 0 to 127999, not {page}"):
        Striping(**COSMOS).physical(page)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((8, 0, 0, 0), "channel must be in 0 to 7, not 8"),
        ((0, -1, 0, 0), "way must be in 0 to 7, not -1"),
        ((0, 0, 2, 0), "lun must be in 0 to 1, not 2"),
        ((0, 0, 0, 1000), "row must be in 0 to 999, not 1000"),
    ],
)
def test_place_beyond_the_array(place, message):
    with pytest.raises(ValueError, match=message):
        Striping(**COSMOS).logical(*place)


@pytest.mark.parametrize("size", [0, -2, 2.0])
@pytest.mark.parametrize("name", list(COSMOS))
def test_sizes_are_positive_integers(name, size):
    with pytest.raises(ValueError, match=f"{name} must be a positive integer, not {size}"):
        Striping(**{**COSMOS, name: size})


@pytest.mark.parametrize(
    "order", [("channel", "way"), ("channel", "way", "way"), ("channel", "way", "die")]
)
def test_order_names_each_unit_once(order):
    with pytest.raises(ValueError, match="order must name each of channel, way, lun once, not"):
        Striping(**COSMOS, order=order)
