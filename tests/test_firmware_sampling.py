"""Sampling commands end to end on fake flash: ids against NumPy, corner cases, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.translation import UnmappedPage
from rtl.contract.codec import pack
from rtl.contract.ns_config import BODY_LIST_OFFSET, RESULT_LIST_OFFSET, BodyEntry, Mode, Segment
from rtl.contract.nvme import SAMPLING_BIT, Status
from tests.firmware_bench import LAYOUT, PARAMETERS, Bench, random_graph

MODES = list(Mode)


def degrees(*values):
    return np.concatenate([[0], np.cumsum(values)])


def ids_of(indptr, seed=5):
    return np.random.default_rng(seed).integers(0, 1 << 60, indptr[-1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_result_equals_the_reference(mode, id_bytes, whole, seed):
    indptr, ids = random_graph(seed)
    parameters = replace(PARAMETERS, sampling_whole_page=whole)
    bench = Bench(indptr, ids, id_bytes=id_bytes, first_page=seed, parameters=parameters)
    nodes = np.random.default_rng(seed).integers(0, len(indptr) - 1, 60)
    request = bench.request(nodes, 7, mode)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected
    longest = 7 if mode is Mode.DRAW_DISTINCT else 1
    yields = sum(7 * min(int(indptr[n + 1] - indptr[n]), longest) // longest for n in nodes)
    assert bench.device.counters.ids == yields


@pytest.mark.parametrize("mode", MODES)
def test_several_requests_in_flight_share_the_buffer(mode):
    bench = Bench(*random_graph(3), parameters=replace(PARAMETERS, page_buffer_pages=3))
    requests = [bench.request(range(n, 200, 5), 4, mode) for n in range(5)]
    for number, request in enumerate(requests, 1):
        bench.submit(request, number=number)
    entries = bench.host.wait(5)
    assert [entry.status.status for entry in entries] == [0] * 5
    assert sorted(entry.cid for entry in entries) == [0, 1, 2, 3, 4]
    for request in requests:
        assert bench.result(request) == request.expected
    counts = bench.device.counts()
    for name in ("hits", "merges", "misses", "evictions", "buffer_full_waits", "page_job_waits",
                 "core0_ties", "core1_ties", "core1_waits"):  # fmt: skip
        assert counts[name] > 0, name
    assert counts["hits"] + counts["merges"] + counts["misses"] == counts["page_jobs"]
    assert counts["misses"] == counts["flash_reads"]
    bench.check_spans()


def test_a_full_lun_does_not_hold_up_the_others():
    indptr = degrees(20_000)
    parameters = replace(PARAMETERS, page_buffer_pages=32, page_jobs=64)
    bench = Bench(indptr, ids_of(indptr), parameters=parameters)
    request = bench.request([0], 4)
    # Pages 0, 8 and 16 are on one LUN, page 2 is on another one of the same channel.
    at = np.array([0, 8192, 16384, 2048], "<u4")
    place = first_piece(bench, request)
    bench.memory.store(place + 16, at.tobytes())
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request)[4:] == bench.ids[at].astype("<u8").tobytes()
    assert [order[3] for order in bench.flash.orders] == [0, 1, 0, 2]
    assert bench.device.counters.lun_full == 1  # page 16, when it was queued
    issues = [span for span in bench.kernel.spans if span.stage == "firmware.flash_issue"]
    assert len(issues) == 4  # none is spent on a LUN that is full


def test_one_frame_is_enough():
    bench = Bench(*random_graph(3), parameters=replace(PARAMETERS, page_buffer_pages=1))
    requests = [bench.request(range(n, 200, 9), 6, Mode.DRAW) for n in range(3)]
    for request in requests:
        bench.submit(request)
    bench.host.wait(3)
    assert all(bench.result(request) == request.expected for request in requests)


def test_list_over_many_pages():
    indptr = degrees(3, 6000, 3)
    bench = Bench(indptr, ids_of(indptr))
    request = bench.request([1], 40)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected
    # 6,000 ids of 8 bytes from byte 24 on lie in pages 0 to 5 of 8,192 bytes.
    _, taken = bench.taken(Mode.EXPLICIT, 1, 40, 1000)
    assert bench.device.counters.flash_reads == len({(3 + p) // 1024 for p in taken})


def test_empty_lists_and_fan_out_of_nothing():
    indptr = degrees(0, 5, 0, 0)
    bench = Bench(indptr, ids_of(indptr))
    for mode in MODES:
        request = bench.request([0, 2, 3], 5, mode)
        assert bench.sample_status(request) == Status.SUCCESS
        assert bench.result(request) == bytes(12) == request.expected
    request = bench.request([1], 0)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == bytes(4)
    assert bench.device.counters.flash_reads == 0
    assert bench.device.counters.empty_targets == 10


@pytest.mark.parametrize(
    ("degree", "fan_out", "status"),
    [
        (1000, 256, Status.SUCCESS),
        (1000, 257, Status.NS_CONFIG_COUNT),
        (257, 257, Status.SUCCESS),  # whole lists need no table of what was drawn
        (258, 257, Status.NS_CONFIG_COUNT),
        (0, 60_000, Status.SUCCESS),
    ],
)
def test_fan_outs_that_cannot_be_drawn_without_replacement(degree, fan_out, status):
    indptr = degrees(degree, 5)
    bench = Bench(indptr, ids_of(indptr))
    request = bench.request([0, 1], fan_out, Mode.DRAW_DISTINCT)
    assert bench.sample_status(request) == status
    if status == Status.SUCCESS:
        assert bench.result(request) == request.expected


def test_two_lists_in_one_page_merge_then_hit():
    indptr = degrees(100, 100)
    bench = Bench(indptr, ids_of(indptr))
    first = bench.request([0, 1], 3)
    assert bench.sample_status(first) == Status.SUCCESS
    assert bench.result(first) == first.expected
    second = bench.request([1], 3)
    assert bench.sample_status(second) == Status.SUCCESS
    counters = bench.device.counters
    assert (counters.misses, counters.merges, counters.hits) == (1, 1, 1)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("lead", [1, 3, 4, 7])
def test_ids_that_straddle_pages_blocks_and_codewords(lead, whole):
    """A list may begin at any byte: then ids cross each border of the layout."""
    count = 3 * LAYOUT.page_bytes // 8 - 2
    content = np.random.default_rng(lead).bytes(8 * count + 8)
    indptr = degrees(count + 1)
    parameters = replace(PARAMETERS, sampling_whole_page=whole)
    bench = Bench(indptr, np.frombuffer(content, "<u8"), parameters=parameters)
    at = [0, 31, 32, 63, 64, 511, 512, 1023, 1024, 2047, count - 1]
    body = pack(BodyEntry, lba=0, degree=count, offset=lead, fan_out=len(at))
    request = bench.request([0], len(at))
    bench.memory.store(first_piece(bench, request), body + np.array(at, "<u4").tobytes())
    assert bench.sample_status(request) == Status.SUCCESS
    expected = b"".join(content[lead + 8 * p :][:8] for p in at)
    assert bench.result(request) == len(at).to_bytes(4, "little") + expected
    assert bench.device.counters.straddles == 2  # positions 1023 and 2047


def first_piece(bench, request):
    block = bench.memory.load(request.header + BODY_LIST_OFFSET, 16)
    return int.from_bytes(block[:8], "little")


def test_partial_reads_bring_only_the_codeword_pairs_wanted():
    indptr = degrees(2048)
    parameters = replace(PARAMETERS, sampling_whole_page=False)
    bench = Bench(indptr, ids_of(indptr), parameters=parameters)
    for at in ([70, 200], [130, 10], [0, 1023]):  # pairs 1 to 3; 2 and 0; 0 and 15
        request = bench.request([0], 2)
        body = bench.memory.load(first_piece(bench, request), 16)
        bench.memory.store(first_piece(bench, request), body + np.array(at, "<u4").tobytes())
        assert bench.sample_status(request) == Status.SUCCESS
        expected = bench.ids[at].astype("<u8").tobytes()
        assert bench.result(request)[4:] == expected
    assert [order[4:] for order in bench.flash.orders] == [
        (554, 3 * 554),
        (0, 554),
        (15 * 554, 554),
    ]
    assert bench.device.counters.refills == 2


def test_body_and_result_of_hundreds_of_segments_are_chained():
    bench = Bench(*random_graph(4))
    request = bench.request(range(150), 6, piece_bytes=20, result_piece_bytes=12)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected
    assert bench.device.counters.list_pages > 2


def test_flipped_bit_changes_that_id_and_no_other():
    indptr = degrees(100)
    bench = Bench(indptr, ids_of(indptr))
    bench.medium.flip_bit(*bench.device.extents.physical(0), 8 * (277 + 40) + 3)
    request = bench.request([0], 100)
    place = first_piece(bench, request)
    bench.memory.store(place + 16, np.arange(100, dtype="<u4").tobytes())
    assert bench.sample_status(request) == Status.SUCCESS
    found = np.frombuffer(bench.result(request)[4:], "<u8")
    # Byte 40 of the second codeword is the lowest byte of id (256 + 40) / 8.
    assert found[37] == bench.ids[37] ^ 8
    assert (np.delete(found, 37) == np.delete(bench.ids, 37)).all()


def test_unwritten_page_is_an_error_of_the_run():
    indptr = degrees(100)
    bench = Bench(indptr, ids_of(indptr))
    request = bench.request([0], 3)
    bench.memory.store(first_piece(bench, request), pack(BodyEntry, lba=2, degree=100, fan_out=3))
    bench.submit(request)
    with pytest.raises(UnmappedPage, match="Logical page 1 must be written"):
        bench.host.wait(1)


def test_uncorrectable_page_fails_all_who_wait_for_it_and_is_read_again_later():
    indptr = degrees(100, 100)
    bench = Bench(indptr, ids_of(indptr))
    place = tuple(bench.device.extents.physical(0))
    bench.flash.uncorrectable[place] = 1
    request = bench.request([0, 1], 3)
    assert bench.sample_status(request) == Status.UNRECOVERED_READ_ERROR
    assert bench.device.counters.merges == 1
    bench.flash.uncorrectable.clear()
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected


HEADER_RULES = [  # field's byte offset, value, bytes, status
    (0, 0x4643_534D, 4, Status.NS_CONFIG_MAGIC),
    (4, 0, 2, Status.NS_CONFIG_VERSION),
    (4, 2, 2, Status.NS_CONFIG_MODE),  # a chain has no positions
    (4, 3, 2, Status.NS_CONFIG_VERSION),
    (6, 4095, 2, Status.NS_CONFIG_LENGTH),
    (12, 3, 2, Status.NS_CONFIG_MODE),
    (14, 5, 2, Status.NS_CONFIG_MODE),
    (16, 0, 4, Status.NS_CONFIG_COUNT),
    (16, 1 << 31, 4, Status.NS_CONFIG_COUNT),
    (16, 11, 4, Status.NS_CONFIG_LENGTH),  # the body has entries for ten
    (16, 9, 4, Status.NS_CONFIG_LENGTH),
    (20, 10_000, 4, Status.NS_CONFIG_LENGTH),  # not what the segments hold
    (24, 443, 4, Status.NS_CONFIG_LENGTH),
    (28, 0, 2, Status.NS_CONFIG_COUNT),
    (28, 127, 2, Status.NS_CONFIG_COUNT),
    (30, 0, 2, Status.NS_CONFIG_COUNT),
    (30, 127, 2, Status.NS_CONFIG_COUNT),
    (BODY_LIST_OFFSET + 12, 1, 4, Status.NS_CONFIG_ADDRESS),  # chain to no page
    (BODY_LIST_OFFSET + 12, 2, 4, Status.NS_CONFIG_ADDRESS),  # unknown flag
    (BODY_LIST_OFFSET + 8, 0, 4, Status.NS_CONFIG_ADDRESS),
    (RESULT_LIST_OFFSET + 8, 0, 4, Status.NS_CONFIG_ADDRESS),
    (BODY_LIST_OFFSET, 0xDEAD_0000, 8, Status.DATA_TRANSFER_ERROR),
    (RESULT_LIST_OFFSET, 0xDEAD_0000, 8, Status.DATA_TRANSFER_ERROR),
]


@pytest.fixture
def served():
    """A bench, and a check that it still serves the good request and has lost nothing."""
    indptr = degrees(*[50] * 10)
    bench = Bench(indptr, ids_of(indptr))
    good = bench.request(range(10), 5)

    def check():
        device = bench.device
        assert bench.sample_status(good) == Status.SUCCESS
        assert bench.result(good) == good.expected
        assert device._generator.room.free == device._generator.room.capacity
        assert device.reader.jobs.free == device.reader.jobs.capacity
        assert device._dma.slots.free == device._dma.slots.capacity
        assert all(frame.pins == 0 for frame in device.page_buffer._frames.values())

    return bench, check


@pytest.mark.parametrize(("at", "value", "size", "status"), HEADER_RULES)
def test_bad_header_has_its_status_and_the_device_serves_on(served, at, value, size, status):
    bench, check = served
    bad = bench.request(range(10), 5)
    bench.patch(bad.header, at, value, size)
    assert bench.sample_status(bad) == status
    assert bench.device.counters.failed_commands == 1
    check()


def test_bad_crc(served):
    bench, check = served
    bad = bench.request(range(10), 5)
    bench.patch(bad.header, 4000, 1, 1, seal=False)
    assert bench.sample_status(bad) == Status.NS_CONFIG_CRC
    check()


BODY_RULES = [
    ({"lba": PARAMETERS.nvme.namespace_blocks}, Status.LBA_OUT_OF_RANGE),
    ({"lba": (1 << 64) - 1}, Status.LBA_OUT_OF_RANGE),
    ({"degree": (1 << 32) - 1}, Status.LBA_OUT_OF_RANGE),
    ({"offset": 4096}, Status.NS_CONFIG_ADDRESS),
    ({"degree": 1}, Status.NS_CONFIG_COUNT),  # positions beyond the end
    ({"fan_out": 6}, Status.NS_CONFIG_LENGTH),  # the body has five
    ({"fan_out": 4}, Status.NS_CONFIG_LENGTH),
    ({"degree": 0}, Status.NS_CONFIG_LENGTH),  # the result is shorter then
]


@pytest.mark.parametrize(("change", "status"), BODY_RULES)
def test_bad_body_has_its_status_and_the_device_serves_on(served, change, status):
    bench, check = served
    bad = bench.request(range(10), 5)
    entry = {"lba": 0, "degree": 50, "offset": 0, "fan_out": 5} | change
    place = first_piece(bench, bad)
    last = place + 9 * 36
    bench.memory.store(last, pack(BodyEntry, **entry) + (7).to_bytes(4, "little") * 5)
    if entry["degree"] == 0:
        bench.patch(bad.header, 20, 9 * 36 + 16, 4)
        bench.patch(bad.header, BODY_LIST_OFFSET + 8, 9 * 36 + 16, 4)
    assert bench.sample_status(bad) == status
    check()


def test_list_pages_are_bounded(served):
    bench, check = served
    bad = bench.request(range(10), 5)
    page = bench.memory.allocate(4096)
    slot = pack(Segment, address=page, length=16, flags=1)
    bench.memory.store(page, slot)  # leads to itself
    bench.memory.store(bad.header + BODY_LIST_OFFSET, slot)
    bench.seal(bad.header)
    assert bench.sample_status(bad) == Status.NS_CONFIG_ADDRESS
    assert bench.device.counters.list_pages == PARAMETERS.list_pages
    check()


def test_result_larger_than_the_subgraph_buffer_is_refused():
    indptr = degrees(50)
    parameters = replace(PARAMETERS, subgraph_buffer_bytes=400)
    bench = Bench(indptr, ids_of(indptr), parameters=parameters)
    assert bench.sample_status(bench.request([0], 50)) == Status.NS_CONFIG_LENGTH
    small = [bench.request([0], 49) for _ in range(3)]
    for request in small:
        bench.submit(request)
    assert [entry.status.status for entry in bench.host.wait(3)] == [0] * 3
    assert bench.device.counts()["subgraph_buffer_waits"] == 2


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"prp2": 4096}, Status.INVALID_FIELD),
        ({"cdw12": 1 << SAMPLING_BIT | 1}, Status.INVALID_FIELD),
        ({"prp1": 0x1008}, Status.PRP_OFFSET_INVALID),
        ({"prp1": 0xDEAD_0000}, Status.DATA_TRANSFER_ERROR),
        ({"cdw12": 0}, Status.INVALID_OPCODE),  # an ordinary Write
        ({"opcode": 0x7F}, Status.INVALID_OPCODE),
        ({"flags": {"psdt": 1}}, Status.INVALID_FIELD),
        ({"flags": {"fuse": 1}}, Status.INVALID_FIELD),
        ({"nsid": 2}, Status.INVALID_NAMESPACE),
    ],
)
def test_bad_command_has_its_status_and_the_device_serves_on(served, fields, status):
    bench, check = served
    assert bench.sample_status(bench.request(range(10), 5), **fields) == status
    check()
