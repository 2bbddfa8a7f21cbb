"""Power is cut while the firmware writes and collects: what was acknowledged is there, whole."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import pytest

from rtl.contract.nvme import Opcode, Status
from tests.write_bench import FTL, WriteBench, content, loaded_model, parameters_of, play

ONE_MAP_PAGE = replace(FTL, map_cache_pages=1)


def test_a_scan_reads_each_page_once_and_finds_the_free_blocks():
    bench = WriteBench(parameters_of(pages=80), loaded=8)
    assert bench.write(0, content(1, 1024)) == Status.SUCCESS
    free = bench.ftl.blocks.free(0)
    bench.cut_power()
    # The map page lies in one of two blocks that were left to the image.
    assert bench.ftl.blocks.free(0) == free + 1
    assert bench.ftl.sequence == 11  # eight pages loaded, one of the map, one written
    places = [order[:4] for order in bench.flash.orders]
    # The map page on flash is behind by the one that was written.
    assert [*bench.ftl.map.log] == [0]
    # Those of the map are read as a whole, too.
    assert len(places) == 128 + 1
    assert len(set(places)) == 128
    assert bench.flash.changes == []


def power_steps(bench, since):
    """Times at which to cut: around each program and erase, and between."""
    times = set()
    for stage, start, _ in bench.flash.changes:
        end = start + bench.flash.change_ps[stage]
        times |= {start, start + 1, (start + end) // 2, end - 1, end, end + 1, end + 4_000_000}
    return sorted(at for at in times if at > since)


@cache
def worn():
    """Flash on which a device must collect at once, and what the device holds."""
    bench = WriteBench(parameters_of(pages=48, blocks=10, ftl=ONE_MAP_PAGE), loaded=24)
    model = loaded_model(bench, 24)
    play(bench, model, writes=160, seed=7, depth=4, longest=3)
    return bench, model


def write_on_worn_flash():
    """A device on a copy of that flash, to which six writes of two pages have been given."""
    before, _ = worn()
    bench = WriteBench(before.parameters)
    bench.medium = deepcopy(before.medium)
    bench.cut_power()
    start = int(bench.kernel.env.now)
    under_way = {}
    for number, page in enumerate((3, 40, 31, 20, 3, 4)):
        data = content(100 + number, 2048)
        cid, _ = bench.put(Opcode.WRITE, 2 * page, data)
        under_way[cid] = {2 * page + at: data[512 * at : 512 * at + 512] for at in range(4)}
    return bench, start, under_way


def may_hold(under_way, done):
    """By block what it may hold: of writes under way at once any may have been the last."""
    allowed = {block: {data} for block, data in worn()[1].items()}
    for cid, blocks in under_way.items():
        for block, data in blocks.items():
            if cid in done:
                allowed[block] = allowed.get(block, set()) - {worn()[1].get(block)} | {data}
    for cid, blocks in under_way.items():
        for block, data in blocks.items():
            if cid not in done:
                allowed.setdefault(block, {None}).add(data)
    return allowed


@pytest.mark.parametrize("stride", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_power_is_cut_at_every_step(stride):
    """Acknowledged writes are there, whole; of others each page is as before or new."""
    bench, start, under_way = write_on_worn_flash()
    bench.host.wait(len(under_way))
    assert {change[0] for change in bench.flash.changes} == {"flash.program", "flash.erase"}
    assert bench.counts["ftl_moved_pages"] > 0
    steps = power_steps(bench, start)
    assert len(steps) > 50
    acknowledged = set()
    for at_ps in steps[::stride]:
        bench, _, under_way = write_on_worn_flash()
        bench.kernel.env.run(until=at_ps)
        done = {int(entry.cid) for entry in bench.host.reap(acknowledge=False)}
        acknowledged.add(len(done))
        allowed = may_hold(under_way, done)
        bench.cut_power()
        for page in range(48):
            if bench.place(page) is None:
                assert None in allowed.get(2 * page, {None}), (at_ps, page)
                continue
            halves = bench.read(2 * page, 2)
            for at in range(2):
                found = halves[512 * at : 512 * at + 512]
                expected = allowed.get(2 * page + at, {None})
                # Beside a block that was written, one that was not reads as zeros.
                assert found in {data or bytes(512) for data in expected}, (at_ps, page)
        assert bench.write(0, content(1, 1024)) == Status.SUCCESS
    assert acknowledged >= {0, 6} if stride == 1 else len(acknowledged) > 2
