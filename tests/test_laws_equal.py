"""Whole systems: equal to the reference, on both simulators, at every repetition, to the bit."""

import json
import resource
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cosim import compare as orchestration
from cosim.config.load import load_config
from cosim.engines.build import build
from cosim.engines.tools import Simulator
from cosim.results import ENGINE_COUNTERS
from cosim.systems.design import machine_design
from tests.system_runs import ROOT, SMALL, reference, run

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = ["firmware-csd", "fpga-csd"]
FILES = {
    "config.resolved.yaml",
    "index.html",
    "latencies.parquet",
    "queues.parquet",
    "spans.parquet",
    "stages.png",
    "summary.json",
    "trace.json",
    "versions.json",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_subgraphs_equal_the_reference(system, simulator):
    assert run(system, simulator).subgraphs == reference()


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_simulators_tell_the_same_story(system):
    one, other = run(system, "verilator"), run(system, "icarus")
    assert one.latencies_ps == other.latencies_ps
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters


@pytest.mark.parametrize("system", SYSTEMS)
def test_stages_add_up_to_each_latency(system):
    outcome = run(system, "verilator")
    assert all(latency > 0 for latency in outcome.latencies_ps)
    for batch, latency_ps in enumerate(outcome.latencies_ps):
        assert sum(outcome.stages_ps(batch).values()) == latency_ps


def test_mini_batches_follow_each_other_without_a_gap():
    for system in SYSTEMS:
        first, second = run(system, "verilator").result.batches
        assert second.start_ps == first.end.at_ps


def compared(folder, *, systems=None, config=SMALL):
    loaded = load_config(config)
    return orchestration.compare(loaded, engine="verilator", out=folder, systems=systems)


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("first") / "run")


def test_the_same_configuration_gives_the_same_files(first, tmp_path):
    second = compared(tmp_path / "run")
    assert {path.name for path in first.iterdir()} == FILES
    assert {path.name for path in second.iterdir()} == FILES
    for name in sorted(FILES):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_systems_one_after_the_other_give_the_same(first, tmp_path, monkeypatch):
    workers = []

    class OneByOne(ThreadPoolExecutor):
        def __init__(self, count):
            workers.append(count)
            super().__init__(1)

    monkeypatch.setattr(orchestration, "ThreadPoolExecutor", OneByOne)
    serial = compared(tmp_path / "run")
    assert workers == [min(2, orchestration.os.cpu_count())]
    for name in sorted(FILES):
        assert (first / name).read_bytes() == (serial / name).read_bytes(), name


def test_a_system_does_not_depend_on_who_runs_beside_it(first):
    summary = json.loads((first / "summary.json").read_text())
    for system in SYSTEMS:
        alone = run(system, "verilator")
        expected = {
            name: count
            for name, count in alone.result.counters.items()
            if name not in ENGINE_COUNTERS
        }
        assert summary["systems"][system]["counters"] == expected
        found = [batch["latency_ps"] for batch in summary["systems"][system]["batches"]]
        assert found == alone.latencies_ps


def test_the_summary_has_its_stable_keys(first):
    summary = json.loads((first / "summary.json").read_text())
    assert summary["engine"] == "verilator"
    assert len(summary["trace_sha256"]) == 64
    assert list(summary["systems"]) == SYSTEMS
    for system in summary["systems"].values():
        assert system["subgraph_sha256"] == summary["reference_sha256"]
        assert set(system["bytes"]) == {"flash", "host_to_device", "device_to_host", "p2p"}
        assert {"flash_spare", "ns_config", "link_headers"} <= set(system["overheads"])
        assert len(system["batches"]) == 2
        for batch in system["batches"]:
            assert sum(batch["stages_ps"].values()) == batch["latency_ps"]
            assert all(isinstance(time_ps, int) for time_ps in batch["stages_ps"].values())


def test_quickstart_equals_the_reference(tmp_path, capsys):
    """``compare`` raises if a system differs from the reference; what it took is printed."""
    config = ROOT / "examples" / "quickstart.yaml"
    build(machine_design(load_config(config).platforms), Simulator.VERILATOR)
    start = time.perf_counter()
    folder = compared(tmp_path / "run", config=config)
    wall_s = time.perf_counter() - start
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with capsys.disabled():
        print(
            f"\nquickstart: {wall_s:.1f} s of wall time; "
            f"largest process of this session {largest / 1024:.0f} MiB"
        )
    summary = json.loads((folder / "summary.json").read_text())
    hashes = {system["subgraph_sha256"] for system in summary["systems"].values()}
    assert hashes == {summary["reference_sha256"]}
