# amaranth: UnusedElaboratable=no
"""Beats that come in another order than they were asked for, one ID after the other."""

import random

import pytest

from rtl.gather.beat_places import BeatPlaces
from rtl.gather.core import LANES, id_ranges
from tests.gather_bench import simulate

READS = 300


class BeatsBench:
    """A memory that answers IDs in random order, a reader that stops, and what must be there.

    ``waits`` says of a clock whether the reader does; reads go out as soon as there is a place.
    """

    def __init__(self, places, ids, *, pace=1.0, waits=lambda clock: False, in_order=False):
        self._random = random.Random(places + ids)
        self._pace, self._waits, self._in_order = pace, waits, in_order
        self.dut = BeatPlaces(32, places, ids)
        self._left = [list(range(id, READS, ids)) for id in range(ids)]
        self._there, self._coming = set(), set()
        self.taken = self.fullest = self.clocks = self.out_of_order = 0

    async def run(self, ctx):
        dut = self.dut
        while self.taken < READS:
            arrived = self._answer(ctx)
            ready = not self._waits(self.clocks)
            ctx.set(dut.head.ready, ready)
            valid, beat = ctx.get(dut.head.valid), ctx.get(dut.head.payload)
            assert valid == (self.taken in self._there)
            if valid:
                assert beat == 1000 + self.taken
            await ctx.tick()
            self.clocks += 1
            if valid and ready:
                self._there.remove(self.taken)
                self.taken += 1
            self._there |= self._coming
            self._coming = arrived
            self.fullest = max(self.fullest, len(self._there))

    def _answer(self, ctx):
        """Perhaps a beat of one of the reads that are out; returns its number."""
        dut = self.dut
        # A read has been asked for only if there is a place for its beat.
        end = self.taken + dut.places
        due = [id for id, reads in enumerate(self._left) if reads and reads[0] < end]
        comes = bool(due) and self._random.random() < self._pace
        ctx.set(dut.arrives, comes)
        id = self._random.choice(due) if comes else self._random.randrange(dut.ids)
        if comes and self._in_order:
            id = min(due, key=lambda id: self._left[id][0])
        # The bits above those that tell the ID are of the lane; without a beat anything is there.
        ctx.set(dut.id, id | dut.ids * self._random.randrange(256 // dut.ids))
        number = self._left[id].pop(0) if comes else 0
        ctx.set(dut.beat, 1000 + number if comes else 7)
        self.out_of_order += comes and number > min(
            (reads[0] for reads in self._left if reads), default=READS
        )
        return {number} if comes else set()


@pytest.mark.parametrize(
    ("places", "ids"), [(1, 1), (2, 1), (2, 2), (8, 1), (8, 2), (16, 8), (32, 8), (8, 8)]
)
def test_beats_are_given_out_in_the_order_of_their_reads(places, ids):
    rng = random.Random(1)
    # Long stops fill all places, and a fast reader empties them again.
    bench = BeatsBench(
        places, ids, pace=0.8, waits=lambda clock: clock % 90 < 50 or rng.random() < 0.2
    )
    simulate(bench.dut, bench.run)
    assert bench.fullest == places
    assert (bench.out_of_order > 10) == (ids > 1)


@pytest.mark.parametrize(("places", "ids"), [(4, 1), (4, 2), (4, 4), (8, 8)])
def test_a_beat_in_each_clock(places, ids):
    """One comes while the one before it is taken."""
    bench = BeatsBench(places, ids, in_order=True)
    simulate(bench.dut, bench.run)
    assert bench.clocks == READS + 2


@pytest.mark.parametrize(
    ("places", "ids", "said"),
    [(12, 4, "Places"), (8, 3, "IDs"), (4, 8, "at most 4"), (0, 1, "Places"), (8, 0, "IDs")],
)
def test_what_cannot_be_is_refused(places, ids, said):
    with pytest.raises(ValueError, match=said):
        BeatPlaces(32, places, ids)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("more", range(4))
def test_ids_of_ports_do_not_meet(lanes, more):
    id_bits = (2 * lanes).bit_length() + more
    ranges = id_ranges(lanes, id_bits, 16 * lanes)
    assert len(ranges) == 1 + 2 * lanes
    assert [each.start for each in ranges[: 1 + lanes]] == [*range(1 + lanes)]
    used = [id for each in ranges for id in each]
    assert len(set(used)) == len(used)
    assert max(used) < 1 << id_bits
    assert all(each.start % len(each) == 0 for each in ranges)


def test_as_many_ids_as_there_are():
    assert [len(id_ranges(2, id_bits, 64)[-1]) for id_bits in (3, 4, 5, 6, 8)] == [2, 4, 8, 8, 8]
    assert [len(id_ranges(lanes, 6, 64)[-1]) for lanes in LANES] == [8, 8, 8, 4]
    assert len(id_ranges(2, 6, 4)[-1]) == 2
