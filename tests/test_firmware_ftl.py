"""The flash translation layer as a state machine, against a dictionary."""

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from firmware_model.ftl.blocks import BlockState, Stream
from firmware_model.ftl.core import Ftl, Write
from firmware_model.ftl.geometry import FtlParameters
from firmware_model.ftl.page_map import NOWHERE, MapMiss, PageMap
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping
from tests.ftl_bench import LAYOUT, PAGES, PARAMETERS, STRIPING, FtlBench, PowerLoss

pages = st.integers(0, PAGES - 1)


class Story(RuleBasedStateMachine):
    """Random writes, reads, collections, failures and losses of power."""

    def __init__(self):
        super().__init__()
        self.bench = FtlBench(parameters=self.parameters)
        self.model = {}
        self.writes = 0
        self.failures = 0
        self.bench.load(3, 20)
        self.model = {page: ("loaded", page) for page in range(3, 23)}

    parameters = PARAMETERS

    @rule(first=pages, count=st.integers(1, 6))
    def write(self, first, count):
        for page in range(first, min(first + count, PAGES)):
            self.writes += 1
            self.bench.write(page, self.writes)
            self.model[page] = self.writes

    @rule(page=pages)
    def read(self, page):
        assert self.bench.read(page) == self.model.get(page)

    @rule(scope=st.integers(0, 1))
    def collect(self, scope):
        self.bench.collect_block(scope % self.bench.ftl.blocks.scopes)

    @rule()
    def evict(self):
        if len(self.bench.ftl.map):
            self.bench.evict()

    @precondition(lambda self: self.failures < 1)
    @rule(row=st.integers(0, STRIPING.rows - 1), lun=st.integers(0, 1), is_erase=st.booleans())
    def fail(self, row, lun, is_erase):
        """From now on one page, or one block, cannot be written."""
        self.failures += 1
        place = STRIPING.physical(STRIPING.logical(0, 0, lun, row))
        if is_erase:
            self.bench.flash.bad_blocks.add(self.parameters.block(place)[0])
        else:
            self.bench.flash.bad_pages.add(place)

    @rule()
    def reboot(self):
        self.bench.reboot()

    @rule(page=pages, budget=st.integers(0, 12), data=st.data())
    def lose_power(self, page, budget, data):
        """In the midst of some writes; the page under way is as before, or new."""
        self.bench.flash.budget = budget
        under_way = page
        try:
            while True:
                self.writes += 1
                self.bench.write(under_way, self.writes)
                self.model[under_way] = self.writes
                under_way = data.draw(pages)
        except PowerLoss:
            self.bench.reboot()
        if self.bench.read(under_way) == self.writes:
            self.model[under_way] = self.writes

    @invariant()
    def map_is_a_bijection(self):
        self.bench.check()

    def teardown(self):
        for page in range(PAGES):
            assert self.bench.read(page) == self.model.get(page)


class ChannelStory(Story):
    parameters = replace(PARAMETERS, gc_scope="channel", planes=1)


TestStory = Story.TestCase
TestStory.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestChannelStory = ChannelStory.TestCase
TestChannelStory.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


def fill(bench, rounds=1):
    for number in range(rounds):
        for page in range(bench.ftl.map.pages):
            bench.write(page, (number, page))


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (("channel", "way", "lun", "plane"), [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]),
        (("plane", "lun", "channel", "way"), [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]),
        (("lun", "plane", "way", "channel"), [(0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]),
    ],
)
def test_pages_go_round_the_units_in_order(order, expected):
    ftl = Ftl(replace(PARAMETERS, order=order), LAYOUT, STRIPING, PAGES)
    places = [ftl.allocate(Stream.HOST) for _ in range(9)]
    seen = [(place.channel, place.lun, place.row // 4 % 2) for place in places]
    assert seen[:4] == expected
    assert seen[8] == seen[0]
    assert places[8].row == places[0].row + 1


def test_the_host_leaves_the_last_blocks_to_the_collector():
    ftl = Ftl(PARAMETERS, LAYOUT, STRIPING, PAGES)
    while ftl.allocate(Stream.HOST) is not None:
        pass
    assert ftl.blocks.free(0) == 2
    assert [ftl.allocate(Stream.COLLECTOR, 0) is None for _ in range(9)] == [False] * 8 + [True]


def test_a_block_under_way_is_not_reclaimed():
    """Its pages may become valid yet."""
    ftl = Ftl(PARAMETERS, LAYOUT, STRIPING, PAGES)
    while ftl.allocate(Stream.HOST) is not None:
        pass
    assert ftl.blocks.candidates(0) == []
    assert ftl.blocks.victim(0) is None


def test_no_page_goes_to_a_block_after_a_failure():
    ftl = Ftl(PARAMETERS, LAYOUT, STRIPING, PAGES)
    bad = ftl.allocate(Stream.HOST)
    ftl.fail(bad)
    places = [ftl.allocate(Stream.HOST) for _ in range(30)]
    assert PARAMETERS.block(bad)[0] not in {PARAMETERS.block(place)[0] for place in places}


def test_the_rest_of_a_block_that_was_loaded_in_part_is_reclaimed():
    bench = FtlBench()
    bench.load(0, 17)
    free = bench.ftl.blocks.free(0)
    assert bench.ftl.blocks.victim(0) is not None
    bench.collect_block()
    bench.collect_block()
    assert bench.ftl.blocks.free(0) > free - 2
    bench.check()


def test_of_a_copy_and_its_original_the_latter_counts_after_a_loss_of_power():
    """The blocks that were used up for copies are then free again."""
    for direction in (1, -1):  # whichever the scan meets first
        bench = FtlBench()
        fill(bench)
        olds = {page: bench.cache(page) for page in range(0, PAGES, 7)[::direction]}
        for old in olds.values():
            page, sequence, copies, data = bench.flash.read(old)
            new = bench.ftl.allocate(Stream.COLLECTOR, 0)
            bench.flash.program(new, (page, sequence, copies + 1, data))
            if bench.ftl.blocks.free(0) == 0:
                break
        bench.reboot()
        assert {page: bench.cache(page) for page in olds} == olds


def test_the_block_with_the_fewest_valid_pages_is_reclaimed():
    bench = FtlBench()
    fill(bench)
    blocks = bench.ftl.blocks
    for page in range(12):
        bench.write(page, "new")
    victim = blocks.victim(0)
    counts = [blocks.valid(block) for block in blocks.candidates(0)]
    assert blocks.valid(victim) == min(counts) < max(counts)


def test_wear_is_counted_and_the_least_erased_block_is_opened():
    bench = FtlBench()
    fill(bench, rounds=40)
    erases = bench.ftl.blocks.erases
    assert sum(erases.values()) == bench.ftl.counters.block_erases > 300
    # All pages are written equally often: so are the blocks erased.
    assert max(erases.values()) < 4 * (min(erases.values()) + 2)


def test_nothing_is_collected_while_blocks_are_free():
    bench = FtlBench()
    fill(bench)
    assert bench.ftl.counters.collected_blocks == 0
    fill(bench, rounds=3)
    assert bench.ftl.counters.collected_blocks > 0
    eager = FtlBench(replace(PARAMETERS, gc_free_blocks=6))
    fill(eager, rounds=4)
    found, more = (one.ftl.counters.collected_blocks for one in (bench, eager))
    assert more > found


def test_a_bad_block_is_left_and_never_written_again():
    bench = FtlBench()
    bad = STRIPING.physical(STRIPING.logical(0, 0, 0, 2))
    bench.flash.bad_pages.add(bad)
    fill(bench, rounds=6)
    block, _ = PARAMETERS.block(bad)
    assert bench.ftl.blocks.bad == [block]
    assert bench.ftl.blocks.state(block) is BlockState.BAD
    assert bench.ftl.blocks.valid(block) == 0
    assert (bench.ftl.counters.failed_programs, bench.ftl.counters.bad_blocks) == (1, 1)
    assert all(bench.read(page) == (5, page) for page in range(PAGES))


def test_a_write_that_overtakes_the_collector_counts():
    bench = FtlBench()
    fill(bench)
    ftl, page = bench.ftl, 7
    old = bench.cache(page)
    new = ftl.allocate(Stream.COLLECTOR, 0)
    bench.flash.program(new, bench.flash.read(old))
    bench.write(page, "newer")
    assert not ftl.commit_move(page, old, new)
    assert bench.read(page) == "newer"
    assert ftl.counters.stale_moves == 1
    bench.check()


def test_a_move_during_a_write_is_what_the_write_makes_invalid():
    bench = FtlBench()
    fill(bench)
    ftl, page = bench.ftl, 7
    old = bench.cache(page)
    sequence = ftl.begin(page)
    moved = ftl.allocate(Stream.COLLECTOR, 0)
    bench.flash.program(moved, bench.flash.read(old))
    assert ftl.commit_move(page, old, moved)
    place = ftl.allocate(Stream.HOST)
    bench.flash.program(place, (page, sequence, 0, "newer"))
    ftl.commit(Write(page, sequence, place))
    assert not ftl.blocks.is_valid(old)
    assert not ftl.blocks.is_valid(moved)
    bench.check()


def test_a_copy_of_the_collector_is_no_newer_than_a_write_before_it():
    """Its sequence number is that of what it copies, whatever comes first to flash."""
    bench = FtlBench()
    fill(bench)
    ftl, page = bench.ftl, 7
    bench.cache(page)
    sequence = ftl.begin(page)
    place = ftl.allocate(Stream.HOST)
    bench.flash.program(place, (page, sequence, 0, "newer"))
    # Power fails before the commit, but after the collector's copy of the old version.
    old = ftl.find(page)
    copy = ftl.allocate(Stream.COLLECTOR, 0)
    bench.flash.program(copy, bench.flash.read(old))
    bench.reboot()
    assert bench.read(page) == "newer"


def workload(bench, model, writes):
    """Write pages all over the map; the last one is that during which the power failed."""
    page = 0
    for number in range(writes):
        page = (page * 7 + 131) % 300
        try:
            bench.write(page, number)
        except PowerLoss:
            return page, number
        model[page] = number
    return None


@pytest.mark.parametrize("budget", range(80))
def test_power_fails_at_each_step(budget):
    """Of a workload that collects, and writes map pages back: of three pages one is cached."""
    striping = Striping(channels=2, ways=1, luns=1, rows=176)
    bench = FtlBench(replace(PARAMETERS, planes=1), pages=300, striping=striping)
    bench.load(0, 280)
    model = {page: ("loaded", page) for page in range(280)}
    assert workload(bench, model, 100) is None
    assert bench.ftl.counters.collected_blocks > 10 < bench.ftl.counters.map_pages_written
    bench.flash.budget = budget
    page, number = workload(bench, model, 1000)
    bench.reboot()
    bench.check()
    if bench.read(page) == number:
        model[page] = number
    assert {page: bench.read(page) for page in model} == model
    assert workload(bench, model, 150) is None
    bench.check()
    assert {page: bench.read(page) for page in model} == model


def test_map_misses_and_what_is_logged_until_the_map_page_comes():
    table = PageMap(300, 512, 2)
    assert (table.entries_per_page, table.map_pages, table.all_pages) == (128, 3, 303)
    with pytest.raises(MapMiss) as miss:
        table.find(130)
    assert miss.value.index == 1
    table.set(130, 55)
    assert table.find(130) == 55
    assert table.dirty == set()
    table.install(1, None)
    assert (table.log, table.dirty) == ({}, {1})
    assert (table.find(130), table.find(131)) == (55, NOWHERE)
    table.set(131, 77)
    raw = table.snapshot(1)
    assert table.dirty == set()
    table.set(131, 78)  # while it is written
    assert (table.find(131), table.log, table.dirty) == (78, {131: 78}, {1})
    table.drop(1)
    assert (table.log, table.dirty) == ({131: 78}, set())
    table.install(1, raw)
    assert (table.find(130), table.find(131)) == (55, 78)


def test_a_map_page_that_could_not_be_written_stays_with_all_that_has_changed():
    table = PageMap(300, 512, 2)
    table.install(1, None)
    table.set(130, 55)
    table.snapshot(1)
    table.set(131, 78)
    table.keep(1)
    assert (table.log, table.dirty, table.leaving) == ({}, {1}, set())
    table.set(131, 79)
    raw = table.snapshot(1)
    table.drop(1)
    table.install(1, raw)
    assert (table.find(130), table.find(131)) == (55, 79)


def test_least_recently_used_map_page_leaves():
    table = PageMap(600, 512, 3)
    for index in range(3):
        table.install(index, None)
    table.find(5)
    assert table.oldest() == 1
    table.snapshot(1)
    assert table.oldest() == 2
    table.pins[2] += 1  # somebody has waited for it
    assert table.oldest() == 0
    table.leaving |= {0, 2}
    assert table.oldest() is None


HUGE = Striping(channels=8, ways=8, luns=2, rows=1 << 18)
"""512 GiB of pages of 16 KiB."""


def test_memory_does_not_grow_with_what_is_loaded():
    layout = PageLayout(page_bytes=16384, spare_bytes=1664)
    parameters = FtlParameters(pages_per_block=256, planes=2)
    total = HUGE.pages
    used = []
    for pages in (total // 64, total * 14 // 16):
        tracemalloc.start()
        ftl = Ftl(parameters, layout, HUGE, total * 15 // 16)
        ftl.load(0, pages)
        for step in range(200):
            page = step * 104_729 % pages
            index = ftl.map.index(page)
            if not ftl.map.is_cached(index):
                if len(ftl.map) == ftl.map.capacity:
                    ftl.map.drop(ftl.map.oldest())
                ftl.map.install(index, None)
                ftl.map.set(page, page)
            sequence = ftl.begin(page)
            ftl.commit(Write(page, sequence, ftl.allocate(Stream.HOST)))
        used.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert used[1] < 1.2 * used[0] < 4 << 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"order": ("channel", "way", "lun", "lun")}, "order must name each of channel"),
        ({"gc_scope": "way"}, "gc_scope must be global or channel, not 'way'"),
        ({"map_cache_pages": 0}, "map_cache_pages must be an integer of at least 1, not 0"),
        ({"pages_per_block": 1}, "pages_per_block must be an integer of at least 2"),
    ],
)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PARAMETERS, **change)


def test_a_namespace_without_spare_blocks_is_refused():
    with pytest.raises(ValueError, match="must be at most 79, so that 12 of 32 blocks"):
        Ftl(PARAMETERS, LAYOUT, STRIPING, 80)
    Ftl(PARAMETERS, LAYOUT, STRIPING, 78)
