"""What another process of the host does to the SSD, and what it does not do to the subgraphs."""

from itertools import pairwise

import pytest
import yaml

from cosim.config.load import load_config
from cosim.errors import UserError
from cosim.results import RunResult, summarize
from cosim.systems.inputs import load_inputs
from host.errors import TraceError
from tests.scenarios.written import written
from tests.system_runs import hub_configuration, reference, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

BOTH = "firmware-csd", "fpga-csd"
READS = {"reads_in_flight": 2, "size": "1 KiB", "seed": 3}
WRITES = {
    "reads_in_flight": 1,
    "writes_in_flight": 2,
    "size": "1 KiB",
    "write_area": "4 KiB",
    "seed": 3,
}


def sampled(system, document, simulator="icarus"):
    """A run whose subgraphs are those of the reference."""
    outcome = run(system, simulator, document)
    assert outcome.subgraphs == reference(document)
    return outcome


def summarized(outcome):
    """What ``summary.json`` has of it."""
    result = outcome.result
    whole = RunResult(
        engine="icarus",
        trace_sha256="",
        reference_sha256=result.subgraph_sha256,
        systems=(result,),
    )
    return summarize(whole)["systems"][result.name]


def beside(background):
    return {"systems": systems({"background": background}, {"background": background})}


@pytest.mark.parametrize("system", BOTH)
def test_reads_cost_time_and_are_counted_apart(system):
    alone = sampled(system, hub_configuration())
    busy = sampled(system, hub_configuration(**beside(READS)))
    assert busy.latencies_ps[0] > alone.latencies_ps[0]
    quiet, summary = summarized(alone), summarized(busy)
    assert "background" not in quiet
    load = summary["background"]
    assert load["reads"] == busy.result.counters["background.reads"] > 2
    assert load["bytes"]["device_to_host"] == 1024 * load["reads"]
    assert load["mean_read_latency_ps"] > 0
    assert (load["writes"], load["mean_write_latency_ps"]) == (0, None)
    # What the mini-batch itself sent and got is as without.
    for key in ("host_to_device", "device_to_host", "p2p"):
        assert summary["bytes"][key] == quiet["bytes"][key]


@pytest.mark.parametrize(("key", "value"), [("size", "2 KiB"), ("seed", 4), ("reads_in_flight", 1)])
def test_every_key_of_reads_matters(key, value):
    busy, changed = (
        sampled("firmware-csd", hub_configuration(**beside({**READS, **change})))
        for change in ({}, {key: value})
    )
    assert changed.latencies_ps != busy.latencies_ps


def written_beside(background=None):
    """Two mini-batches on a small array that is written meanwhile."""
    document = written()
    document["run"]["trace"] |= {"batches": 2, "targets": 4, "fan_outs": [4, 2]}
    if background is not None:
        for system in document["systems"]:
            system["background"] = background
    return document


@pytest.mark.parametrize("system", BOTH)
def test_writes_remap_pages_while_lists_are_sampled(system):
    alone = sampled(system, written_beside())
    busy = sampled(system, written_beside(WRITES))
    assert busy.latencies_ps[0] > alone.latencies_ps[0]
    summary = summarized(busy)
    load, translation = summary["background"], summary["translation"]
    assert load["writes"] > 2
    assert load["mean_write_latency_ps"] > 0
    assert load["bytes"]["host_to_device"] == 1024 * load["writes"]
    assert translation["host_pages"] == load["writes"]


@pytest.mark.parametrize(("key", "value"), [("write_area", "2 KiB"), ("writes_in_flight", 1)])
def test_every_key_of_writes_matters(key, value):
    busy, changed = (
        sampled("firmware-csd", written_beside({**WRITES, **change}))
        for change in ({}, {key: value})
    )
    assert changed.result.counters != busy.result.counters


@pytest.fixture(scope="module")
def block_trace(tmp_path_factory):
    """Four requests in turn, two of them beyond any area of these devices."""
    path = tmp_path_factory.mktemp("trace") / "some.trace"
    kinds = [(0, 2, 1), (2, 2, 0), (999_999, 2, 1), (1_000_001, 1, 0)]
    path.write_text(
        "".join(
            f"{938_513_000 + 4000 * n} 7 {sector} {sectors} {kind}\n"
            for n in range(300)
            for sector, sectors, kind in [kinds[n % 4]]
        )
    )
    return str(path)


def test_a_block_trace_is_replayed_beside_mini_batches(block_trace):
    load = {"trace": block_trace, "write_area": "4 KiB", "seed": 3}
    alone = sampled("firmware-csd", written_beside())
    busy = sampled("firmware-csd", written_beside(load))
    assert busy.latencies_ps[0] > alone.latencies_ps[0]
    found = summarized(busy)["background"]
    assert found["reads"] > 5
    assert found["writes"] > 5
    arrivals = [span for span in busy.spans if span.stage == "background.arrival"]
    assert len(arrivals) == found["reads"] + found["writes"]
    gaps = {after.start_ps - one.start_ps for one, after in pairwise(arrivals)}
    assert gaps == {4_000_000}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beyond": "refuse"}, r"some.trace:3: a read must end within the \d+ blocks of"),
        ({"write_area": None}, "some.trace:2: must be a read, as there is no write_area"),
        (
            {"size": "1 KiB"},
            "must have no reads_in_flight, writes_in_flight or size",
        ),
    ],
)
def test_a_block_trace_that_does_not_fit_is_refused(block_trace, tmp_path, change, message):
    load = {"trace": block_trace, "write_area": "4 KiB", "seed": 3} | change
    document = written_beside({key: value for key, value in load.items() if value is not None})
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises((UserError, TraceError), match=message):
        load_inputs(load_config(path))


def test_writes_are_the_same_on_both_simulators():
    one, other = (
        sampled("firmware-csd", written_beside(WRITES), name) for name in ("icarus", "verilator")
    )
    assert one.spans == other.spans
