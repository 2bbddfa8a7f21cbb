"""Ordinary writes through the firmware: flash, coherence with reads, collection, failures."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.ftl.geometry import FtlParameters
from rtl.contract.nvme import Opcode, Status
from rtl.contract.page import parse_metadata
from rtl.contract.striping import PhysicalPage
from tests.firmware_bench import PARAMETERS, Bench
from tests.write_bench import (
    FTL,
    LAYOUT,
    SMALL,
    Pattern,
    WriteBench,
    content,
    loaded_model,
    parameters_of,
    play,
    verify,
)


@pytest.fixture
def bench():
    return WriteBench(parameters_of(pages=80), loaded=40)


def test_what_was_written_is_read(bench):
    data = content(1, 4 * 512)
    assert bench.write(10, data) == Status.SUCCESS
    reads = bench.device.counters.flash_reads
    assert bench.read(10, 4) == data
    assert bench.device.counters.flash_reads == reads
    assert bench.read(8, 2) == Pattern(1 << 20).read(8 * 512, 1024)
    assert bench.counts["ftl_host_pages"] == 2


def test_a_write_is_on_flash_when_it_completes(bench):
    """Whole pages with parity, and metadata that names the page and the order of writes."""
    for number in (1, 2):
        assert bench.write(20, content(number, 1024)) == Status.SUCCESS
    place = bench.ftl.find(10)
    raw = bench.medium.stored(*place)
    assert bench.layout.strip(raw[: bench.layout.data_bytes]) == content(2, 1024)
    column = bench.layout.metadata_column
    page, sequence, copies = parse_metadata(raw[column : column + 256])
    # Forty pages and one of the map were loaded.
    assert (page, sequence, copies) == (10, 43, 0)
    assert [change[0] for change in bench.flash.changes] == ["flash.program"] * 2
    assert bench.flash.under_way == {}


def test_a_page_written_in_part_keeps_the_rest(bench):
    assert bench.write(21, content(3, 512)) == Status.SUCCESS
    assert bench.read(20, 2) == Pattern(1 << 20).read(20 * 512, 512) + content(3, 512)
    assert bench.counts["ftl_programs"] == 1


def test_the_rest_of_a_page_never_written_is_zeros(bench):
    assert bench.write(101, content(4, 512)) == Status.SUCCESS
    assert bench.read(100, 2) == bytes(512) + content(4, 512)


def test_a_buffered_page_is_not_read_from_its_old_place(bench):
    bench.read(20, 2)
    assert bench.write(20, content(5, 1024)) == Status.SUCCESS
    reads = bench.device.counters.flash_reads
    assert bench.read(20, 2) == content(5, 1024)
    assert bench.device.counters.flash_reads == reads


def test_an_evicted_page_is_read_from_its_new_place(bench):
    assert bench.write(20, content(6, 1024)) == Status.SUCCESS
    for page in range(20, 36):
        bench.read(2 * page, 2)
    assert bench.device.page_buffer.frame(10) is None
    assert bench.read(20, 2) == content(6, 1024)


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_read_in_flight_does_not_overwrite_what_is_written(bench, blocks):
    bench.read(0)  # the map page is there
    bench.put(Opcode.READ, 20, 2)
    bench.put(Opcode.WRITE, 20, content(1, 512 * blocks))
    bench.host.wait(2)
    expected = (content(1, 512 * blocks) + Pattern(1 << 20).read(21 * 512, 512))[:1024]
    assert bench.read(20, 2) == expected
    bench.cut_power()
    assert bench.read(20, 2) == expected


def test_reads_and_writes_of_a_page_at_once_are_whole(bench):
    """A read gets one version or the other of each block; at last the newest is there."""
    written = [content(number, 1024) for number in range(8)]
    versions = {Pattern(1 << 20).read(20 * 512, 1024), *written}
    addresses = []
    for data in written:
        addresses.append(bench.put(Opcode.READ, 20, 2)[1])
        bench.put(Opcode.WRITE, 20, data)
    entries = bench.host.wait(16)
    assert {int(entry.status.status) for entry in entries} == {0}
    assert {bench.memory.load(address, 1024) for address in addresses} <= versions
    last = bench.read(20, 2)
    assert last in written
    assert bench.medium.stored(*bench.ftl.find(10)).startswith(last[:256])
    assert bench.counts["ftl_host_pages"] == 8


def test_writes_of_different_blocks_of_a_page_at_once_both_stay(bench):
    bench.put(Opcode.WRITE, 20, content(1, 512))
    bench.put(Opcode.WRITE, 21, content(2, 512))
    bench.host.wait(2)
    assert bench.read(20, 2) == content(1, 512) + content(2, 512)
    bench.cut_power()
    assert bench.read(20, 2) == content(1, 512) + content(2, 512)


@pytest.mark.parametrize("scope", ["global", "channel"])
def test_random_writes_with_collection(scope):
    ftl = replace(FTL, gc_scope=scope, gc_free_blocks=3)
    bench = WriteBench(parameters_of(pages=76, ftl=ftl), loaded=40)
    model = loaded_model(bench, 40)
    play(bench, model, writes=300)
    counts = bench.counts
    assert counts["ftl_collected_blocks"] > 20 < counts["ftl_moved_pages"]
    assert counts["ftl_space_waits"] > 0
    verify(bench, model)
    # A copy is the version that it was made from: no two pages have one number.
    column = bench.layout.metadata_column
    raws = [bench.medium.stored(*bench.place(page)) for page in {block // 2 for block in model}]
    found = [parse_metadata(raw[column : column + 256]) for raw in raws]
    assert {page for page, *_ in found} == {block // 2 for block in model}
    assert len({sequence for _, sequence, _ in found}) == len(found)
    assert max(copies for *_, copies in found) > 0
    # The map and what is valid agree.
    valid = sum(
        bench.ftl.blocks.is_valid(bench.parameters.striping.physical(number))
        for number in range(bench.parameters.striping.pages)
    )
    assert valid == len({block // 2 for block in model}) + 1
    bench.cut_power()
    verify(bench, model)


def test_map_pages_are_read_and_written_back():
    """Six pages of the map, of which one is cached."""
    ftl = replace(FTL, map_cache_pages=1, pages_per_block=8)
    bench = WriteBench(parameters_of(pages=1500, blocks=120, ftl=ftl), loaded=1400)
    model = loaded_model(bench, 1400)
    model = {block: model[block] for block in range(0, 2800, 331)}
    verify(bench, model)
    assert bench.counts["ftl_map_misses"] == 6
    play(bench, model, writes=64)
    counts = bench.counts
    assert counts["ftl_map_pages_written"] > 20
    assert counts["ftl_map_misses"] > 40
    verify(bench, model)
    bench.cut_power()
    verify(bench, model)


def test_a_log_that_has_become_long_is_shortened():
    """By the collector; nobody else has to do with the map pages that are in it."""
    ftl = replace(FTL, map_cache_pages=1, pages_per_block=8, gc_free_blocks=12)
    bench = WriteBench(parameters_of(pages=1500, blocks=104, ftl=ftl), loaded=1490)
    for page in range(600, 1490, 2):
        bench.ftl.map.set(page, page)  # as they are
    for number in range(110):
        assert bench.write(0, content(number, 1024)) == Status.SUCCESS
    assert bench.counts["ftl_collected_blocks"] > 0
    assert len(bench.ftl.map.log) <= bench.ftl.map.entries_per_page
    verify(bench, {block: Pattern(1 << 21).read(512 * block, 512) for block in (1300, 2004)})


def test_what_a_cache_that_holds_the_map_saves():
    found = {}
    for capacity in (1, 6):
        ftl = replace(FTL, map_cache_pages=capacity, pages_per_block=8)
        bench = WriteBench(parameters_of(pages=1500, blocks=120, ftl=ftl), loaded=1400)
        play(bench, {}, writes=64)
        found[capacity] = bench.counts, int(bench.kernel.env.now)
    (one, slow), (six, fast) = found[1], found[6]
    assert six["ftl_map_pages_read"] == 6 < one["ftl_map_pages_read"]
    assert six["ftl_map_misses"] < one["ftl_map_misses"]
    assert six["ftl_map_pages_written"] == 0 < one["ftl_map_pages_written"]
    assert fast < slow


def test_a_failed_program_goes_elsewhere_and_its_block_is_left():
    bench = WriteBench(parameters_of(pages=80))
    model = {}
    bench.medium.fail_programs(0, 0, 0, 2)
    play(bench, model, writes=200, depth=4)
    counts = bench.counts
    assert (counts["ftl_failed_programs"], counts["ftl_bad_blocks"]) == (1, 1)
    assert bench.ftl.blocks.bad == [FTL.block(bench.parameters.striping.physical(0))[0]]
    assert not bench.ftl.blocks.valid(bench.ftl.blocks.bad[0])
    verify(bench, model)


def test_a_failed_erase_retires_the_block():
    bench = WriteBench(parameters_of(pages=80))
    model = {}
    bench.medium.fail_erases(0, 0, 0, 0)
    play(bench, model, writes=300, depth=4)
    assert bench.counts["ftl_bad_blocks"] == 1
    assert bench.counts["ftl_block_erases"] > 20
    verify(bench, model)


def test_a_device_without_a_good_block_says_so_and_reads_on():
    bench = WriteBench(parameters_of(pages=80), loaded=10)
    for row in range(64):
        for channel in range(2):
            if row % 4 == 0:
                bench.medium.fail_programs(channel, 0, 0, row)
    found = bench.write(0, content(1, 1024))
    assert found == Status.CAPACITY_EXCEEDED
    assert bench.read(0, 2) == Pattern(1 << 20).read(0, 1024)
    assert bench.write(4, content(1, 1024)) == Status.CAPACITY_EXCEEDED


def test_pages_of_several_blocks_and_whole_pages():
    bench = WriteBench(parameters_of(pages=40, layout=LAYOUT))
    data = content(1, 20 * 4096)
    assert bench.write(3, data) == Status.SUCCESS
    assert bench.read(3, 20) == data
    assert bench.read(2, 1) == bytes(4096)
    assert bench.counts["ftl_host_pages"] == 11


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"cdw10": 160}, Status.LBA_OUT_OF_RANGE),
        ({"cdw10": 159, "cdw12": 1}, Status.LBA_OUT_OF_RANGE),
        ({"prp1": 0x1002}, Status.PRP_OFFSET_INVALID),
        ({"prp1": 0xDEAD_0000}, Status.DATA_TRANSFER_ERROR),
        ({"nsid": 2}, Status.INVALID_NAMESPACE),
    ],
)
def test_a_bad_write_changes_nothing(bench, fields, status):
    address = bench.memory.allocate(512)
    bench.host.put(**{"opcode": Opcode.WRITE, "prp1": address, **fields})
    assert bench.host.wait(1)[0].status.status == status
    assert bench.device.reader.jobs.free == bench.parameters.page_jobs
    assert bench.flash.changes == []
    assert bench.read(0, 2) == Pattern(1 << 20).read(0, 1024)


def test_a_page_whose_rest_cannot_be_read_is_not_written(bench):
    bench.flash.uncorrectable[tuple(bench.parameters.striping.physical(10))] = 1
    assert bench.write(20, content(1, 512)) == Status.UNRECOVERED_READ_ERROR
    assert bench.write(20, content(1, 1024)) == Status.SUCCESS
    assert bench.read(20, 2) == content(1, 1024)
    frames = bench.device.page_buffer._frames.values()
    assert not any(frame.pins or frame.fills for frame in frames)
    assert bench.device.reader.jobs.free == bench.parameters.page_jobs


def test_blocks_are_reclaimed_before_they_run_out():
    bench = WriteBench(parameters_of(pages=70, ftl=replace(FTL, gc_free_blocks=4)))
    model = {}
    play(bench, model, writes=120, depth=1, longest=2)
    assert bench.counts["ftl_collected_blocks"] > 10
    assert bench.counts["ftl_space_waits"] == 0


def test_a_block_is_not_erased_while_a_page_of_it_is_read():
    bench = WriteBench(parameters_of(pages=80), loaded=8)
    old = bench.place(0)
    bench.ftl.blocks.read(old, 1)  # as the reader of a page does
    block, _ = FTL.block(old)
    for page in range(8):  # nothing in it is valid any more
        assert bench.write(2 * page, content(page, 1024)) == Status.SUCCESS
    for number in range(100):
        bench.put(Opcode.WRITE, 20 + 2 * (number % 8), content(number, 1024))
        bench.kernel.env.run(until=bench.kernel.env.now + 2 * 10**9)
        bench.host.reap()
        if len(bench.host.completions) < bench.host._cid:
            break
    assert bench.counts["ftl_block_erases"] < 2
    erased = [place for stage, _, place in bench.flash.changes if stage == "flash.erase"]
    assert block not in [FTL.block(PhysicalPage(*place))[0] for place in erased]
    cause = bench.kernel.origin("host", "host.release")
    bench.device.layer.places.release(old, cause)
    bench.host.wait(bench.host._cid - len(bench.host.completions))
    assert bench.ftl.blocks.erases[block] == 1


def test_a_map_page_that_cannot_be_read_fails_what_needs_it(bench):
    place = bench.ftl.find(bench.ftl.map.pages)
    bench.flash.uncorrectable[tuple(place)] = 1
    assert bench.write(20, content(1, 512)) == Status.UNRECOVERED_READ_ERROR
    assert bench.write(100, content(1, 1024)) == Status.UNRECOVERED_READ_ERROR
    bench.put(Opcode.READ, 0, 1)
    assert bench.host.wait(1)[0].status.status == Status.UNRECOVERED_READ_ERROR
    bench.flash.uncorrectable.clear()
    # Nothing is left of the write that failed.
    assert bench.write(101, content(2, 512)) == Status.SUCCESS
    assert bench.read(100, 2) == bytes(512) + content(2, 512)
    assert bench.device.reader.jobs.free == bench.parameters.page_jobs


def test_a_page_that_cannot_be_copied_stays_and_collection_goes_on():
    bench = WriteBench(parameters_of(pages=60))
    model = {}
    play(bench, model, writes=60, depth=4)
    lost = min(block // 2 for block in model)
    place = bench.place(lost)
    bench.flash.uncorrectable[tuple(place)] = 1
    others = [block for block in model if block // 2 != lost]
    for number, block in enumerate(np.random.default_rng(1).choice(others, 200).tolist()):
        model[block] = content(1000 + number, 512)
        assert bench.write(block, model[block]) == Status.SUCCESS
    assert bench.ftl.blocks.bad == [FTL.block(place)[0]]
    assert bench.ftl.blocks.candidates(0)
    assert bench.place(lost) == place
    verify(bench, {block: model[block] for block in others})
    assert bench.write(2 * lost, content(5, 1024)) == Status.SUCCESS
    assert bench.read(2 * lost, 2) == content(5, 1024)


def test_lists_that_were_written_anew_are_sampled():
    ids = np.arange(5000)
    ftl = FtlParameters(pages_per_block=8, map_cache_pages=2)
    nvme = replace(PARAMETERS.nvme, namespace_blocks=800)
    parameters = replace(PARAMETERS, ftl=ftl, nvme=nvme)
    bench = Bench([0, 100, 3000, 5000], ids, parameters=parameters, costs=None)
    before = bench.request([0, 1, 2], 20)
    assert bench.sample_status(before) == Status.SUCCESS
    assert bench.result(before) == before.expected
    bench.ids = ids[::-1].copy()
    raw = bench.ids.astype("<u8").tobytes().ljust(10 * 4096, b"\0")
    for block in range(10):
        buffer = bench.memory.allocate(4096)
        bench.memory.store(buffer, raw[4096 * block : 4096 * block + 4096])
        assert bench.status(opcode=Opcode.WRITE, cdw10=block, prp1=buffer) == Status.SUCCESS
    after = bench.request([0, 1, 2], 20)
    assert bench.sample_status(after) == Status.SUCCESS
    assert bench.result(after) == after.expected != before.expected


def test_scope_and_threshold_change_what_is_reclaimed():
    found = set()
    for scope, least in (("global", 2), ("global", 5), ("channel", 2)):
        ftl = replace(FTL, gc_scope=scope, gc_free_blocks=least)
        bench = WriteBench(parameters_of(pages=70, ftl=ftl))
        play(bench, {}, writes=120, depth=4)
        found.add((bench.counts["ftl_collected_blocks"], int(bench.kernel.env.now)))
    assert len(found) == 3


def test_allocation_order_changes_when_writes_end():
    times = set()
    for order in (("channel", "lun", "way", "plane"), ("plane", "lun", "way", "channel")):
        ftl = replace(FTL, order=order, planes=2)
        bench = WriteBench(parameters_of(pages=80, luns=2, ftl=ftl, layout=SMALL))
        bench.write(0, content(1, 3 * 1024))
        times.add(int(bench.kernel.env.now))
    assert len(times) == 2
