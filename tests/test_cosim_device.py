"""The RTL of a tiny device in both simulators, through the kernel's ports."""

import json

import pytest

from cosim.engines.build import build
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator
from tests.benches.device import tiny_design

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

READS = 60


@pytest.fixture(scope="session")
def tiny(simulator):
    return build(tiny_design(), Simulator(simulator))


def mixed(program, folder, *, stop_clocks):
    result = folder / "result.json"
    job = {"stop_clocks": stop_clocks, "reads": READS, "result": str(result)}
    run_job(program, "tests.benches.device:mixed", job, folder, time_limit_s=300)
    return json.loads(result.read_text())


@pytest.fixture(scope="session")
def story(tiny, tmp_path_factory):
    return mixed(tiny, tmp_path_factory.mktemp("mixed"), stop_clocks=True)


def test_reads_and_samples_come_back_right(story):
    assert [entry[0] for entry in story["log"]].count("read") == READS
    assert [entry[0] for entry in story["log"]].count("launch") == 1


def test_the_trace_reaches_what_it_is_meant_to_reach(story):
    reached = dict(story["counters"])
    assert reached.pop("channel.bad_commands") == 0
    assert reached.pop("gather.bad_descriptors") == 0
    for name in ("commands", "polls", "transfers", "ties", "class_conflicts", "pending_full"):
        assert reached[f"channel.{name}"] > 0, name
    assert reached["channel.landing_full"] > 0
    assert reached["channel.clock_stops"] > 0
    assert story["delayed"] > 0
    assert story["stage_waits"] > 0
    assert story["skips"] > 0


def test_running_clocks_tell_the_same_story(tiny, story, tmp_path):
    running = mixed(tiny, tmp_path, stop_clocks=False)
    assert running["log"] == story["log"]
    assert running["spans"] == story["spans"]
    assert running["counters"].pop("channel.clock_stops") == 0
    stopped = {key: n for key, n in story["counters"].items() if key != "channel.clock_stops"}
    assert running["counters"] == stopped


def test_both_simulators_tell_the_same_story(tmp_path):
    stories = [
        mixed(build(tiny_design(), simulator), tmp_path / simulator, stop_clocks=True)
        for simulator in Simulator
    ]
    assert stories[0] == stories[1]


def test_a_page_that_was_never_written_ends_the_run(tiny, tmp_path):
    with pytest.raises(SimulationFailed, match="must be written before it is read") as caught:
        run_job(tiny, "tests.benches.device:unwritten", {}, tmp_path, time_limit_s=60)
    assert caught.value.kind == "UnwrittenPage"


def test_staging_outside_the_window_ends_the_run(tiny, tmp_path):
    with pytest.raises(SimulationFailed, match="64 bytes at 0x10000, and refused") as caught:
        run_job(tiny, "tests.benches.device:refused_staging", {}, tmp_path, time_limit_s=60)
    assert caught.value.kind == "StagingFailed"
