"""A card that goes from hop to hop by itself obeys the laws, in RTL: see ``test_cosim_hops``."""

import pytest

from cosim.conservation import check_bytes
from rtl.contract.sampling import Sampling
from tests.system_runs import hub_configuration, reference, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

NAME = "fpga-csd"
HOPS = {"positions": "device", "hops": "device"}
WAYS = [
    (Sampling.REPLACEMENT, (3,)),
    (Sampling.REPLACEMENT, (3, 2)),
    (Sampling.REPLACEMENT, (2, 2, 2)),
    (Sampling.DISTINCT, (12, 2)),
    (Sampling.WALK, (1, 1, 1, 1)),
]


def document(sampling=Sampling.REPLACEMENT, fan_outs=(3, 2), **changes):
    """The hub's graph, of a card that has its row pointers."""
    chosen = {"systems": systems(fpga=HOPS)}
    return hub_configuration(fan_outs=fan_outs, sampling=sampling, **{**chosen, **changes})


@pytest.mark.parametrize(("sampling", "fan_outs"), WAYS)
def test_subgraphs_equal_the_reference(sampling, fan_outs):
    configured = document(sampling, fan_outs)
    outcome = run(NAME, "icarus", configured, blind=True)
    assert outcome.subgraphs == reference(configured)
    for batch, latency_ps in enumerate(outcome.latencies_ps):
        assert sum(outcome.stages_ps(batch).values()) == latency_ps
    check_bytes(outcome.spans)
    assert outcome.result.counters["hops.pointer_launches"] == len(fan_outs)


def test_both_simulators_tell_the_same_story():
    one, other = (run(NAME, name, document()) for name in ("icarus", "verilator"))
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters
    assert one.subgraphs == other.subgraphs


def test_the_host_does_less():
    """No command of its own queue, and one doorbell a mini-batch."""
    before = run(NAME, "icarus", document(systems=systems(fpga={"positions": "device"})))
    after = run(NAME, "icarus", document())
    assert after.subgraphs == before.subgraphs
    assert after.result.counters["driver.submitted"] == 0
    assert after.result.counters["driver.interrupts"] == 0
    launches = [span for span in after.spans if span.stage == "host.launch"]
    assert len(launches) == len(after.latencies_ps)
    assert after.latencies_ps[0] < before.latencies_ps[0]


def test_it_is_marked_as_hypothetical():
    assert "today's SmartSSD cannot" in run(NAME, "icarus", document()).result.hypothetical
    others = document(systems=systems(fpga={"positions": "device"}))
    assert run(NAME, "icarus", others).result.hypothetical == ""
