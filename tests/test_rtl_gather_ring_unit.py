# amaranth: UnusedElaboratable=no
"""Descriptor rings in the gather unit of a co-simulation, with core and DRAM."""

import pytest

from rtl.contract.gather import GatherStatus
from rtl.gather.landing import ResultLanding
from tests.scenarios.gather import reference
from tests.scenarios.gather_ring_unit import (
    RING_UNIT,
    RingPlayer,
    expected_words,
    ring_story,
    told,
)
from tests.scenarios.gather_unit import Abort, Start
from tests.scenarios.gather_unit import story as without_rings
from tests.test_rtl_gather_unit import play

pytestmark = pytest.mark.slow


def tell(**parameters):
    *_, actions = ring_story()
    return play(actions, player=RingPlayer, free_after=900, **RING_UNIT, **parameters)


@pytest.fixture(scope="module")
def story():
    return ring_story(), tell()


def test_every_ring_gets_its_results(story):
    (scenario, launches, single, _), player = story
    assert not [event for event in player.events if "violation" in event]
    for number, of_ring in enumerate(launches):
        assert player.ring_words[number] == expected_words(scenario, of_ring)
    assert player.results == [reference(scenario, single)[0]] * 2


def test_entries_tell_of_every_descriptor_once(story):
    _, player = story
    consumed = [0, 0, 0]
    for entry in player.entries:
        consumed[entry["ring"]] += entry["consumed"]
    assert consumed == [11, 20, 31]
    heads = {entry["ring"]: entry["head"] for entry in player.entries}
    assert heads == {0: 11 % 8, 1: 20 % 16, 2: 31}
    bad = [(entry["status"], entry["first_bad"]) for entry in player.entries if entry["status"]]
    assert bad == [(GatherStatus.BAD_DESCRIPTOR, 5)]


def test_a_stopped_clock_changes_nothing(story):
    _, stopped = story
    running = tell(stop=False)
    assert told(running) == told(stopped)
    assert stopped.edges < running.edges


def test_rings_change_nothing_for_launches_alone():
    """No clock of a unit without rings is another one with them, while they are not used."""
    alone = play(without_rings()[1], free_after=777)
    beside = play(without_rings()[1], free_after=777, rings=2, ring_result_bytes=1 << 14, quantum=4)
    assert beside.events == alone.events
    assert beside.results == alone.results
    assert beside.counters == alone.counters


def test_abort_of_launches_is_not_meant_for_runs_of_rings():
    scenario, launches, _, actions = ring_story()
    begin = min(edge for edge, what in actions if isinstance(what, Start))
    kept = [action for action in actions if not isinstance(action[1], Start)]
    kept += [(begin + 40 * n, Abort()) for n in range(30)]
    player = play(kept, player=RingPlayer, **RING_UNIT)
    assert player.ring_words == {
        number: expected_words(scenario, of_ring) for number, of_ring in enumerate(launches)
    }


def test_too_small_results_of_a_ring_are_refused():
    with pytest.raises(ValueError, match="of a ring must be a power of two of bytes from 128 to"):
        ResultLanding(capacity_bytes=1 << 12, rings=1, ring_bytes=1 << 13)
