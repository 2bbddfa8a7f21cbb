"""Random operations on the RTL of a channel, and a plain model; the make target does far more."""

import pytest

from cosim.engines.tools import Simulator
from rtl.contract.channel import ChannelOperation, ChannelStatus
from tests.flash_campaign import STORY, campaign

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

OPERATIONS = 300
SEED = 4


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    return {
        simulator: campaign(
            "tiny",
            simulator,
            OPERATIONS,
            SEED,
            tmp_path_factory.mktemp(simulator),
            time_limit_s=300,
        )
        for simulator in Simulator
    }


def test_all_that_comes_back_is_what_the_model_says(stories):
    for story in stories.values():
        assert story["differences"] == []


def test_reads_that_overtake_writes_bring_what_the_model_says(tmp_path):
    story = campaign("suspends", Simulator.ICARUS, OPERATIONS, SEED, tmp_path, time_limit_s=300)
    assert story["differences"] == []
    assert story["counters"]["channel.suspends"] > 0
    assert {"flash.suspend", "flash.held"} <= set(story["stages"])


def test_both_simulators_tell_the_same_story(stories):
    first, second = ({name: story[name] for name in STORY} for story in stories.values())
    assert first == second


def test_the_campaign_reaches_what_it_is_meant_to_reach(stories):
    story = stories[Simulator.VERILATOR]
    assert set(story["kinds"]) == {operation.name for operation in ChannelOperation}
    ended = {ChannelStatus(int(status)) for status in story["statuses"]}
    assert ended >= {
        ChannelStatus.OK,
        ChannelStatus.BAD_COMMAND,
        ChannelStatus.FAILED,
        ChannelStatus.PREVIOUS_FAILED,
    }
    failed = {entry[2] for entry in story["log"] if entry[3] == ChannelStatus.FAILED}
    assert {"PROGRAM", "ERASE"} <= failed
    assert story["launch_waits"] > 0
    for name in ("ties", "class_conflicts", "pending_full", "landing_full", "clock_stops"):
        assert story["counters"][f"channel.{name}"] > 0, name
    assert story["counters"]["channel.polls_busy"] > 0
    stages = {"cache", "erase", "feature", "plane", "program", "reset", "sense", "status", "answer"}
    assert {f"flash.{stage}" for stage in stages} <= set(story["stages"])
