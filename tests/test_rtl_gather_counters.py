# amaranth: UnusedElaboratable=no
"""What the gather core says of each clock, against what was worked out by hand."""

import pytest

from rtl.contract.gather import GatherMode
from rtl.gather.core import METERED
from tests.gather_core_bench import GatherBench
from tests.scenarios.gather import GatherScenario, random_scenario, targets

pytestmark = pytest.mark.slow

STEPS = {
    "first burst": 1,
    "descriptor cut out": 1,
    "judged": 1,
    "queued": 1,
    "mixed": 9,
    "compared": 2,
    "address": 1,
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
    # The memory takes a request at once; its beat is taken latency + 1 clocks later. The unit waits
    # for the beat of its descriptor, then for ids that are asked for in consecutive clocks.
    assert pulses["memory_stalled"] == (1 + latency + 1) + (fan_out + latency + 1)
    assert pulses["delivered"] == pulses["id"] + 1 == fan_out + 1
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
    for name in ("delivered", "memory_stalled", "gap", "id", "beat"):
        assert held.pulses[name] == there.pulses[name], name


@pytest.mark.parametrize(("stalls", "latency"), [(0, 0), (3, 0), (1, 20)])
def test_every_clock_of_a_launch_is_in_one_class(stalls, latency):
    scenario = random_scenario(3, targets=24)
    bench = GatherBench(scenario, stalls=stalls, latency=latency, seed=1).run()
    pulses, cut = bench.pulses, [one for words in bench.words for one in targets(words)]
    assert pulses["busy"] == sum(pulses[name] for name in METERED)
    assert pulses["delivered"] == sum(map(len, bench.words))
    assert pulses["id"] == sum(len(ids) for _, ids in cut)
    assert pulses["beat"] == sum(beats for *_, beats in bench.memory.requests)
    assert all(pulses[name] for name in METERED if stalls or name != "output_stalled")
