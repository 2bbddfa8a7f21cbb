"""Frames of the page buffer: LRU, pins, hand-over in order, codeword pairs."""

import pytest
import simpy

from firmware_model.page_buffer import PageBuffer, pair_mask
from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout

LAYOUT = PageLayout(page_bytes=4096, spare_bytes=1024)


class Story:
    """Claims and releases at their times; ``events`` tells who got what when, and why."""

    def __init__(self, capacity):
        self.env = simpy.Environment()
        self.buffer = PageBuffer(self.env, LAYOUT, capacity)
        self.events = []
        self.waited = []

    def use(self, time, page, duration):
        def job():
            yield self.env.timeout(time)
            claim = yield from self.buffer.claim(page, Cause(self.env.now, page))
            frame = claim.frame
            self.events.append((self.env.now, page, claim.cause.span))
            if claim.waited:
                self.waited.append(page)
            assert frame.page == page
            yield self.env.timeout(duration)
            self.buffer.release(frame, Cause(self.env.now, page))

        self.env.process(job())

    def run(self):
        self.env.run()
        return self.events


def test_least_recently_released_page_is_evicted():
    story = Story(2)
    story.use(0, 7, 1)
    story.use(2, 8, 1)
    story.use(4, 7, 1)  # now 8 is the older one
    story.use(6, 9, 1)
    story.run()
    assert sorted(story.buffer._frames) == [7, 9]
    assert (story.buffer.evictions, story.buffer.hand_overs) == (1, 0)
    assert story.waited == []


def test_pinned_pages_stay_and_claims_wait_in_order_with_the_release_as_cause():
    story = Story(1)
    story.use(0, 7, 10)
    story.use(1, 8, 5)
    story.use(2, 9, 5)
    assert story.run() == [(0, 7, 7), (10, 8, 7), (15, 9, 8)]
    assert story.buffer.full_waits == 2


def test_a_newcomer_does_not_overtake_a_waiting_claim():
    story = Story(1)
    story.use(0, 7, 10)
    story.use(1, 8, 10)
    story.use(10, 9, 1)  # at the very moment of the release
    assert [page for _, page, _ in story.run()] == [7, 8, 9]


def test_waiting_claims_of_one_page_share_the_frame():
    story = Story(1)
    story.use(0, 7, 10)
    story.use(1, 8, 5)
    story.use(2, 9, 5)
    story.use(3, 8, 9)
    assert story.run() == [(0, 7, 7), (10, 8, 7), (10, 8, 7), (19, 9, 8)]
    # Two get page 7's frame together, which is one eviction.
    assert story.waited == [8, 8, 9]
    assert (story.buffer.evictions, story.buffer.hand_overs) == (2, 2)


def test_two_pins_need_two_releases():
    story = Story(1)
    story.use(0, 7, 10)
    story.use(1, 7, 20)
    story.use(2, 8, 1)
    assert story.run()[-1] == (21, 8, 7)


def test_release_without_a_pin_is_refused():
    story = Story(1)
    story.use(0, 7, 1)
    story.run()
    frame, now = story.buffer._frames[7], story.env.now
    with pytest.raises(RuntimeError, match="page 7 must be pinned"):
        story.buffer.release(frame, Cause(now, 0))
    with pytest.raises(RuntimeError, match="page 7 must be released when"):
        story.buffer.release(frame, Cause(now - 1, 0))
    with pytest.raises(ValueError, match="capacity must be at least one page, not 0"):
        PageBuffer(story.env, LAYOUT, 0)


@pytest.mark.parametrize(
    ("first", "length", "mask"),
    [(0, 1, 0b1), (511, 1, 0b1), (512, 8, 0b10), (508, 8, 0b11), (0, 4096, 0xFF)],
)
def test_pairs_of_a_byte_range(first, length, mask):
    assert pair_mask(LAYOUT, first, length) == mask


def test_fill_takes_the_parity_out_and_marks_the_pairs_from_first_to_last():
    story = Story(1)
    story.use(0, 7, 1)
    story.run()
    buffer, frame = story.buffer, story.buffer._frames[7]
    fill = buffer.begin_fill(frame, 0b1010)
    assert (fill.first, fill.count, frame.arriving) == (1, 3, 0b1110)
    codewords = [bytes([n]) * 256 + bytes(21) for n in range(1, 7)]
    buffer.end_fill(frame, fill, b"".join(codewords), Cause(0, 0))
    assert (frame.valid, frame.arriving) == (0b1110, 0)
    data = b"".join(bytes([n]) * 256 for n in range(1, 7))
    assert frame.data == bytes(512) + data + bytes(2048)


def test_failed_fill_leaves_the_frame_without_data():
    story = Story(1)
    story.use(0, 7, 1)
    story.run()
    frame = story.buffer._frames[7]
    fill = story.buffer.begin_fill(frame, 0b1)
    story.buffer.end_fill(frame, fill, None, Cause(5, 6))
    assert frame.valid == 0
    assert fill.landed.value == (False, Cause(5, 6))
