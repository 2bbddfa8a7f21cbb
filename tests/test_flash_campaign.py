"""Random operations on the RTL of a channel, and a plain model; the make target does far more."""

import pytest

from cosim.engines.tools import Simulator
from rtl.contract.channel import ChannelOperation, ChannelStatus
from tests.flash_campaign import STORY, campaign

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

OPERATIONS = 300
SEED = 4
FAIL, ARDY = 0x01, 0x20


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


def test_a_way_of_one_lun_tells_its_status_also_in_the_midst_of_cached_work(tmp_path):
    story = campaign("single", Simulator.ICARUS, OPERATIONS, SEED, tmp_path, time_limit_s=300)
    assert story["differences"] == []
    name = ChannelOperation.READ_TARGET_STATUS.name
    told = {entry[4] & (FAIL | ARDY) for entry in story["log"] if entry[2] == name}
    assert {ARDY, ARDY | FAIL, 0} <= told


def test_both_simulators_tell_the_same_story(stories):
    first, second = ({name: story[name] for name in STORY} for story in stories.values())
    assert first == second


def test_the_campaign_reaches_what_it_is_meant_to_reach(stories):
    story = stories[Simulator.VERILATOR]
    of_one_lun = {ChannelOperation.READ_TARGET_STATUS}
    assert set(story["kinds"]) == {one.name for one in set(ChannelOperation) - of_one_lun}
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
