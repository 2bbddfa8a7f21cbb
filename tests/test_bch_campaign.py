"""A short form of ``make bch-campaign``: the decoder's RTL on Verilator, against two libraries."""

import pytest

from tests.bch_campaign import campaign, miscorrections

pytestmark = [pytest.mark.hdl, pytest.mark.slow]


@pytest.mark.parametrize("name", ["m12-t14-256-by-2", "m8-t3-18-by-1"])
def test_the_decoder_is_that_of_two_libraries(name, tmp_path):
    differences, done = campaign(name, tmp_path, rounds=2, with_galois=False)
    assert differences == []
    assert done["uncorrectable"] > 0 < done["corrected"]


def test_noise_is_miscorrected_as_often_as_the_bound_says(tmp_path):
    share, bound, sigma = miscorrections(tmp_path)
    assert abs(share - bound) < 5 * sigma
    assert 0.15 < bound < 0.17
