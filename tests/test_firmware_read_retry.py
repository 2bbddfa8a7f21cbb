"""Pages that come with too many errors are read again at other levels, or given up."""

from dataclasses import replace

import numpy as np
import pytest

from rtl.contract.nvme import Status
from tests.firmware_bench import COSTS, PARAMETERS, Bench, slowed

LEVELS = 3
NEVER = LEVELS + 1
PAGE_IDS = 1024
PAGES = 24
"""Three of them lie on each LUN."""


class Scene:
    """A graph with one list a page, and pages that need a read level."""

    def __init__(self, bad, *, pages=PAGES, costs=COSTS, **parameters):
        indptr = PAGE_IDS * np.arange(pages + 1)
        ids = np.arange(indptr[-1], dtype=np.uint64) * np.uint64(0x10_0001)
        self.bench = Bench(indptr, ids, parameters=replace(PARAMETERS, **parameters), costs=costs)
        self.counters = self.bench.device.counters
        self.flash = self.bench.flash
        for page, level in bad.items():
            self.flash.uncorrectable[self.place(page)] = level
        self.request = self.bench.request(range(pages), 2)

    def place(self, page):
        return tuple(self.bench.device.extents.physical(page))

    def die(self, page):
        return self.place(page)[:2]

    def sample(self):
        return self.bench.sample_status(self.request)

    def check(self):
        assert self.sample() == Status.SUCCESS
        assert self.bench.result(self.request) == self.request.expected
        self.bench.check_spans()

    def reads_at(self, level):
        """Pages that were read at a level, in order."""
        reads = zip(self.flash.orders, self.flash.order_levels, strict=True)
        return [order[:4] for order, of_read in reads if of_read == level]


def retrying(bad, **parameters):
    return Scene(bad, read_retries=LEVELS, **parameters)


def test_a_page_is_read_at_one_level_after_the_other_until_it_is_good():
    scene = retrying({5: 2})
    scene.check()
    die = scene.die(5)
    assert scene.flash.levels_set == [(*die, 1), (*die, 2), (*die, 0)]
    assert scene.reads_at(1) == scene.reads_at(2) == [scene.place(5)]
    assert len(scene.reads_at(0)) == PAGES
    counters = scene.counters
    assert (counters.uncorrectable, counters.read_retries, counters.recovered_reads) == (2, 2, 1)
    assert (counters.read_levels_set, counters.flash_reads) == (3, PAGES + 2)


def test_a_page_that_no_level_makes_good_is_a_media_error_and_the_device_serves_on():
    scene = retrying({5: NEVER})
    assert scene.sample() == Status.UNRECOVERED_READ_ERROR
    die = scene.die(5)
    assert scene.flash.levels_set == [(*die, level) for level in (1, 2, 3, 0)]
    assert (scene.counters.read_retries, scene.counters.recovered_reads) == (LEVELS, 0)
    scene.flash.uncorrectable.clear()
    scene.check()


def test_bad_pages_of_a_die_share_its_levels():
    """The LUNs of a die have a bad page each, under way together; another die has one, too."""
    first, second, other = 0, 4, 1
    scene = retrying({first: 1, second: 3, other: 2}, pages=8)
    die = scene.die(first)
    assert die == scene.die(second) != scene.die(other)
    assert scene.place(first)[2] != scene.place(second)[2]
    scene.check()
    assert [level for *of, level in scene.flash.levels_set if tuple(of) == die] == [1, 2, 3, 0]
    tried = [[page for page in scene.reads_at(level) if page[:2] == die] for level in (1, 2, 3)]
    bad = [scene.place(first), scene.place(second)]
    assert tried == [bad, bad[1:], bad[1:]]
    assert scene.counters.recovered_reads == 3


def test_a_die_goes_through_its_levels_again_for_a_page_that_fails_later():
    """Two pages of one LUN, the second of which is read when the first has been recovered."""
    scene = retrying({0: 1, 8: 3})
    assert scene.place(0)[:3] == scene.place(8)[:3]
    scene.check()
    assert [level for *_, level in scene.flash.levels_set] == [1, 0, 1, 2, 3, 0]


@pytest.mark.parametrize("slower", [1, 200], ids=["flash-waits", "cores-wait"])
def test_nobody_else_reads_a_die_at_another_level(slower):
    """Also not where LUNs of the die have their turn before its commands are issued."""
    costs = slowed(COSTS, "flash_issue", slower)
    scene = retrying({page: 1 + page % LEVELS for page in range(0, PAGES, 2)}, costs=costs)
    scene.check()
    for level in range(1, LEVELS + 1):
        assert set(scene.reads_at(level)) <= set(scene.flash.uncorrectable)
    assert all(scene.flash.levels[channel, way] == 0 for channel in range(2) for way in range(2))
    assert scene.counters.recovered_reads == PAGES // 2


def test_parts_of_a_page_are_read_again_as_parts():
    scene = retrying({5: 1}, sampling_whole_page=False)
    scene.check()
    reads = [order for order in scene.flash.orders if order[:4] == scene.place(5)]
    assert len(reads) == 2
    assert reads[0] == reads[1]
    assert reads[0][5] < scene.bench.device.parameters.layout.data_bytes


def test_every_step_of_a_retry_leads_to_the_next():
    """Of one page nothing else is under way: from the completion back, all is on one path."""
    scene = retrying({0: 2}, pages=1)
    scene.check()
    spans = {span.number: span for span in scene.bench.kernel.spans}
    span = next(span for span in spans.values() if span.stage == "firmware.gather")
    path = []
    while span.stage != "firmware.flash_queue":
        path.append(span.stage)
        span = spans[span.cause]
    steps = [stage for stage in reversed(path) if stage.split("_")[0] == "firmware.retry"]
    # Before it goes on with the page the core sends the command for the way back to level 0.
    once = ["firmware.retry_level", "firmware.retry_complete"]
    assert steps == [*once, *once, "firmware.retry_level"]
    assert path.count("flash.feature") == 2
    assert path.count("flash.sense") == path.count("firmware.flash_complete") == 3
    # That command's end is not waited for.
    assert [level for *_, level in scene.flash.levels_set] == [1, 2, 0]


@pytest.mark.parametrize("routine", ["retry_level", "retry_complete"])
def test_a_slower_routine_of_a_retry_takes_longer(routine):
    def steps(costs):
        scene = retrying({0: 2}, pages=1, costs=costs)
        scene.check()
        stage = f"firmware.{routine}"
        found = [span for span in scene.bench.kernel.spans if span.stage == stage]
        return [span.end_ps - span.start_ps for span in found]

    normal, slow = steps(COSTS), steps(slowed(COSTS, routine, 2))
    assert len(normal) >= 2
    assert len(set(normal)) == 1
    assert slow[:2] == [2 * normal[0]] * 2


def test_without_retries_the_first_failure_is_the_last():
    scene = Scene({5: 1})
    assert scene.sample() == Status.UNRECOVERED_READ_ERROR
    assert scene.flash.levels_set == []
    assert scene.counters.read_retries == 0


def test_retries_are_not_negative():
    with pytest.raises(ValueError, match="read_retries must not be negative, not -1"):
        replace(PARAMETERS, read_retries=-1)
