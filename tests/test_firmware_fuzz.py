"""Random bytes where a host could put them: each command gets a status, the device serves on."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl.contract.ns_config import Mode
from rtl.contract.nvme import SAMPLING_BIT, Opcode, Status
from tests.firmware_bench import LAYOUT, PARAMETERS, Bench

DEGREES = [0, 7, 900, 1200, 1, 0, 300]
INDPTR = np.concatenate([[0], np.cumsum(DEGREES)])
PAGES = -(-int(INDPTR[-1]) * 8 // LAYOUT.page_bytes)
FUZZED = replace(PARAMETERS, nvme=replace(PARAMETERS.nvme, namespace_blocks=PAGES * LAYOUT.lbas))
CHANGES = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=8)), max_size=6
)


@pytest.fixture(scope="module")
def bench():
    """One device for all cases: what a bad command leaves behind would show in the next one."""
    return Bench(INDPTR, np.random.default_rng(1).integers(0, 1 << 60, INDPTR[-1]),
                 parameters=FUZZED)  # fmt: skip


def serves_on(bench):
    good = bench.request(range(len(DEGREES)), 3, Mode.DRAW)
    assert bench.sample_status(good) == Status.SUCCESS
    assert bench.result(good) == good.expected
    device = bench.device
    assert device._reader.jobs.free == device._reader.jobs.capacity
    assert device._generator.room.free == device._generator.room.capacity
    assert device._dma.slots.free == device._dma.slots.capacity
    for address in [address for address in bench.memory._pieces if address > bench.host.completion]:
        bench.memory.release(address)


def change(bench, address, length, changes):
    data = bytearray(bench.memory.load(address, length))
    for at, new in changes:
        at %= length
        data[at : at + len(new)] = new[: length - at]
    bench.memory.store(address, bytes(data))


@settings(max_examples=200, deadline=None)
@given(
    header=CHANGES,
    body=CHANGES,
    start=st.sampled_from([0, 12, 16, 20, 64, 76, 2080, 2092]),
    mode=st.sampled_from(list(Mode)),
    seal=st.booleans(),
)
def test_ns_config_of_random_bytes(bench, header, body, start, mode, seal):
    request = bench.request([1, 2, 3, 5, 6], 4, mode, piece_bytes=50)
    first = int.from_bytes(bench.memory.load(request.header + 64, 8), "little")
    change(bench, first, 50, body)
    change(bench, request.header, 4096, [(start + at % 24, new) for at, new in header])
    if seal:
        bench.seal(request.header)
    status = Status(bench.sample_status(request))
    if not header and not body:
        assert status == Status.SUCCESS
    serves_on(bench)


@settings(max_examples=150, deadline=None)
@given(changes=CHANGES, opcode=st.sampled_from([0, 1, 2]), sampling=st.booleans())
def test_submission_entry_of_random_bytes(bench, changes, opcode, sampling):
    request = bench.request([1, 2], 3)
    cdw12 = sampling << SAMPLING_BIT
    slot = bench.host.submission + 64 * bench.host.tail
    bench.submit(request, opcode=opcode, cdw12=cdw12, ring=False)
    change(bench, slot, 64, changes)
    bench.host.ring()
    Status(bench.host.wait(1)[0].status.status)
    serves_on(bench)


@settings(max_examples=100, deadline=None)
@given(
    block=st.integers(0, 2 * PAGES),
    blocks=st.integers(1, 2 * PAGES),
    entries=st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=16),
    kind=st.sampled_from(["random", "aligned", "memory"]),
    offset=st.integers(0, 5000),
)
def test_prp_entries_of_random_bytes(bench, block, blocks, entries, kind, offset):
    memory = bench.memory
    room = memory.allocate(1 << 16)
    if kind != "random":
        entries = [entry & ~0xFFF for entry in entries]
    if kind == "memory":
        entries = [room + entry % (1 << 16) for entry in entries]
    where = memory.allocate(4096)
    memory.store(where, b"".join(entry.to_bytes(8, "little") for entry in entries))
    status = Status(
        bench.status(
            opcode=Opcode.READ, cdw10=block, cdw12=blocks - 1, prp1=room + offset, prp2=where
        )
    )
    if block + blocks > FUZZED.nvme.namespace_blocks:
        assert status == Status.LBA_OUT_OF_RANGE
    serves_on(bench)
