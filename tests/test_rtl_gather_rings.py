# amaranth: UnusedElaboratable=no
"""Descriptor rings served by turns: runs, entries, errors and aborts against the reference."""

import random
from itertools import pairwise

import pytest

from rtl.contract.gather import GatherStatus
from rtl.contract.gather_rings import (
    MORE,
    NO_INDEX,
    CardRegister,
    RingControl,
)
from tests.ring_bench import (
    SERVE,
    START,
    TARGET_WORDS,
    RingBench,
    begin,
    bells,
    register,
)
from tests.scenarios.gather_rings import Ring, RingReference, Run, entry_of, words_of

OK, BAD, BUS = GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR, GatherStatus.BUS_ERROR
ABORTED = GatherStatus.ABORTED

pytestmark = pytest.mark.slow


def together(rings, *, quantum=4, room=256, completion_log2=4, **options):
    """Serve doorbells that all came before; compare with the reference."""
    reference = RingReference(
        [Ring(r.base, r.log2, r.outcomes, tail=r.tail) for r in rings],
        quantum=quantum, room=room, target_words=TARGET_WORDS,
    )  # fmt: skip
    writes = [*begin(rings, completion_log2=completion_log2), *bells(rings), (START, *SERVE)]
    bench = RingBench(
        rings, writes, quantum=quantum, room=room, completion_log2=completion_log2, **options
    ).run(until=START)
    runs, entries = reference.serve()
    assert bench.runs == runs
    assert bench.entries == entries
    return bench


def some_rings(seed, count):
    rng = random.Random(seed)
    rings = []
    for number in range(count):
        log2 = rng.randint(1, 6)
        outcomes = {
            index: rng.choice([(OK, rng.randint(0, 8))] * 5 + [(BAD, 0), (BUS, 0)])
            for index in range(1 << log2)
        }
        tail = rng.randrange(1 << log2)
        rings.append(Ring(0x1_0000 * (number + 1), log2, outcomes, tail=tail))
    return rings


@pytest.mark.parametrize("seed", range(6))
def test_runs_and_entries_are_those_of_the_reference(seed):
    rng = random.Random(seed)
    rings = some_rings(seed, rng.choice([1, 2, 3, 5, 16]))
    bench = together(
        rings, quantum=rng.choice([1, 3, 4, 8]), room=1024, completion_log2=5,
        pace=seed % 3, stalls=seed % 4, seed=seed, data_bits=(256, 512)[seed % 2],
    )  # fmt: skip
    for number, ring in enumerate(rings):
        assert bench.words[number] == words_of(ring.outcome(n) for n in range(ring.tail))
    # Results of a ring lie one behind the other, whoever came between.
    landed = [0] * len(rings)
    for run, place in zip(bench.runs, bench.places, strict=True):
        assert place.first == landed[run.ring]
        assert place.room == 1024 - landed[run.ring]
        index = (run.address - rings[run.ring].base) // 32
        targets = [rings[run.ring].outcome(index + n) for n in range(run.count)]
        landed[run.ring] += len(words_of(targets))
    assert {1 << e["ring"] for e in bench.entries} >= {cause & -cause for _, cause in
                                                       bench.interrupts}  # fmt: skip


def test_runs_end_where_the_ring_does():
    ring = Ring(0x1_0000, 3, tail=6)
    later = [(200, *register(0, "TAIL", 3)), (400, *register(0, "TAIL", 2))]
    writes = [*begin([ring]), *bells([ring]), (START, *SERVE), *later]
    bench = RingBench([ring], writes, quantum=4).run(until=600)
    base = ring.base
    assert bench.runs == [
        Run(0, base, 4), Run(0, base + 4 * 32, 2),
        Run(0, base + 6 * 32, 2), Run(0, base, 3),
        Run(0, base + 3 * 32, 4), Run(0, base + 7 * 32, 1), Run(0, base, 2),
    ]  # fmt: skip
    assert [(e["consumed"], e["head"]) for e in bench.entries] == [(6, 6), (5, 3), (7, 2)]


def test_bad_descriptor_in_the_middle():
    outcomes = {5: (BUS, 0), 6: (BAD, 0), 9: (BAD, 0)}
    bench = together([Ring(0x1_0000, 4, outcomes, tail=12)])
    (entry,) = bench.entries
    assert (entry["status"], entry["first_bad"], entry["consumed"]) == (BUS, 5, 12)


def test_entry_comes_before_its_interrupt_and_once():
    rings = [Ring(0x1_0000, 4, tail=9), Ring(0x2_0000, 4, tail=2)]
    bench = together(rings)
    assert [cause for _, cause in bench.interrupts] == [0b10, 0b11]
    for posted, (clock, _) in zip(bench.posted, bench.interrupts, strict=True):
        assert posted < clock <= posted + 4


def test_interrupts_that_are_not_enabled_are_not_sent():
    rings = [Ring(0x1_0000, 4, tail=9), Ring(0x2_0000, 4, tail=2)]
    writes = [*begin(rings, enable=0b01), *bells(rings), (START, *SERVE)]
    bench = RingBench(rings, writes).run(until=START)
    assert [cause for _, cause in bench.interrupts] == [0b11]


def test_cause_that_was_not_cleared_sends_no_second_interrupt():
    for clear in (False, True):
        ring = Ring(0x1_0000, 4, tail=3)
        writes = [*begin([ring]), *bells([ring]), (START, *SERVE)]
        writes += [(300, CardRegister.INTERRUPT_CAUSE, 1)] * clear
        writes += [(400, *register(0, "TAIL", 5))]
        bench = RingBench([ring], writes).run(until=600)
        assert len(bench.entries) == 2
        assert len(bench.interrupts) == 1 + clear


def test_full_completion_ring_holds_its_entries_and_no_other_ring():
    """Two entries of room for one: what waits is written when the host gives places back."""
    rings = [Ring(0x1_0000 * (n + 1), 3, tail=3) for n in range(3)]
    writes = [*begin(rings, completion_log2=1), *bells(rings), (START, *SERVE)]
    writes += [(500, CardRegister.COMPLETION_HEAD, 1), (800, CardRegister.COMPLETION_HEAD, 0)]
    bench = RingBench(rings, writes, completion_log2=1).run(until=1000)
    assert [entry["ring"] for entry in bench.entries] == [0, 1, 2]
    before, second, third = bench.posted
    assert before < 400 < 500 < second < 520 < 800 < third < 820
    # Runs of all rings went on meanwhile.
    assert len(bench.runs) == 3
    assert max(bench.started) < 300


def test_results_without_room_wait_for_the_host():
    """Rooms for two runs; ``MORE`` tells the host to take, and then the batch goes on."""
    outcomes = dict.fromkeys(range(32), (OK, 8))
    ring = Ring(0x1_0000, 5, outcomes, tail=20)
    writes = [*begin([ring]), *bells([ring]), (START, *SERVE)]
    bench = RingBench([ring], writes, quantum=3, room=64)

    def host(entry):
        return [(50, *register(0, "TAKEN", entry["landed"]))]

    bench.on_entry = host
    bench.run(until=START)
    assert [(e["consumed"], e["flags"]) for e in bench.entries] == [
        (6, MORE), (6, MORE), (6, MORE), (2, 0),
    ]  # fmt: skip
    assert [e["landed"] for e in bench.entries] == [54, 108, 162, 180]
    for place, run in zip(bench.places, bench.runs, strict=True):
        assert place.room >= TARGET_WORDS * run.count
    assert [place.first for place in bench.places] == [n * 27 % 64 for n in range(7)]
    assert bench.words[0] == words_of(outcomes[n] for n in range(20))


def test_a_ring_without_room_keeps_nobody():
    outcomes = dict.fromkeys(range(32), (OK, 8))
    rings = [Ring(0x1_0000, 5, outcomes, tail=20), Ring(0x2_0000, 5, tail=20)]
    bench = together(rings, quantum=3, room=64)
    assert [(e["ring"], e["consumed"], e["flags"]) for e in bench.entries] == [
        (0, 6, MORE), (1, 20, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("rings", "asker"), [(2, 0), (5, 0), (5, 4)])
def test_wait_is_bounded_while_others_flood(rings, asker):
    """Full rings all the time; one ring asks now and then, for one descriptor."""
    rng = random.Random(rings)
    all_rings = [Ring(0x1_0000 * (n + 1), 5, tail=0 if n == asker else 31) for n in range(rings)]
    writes = [*begin(all_rings), *bells(all_rings), (START, *SERVE)]
    asked = []
    for tail, clock in enumerate(range(200, 2000, 150), start=1):
        asked.append(clock + rng.randrange(100))
        writes.append((asked[-1], *register(asker, "TAIL", tail)))
    bench = RingBench(all_rings, writes, quantum=3, room=1024)

    def host(entry):
        number = entry["ring"]
        again = (
            [(1, *register(number, "TAIL", (entry["head"] - 1) % 32))] if number != asker else []
        )
        return [
            (1, *register(number, "TAKEN", entry["landed"])),
            (1, CardRegister.COMPLETION_HEAD, len(bench.entries) % 16),
            *(again if bench.clock < 2200 else []),
        ]

    bench.on_entry = host
    bench.run(until=2600)
    served = [n for n, run in enumerate(bench.runs) if run.ring == asker]
    assert len(served) == len(asked)
    for clock, number in zip(asked, served, strict=True):
        begun = [n for n, at in enumerate(bench.started) if clock + 4 < at and n < number]
        # One that is under way, and one of each other ring.
        assert len(begun) <= rings - 1
        assert bench.started[number] - clock < rings * 40
    # The others take turns, too: between two runs of one, at most one of each of the others.
    flood = [run.ring for at, run in zip(bench.started, bench.runs, strict=True) if at < 2200]
    for ring in set(range(rings)) - {asker}:
        places = [n for n, other in enumerate(flood) if other == ring]
        assert max(b - a for a, b in pairwise(places)) <= rings


def test_doorbell_at_every_clock_of_a_batch():
    """However a doorbell meets the batch before it, each descriptor is served once, in order."""
    for clock in range(START, START + 60):
        ring = Ring(0x1_0000, 3, tail=3)
        writes = [*begin([ring]), *bells([ring]), (START, *SERVE)]
        writes.append((clock, *register(0, "TAIL", 1)))
        bench = RingBench([ring], writes, quantum=2).run(until=clock + 1)
        places = [
            ((run.address - ring.base) // 32 + n) % 8
            for run in bench.runs
            for n in range(run.count)
        ]
        assert places == [0, 1, 2, 3, 4, 5, 6, 7, 0]
        assert sum(entry["consumed"] for entry in bench.entries) == 9
        assert [entry["head"] for entry in bench.entries][-1] == 1
        assert len(bench.entries) in (1, 2)


@pytest.mark.parametrize("gap", range(12))
def test_doorbells_of_two_rings_side_by_side(gap):
    rings = [Ring(0x1_0000, 3), Ring(0x2_0000, 3)]
    writes = [*begin(rings), (START, *SERVE), (START + 1, *register(1, "TAIL", 5))]
    writes += [(START + 1 + gap, *register(0, "TAIL", 6))]
    bench = RingBench(rings, writes).run(until=START)
    turns = [run.ring for run in bench.runs]
    assert sorted(turns) == [0, 0, 1, 1]
    assert turns in ([1, 0, 1, 0], [0, 1, 0, 1])


def test_abort_of_one_ring_at_every_clock():
    """What was not under way is left out, the run under way cut short; the other ring is whole."""
    kinds = set()
    for clock in range(START - 2, START + 130, 3):
        rings = [Ring(0x1_0000, 4, tail=13), Ring(0x2_0000, 4, tail=10)]
        writes = [*begin(rings), *bells(rings), (START, *SERVE)]
        control = RingControl.ENABLE | RingControl.ABORT
        writes += [(clock, *register(0, "CONTROL", control))]
        writes += [(clock + 200, *register(0, "TAIL", 15))]
        bench = RingBench(rings, writes).run(until=clock + 300)
        mine = [entry for entry in bench.entries if entry["ring"] == 0]
        (other,) = [entry for entry in bench.entries if entry["ring"] == 1]
        assert (other["consumed"], other["status"]) == (10, OK)
        first, *_, last = mine
        assert (first["consumed"], first["head"]) == (13, 13)
        assert (last["consumed"], last["status"], last["head"]) == (2, OK, 15)
        if first["status"] == OK:
            assert first["first_bad"] == NO_INDEX
            kinds.add("late")
            continue
        assert first["status"] == ABORTED
        runs = [run for run in bench.runs if run.ring == 0][:-1]
        done = sum(run.count for run in runs)
        cut = [at for run, at in bench.aborted if bench.runs[run].ring == 0]
        if cut and cut[0] < runs[-1].count:
            assert first["first_bad"] == done - runs[-1].count + cut[0]
            kinds.add("cut")
        else:
            assert first["first_bad"] == done < 13
            kinds.add("left out" if runs else "none")
    assert kinds == {"none", "cut", "left out", "late"}


def test_abort_of_a_ring_that_waits_for_the_host():
    """For room for its results, or for a place for its entry: what is left is left out."""
    control = register(0, "CONTROL", RingControl.ENABLE | RingControl.ABORT)
    ring = Ring(0x1_0000, 5, dict.fromkeys(range(32), (OK, 8)), tail=20)
    writes = [*begin([ring]), *bells([ring]), (START, *SERVE), (500, *control)]
    bench = RingBench([ring], writes, quantum=3, room=64).run(until=600)
    told = [(e["consumed"], e["status"], e["first_bad"], e["head"]) for e in bench.entries]
    assert told == [(6, OK, NO_INDEX, 6), (14, ABORTED, 0, 20)]
    rings = [Ring(0x1_0000 * (n + 1), 3, tail=3) for n in range(3)]
    writes = [*begin(rings, completion_log2=1), *bells(rings), (START, *SERVE)]
    writes += [(300, *register(2, "TAIL", 5)), (400, *register(2, "CONTROL", control[1]))]
    writes += [(500 + 100 * n, CardRegister.COMPLETION_HEAD, (1 + n) % 2) for n in range(4)]
    bench = RingBench(rings, writes, completion_log2=1).run(until=900)
    told = [(e["ring"], e["consumed"], e["status"]) for e in bench.entries]
    assert told == [(0, 3, OK), (1, 3, OK), (2, 3, OK), (2, 2, ABORTED)]


def test_abort_touches_no_run_of_another_ring():
    rings = [Ring(0x1_0000, 4, tail=3), Ring(0x2_0000, 4, tail=3)]
    control = RingControl.ENABLE | RingControl.ABORT
    for clock in range(START, START + 40):
        writes = [*begin(rings), *bells(rings), (START, *SERVE)]
        bench = RingBench(rings, [*writes, (clock, *register(1, "CONTROL", control))]).run(until=99)
        assert {bench.runs[run].ring for run, _ in bench.aborted} <= {1}
        assert [e["status"] for e in bench.entries if e["ring"] == 0] == [OK]


def test_abort_of_nothing_is_nothing():
    ring = Ring(0x1_0000, 3, tail=3)
    control = register(0, "CONTROL", RingControl.ENABLE | RingControl.ABORT)
    writes = [*begin([ring]), (20, *control), (30, *bells([ring])[0][1:]), (START, *SERVE)]
    bench = RingBench([ring], [*writes, (300, *control)]).run(until=400)
    assert bench.entries == [entry_of(Ring(0, 3, head=3, landed=6), 0, [(OK, 1)] * 3)]


def test_entry_that_the_dram_refuses_is_told_and_nothing_hangs():
    rings = [Ring(0x1_0000, 3, tail=3), Ring(0x2_0000, 3, tail=3)]
    writes = [*begin(rings), *bells(rings), (START, *SERVE), (300, *register(0, "TAIL", 4))]
    bench = RingBench(rings, writes, refuse={0}).run(until=400)
    assert [(e["ring"], e["consumed"]) for e in bench.entries] == [(1, 3), (0, 1)]
    assert [cause for _, cause in bench.interrupts] == [1 << 16, 1 << 16 | 2, 1 << 16 | 3]


@pytest.mark.parametrize(("count", "clocks"), [(1, 7), (2, 4), (3, 4)])
def test_clocks_between_runs(count, clocks):
    """From the clock in which the core's end is taken to that of the next launch."""
    rings = [Ring(0x1_0000 * (n + 1), 5, tail=20) for n in range(count)]
    bench = together(rings)
    starts, ends = bench.started[count:], bench.ended[count - 1 :]
    assert {start - end for start, end in zip(starts, ends, strict=False)} == {clocks}
