"""Links, ports and host memory: packets and times worked out by hand, causes without gaps."""

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest

from cosim.fpga_card import CardWindow, FpgaPort
from cosim.host_memory import GUARD_BYTES, HostMemory
from cosim.kernel import BOOT_PS, Kernel
from cosim.links import DevicePort, Direction, HostPort, LinkParameters, PcieLink
from cosim.spans import critical_path, stage_totals
from host.costs import HostCosts, HostCpu
from rtl.contract.kernel import P2P_BASE, BusError

LINK = LinkParameters(
    bytes_per_second=10**9,  # 1,000 ps a byte
    latency_ps=300_000,
    max_payload_bytes=256,
    header_bytes=24,
    read_request_bytes=512,
    read_completion_bytes=128,
)
STAGE_PS = 50_000
RUN_PS = 700_000
LAUNCH_PS = 6_600_000
COPY_PS = 3_600_000
COSTS = HostCosts(**{field.name: 0 for field in fields(HostCosts)})


class ScriptedGather:
    """A gather unit that stages one piece at a time and answers every launch with its own words."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.memory = bytearray(1 << 16)
        self.staged = []
        self._writer = kernel.resource("gather.stage")

    def stage(self, address, data, cause, *, request=0):
        self.staged.append((address, len(data)))
        return self.kernel.env.process(self._stage(address, data, cause, request))

    def _stage(self, address, data, cause, request):
        done = yield from self._writer.use(
            "gather.stage", STAGE_PS, cause, request=request, payload_bytes=len(data)
        )
        self.memory[address : address + len(data)] = data
        return done

    def launch(self, descriptor_address, count, cause, *, request=0):
        return self.kernel.env.process(self._run(descriptor_address, count, cause, request))

    def _run(self, descriptor_address, count, cause, request):
        start_ps = self.kernel.env.now
        yield self.kernel.env.timeout(RUN_PS)
        done = self.kernel.record(
            "gather", "gather.run", start_ps, self.kernel.env.now, cause, request=request
        )
        return ScriptedResult(np.arange(count, dtype="<u8"), status=3, cause=done)


class ScriptedResult:
    def __init__(self, words, status, cause):
        self.words, self.status, self.cause = words, status, cause


class World:
    def __init__(self, link=LINK, *, with_card=True):
        self.kernel = Kernel()
        self.env = self.kernel.env
        self.memory = HostMemory()
        self.ssd = PcieLink(self.kernel, "pcie.ssd", link)
        self.gather = ScriptedGather(self.kernel)
        self.window = CardWindow(self.kernel, self.gather, window_bytes=1 << 16)
        peer = Direction(self.kernel, link, "pcie.p2p", "pcie.p2p")
        self.device = DevicePort(
            self.kernel,
            self.ssd,
            self.memory,
            peer=peer if with_card else None,
            card=self.window if with_card else None,
        )
        self.host = HostPort(self.kernel, self.memory, self.ssd, self.device)
        self.fpga = FpgaPort(
            self.kernel,
            PcieLink(self.kernel, "pcie.fpga", link),
            self.gather,
            self.window,
            HostCpu(self.kernel, COSTS),
            launch_ps=LAUNCH_PS,
            copy_ps=COPY_PS,
        )
        self.start = self.kernel.origin("test", "start")

    def run(self, steps):
        return self.env.run(self.env.process(steps))

    def spans(self):
        """(unit, stage, from BOOT_PS to, payload, overhead, kind), without the origin."""
        return [
            (
                span.unit,
                span.stage,
                span.start_ps - BOOT_PS,
                span.end_ps - BOOT_PS,
                span.payload_bytes,
                span.overhead_bytes,
                span.kind,
            )
            for span in self.kernel.spans
        ][1:]

    def stages(self, end):
        """Exclusive stages from the beginning to ``end``; fails where they leave a gap."""
        totals = stage_totals(critical_path(self.kernel.spans, end, BOOT_PS))
        assert sum(totals.values()) == end.at_ps - BOOT_PS
        return totals


def test_write_is_packets_with_headers_then_latency():
    world = World()
    address = world.memory.allocate(1000)
    data = bytes(range(250)) * 4
    end = world.run(world.device.write(address, data, world.start, request=7, kind="result"))
    # Posted: the SSD goes on when the last byte has left, and the data is not there yet.
    assert end.at_ps == world.env.now == BOOT_PS + 1_096_000
    assert world.memory.load(address, 1000) == bytes(1000)
    world.env.run()
    # 1,000 bytes in packets of 256, 256, 256 and 232: 1,000 + 4 * 24 = 1,096 bytes.
    assert world.spans() == [
        ("pcie.ssd.up", "pcie.ssd.up", 0, 1_096_000, 1000, 96, "result"),
        ("pcie.ssd.up.flight", "pcie.ssd.latency", 1_096_000, 1_396_000, 0, 0, "result"),
    ]
    assert {span.request for span in world.kernel.spans} == {0, 7}
    assert world.memory.load(address, 1000) == data
    assert world.env.now == BOOT_PS + 1_396_000
    assert world.stages(end) == {"pcie.ssd.up": 1_096_000}


def test_read_is_requests_up_then_completions_down():
    world = World()
    address = world.memory.allocate(1000)
    world.memory.store(address, bytes(range(250)) * 4)
    data, end = world.run(world.device.read(address, 1000, world.start, kind="ns_config"))
    # Two requests (512 and 488 bytes) of 24 bytes; eight completions (7 * 128 + 104 bytes).
    assert world.spans() == [
        ("pcie.ssd.up", "pcie.ssd.up", 0, 48_000, 0, 48, "ns_config"),
        ("pcie.ssd.up.flight", "pcie.ssd.latency", 48_000, 348_000, 0, 0, "ns_config"),
        ("pcie.ssd.down", "pcie.ssd.down", 348_000, 1_540_000, 1000, 192, "ns_config"),
        ("pcie.ssd.down.flight", "pcie.ssd.latency", 1_540_000, 1_840_000, 0, 0, "ns_config"),
    ]
    assert data == bytes(range(250)) * 4
    assert end.at_ps == BOOT_PS + 1_840_000
    world.stages(end)


@pytest.mark.parametrize(
    ("length", "packets"), [(1, 1), (255, 1), (256, 1), (257, 2), (512, 2), (4096, 16)]
)
def test_packets_of_a_write(length, packets):
    assert LINK.write_overhead(length) == 24 * packets


def test_times_round_up():
    link = replace(LINK, bytes_per_second=3_000_000_000)
    assert [link.duration_ps(length) for length in (1, 2, 3, 4)] == [334, 667, 1000, 1334]


def test_directions_are_independent_and_each_is_exclusive():
    world = World()
    source, target = world.memory.allocate(4096), world.memory.allocate(4096)
    ends = {}

    def run(name, steps):
        ends[name] = yield from steps

    device, start = world.device, world.start
    for name, steps in (
        ("first", device.write(target, bytes(1000), start)),
        ("second", device.write(target + 1000, bytes(100), start)),
        ("read", device.read(source, 64, start)),
    ):
        world.env.process(run(name, steps))
    world.run(world.host.doorbell(8, 1, start))
    world.env.run()
    busy = [span for span in world.spans() if span[0] == "pcie.ssd.up"]
    # 1,096 bytes, then 100 + 24, then the read's request of 24.
    assert [(span[2], span[3]) for span in busy] == [
        (0, 1_096_000),
        (1_096_000, 1_220_000),
        (1_220_000, 1_244_000),
    ]
    # The doorbell, 4 + 24 bytes, went down meanwhile.
    assert ("pcie.ssd.down", "pcie.ssd.down", 0, 28_000, 4, 24, "doorbell") in world.spans()
    # The second write's path is its wait for the first, then its own time.
    assert world.stages(ends["second"]) == {"pcie.ssd.up": 1_220_000}
    world.stages(ends["read"][1])


def test_latency_does_not_hold_the_link():
    world = World()
    target = world.memory.allocate(8192)
    steps = [world.device.write(target + 1000 * i, bytes(232), world.start) for i in range(3)]
    for step in steps:
        world.env.process(step)
    world.env.run()
    flights = [span[2:4] for span in world.spans() if span[0] == "pcie.ssd.up.flight"]
    assert flights == [(256_000, 556_000), (512_000, 812_000), (768_000, 1_068_000)]


def test_doorbell_is_posted_and_arrives_later():
    world = World()
    arrivals = []

    def device():
        while True:
            arrivals.append((yield world.device.next_doorbell()))
            arrivals.append(world.env.now - BOOT_PS)

    def host():
        for value in (5, 6):
            cause = yield from world.host.doorbell(0x1008, value, world.start, request=2)
            assert (cause, world.env.now) == (world.start, BOOT_PS)

    world.env.process(device())
    world.run(host())
    world.env.run(until=BOOT_PS + 1_000_000)
    (offset, value, cause), at_ps, second, second_at_ps = arrivals
    # 28 bytes at 1,000 ps, then 300,000 ps; the second waits for the first's 28 bytes.
    assert (offset, value, at_ps, cause.at_ps - BOOT_PS) == (0x1008, 5, 328_000, 328_000)
    assert (second[:2], second_at_ps) == ((0x1008, 6), 356_000)
    assert world.stages(second[2]) == {"pcie.ssd.down": 56_000, "pcie.ssd.latency": 300_000}


def test_interrupt_stays_behind_the_completion_entry():
    world = World()
    queue = world.memory.allocate(4096)
    seen = []

    def device():
        entry = world.env.process(world.device.write(queue, b"\1" * 16, world.start, kind="cqe"))
        world.device.interrupt(world.start, request=1)
        yield entry

    def host():
        cause = yield world.host.next_interrupt()
        seen.append((world.memory.load(queue, 16), cause, world.env.now))

    world.env.process(host())
    world.run(device())
    world.env.run()
    [(entry, cause, now)] = seen
    # The entry is 16 + 24 bytes, the interrupt 4 + 24 behind it.
    assert entry == b"\1" * 16
    assert cause.at_ps == now == BOOT_PS + 40_000 + 28_000 + 300_000
    assert world.spans()[-1][-1] == "interrupt"


def test_peer_to_peer_write_goes_to_the_card_in_pieces():
    world = World()
    data = np.random.default_rng(1).bytes(4096 + 128)
    address = P2P_BASE + 8192
    end = world.run(world.device.write(address, data, world.start, request=4))
    # 4,224 bytes in 17 packets: 4,224 + 17 * 24 = 4,632 bytes; two pieces staged in turn.
    assert world.spans() == [
        ("pcie.p2p", "pcie.p2p", 0, 4_632_000, 4224, 408, "data"),
        ("pcie.p2p.flight", "pcie.p2p.latency", 4_632_000, 4_932_000, 0, 0, "data"),
        ("gather.stage", "gather.stage", 4_932_000, 4_982_000, 4096, 0, ""),
        ("gather.stage", "gather.stage", 4_982_000, 5_032_000, 128, 0, ""),
        ("pcie.p2p.flight", "pcie.p2p.latency", 5_032_000, 5_332_000, 0, 0, "acknowledgement"),
    ]
    assert world.gather.staged == [(8192, 4096), (12_288, 128)]
    assert world.gather.memory[8192 : 8192 + len(data)] == data
    assert end.at_ps == BOOT_PS + 5_332_000
    world.stages(end)


def test_host_write_to_the_card_stages_one_piece_while_the_next_is_on_the_link():
    world = World()
    data = np.random.default_rng(2).bytes(2 * 4096 + 64)
    end = world.run(world.fpga.write(0, data, world.start, request=4))
    # 4,096 + 16 * 24 = 4,480 bytes a piece, then 64 + 24; the last one is staged at once.
    # Before: software, 16 + 24 bytes of registers down, three requests of 24 bytes up, two flights.
    begin = COPY_PS + 40_000 + 300_000 + 72_000 + 300_000
    down = [(*span[2:5], span[6]) for span in world.spans() if span[0] == "pcie.fpga.down"]
    assert down == [
        (COPY_PS, COPY_PS + 40_000, 16, "card_registers"),
        (begin, begin + 4_480_000, 4096, "descriptor"),
        (begin + 4_480_000, begin + 8_960_000, 4096, "descriptor"),
        (begin + 8_960_000, begin + 9_048_000, 64, "descriptor"),
    ]
    # After: 4 + 24 bytes of interrupt up, and its flight.
    assert end.at_ps == BOOT_PS + begin + 9_048_000 + 300_000 + STAGE_PS + 28_000 + 300_000
    assert world.gather.memory[: len(data)] == data
    assert world.stages(end) == {
        "host.copy": COPY_PS,
        "pcie.fpga.up": 72_000 + 28_000,
        "pcie.fpga.down": 40_000 + 9_048_000,
        "pcie.fpga.latency": 4 * 300_000,
        "gather.stage": STAGE_PS,
    }


def test_launch_and_fetch():
    world = World()

    def host():
        status, results, cause = yield from world.fpga.launch(64, 5, world.start, request=3)
        assert status == 3
        return (yield from world.fpga.fetch(results, cause, request=3))

    data, end = world.run(host())
    assert data == b"".join(value.to_bytes(8, "little") for value in range(5))
    # Twice software and 16 + 24 bytes of registers down; the run; 40 + 24 of words; twice 4 + 24 of
    # interrupt up.
    assert world.stages(end) == {
        "host.launch": LAUNCH_PS,
        "host.copy": COPY_PS,
        "pcie.fpga.down": 2 * 40_000,
        "pcie.fpga.latency": 5 * 300_000,
        "gather.run": RUN_PS,
        "pcie.fpga.up": 2 * 28_000 + 64_000,
    }
    assert {span.request for span in world.kernel.spans} == {0, 3}


@pytest.mark.parametrize("seed", range(4))
def test_random_traffic_keeps_bytes_causes_and_exclusive_wires(seed):
    world, draws = World(), np.random.default_rng(seed)
    length, count = 4096, 40
    source, target = world.memory.allocate(length * count), world.memory.allocate(length * count)
    content = draws.bytes(length * count)
    world.memory.store(source, content)
    ends = []

    def copy(place, size):
        yield world.env.timeout(int(draws.integers(0, 20_000_000)))
        start_ps = world.env.now
        cause = world.kernel.record("test", "idle", BOOT_PS, start_ps, world.start)
        data, cause = yield from world.device.read(source + place, size, cause)
        cause = yield from world.device.write(target + place, data, cause)
        if size % 64 == 0:
            card = P2P_BASE + place % (1 << 15)
            cause = yield from world.device.write(card, data, cause)
        ends.append((cause, start_ps))

    sizes = [int(draws.choice([64, 512, 1000, 4096])) for _ in range(count)]
    for number, size in enumerate(sizes):
        world.env.process(copy(number * length, size))
    world.env.run()
    assert len(ends) == count
    for number, size in enumerate(sizes):
        part = slice(number * length, number * length + size)
        assert world.memory.load(target + part.start, size) == content[part]
    for end, start_ps in ends:
        path = critical_path(world.kernel.spans, end, start_ps)
        assert sum(part.end_ps - part.start_ps for part in path) == end.at_ps - start_ps
    peer = sum(size for size in sizes if size % 64 == 0)
    for unit, payload in (
        ("pcie.ssd.up", sum(sizes)),
        ("pcie.ssd.down", sum(sizes)),
        ("pcie.p2p", peer),
        ("gather.stage", peer),
    ):
        spans = sorted(
            (span for span in world.kernel.spans if span.unit == unit),
            key=lambda span: (span.start_ps, span.number),
        )
        assert sum(span.payload_bytes for span in spans) == payload
        assert all(before.end_ps <= after.start_ps for before, after in pairwise(spans))
        contended = any(span.ready_ps < span.start_ps for span in spans)
        assert contended or unit == "gather.stage"


def test_doubling_the_latency_doubles_only_its_stage():
    totals = []
    for link in (LINK, replace(LINK, latency_ps=600_000)):
        world = World(link)
        address = world.memory.allocate(4096)
        totals.append(world.stages(world.run(world.device.read(address, 4096, world.start))[1]))
    assert totals[1] == {**totals[0], "pcie.ssd.latency": 2 * totals[0]["pcie.ssd.latency"]}


@pytest.mark.parametrize(
    ("offset", "length"), [(-1, 4), (97, 4), (100, 1), (100 + GUARD_BYTES // 2, 1), (0, 101)]
)
@pytest.mark.parametrize("access", ["read", "write"])
def test_stray_dma_is_an_error_at_once(access, offset, length):
    world = World()
    address = world.memory.allocate(100)
    world.memory.allocate(100)
    argument = length if access == "read" else bytes(length)
    with pytest.raises(BusError, match=r"Host access of \d+ bytes at 0x\w+ must lie within one"):
        world.run(getattr(world.device, access)(address + offset, argument, world.start))
    assert world.env.now == BOOT_PS
    assert world.spans() == []


def test_released_memory_is_gone_for_good():
    world = World()
    address = world.memory.allocate(100)
    world.memory.release(address)
    assert world.memory.allocate(100) != address
    with pytest.raises(BusError):
        world.run(world.device.read(address, 4, world.start))
    with pytest.raises(ValueError, match="must be the address of a live allocation"):
        world.memory.release(address)


def test_memory_released_under_a_transfer():
    world = World()
    address = world.memory.allocate(100)
    write = world.env.process(world.device.write(address, bytes(100), world.start))
    world.env.run(until=BOOT_PS + 10)
    world.memory.release(address)
    world.env.run(write)
    with pytest.raises(BusError):
        world.env.run()


@pytest.mark.parametrize(
    ("offset", "length", "message"),
    [
        (65_536, 64, "must lie in its window of 65536 bytes, not 64 bytes at 65536"),
        (65_472, 128, "must lie in its window of 65536 bytes, not 128 bytes at 65472"),
        (32, 64, "must be of whole words of 64 bytes, not 64 bytes at 32"),
        (64, 32, "must be of whole words of 64 bytes, not 32 bytes at 64"),
    ],
)
def test_card_window(offset, length, message):
    for steps in (
        lambda world: world.device.write(P2P_BASE + offset, bytes(length), world.start),
        lambda world: world.fpga.write(offset, bytes(length), world.start),
    ):
        world = World()
        with pytest.raises(BusError, match=message):
            world.run(steps(world))
        assert world.spans() == []


def test_no_card_and_no_reads_from_it():
    world = World(with_card=False)
    with pytest.raises(BusError, match="must reach a card, but there is none"):
        world.run(world.device.write(P2P_BASE, bytes(64), world.start))
    with pytest.raises(BusError):
        world.run(World().device.read(P2P_BASE, 64, world.start))
    with pytest.raises(ValueError, match="peer and card must be given together"):
        DevicePort(world.kernel, world.ssd, world.memory, card=world.window)


def test_empty_transfers_are_refused():
    world = World()
    address = world.memory.allocate(100)
    for steps in (
        world.device.read(address, 0, world.start),
        world.device.write(address, b"", world.start),
    ):
        with pytest.raises(ValueError, match="must be of at least one byte, not 0"):
            world.run(steps)


@pytest.mark.parametrize(("offset", "value"), [(-4, 0), (2, 0), (0, -1), (0, 1 << 32)])
def test_doorbells_are_aligned_words(offset, value):
    world = World()
    with pytest.raises(ValueError, match="Doorbell must be a 32-bit value at a multiple of 4"):
        world.run(world.host.doorbell(offset, value, world.start))


class TestHostMemory:
    def test_is_zero_until_written(self):
        memory = HostMemory()
        address = memory.allocate(10, alignment=64)
        assert address % 64 == 0
        assert memory.load(address, 10) == bytes(10)
        memory.store(address + 3, b"abc")
        assert memory.load(address, 10) == b"\0\0\0abc\0\0\0\0"

    def test_allocations_keep_a_guard_and_their_alignment(self):
        memory = HostMemory()
        addresses = [memory.allocate(4097, alignment=1 << bits) for bits in (0, 12, 16, 3)]
        gaps = [after - before for before, after in pairwise(addresses)]
        assert min(gaps) >= 4097 + GUARD_BYTES
        assert addresses[1] % 4096 == addresses[2] % 65_536 == addresses[3] % 8 == 0
        assert addresses[0] > 0
        assert memory.allocated_bytes == 4 * 4097

    def test_ends_below_the_card(self):
        memory = HostMemory()
        with pytest.raises(MemoryError, match="Host memory must end below 0x10000000000"):
            memory.allocate(P2P_BASE)

    @pytest.mark.parametrize(
        ("length", "alignment", "message"),
        [
            (0, 4096, "length must be positive, not 0"),
            (1, 0, "alignment must be a power of two, not 0"),
            (1, 12, "alignment must be a power of two, not 12"),
        ],
    )
    def test_refuses(self, length, alignment, message):
        with pytest.raises(ValueError, match=message):
            HostMemory().allocate(length, alignment)


@pytest.mark.parametrize("name", ["bytes_per_second", "latency_ps", "max_payload_bytes"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_link_parameters_are_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, not {value}"):
        replace(LINK, **{name: value})


def test_headers_may_be_left_out():
    assert replace(LINK, header_bytes=0).write_overhead(4096) == 0
    with pytest.raises(ValueError, match="header_bytes must be an integer of at least 0, not -1"):
        replace(LINK, header_bytes=-1)


@pytest.mark.parametrize("sizes", [{"window_bytes": 100}, {"window_bytes": 64, "piece_bytes": 0}])
def test_window_sizes_are_whole_words(sizes):
    with pytest.raises(ValueError, match="must be a positive multiple of 64, not"):
        CardWindow(Kernel(), None, **sizes)


@pytest.mark.parametrize("name", ["launch_ps", "copy_ps"])
def test_times_of_the_card_are_not_negative(name):
    times = {"launch_ps": 0, "copy_ps": 0} | {name: -1}
    with pytest.raises(ValueError, match=f"{name} must not be negative, not -1"):
        FpgaPort(Kernel(), None, None, None, None, **times)


def test_directions_of_one_port_take_turns():
    """Worked out by hand: 100 bytes and a header each, at 1,000 ps a byte, one after the other."""
    kernel = Kernel()
    up = PcieLink(kernel, "pcie.ssd", LINK).up
    peer = Direction(kernel, LINK, "pcie.p2p", "pcie.p2p", shares=up)
    cause = kernel.origin("test", "start")

    def send(direction, kind):
        return (yield from direction.occupy(100, 24, cause, request=1, kind=kind))

    for direction, kind in ((up, "cqe"), (peer, "data")):
        kernel.env.process(send(direction, kind))
    kernel.env.run()
    _, first, second = kernel.spans
    assert (first.unit, first.start_ps, first.end_ps) == ("pcie.ssd.up", BOOT_PS, BOOT_PS + 124_000)
    assert (second.unit, second.stage) == ("pcie.p2p", "pcie.p2p")
    assert (second.start_ps, second.end_ps) == (first.end_ps, first.end_ps + 124_000)
    assert (second.cause, second.ready_ps) == (first.number, BOOT_PS)
