"""Links and the ports on them: packets and times worked out by hand, causes without gaps."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cosim.kernel import BOOT_PS, Kernel
from cosim.links import Direction, PcieLink
from cosim.spans import critical_path
from rtl.contract.kernel import P2P_BASE
from tests.links_bench import LINK, World


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


@pytest.mark.parametrize("name", ["bytes_per_second", "latency_ps", "max_payload_bytes"])
@pytest.mark.parametrize("value", [0, -1, 1.5])
def test_link_parameters_are_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, not {value}"):
        replace(LINK, **{name: value})


def test_headers_may_be_left_out():
    assert replace(LINK, header_bytes=0).write_overhead(4096) == 0
    with pytest.raises(ValueError, match="header_bytes must be an integer of at least 0, not -1"):
        replace(LINK, header_bytes=-1)


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
