# amaranth: UnusedElaboratable=no
"""What the gather core says of each clock, against what was worked out by hand."""

import pytest

from rtl.contract.gather import GatherMode, GatherStatus
from rtl.gather.core import METERED
from tests.gather_core_bench import GatherBench
from tests.scenarios.gather import GatherScenario, random_scenario, targets

pytestmark = pytest.mark.slow

STEPS = {
    "first burst planned": 1,
    "finds room": 1,
    "asked for": 1,
    "descriptor's beat in a register": 1,
    "in a queue": 1,
    "judged: four registers, a queue and its head": 6,
    "waits for its positions": 1,
    "picked": 1,
    "mixed: eleven registers, a queue and its head": 13,
    "compared with positions before: three registers, a queue and its head": 5,
    "address, beat before: four registers, a queue and its head": 6,
    "in the queue of its lane": 1,
    "id's beat in a register": 1,
    "its beat in a queue": 1,
    "picked out of the queue": 1,
    "beside its request": 1,
    "cut out": 1,
    "collected": 1,
    "waits for its lane's turn": 1,
    "row asked for, read, put together": 3,
    "in a queue behind that": 1,
    "end told": 1,
}
"""Clocks of a single target that it does not spend on the bus, or on its words."""


def one_target(fan_out):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1000), 8)
    fields = {"mode": GatherMode.DRAW, "fan_out": fan_out, "degree": 1000, "list_address": 0x8000}
    scenario.launch(0x1000, [fields])
    return scenario


@pytest.mark.parametrize("latency", [0, 7, 40])
@pytest.mark.parametrize("fan_out", [1, 4, 16])
def test_a_target_by_hand(fan_out, latency):
    bench = GatherBench(one_target(fan_out), latency=latency).run()
    pulses, (done,) = bench.pulses, bench.done
    assert pulses["merged"] == 0
    # The memory takes a request at once; its beat is taken latency + 1 clocks later. The unit waits
    # for the beat of its descriptor, then for ids that are asked for in consecutive clocks.
    assert pulses["memory_stalled"] == (1 + latency + 1) + (fan_out + latency + 1)
    assert pulses["words"] == pulses["ids"] + 1 == fan_out + 1
    # Two words a transfer.
    assert pulses["delivered"] == -(-(fan_out + 1) // 2)
    assert pulses["output_stalled"] == 0
    assert pulses["beat"] == 1 + fan_out
    assert pulses["gap"] == sum(STEPS.values())
    assert pulses["busy"] == done.last - done.started + 1


def test_words_that_are_not_taken_stall_the_unit_for_as_long():
    there = GatherBench(one_target(4)).run()
    held = GatherBench(one_target(4), hold=300).run()
    waited = held.done[0].first - there.done[0].first
    assert waited > 200
    assert held.pulses["output_stalled"] == waited
    for name in ("delivered", "memory_stalled", "gap", "words", "ids", "beat"):
        assert held.pulses[name] == there.pulses[name], name


def explicit(scenario, lists, id_bytes=8):
    """A launch of ``lists`` of positions in one list of 64 ids at 0x8000."""
    descriptors = []
    for number, positions in enumerate(lists):
        at = 0x4000 + 0x100 * (number + 8 * len(scenario.launches))
        scenario.store_list(at, positions, 4)
        descriptors.append({"fan_out": len(positions), "positions_address": at})
    fields = {"degree": 64, "list_address": 0x8000, "id_log2": id_bytes.bit_length() - 1}
    address = 0x1000 + 0x100 * len(scenario.launches)
    scenario.launch(address, [{**fields, **one} for one in descriptors])


@pytest.mark.parametrize(
    ("lists", "id_bytes", "reads"),
    [
        ([[0, 7, 3, 3]], 8, 1),
        ([[7, 8, 7, 15, 16]], 8, 5),
        ([[7, 8, 7, 15, 16]], 4, 2),
        ([[0, 1], [2], [64, 3], [4, 9]], 8, 2),
        ([[0, 1], [64, 20], [21]], 8, 2),  # 20 is not read
    ],
)
@pytest.mark.parametrize("latency", [0, 9])
def test_ids_side_by_side_in_a_beat_are_read_once(lists, id_bytes, reads, latency):
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1, 65), id_bytes)
    explicit(scenario, lists, id_bytes)
    bench = GatherBench(scenario, latency=latency).run()
    bench.check()
    ids = sum(position < 64 for positions in lists for position in positions) - (len(lists) > 1)
    assert (bench.pulses["issued"], bench.pulses["merged"]) == (reads, ids - reads)
    assert sum(id > 1 for _, id, *_ in bench.memory.requests) == reads


def test_a_beat_that_failed_fails_all_who_share_it():
    scenario = GatherScenario(faulty=[range(0x8000, 0x8001)])
    scenario.store_list(0x8000, range(1, 65), 8)
    explicit(scenario, [[1, 2], [3, 8], [9, 10]])
    bench = GatherBench(scenario, latency=3).run()
    bench.check()
    assert bench.pulses["issued"] == 2
    assert [status for status, _ in targets(bench.words[0])] == [GatherStatus.BUS_ERROR] * 2 + [0]


def test_no_launch_shares_a_beat_with_the_one_before():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1, 65), 8)
    explicit(scenario, [[1, 2]])
    explicit(scenario, [[3], [64]])
    explicit(scenario, [[4]])
    bench = GatherBench(scenario).run()
    bench.check()
    assert (bench.pulses["issued"], bench.pulses["merged"]) == (3, 1)


@pytest.mark.parametrize(("stalls", "latency"), [(0, 0), (3, 0), (1, 20)])
def test_every_clock_of_a_launch_is_in_one_class(stalls, latency):
    scenario = random_scenario(3, targets=24)
    bench = GatherBench(scenario, stalls=stalls, latency=latency, seed=1).run()
    pulses, cut = bench.pulses, [one for words in bench.words for one in targets(words)]
    assert pulses["busy"] == sum(pulses[name] for name in METERED)
    assert pulses["delivered"] == sum(map(len, bench.last))
    assert pulses["words"] == sum(map(len, bench.words))
    assert pulses["ids"] == sum(len(ids) for _, ids in cut)
    assert pulses["beat"] == sum(beats for *_, beats in bench.memory.requests)
    assert all(pulses[name] for name in METERED if stalls or name != "output_stalled")
