"""The join rule of the seam."""

import pytest

from rtl.contract.kernel import P2P_BASE, Cause, latest


def test_a_join_takes_the_last_finisher():
    assert latest([Cause(5, 9), Cause(7, 3), Cause(6, 1)]) == Cause(7, 3)


def test_of_those_that_finish_together_the_lowest_span():
    assert latest(iter([Cause(7, 4), Cause(7, 2), Cause(7, 8), Cause(1, 0)])) == Cause(7, 2)


def test_a_join_of_nothing():
    with pytest.raises(ValueError, match="empty"):
        latest([])


def test_card_window_begins_at_one_tebibyte():
    assert P2P_BASE == 1_099_511_627_776
