"""Replacement policies of the page buffer, each against a plain reference."""

from random import Random

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_model.page_buffer import PageBuffer
from firmware_model.replacement import POLICIES, Clock, TwoQueues
from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout
from tests.scenarios.replacement_reference import REFERENCES, PlainBuffer

LAYOUT = PageLayout(page_bytes=4096, spare_bytes=1024)
NOW = Cause(0, 0)


class Pair:
    """A page buffer and the reference, told the same."""

    def __init__(self, policy, capacity):
        self.buffer = PageBuffer(simpy.Environment(), LAYOUT, capacity, policy)
        self.plain = PlainBuffer(REFERENCES[policy](capacity))
        self.left = []

    def claim(self, page):
        self._watch(lambda: next(self.buffer.claim(page, NOW), None))
        self.plain.claim(page)
        self.compare()

    def release(self, page):
        frame = self.buffer.frame(page)
        self._watch(lambda: self.buffer.release(frame, NOW))
        self.plain.release(page)
        self.compare()

    def _watch(self, step):
        before = set(self.plain.pins)
        step()
        self.left += before - {page for page in before if self.buffer.frame(page)}

    def compare(self):
        assert self.left == self.plain.left
        assert len(self.buffer) == len(self.plain.pins)
        for page, pins in self.plain.pins.items():
            assert self.buffer.frame(page).pins == pins
        waiting = {page: len(turns) for page, turns in self.buffer.waiting.items()}
        assert [*waiting.items()] == [*self.plain.waiting.items()]

    @property
    def used(self):
        return [page for page, pins in self.plain.pins.items() if pins]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=100, deadline=None)
@given(
    capacity=st.integers(1, 9),
    spread=st.integers(2, 24),
    held=st.integers(0, 10),
    seed=st.integers(0, 1 << 32),
)
def test_pages_leave_as_in_the_reference(policy, capacity, spread, held, seed):
    """About ``held`` pages are in use at a time; half of the claims are for a few pages."""
    pair, generator = Pair(policy, capacity), Random(seed)
    for _ in range(200):
        used = pair.used
        if used and generator.random() < len(used) / (held + 1):
            pair.release(generator.choice(used))
        else:
            pair.claim(generator.randrange(generator.choice([spread, capacity + 1])))


def touch(pair, *pages):
    """Claim and release each page."""
    for page in pages:
        pair.claim(page)
        pair.release(page)


def test_the_hand_spares_what_was_used_and_passes_what_is_in_use():
    pair = Pair("clock", 4)
    touch(pair, 1, 2, 3, 4, 5)  # a whole round takes all marks, then page 1 leaves
    touch(pair, 2)
    pair.claim(4)
    policy = pair.buffer.replacement
    assert policy.replace_work(6) == {"held": 0, "spared": 1, "turn": 0}
    touch(pair, 6)  # passes 2, which loses its mark
    assert pair.left == [1, 3]
    assert policy.replace_work(7) == {"held": 1, "spared": 1, "turn": 1}
    touch(pair, 7)  # passes 4, in use, and 5; 2 leaves
    assert pair.left == [1, 3, 2]
    assert policy.pages == [5, 7, 6, 4]
    assert policy.marked == {4, 6, 7}


def test_a_scan_does_not_drive_out_what_comes_again():
    """The case for which 2Q was made; LRU loses the hot page."""
    left = {}
    for policy in POLICIES:
        pair = Pair(policy, 8)
        touch(pair, *range(100, 108), 1, *range(108, 118), 1)  # page 1 again after it left A1in
        touch(pair, *range(200, 240))
        left[policy] = 1 not in pair.plain.pins
    assert left == {"lru": True, "clock": True, "2q": False}


def test_uses_in_a1in_change_nothing_and_a1out_remembers_half_the_frames():
    pair = Pair("2q", 4)
    policy = pair.buffer.replacement
    assert (policy.young_limit, policy.ghost_limit) == (1, 2)
    touch(pair, 1, 2, 3, 4, 1, 1)
    touch(pair, 5, 6, 7)
    assert pair.left == [1, 2, 3]
    assert [*policy.ghosts] == [2, 3]
    touch(pair, 3)
    assert ([*policy.hot], [*policy.young], [*policy.ghosts]) == ([3], [5, 6, 7], [2, 4])
    # 1 is forgotten, so it is new.
    touch(pair, 1)
    assert ([*policy.hot], [*policy.young]) == ([3], [6, 7, 1])


def test_2q_takes_from_the_other_queue_when_all_of_one_are_in_use():
    pair = Pair("2q", 4)
    policy = pair.buffer.replacement
    touch(pair, 1, 2, 3, 4, 5, 1)
    assert ([*policy.hot], [*policy.young]) == ([1], [3, 4, 5])
    for page in (3, 4, 5):
        pair.claim(page)
    assert policy.replace_work(6) == {
        "held": 3, "second": 1, "ghost": 1, "recall": 0, "deep": 0, "young": 0,
    }  # fmt: skip
    touch(pair, 6)
    assert pair.left == [1, 2, 1]
    assert [*policy.hot] == []


@pytest.mark.parametrize("policy", POLICIES)
def test_sizes_of_one_frame_work(policy):
    pair = Pair(policy, 1)
    touch(pair, 1, 2, 1, 1, 3)
    assert pair.left == [1, 2, 1]


def test_2q_with_nobody_idle_is_not_asked():
    policy = TwoQueues(2)
    policy.enter(1)
    with pytest.raises(RuntimeError, match="must be idle"):
        policy.leaver()
    assert not Clock(2).has_idle
