"""Pages of a LUN that does not become ready: a media error, a reset of the way, and on it goes."""

import pytest

from rtl.contract.nvme import Status
from tests.firmware_bench import COSTS, slowed
from tests.test_firmware_read_retry import LEVELS, PAGES, Scene, retrying


def hang(scene, *pages):
    scene.flash.hanging |= {scene.place(page) for page in pages}


def test_a_page_that_does_not_come_is_a_media_error_and_the_device_serves_on():
    scene = Scene({})
    hang(scene, 5)
    assert scene.sample() == Status.UNRECOVERED_READ_ERROR
    assert scene.flash.resets == [scene.die(5)]
    assert scene.counters.way_resets == 1
    assert not scene.flash.lost
    assert not any(scene.flash.outstanding.values())
    scene.flash.hanging.clear()
    scene.check()
    assert scene.counters.way_resets == 1


def test_all_slots_come_back():
    scene = Scene({})
    hang(scene, *range(PAGES))
    assert scene.sample() == Status.UNRECOVERED_READ_ERROR
    assert scene.flash.freed == []
    assert {*scene.flash.resets} == {scene.die(page) for page in range(PAGES)}
    scene.flash.hanging.clear()
    scene.check()
    assert len(scene.flash.freed) == PAGES


def test_a_way_is_reset_before_its_bad_pages_are_read_again():
    """The LUNs of a die: one hangs, the other needs a level."""
    hung, bad = 0, 4
    scene = retrying({bad: 2}, pages=8)
    hang(scene, hung)
    assert scene.die(hung) == scene.die(bad)
    assert scene.sample() == Status.UNRECOVERED_READ_ERROR
    assert scene.flash.resets == [scene.die(hung)]
    assert [level for *_, level in scene.flash.levels_set] == [1, 2, 0]
    assert scene.counters.recovered_reads == 1 < LEVELS


@pytest.mark.parametrize("routine", ["reset_way", "reset_complete"])
def test_a_slower_routine_of_a_reset_takes_longer(routine):
    def steps(costs):
        scene = Scene({}, pages=1, costs=costs)
        hang(scene, 0)
        scene.sample()
        scene.flash.hanging.clear()
        scene.check()
        found = [s for s in scene.bench.kernel.spans if s.stage == f"firmware.{routine}"]
        return [span.end_ps - span.start_ps for span in found]

    (normal,), (slow,) = steps(COSTS), steps(slowed(COSTS, routine, 2))
    assert slow == 2 * normal
