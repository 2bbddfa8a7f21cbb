# amaranth: UnusedElaboratable=no
"""Several lanes over one port: targets in order, whatever the order of answers across AXI IDs.

The memory of the bench answers IDs in random order, their beats interleaved.
"""

import random

import pytest

from rtl.contract.gather import GatherMode
from tests.gather_core_bench import GatherBench
from tests.scenarios.gather import GatherScenario, random_scenario
from tests.test_rtl_gather import draws_scenario
from tests.test_rtl_gather_abort import check, pairs
from tests.test_rtl_gather_counters import explicit

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("lanes", "result_words", "data_bits", "stalls", "latency"),
    [(2, 2, 512, 0, 0), (2, 1, 64, 2, 9), (4, 4, 256, 0, 30), (8, 8, 512, 1, 5)],
)
def test_results_equal_the_reference(lanes, result_words, data_bits, stalls, latency):
    scenario = random_scenario(lanes, targets=20)
    scenario.beat_bytes = data_bits // 8
    parameters = {"lanes": lanes, "result_words": result_words}
    bench = GatherBench(scenario, stalls=stalls, latency=latency, seed=2, **parameters).run()
    bench.check()


@pytest.mark.parametrize("lanes", [2, 4])
def test_a_launch_is_given_up_at_any_moment(lanes):
    count, rng = 6, random.Random(lanes)
    scenario = pairs(count)
    moments = {2 * n: rng.randint(1, 30 * (n + 1)) for n in range(count)}
    bench = GatherBench(scenario, latency=9, abort=moments, lanes=lanes).run(60_000)
    counts = [check(bench, number) for number in range(2 * count)]
    assert sum(n > 0 for n in counts) > count // 2
    assert not any(counts[1::2]), "the launch behind is whole"


def test_lanes_take_descriptors_in_turn_across_launches():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1, 65), 8)
    for lists in ([[0], [8], [16]], [[24]], [[32], [40, 48], [56]]):
        explicit(scenario, lists)
    bench = GatherBench(scenario, latency=3, lanes=2).run()
    bench.check()
    taken = [
        [(address - 0x8000) // 64 for _, id, address, _ in bench.memory.requests if id in ids]
        for ids in bench.dut.axi_ids[3:]
    ]
    assert taken == [[0, 2, 4, 7], [1, 3, 5, 6]]


def test_a_beat_is_shared_within_a_lane_alone():
    scenario = GatherScenario()
    scenario.store_list(0x8000, range(1, 65), 8)
    explicit(scenario, [[0, 1], [2], [3], [4, 5]])
    explicit(scenario, [[6], [7]])
    bench = GatherBench(scenario, latency=3, lanes=2).run()
    bench.check()
    # In each lane, and each launch, the first id of the beat is read.
    assert (bench.pulses["issued"], bench.pulses["merged"]) == (4, 4)


@pytest.mark.parametrize("outstanding", [4, 32])
def test_each_lane_has_its_share_of_the_reads_in_flight(outstanding):
    scenario = draws_scenario(8, 32)
    bench = GatherBench(scenario, latency=60, lanes=2, outstanding=outstanding).run(60_000)
    bench.check()
    assert bench.memory.in_flight == outstanding // 2
    assert bench.pulses["blocked"] > 0


@pytest.mark.parametrize(("lanes", "result_words"), [(2, 2), (4, 4)])
def test_the_port_is_never_left_idle(lanes, result_words):
    """Neither between descriptors: ids of a lane that waits for one are made up for by others."""
    scenario = draws_scenario(60, 10)
    parameters = {"lanes": lanes, "result_words": result_words, "outstanding": 64}
    bench = GatherBench(scenario, latency=4, **parameters).run()
    bench.check()
    beats = sum(beats for *_, beats in bench.memory.requests)
    first = next(clock for clock, id, *_ in bench.memory.requests if id > lanes)
    last = bench.memory.requests[-1][0]
    before = sum(beats for clock, _, _, beats in bench.memory.requests if clock < first)
    # Requests of descriptors ask for several beats at once.
    assert beats - before >= 0.97 * (last - first + 1)


@pytest.mark.parametrize("lanes", [1, 2])
def test_targets_without_ids_wait_for_the_writer(lanes):
    """They take no row of the ring: the records themselves must hold them up."""
    scenario = GatherScenario()
    empty = {"mode": GatherMode.DRAW, "fan_out": 3, "degree": 0, "list_address": 0x8000}
    scenario.launch(0x1000, [empty] * 90)
    bench = GatherBench(scenario, hold=200, lanes=lanes).run()
    bench.check()
    assert bench.words == [[0] * 90]
