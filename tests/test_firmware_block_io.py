"""Ordinary reads: PRP entries and lists, pages, peers, limits."""

from dataclasses import replace

import numpy as np
import pytest

from firmware_model.block_io import cut
from rtl.contract.kernel import P2P_BASE
from rtl.contract.nvme import Opcode, Status
from tests.firmware_bench import PARAMETERS, Bench


@pytest.fixture
def bench():
    return make()


def make(**changes):
    ids = np.random.default_rng(9).integers(0, 1 << 62, 80_000)
    return Bench([0, len(ids)], ids, parameters=replace(PARAMETERS, **changes))


def read(bench, block, blocks, prp1, prp2=0):
    return bench.status(
        opcode=Opcode.READ,
        cdw10=block & 0xFFFF_FFFF,
        cdw11=block >> 32,
        cdw12=blocks - 1,
        prp1=prp1,
        prp2=prp2,
    )


def prp_list(memory, entries, *, at=0):
    """PRP list from byte ``at`` of a page on, chained where the page ends."""
    page = memory.allocate(4096)
    room = (4096 - at) // 8
    if len(entries) > room:
        entries = [*entries[: room - 1], prp_list(memory, entries[room - 1 :])]
    memory.store(page + at, b"".join(entry.to_bytes(8, "little") for entry in entries))
    return page + at


def test_one_block(bench):
    buffer = bench.memory.allocate(4096)
    assert read(bench, 3, 1, buffer) == Status.SUCCESS
    assert bench.memory.load(buffer, 4096) == bench.image[3 * 4096 : 4 * 4096]


def test_offset_in_the_first_page_and_a_second_entry(bench):
    first, second = bench.memory.allocate(4096), bench.memory.allocate(4096)
    assert read(bench, 5, 1, first + 1000, second) == Status.SUCCESS
    found = bench.memory.load(first + 1000, 3096) + bench.memory.load(second, 1000)
    assert found == bench.image[5 * 4096 : 6 * 4096]


@pytest.mark.parametrize("blocks", [3, 4, 17, 100])
@pytest.mark.parametrize("offset", [0, 512])
@pytest.mark.parametrize("list_at", [0, 4096 - 16, 4096 - 8])
def test_prp_lists_of_any_start_and_length(bench, blocks, offset, list_at):
    memory = bench.memory
    pages = [memory.allocate(4096) for _ in range(blocks + (offset > 0))][::-1]
    where = prp_list(memory, pages[1:], at=list_at)
    assert read(bench, 7, blocks, pages[0] + offset, where) == Status.SUCCESS
    found = b"".join(memory.load(page, 4096) for page in pages)
    length = blocks * 4096
    assert found[offset : offset + length] == bench.image[7 * 4096 :][:length]
    assert found[:offset] == bytes(offset)
    assert not any(found[offset + length :])
    assert any(transfer[1] == "prp" for transfer in bench.port.transfers)


def test_long_prp_list_is_chained(bench):
    memory = bench.memory
    base = memory.allocate(150 * 4096)
    pages = [base + 4096 * n for n in range(150)]
    where = prp_list(memory, pages[1:], at=4096 - 8 * 20)
    assert read(bench, 0, 150, pages[0], where) == Status.SUCCESS
    assert memory.load(base, 150 * 4096) == bench.image[: 150 * 4096]
    assert [entry[3] for entry in bench.port.transfers if entry[1] == "prp"] == [160, 8 * 130]


def test_peer_to_peer(bench):
    window = bench.port.p2p.allocate(8192)
    assert read(bench, 2, 2, P2P_BASE + window, P2P_BASE + window + 4096) == Status.SUCCESS
    assert bench.port.p2p.load(window, 8192) == bench.image[2 * 4096 : 4 * 4096]


@pytest.mark.parametrize("whole", [True, False])
def test_blocks_of_one_page_are_one_job(whole):
    bench = make(block_read_whole_page=whole)
    base = bench.memory.allocate(3 * 4096)
    where = prp_list(bench.memory, [base + 4096, base + 8192])
    assert read(bench, 1, 3, base, where) == Status.SUCCESS
    assert bench.memory.load(base, 3 * 4096) == bench.image[4096 : 4 * 4096]
    # Pages of 8,192 bytes: block 1 is the second half of page 0, blocks 2 and 3 are page 1.
    assert bench.device.counters.page_jobs == 2
    spans = {order[0]: order[4:] for order in bench.flash.orders}
    assert spans == {0: (0, 8864) if whole else (4432, 4432), 1: (0, 8864)}


def test_sampling_and_reads_share_the_page_buffer(bench):
    buffer = bench.memory.allocate(4096)
    assert read(bench, 0, 1, buffer) == Status.SUCCESS
    request = bench.request([0], 20)
    bench.memory.store(
        int.from_bytes(bench.memory.load(request.header + 64, 8), "little") + 16,
        np.arange(20, dtype="<u4").tobytes(),
    )
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request)[4:] == bench.image[:160]
    assert (bench.device.counters.misses, bench.device.counters.hits) == (1, 1)


@pytest.mark.parametrize(
    ("block", "blocks", "prp1", "prp2", "status"),
    [
        (PARAMETERS.nvme.namespace_blocks, 1, 0x1000, 0, Status.LBA_OUT_OF_RANGE),
        (PARAMETERS.nvme.namespace_blocks - 1, 2, 0x1000, 0, Status.LBA_OUT_OF_RANGE),
        (1 << 63, 1, 0x1000, 0, Status.LBA_OUT_OF_RANGE),
        (0, 1, 0x1002, 0, Status.PRP_OFFSET_INVALID),
        (0, 2, 0x1000, 0x2004, Status.PRP_OFFSET_INVALID),
        (0, 3, 0x1000, 0x2004, Status.PRP_OFFSET_INVALID),
        (0, 3, 0x1000, 0xDEAD_0000, Status.DATA_TRANSFER_ERROR),
        (0, 1, 0xDEAD_0000, 0, Status.DATA_TRANSFER_ERROR),
        (0, 1, P2P_BASE + 0xDEAD_0000, 0, Status.DATA_TRANSFER_ERROR),
    ],
)
def test_bad_read_has_its_status_and_the_device_serves_on(bench, block, blocks, prp1, prp2, status):
    assert read(bench, block, blocks, prp1, prp2) == status
    test_one_block(bench)


def test_bad_entry_in_a_prp_list(bench):
    base = bench.memory.allocate(4 * 4096)
    where = prp_list(bench.memory, [base + 4096, base + 8200, base + 12288])
    assert read(bench, 0, 4, base, where) == Status.PRP_OFFSET_INVALID
    test_one_block(bench)


def test_transfer_limit():
    bench = make(nvme=replace(PARAMETERS.nvme, transfer_limit_bytes=8192))
    base = bench.memory.allocate(3 * 4096)
    assert read(bench, 0, 3, base, base + 4096) == Status.INVALID_FIELD
    assert read(bench, 0, 2, base, base + 4096) == Status.SUCCESS


def test_uncorrectable_page(bench):
    bench.flash.uncorrectable[tuple(bench.device.extents.physical(0))] = 1
    assert read(bench, 0, 1, bench.memory.allocate(4096)) == Status.UNRECOVERED_READ_ERROR


def test_cut_takes_a_range_out_of_scattered_pieces():
    pieces = [(1000, 10), (2000, 20), (3000, 5)]
    assert cut(pieces, 0, 35) == pieces
    assert cut(pieces, 9, 2) == [(1009, 1), (2000, 1)]
    assert cut(pieces, 12, 19) == [(2002, 18), (3000, 1)]
