"""The NVMe driver against a scripted device: rings, phases, ids, statuses, PRP lists, causes."""

import random
import struct

import pytest

from cosim.kernel import Kernel
from cosim.spans import critical_path, stage_totals
from host.block_read import page_addresses, read_blocks
from host.costs import HostCosts, HostCpu
from host.driver import Command, NvmeDriver, PrpList, status_name
from host.errors import DeviceError, NvmeError
from rtl.contract.nvme import Opcode, Status
from tests.host_fakes import FakeMemory, FakePort, FakeSsd, entry_fields

COSTS = HostCosts(
    submit_ps=1_000,
    interrupt_ps=700,
    complete_ps=300,
    key_ps=2,
    draw_ps=3,
    compare_ps=1,
    build_target_ps=5,
    map_block_ps=7,
    parse_target_ps=11,
    parse_id_ps=13,
)


class Bench:
    """A driver and a device that answers from ``image``."""

    def __init__(self, image=bytes(4096), depth=8, service=None, costs=COSTS):
        self.kernel = Kernel()
        self.memory = FakeMemory()
        self.port = FakePort(self.kernel, self.memory)
        self.cpu = HostCpu(self.kernel, costs)
        self.driver = NvmeDriver(self.kernel, self.port, self.cpu, depth=depth)
        self.ssd = FakeSsd(self.kernel, self.port, image, service=service)
        self.ssd.start(self.driver)

    def run(self, body):
        """Run a process to its end; returns its value."""
        return self.kernel.env.run(self.kernel.env.process(body))

    def many(self, count):
        """Read block i in command i, all started at once; returns their causes, last first."""
        pages = [self.memory.allocate(4096) for _ in range(count)]
        ends = []

        def one(index, cause):
            command = Command(opcode=Opcode.READ, prp1=pages[index], lba=index, blocks=1)
            cause = yield from self.driver.execute(command, cause, request=index + 1)
            assert self.memory.load(pages[index], 4096) == self.ssd.read(index, 4096)
            ends.append(cause)

        def all_of_them():
            cause = self.kernel.origin("test", "start")
            runs = [self.kernel.env.process(one(i, cause)) for i in range(count)]
            yield from runs
            yield self.kernel.env.timeout(1_000)  # the last doorbell of the completion queue

        self.run(all_of_them())
        return ends


def blocks(count):
    return b"".join(struct.pack("<Q", 1000 + i) * 512 for i in range(count))


@pytest.mark.parametrize("depth", [2, 3, 8, 64])
def test_rings_wrap_phases_flip_and_completions_come_in_any_order(depth):
    times = random.Random(depth)
    bench = Bench(blocks(50), depth, lambda entry: times.randrange(100_000, 900_000))
    ends = bench.many(50)
    assert bench.ssd.most_in_flight == min(depth - 1, 50)
    assert bench.driver.full_waits == max(50 - (depth - 1), 0)
    assert bench.driver.submitted == 50
    tails = [value for offset, value in bench.port.doorbells if offset == 0x1008]
    assert tails == [(i + 1) % depth for i in range(50)]
    heads = [value for offset, value in bench.port.doorbells if offset == 0x100C]
    assert heads[-1] == 50 % depth
    assert len(heads) <= 50
    order = [entry_fields(raw)[5] for raw in bench.ssd.entries]
    assert order == list(range(50))
    if depth > 8:
        finished = [bench.kernel.spans[end.span].request for end in ends]
        assert finished != sorted(finished)


def test_an_id_in_use_is_not_used_again():
    bench = Bench(blocks(40), 6)
    busy = set()
    command, complete = bench.ssd._command, bench.ssd.complete

    def begin(number, entry, cause):
        assert entry[2] not in busy
        busy.add(entry[2])
        return command(number, entry, cause)

    def end(cid, status, cause):
        busy.remove(cid)
        complete(cid, status, cause)

    bench.ssd._command, bench.ssd.complete = begin, end
    bench.many(40)
    assert not busy


def test_entry_bytes():
    # NVMe 1.4 figure 105: opcode 0, CID 2-3, NSID 4-7, CDW3 12-15, PRP1 24-31, PRP2 32-39; figure
    # 346: SLBA in CDW10-11 (bytes 40-47), NLB, zero's based, in CDW12[15:0] (bytes 48-49).
    command = Command(
        opcode=2, prp1=0x11223344_55667000, prp2=0x99, lba=0xAABBCCDD_01020304, blocks=3
    )
    expected = bytearray(64)
    expected[0] = 2
    expected[2:4] = b"\x34\x12"
    expected[4] = 1
    expected[12] = 7  # the mini-batch
    expected[24:32] = bytes.fromhex("0070665544332211")
    expected[32] = 0x99
    expected[40:48] = bytes.fromhex("04030201ddccbbaa")
    expected[48] = 2
    assert command.encode(0x1234, 1, 7) == expected
    sampling = Command(opcode=1, prp1=0x1000, cdw12=1 << 25).encode(0, 1)
    assert sampling[48:52] == b"\0\0\0\2"


def test_a_status_raises_and_the_device_goes_on():
    bench = Bench(blocks(3))
    bench.ssd.statuses = {1: Status.LBA_OUT_OF_RANGE, 2: 0x7EE}
    page = bench.memory.allocate(4096)

    def body():
        cause = bench.kernel.origin("test", "start")
        for expected in ("LBA_OUT_OF_RANGE", "status 0x7ee"):
            command = Command(opcode=Opcode.READ, prp1=page, lba=2, blocks=1)
            with pytest.raises(NvmeError, match=f"READ of 1 blocks from 2 must end .*{expected}"):
                yield from bench.driver.execute(command, cause)
            cause = bench.kernel.origin("test", "again")
        cause = yield from bench.driver.execute(command, cause)
        return cause

    bench.run(body())
    assert bench.memory.load(page, 4096) == bench.ssd.read(2, 4096)
    assert status_name(0x7C3) == "NS_CONFIG_CRC"


@pytest.mark.parametrize(("cid", "queue"), [(3, 1), (0, 2)])
def test_a_completion_for_no_command_is_an_error_of_the_run(cid, queue):
    bench = Bench(service=lambda entry: 10**9)
    command = Command(opcode=Opcode.READ, prp1=bench.memory.allocate(4096), blocks=1)

    def body():
        cause = bench.kernel.origin("test", "start")
        yield from bench.driver.submit(command, cause)  # command 0 of queue 1 is outstanding
        yield bench.kernel.env.timeout(10_000)
        bench.ssd.complete(cid, 0, bench.kernel.origin("ssd", "stray"), queue=queue)
        yield bench.kernel.env.timeout(10_000)

    message = f"outstanding command, not queue {queue} and command {cid}"
    with pytest.raises(DeviceError, match=message):
        bench.run(body())


def test_stages_of_one_read_add_up_and_every_cost_counts_once():
    bench = Bench(blocks(1), service=lambda entry: 20_000)
    (end,) = bench.many(1)
    totals = stage_totals(critical_path(bench.kernel.spans, end, 1_000_000))
    assert totals == {
        "host.submit": 1_000,
        "doorbell": 50,
        "ssd.serve": 20_000,
        "host.interrupt": 700,
        "host.complete": 300,
    }
    assert end.at_ps == 1_000_000 + sum(totals.values())


@pytest.mark.parametrize("depth", [2, 5, 64])
def test_critical_paths_of_crowded_queues_have_no_gap(depth):
    bench = Bench(blocks(40), depth)
    for end in bench.many(40):
        path = critical_path(bench.kernel.spans, end, 1_000_000)
        assert sum(piece.end_ps - piece.start_ps for piece in path) == end.at_ps - 1_000_000


def test_an_interrupt_that_finds_nothing_costs_time_and_breaks_nothing():
    # All commands take the same time: one interrupt's handler takes entries of later interrupts.
    bench = Bench(blocks(20), 64, service=lambda entry: 100_000 - 1_050 * entry[2])
    bench.many(20)
    bench.kernel.env.run(bench.kernel.env.now + 100_000)
    assert bench.driver.interrupts == 20
    handled = [span for span in bench.kernel.spans if span.stage == "host.interrupt"]
    assert any(span.request == 0 for span in handled)
    assert {span.end_ps - span.start_ps for span in handled} == {700}


@pytest.mark.parametrize("pages", [1, 2, 3, 512, 513, 514, 1024, 1500])
def test_prp_lists(pages):
    # 4 KB list pages of 512 entries; the last entry of a full one leads to the next (section 4.3).
    image = random.Random(1).randbytes(4096 * pages)
    bench = Bench(image)

    def body():
        cause = bench.kernel.origin("test", "start")
        data, cause = yield from read_blocks(bench.driver, 0, pages, 4096, cause, request=1)
        return data

    allocated = len(bench.memory.blocks)
    assert bench.run(body()) == image
    assert len(bench.memory.blocks) == allocated, "everything was released"


def test_prp_entries_after_the_first_are_aligned():
    assert page_addresses(0x1000, 4096) == [0x1000]
    assert page_addresses(0x1200, 512) == [0x1200]
    assert page_addresses(0x1E00, 512) == [0x1E00]
    assert page_addresses(0x1E00, 1024) == [0x1E00, 0x2000]
    assert page_addresses(0x1000, 12288) == [0x1000, 0x2000, 0x3000]
    with pytest.raises(ValueError, match="all but the first aligned to 4096"):
        PrpList(FakeMemory(), [0x1000, 0x2200])
    with pytest.raises(ValueError, match="pages must be at least one"):
        PrpList(FakeMemory(), [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 1}, "depth must be 2 to 65536, not 1"),
        ({"depth": 65537}, "depth must be 2 to 65536, not 65537"),
        ({"queue": 0}, "queue must be 1 to 65535, not 0"),
    ],
)
def test_bad_queues_are_refused(options, message):
    kernel = Kernel()
    port = FakePort(kernel, FakeMemory())
    with pytest.raises(ValueError, match=message):
        NvmeDriver(kernel, port, HostCpu(kernel, COSTS), **options)


def test_bad_costs_are_refused():
    values = dict.fromkeys(HostCosts.__dataclass_fields__, 1)
    for name in values:
        with pytest.raises(ValueError, match=f"{name} must be a whole number of picoseconds .*-1"):
            HostCosts(**(values | {name: -1}))
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            HostCosts(**(values | {name: 1.5}))
