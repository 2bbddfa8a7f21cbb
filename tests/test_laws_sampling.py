"""However neighbours are chosen, both systems return the reference, on both simulators."""

import pytest

from rtl.contract.sampling import Sampling
from tests.system_runs import configuration, hub_configuration, reference, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = ["firmware-csd", "fpga-csd"]
DISTINCT, WALK = Sampling.DISTINCT, Sampling.WALK
FAN_OUTS = {DISTINCT: (12, 2), WALK: (1, 1, 1, 1)}


def document(sampling, positions="device", **changes):
    """The hub's graph, where some lists are longer than twelve ids and some are shorter."""
    keys = {"positions": positions}
    return hub_configuration(
        fan_outs=FAN_OUTS[sampling], sampling=sampling, systems=systems(keys, keys), **changes
    )


def drawn(**trace):
    """The small example with a trace that is drawn so."""
    keys = {"batches": 1, "targets": 6, "seed": 2}
    return configuration(run__trace=keys | trace)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("positions", ["host", "device"])
@pytest.mark.parametrize("sampling", [DISTINCT, WALK])
def test_subgraphs_equal_the_reference(system, positions, sampling):
    configured = document(sampling, positions)
    assert run(system, "icarus", configured).subgraphs == reference(configured)


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_simulators_tell_the_same_story(system):
    one, other = (run(system, name, document(DISTINCT)) for name in ("icarus", "verilator"))
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters
    assert one.subgraphs == other.subgraphs


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_key_sampling_changes_what_is_sampled(system):
    before = run(system, "icarus", drawn(fan_outs=[3, 2]))
    distinct = drawn(fan_outs=[3, 2], sampling="without-replacement")
    after = run(system, "icarus", distinct)
    assert after.subgraphs == reference(distinct)
    assert after.subgraphs != before.subgraphs


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_walk_is_as_long_as_its_key_says(system):
    for length in (2, 5):
        configured = drawn(sampling="random-walk", walk_length=length)
        outcome = run(system, "icarus", configured)
        assert outcome.subgraphs == reference(configured)
        assert len(outcome.subgraphs[0]) == length


@pytest.mark.parametrize("system", SYSTEMS)
def test_comparing_positions_costs_the_host_time(system):
    def latency_ps(positions, compare):
        overrides = {"host.compare": compare}
        changed = document(DISTINCT, positions, platform_overrides=overrides)
        return run(system, "icarus", changed).latencies_ps[0]

    assert latency_ps("host", "1 us") > latency_ps("host", "1 ns")
    assert latency_ps("device", "1 us") == latency_ps("device", "1 ns")
