"""Random bytes where a host could put them, and what must hold afterwards, whatever they were."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from rtl.contract.ns_config import KeyRule, Mode, RowPointers
from rtl.contract.nvme import SAMPLING_BIT, Opcode, Status
from tests.firmware_bench import LAYOUT, PARAMETERS, Bench
from tests.scenarios.chains import chain_request
from tests.scenarios.command_oracle import judge

__all__ = ["CASES", "FUZZED", "make_bench"]

DEGREES = [0, 7, 900, 1200, 1, 0, 300]
INDPTR = np.concatenate([[0], np.cumsum(DEGREES)])
POINTER_PAGE = -(-int(INDPTR[-1]) * 8 // LAYOUT.page_bytes)
PAGES = POINTER_PAGE + 1
BLOCKS = PAGES * LAYOUT.lbas
FUZZED = replace(
    PARAMETERS,
    nvme=replace(
        PARAMETERS.nvme,
        namespace_blocks=BLOCKS,
        transfer_limit_bytes=(BLOCKS - 1) * LAYOUT.lba_bytes,
    ),
    page_buffer_pages=3,
)
SEVERAL = 5
CHANGES = st.just([]) | st.lists(
    st.tuples(st.integers(0, 1 << 16), st.binary(min_size=1, max_size=8)), max_size=6
)


def make_bench():
    """One device for all cases: what a bad command leaves behind would show in the next one."""
    generator = np.random.default_rng(1)
    ids = np.zeros(POINTER_PAGE * LAYOUT.page_bytes // 8 + len(INDPTR), dtype=np.int64)
    ids[: INDPTR[-1]] = generator.integers(0, len(DEGREES), INDPTR[-1])
    odd = generator.integers(0, INDPTR[-1], 20)
    ids[odd] = generator.integers(0, 1 << 60, 20)  # no nodes
    ids[-len(INDPTR) :] = INDPTR
    bench = Bench(INDPTR, ids, parameters=FUZZED)
    bench.table = INDPTR
    bench.device.load_row_pointers(INDPTR)
    bench.good = bench.request(range(len(DEGREES)), 3, Mode.DRAW)
    bench.kept = set(bench.memory._pieces)
    return bench


def change(bench, address, length, changes):
    data = bytearray(bench.memory.load(address, length))
    for at, new in changes:
        at %= length
        data[at : at + len(new)] = new[: length - at]
    bench.memory.store(address, bytes(data))


def slot_of(bench):
    """Where the next submission entry goes."""
    return bench.host.submission + 64 * bench.host.tail


def entry(bench, changes=(), **fields):
    """Put a submission entry into the queue, without the doorbell; returns its bytes."""
    slot = slot_of(bench)
    bench.host.put(ring=False, **fields)
    change(bench, slot, 64, changes)
    return bench.memory.load(slot, 64)


def sampling(bench, request, changes=(), **fields):
    fields = {"opcode": Opcode.WRITE, "cdw12": 1 << SAMPLING_BIT, "prp1": request.header} | fields
    return entry(bench, changes, **fields)


def serve(bench, raws):
    """Ring for these entries, and compare what comes of them with the oracle; all is as before."""
    commands = [judge(raw, bench) for raw in raws]
    if any(meet(commands, number, bench) for number in range(len(commands))):
        raws = [bytes(2) + raw[2:4] + (1).to_bytes(4, "little") + raw[8:] for raw in raws]
        for number, raw in enumerate(reversed(raws), 1):
            slot = (bench.host.tail - number) % bench.host.entries
            bench.memory.store(bench.host.submission + 64 * slot, raw)
        commands = [judge(raw, bench) for raw in raws]
    found = len(bench.host.completions)
    bench.host.ring()
    bench.host.wait(len(raws))
    bench.kernel.env.run(until=bench.kernel.env.now + 10**9)  # nothing comes any more
    entries = bench.host.completions[found:] + bench.host.reap()
    by_cid = {}
    for one in entries:
        by_cid.setdefault(int(one.cid), []).append(Status(one.status.status))
    expected = {}
    for raw, command in zip(raws, commands, strict=True):
        expected.setdefault(int.from_bytes(raw[2:4], "little"), []).append(command)
    assert by_cid.keys() == expected.keys()
    for cid, wanted in expected.items():
        assert len(by_cid[cid]) == len(wanted)
        if len(wanted) == 1:
            check(bench, by_cid[cid][0], wanted[0], alone=len(raws) == 1)
    nothing_is_left(bench)


def meet(commands, number, bench):
    """Whether a command writes to the queues, or to what others are made of: then it is a Flush."""
    kept = [(bench.host.submission, 4096), (bench.host.completion, 4096)]
    for other, command in enumerate(commands):
        kept += command.reads if other != number else []
    writes = [(address, len(data)) for address, data in commands[number].writes]
    return any(a < b + more and b < a + size for a, size in writes for b, more in kept)


def check(bench, status, command, *, alone):
    assert status in (command.broken or {Status.SUCCESS}), (status, command.broken)
    places = sorted((address, len(data)) for address, data in command.writes)
    apart = all(a + size <= b for (a, size), (b, _) in pairwise(places))
    if alone and apart and status == Status.SUCCESS:
        for address, data in command.writes:
            assert bench.memory.load(address, len(data)) == data


def nothing_is_left(bench):
    """All tables are as at the start, and the device serves on."""
    device, host = bench.device, bench.host
    for buffer in (device.page_buffer, device.pointer_buffer):
        assert buffer.waiting == {}
        assert not any(frame.pins or frame.fills for frame in buffer._frames.values())
    controller = device._controller
    (queue,) = controller.completions.values()
    for slots in (
        device.reader.jobs,
        device._generator.room,
        device._hops.room,
        device._dma.slots,
        controller.slots,
        queue.room,
    ):
        assert slots.free == slots.capacity
        assert not slots._queue
    assert not controller._active
    for address in set(bench.memory._pieces) - bench.kept:
        bench.memory.release(address)
    assert bench.sample_status(bench.good) == Status.SUCCESS
    assert bench.result(bench.good) == bench.good.expected
    assert host.completions[-1].sqhd == host.tail


def nudge(bench, address, at, delta):
    """Make a 16-bit number somewhat larger or smaller."""
    old = int.from_bytes(bench.memory.load(address + at, 2), "little")
    bench.memory.store(address + at, ((old + delta) % (1 << 16)).to_bytes(2, "little"))


def broken_request(bench, mode, **how):
    return spoil(bench, bench.request([1, 2, 3, 5, 6], 4, mode, piece_bytes=50), **how)


def spoil(bench, request, header, body, start, seal, header_nudge, body_nudge):
    """Change bytes and numbers of a request; returns it."""
    first = int.from_bytes(bench.memory.load(request.header + 64, 8), "little")
    size = min(50, len(bench.memory._pieces[first]))
    change(bench, first, size, body)
    change(bench, request.header, 4096, [(start + at % 24, new) for at, new in header])
    if header_nudge:
        nudge(bench, request.header, *header_nudge)
    if body_nudge:
        at, delta = body_nudge
        nudge(bench, first, at % (size - 1), delta)
    if seal:
        bench.seal(request.header)
    return request


HEADER_FIELDS = [4, 6, 12, 14, 16, 20, 24, 28, 30, 64, 72, 76, 2080, 2088, 2092]
BODY_FIELDS = [0, 2, 8, 10, 12, 14, 16, 18, 20, 24]
DELTAS = st.sampled_from([-4096, -16, -8, -4, -1, 1, 4, 8, 16, 4096])
REQUESTS = {
    "header": CHANGES,
    "body": CHANGES,
    "start": st.sampled_from([0, 12, 16, 20, 64, 76, 2080, 2092]),
    "mode": st.sampled_from(list(Mode)),
    "seal": st.sampled_from([True, True, True, False]),
    "header_nudge": st.none() | st.tuples(st.sampled_from(HEADER_FIELDS), DELTAS),
    "body_nudge": st.none() | st.tuples(st.sampled_from(BODY_FIELDS), DELTAS),
}


def ns_config(bench, **how):
    serve(bench, [sampling(bench, broken_request(bench, **how))])


CHAINS = {
    "header": CHANGES,
    "body": CHANGES,
    "start": st.sampled_from([0, 12, 16, 24, 32, 36, 40, 48, 56]),
    "place": st.sampled_from(list(RowPointers)),
    "mode": st.sampled_from([Mode.DRAW, Mode.DRAW, Mode.DRAW_DISTINCT]),
    "keys": st.sampled_from([KeyRule.MIXED, KeyRule.MIXED, KeyRule.CARRIED]),
    "roots": st.lists(st.integers(0, len(DEGREES)), min_size=1, max_size=6),
    "fan_outs": st.lists(st.integers(0, 4), min_size=1, max_size=4),
    "seal": st.sampled_from([True, True, True, False]),
    "header_nudge": st.none() | st.tuples(st.sampled_from([24, 32, 40, 48, 56]), DELTAS),
    "body_nudge": st.none() | st.tuples(st.sampled_from([0, 4, 8, 16, 20]), DELTAS),
}


def broken_chain(bench, roots, fan_outs, place, mode, keys, **how):
    if keys is KeyRule.CARRIED and len(roots) % 2:
        fan_outs = [1] * len(fan_outs)
    request = chain_request(
        bench,
        roots,
        fan_outs,
        place,
        bytes(1),
        mode=mode,
        keys=keys,
        pointer_lba=POINTER_PAGE * LAYOUT.lbas,
        piece_bytes=50,
        result_piece_bytes=100,
    )
    return spoil(bench, request, **how)


def chain(bench, **how):
    serve(bench, [sampling(bench, broken_chain(bench, **how))])


def submission_entry(bench, changes, opcode, is_sampling):
    request = bench.request([1, 2], 3)
    cdw12 = is_sampling << SAMPLING_BIT
    serve(bench, [sampling(bench, request, changes, opcode=opcode, cdw12=cdw12)])


PRPS = {
    "block": st.integers(0, 3),
    "blocks": st.integers(1, BLOCKS + 1),
    "entries": st.lists(st.integers(0, (1 << 64) - 1), min_size=6, max_size=16),
    "kind": st.sampled_from(["random", "aligned", "memory", "memory", "skewed"]),
    "offset": st.integers(0, 1250).map(lambda words: 4 * words) | st.integers(0, 5000),
    "at": st.sampled_from([0, 8, 4096 - 16, 4096 - 8, 4]),
}


def prp_read(bench, block, blocks, entries, kind, offset, at):
    memory = bench.memory
    room = memory.allocate(1 << 16)
    if kind != "random":
        entries = [one & ~0xFFF for one in entries]
    if kind in ("memory", "skewed"):
        bits = [8 * (kind == "skewed" and one >> 12 & 1) for one in entries]
        entries = [room + one % (1 << 16) + bit for one, bit in zip(entries, bits, strict=True)]
    where = memory.allocate(8192)
    memory.store(where + at, b"".join(one.to_bytes(8, "little") for one in entries))
    read = {"opcode": Opcode.READ, "cdw10": block, "cdw12": blocks - 1}
    return entry(bench, **read, prp1=room + offset, prp2=where + at)


def prp_list(bench, **how):
    serve(bench, [prp_read(bench, **how)])


def several(bench, commands):
    """Commands of all kinds, good ones among them, in flight together."""
    raws = []
    for how in commands:
        if "blocks" in how:
            raws.append(prp_read(bench, **how))
        elif "roots" in how:
            raws.append(sampling(bench, broken_chain(bench, **how)))
        else:
            raws.append(sampling(bench, broken_request(bench, **how)))
    serve(bench, raws)


CASES = {
    "ns_config": (ns_config, REQUESTS),
    "submission_entry": (
        submission_entry,
        {
            "changes": CHANGES,
            "opcode": st.sampled_from([0, 1, 2]),
            "is_sampling": st.booleans(),
        },
    ),
    "chain": (chain, CHAINS),
    "prp_list": (prp_list, PRPS),
    "several": (
        several,
        {
            "commands": st.lists(
                st.one_of(map(st.fixed_dictionaries, (REQUESTS, PRPS, CHAINS))),
                min_size=2,
                max_size=SEVERAL,
            )
        },
    ),
}
"""By name: what is done with a bench, and the strategies of its arguments."""
