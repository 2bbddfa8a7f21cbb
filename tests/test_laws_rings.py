"""Systems whose card takes descriptors from a ring: same subgraphs, a doorbell a round."""

import pytest

from cosim.conservation import check_bytes
from cosim.results import moved_bytes
from cosim.spans import critical_path
from tests.system_runs import hub_configuration, reference, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

FPGA = "fpga-csd"


def document(launch, **changes):
    keys = {"launch": launch, **changes.pop("keys", {})}
    return hub_configuration(systems=systems(fpga=keys), **changes)


def sampled(launch, simulator="icarus", **changes):
    of_run = document(launch, **changes)
    outcome = run(FPGA, simulator, of_run)
    assert outcome.subgraphs == reference(of_run)
    return outcome


def count(outcome, name):
    return outcome.result.counters[name]


def spans(outcome, stage):
    return [span for span in outcome.result.spans if span.stage == stage]


@pytest.mark.parametrize("positions", ["host", "device"])
def test_subgraphs_are_those_of_single_launches(positions, simulator):
    keys = {"positions": positions}
    single, ring = (sampled(how, simulator, keys=keys) for how in ("single", "ring"))
    assert ring.subgraphs == single.subgraphs
    for name in ("ids", "words", "descriptors", "id_reads", "merges"):
        assert count(ring, f"gather.{name}") == count(single, f"gather.{name}")
    assert count(single, "gather.ring_writes") == 0


def test_every_round_is_a_doorbell_an_interrupt_and_an_entry():
    outcome = sampled("ring")
    rounds = count(outcome, "host.rounds")
    assert len(spans(outcome, "gather.post")) == rounds
    assert len(spans(outcome, "fpga.entry-read")) == rounds
    assert len(spans(outcome, "host.launch")) == rounds
    # Nine registers once; then doorbell, cause, words taken, entry taken: the last two of the last
    # round are on their way yet when the trace is over.
    assert count(outcome, "gather.ring_writes") == 9 + 4 * rounds - 2
    assert count(outcome, "gather.launches") == count(outcome, "gather.ring_runs") >= rounds


def test_the_time_of_a_request_is_owned_by_its_steps():
    outcome = sampled("ring")
    check_bytes(outcome.result.spans)
    for batch in outcome.result.batches:
        path = critical_path(outcome.result.spans, batch.end, batch.start_ps)
        stages = {segment.span.stage for segment in path}
        assert {"host.launch", "gather.stream", "gather.post", "fpga.entry-read"} <= stages
        assert sum(segment.end_ps - segment.start_ps for segment in path) == batch.latency_ps


def test_an_entry_of_32_bytes_comes_up_for_each_round():
    single, ring = sampled("single"), sampled("ring")
    entries = [moved_bytes(outcome.result.spans)[1]["queue_entries"] for outcome in (single, ring)]
    assert entries[1] - entries[0] == 32 * count(ring, "host.rounds")


def test_a_small_window_makes_rounds_that_go_round_the_ring():
    """A descriptor area of 4 KiB is a ring of 64 descriptors."""
    changes = {"fan_outs": [4, 3, 2], "platform_overrides": {"fpga.window": "16 KiB"}}
    outcome = sampled("ring", **changes)
    assert count(outcome, "gather.descriptors") > 64
