# amaranth: UnusedElaboratable=no
"""The filter behind the mixer: Floyd's method, whatever pauses and lists come between."""

import random

import pytest

from rtl.contract.mixer import draw
from rtl.contract.sampling import distinct_positions
from rtl.gather.distinct import DistinctFilter
from rtl.gather.positions import Pick
from tests.gather_bench import Stalls, collect, put, simulate

PLACES = 18
"""More than are looked at together."""


def drawn_list(key, degree, count):
    """What the mixer gives for a list without replacement, and what must come of it."""
    ranges = range(degree - count + 1, degree + 1)
    entries = [
        (draw(key, number) * reach >> 32, reach, 1, number == count - 1)
        for number, reach in enumerate(ranges)
    ]
    return entries, distinct_positions(key, degree, count).tolist()


def run(entries, *, stalls=0, limit_cycles=20_000):
    """Positions and last bits for (position, degree, distinct, last) entries."""
    dut = DistinctFilter(Pick, PLACES)
    out = []

    async def drive(ctx):
        pauses, rng, seen = Stalls(stalls, seed=1), random.Random(3), [0]
        for position, degree, distinct, last in entries:
            entry = {"position": position, "degree": degree}
            entry["tag"] = {"distinct": distinct, "last": last}
            for _ in range(pauses()):
                # What is not valid must not count, even if it were to meet both neighbours.
                bait = {**entry, "degree": position + 1, "position": rng.choice(seen[-PLACES:])}
                ctx.set(dut.drawn.payload, bait)
                await ctx.tick()
            seen.append(position)
            await put(ctx, dut.drawn, entry)

    async def watch(ctx):
        taken = await collect(ctx, dut.positions, len(entries), Stalls(stalls, seed=2))
        out.extend((entry.position, entry.tag.last) for entry in taken)

    simulate(dut, drive, watch, limit_cycles=limit_cycles)
    return out


@pytest.mark.parametrize("stalls", [0, 3])
def test_any_place_is_met(stalls):
    """The last position of a full list is each of those before it in turn."""
    entries, expected = [], []
    for met in range(PLACES - 1):
        drawn = [*range(PLACES - 1), met]
        entries += [(one, 100 + n, 1, n == PLACES - 1) for n, one in enumerate(drawn)]
        expected += [*drawn[:-1], 100 + PLACES - 2]
    out = run(entries, stalls=stalls)
    assert [position for position, _ in out] == expected


@pytest.mark.parametrize("stalls", [0, 3])
def test_lists_of_all_kinds_one_after_the_other(stalls):
    rng = random.Random(5)
    entries, expected = [], []
    for _ in range(80):
        count = rng.randint(1, PLACES)
        if rng.random() < 0.3:  # with replacement: the same position again and again
            entries += [(rng.randint(0, 2), 3, 0, n == count - 1) for n in range(count)]
            expected += [position for position, *_ in entries[-count:]]
            continue
        # One id more than are taken: nearly every draw meets an earlier one.
        degree = count + rng.choice([1, 1, 2, 5, 1 << 20])
        some, positions = drawn_list(rng.getrandbits(32), degree, count)
        entries += some
        expected += positions
    out = run(entries, stalls=stalls)
    assert [position for position, _ in out] == expected
    assert [last for *_, last in out] == [last for *_, last in entries]
    replaced = sum(
        now != entry[0] for (now, _), entry in zip(out, entries, strict=True) if entry[2]
    )
    assert replaced > 50


@pytest.mark.parametrize(
    ("draws", "positions"),
    [
        # Ranges are 3 to 6: the last position of each is what it can become.
        ([0, 0, 0, 0], [0, 3, 4, 5]),  # one after the other, each replaced
        ([2, 3, 3, 0], [2, 3, 4, 0]),  # equal to the newest, which stayed
        ([1, 1, 3, 4], [1, 3, 4, 5]),  # equal to what the newest became
        ([1, 1, 4, 1], [1, 3, 4, 5]),  # equal to the oldest
        ([2, 0, 1, 3], [2, 0, 1, 3]),
    ],
)
def test_every_kind_of_collision(draws, positions):
    one = [(position, 3 + n, 1, n == 3) for n, position in enumerate(draws)]
    for stalls in (0, 2):
        out = run(one * 3, stalls=stalls)
        assert [position for position, _ in out] == positions * 3


def test_the_first_of_a_list_does_not_meet_the_list_before():
    lists = [[(5, 9, 1, True)], [(5, 9, 1, True)], [(5, 9, 0, True)], [(5, 8, 1, False)]]
    lists.append([(7, 9, 1, True)])
    out = run([entry for entries in lists for entry in entries])
    assert [position for position, _ in out] == [5, 5, 5, 5, 7]


def test_one_position_a_clock():
    entries = drawn_list(7, 9, 8)[0] * 50
    run(entries, limit_cycles=400 + DistinctFilter(Pick, PLACES).latency + 2)


@pytest.mark.parametrize("places", [0, -1, 1.5])
def test_refuses_no_place(places):
    with pytest.raises(TypeError, match="Places must be a positive integer"):
        DistinctFilter(Pick, places)
