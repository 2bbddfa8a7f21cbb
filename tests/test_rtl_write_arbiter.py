# amaranth: UnusedElaboratable=no
"""Write ports joined into one, and launches of both kinds on their way to one core."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import connect

from rtl.axi4 import Axi4Write
from rtl.gather.axi_checker import AxiWriteChecker
from rtl.gather.launch_turns import LaunchTurns
from rtl.gather.write_arbiter import WriteArbiter
from tests.gather_bench import Stalls, get, put, simulate

AXI = Axi4Write(64, 64, 2)


class Joined(wiring.Component):
    """Ports behind the arbiter, with a checker on the bus."""

    def __init__(self, ports):
        self.arbiter = WriteArbiter(AXI, ports, depth=4)
        self.checker = AxiWriteChecker(AXI)
        super().__init__({})

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter, m.submodules.checker = self.arbiter, self.checker
        connect(m, self.arbiter.axi, self.checker.manager)
        return m


def write(ports, bursts, *, stalls=0, seed=0, late=0):
    """Write ``bursts`` (lengths by port); the ports in the order in which they came to the bus.

    Port n begins ``late`` clocks after the one before it, and the bus takes its first address
    after all of them.
    """
    dut, rng = Joined(ports), random.Random(seed)
    bus, found, answers = dut.checker.subordinate, [], [[] for _ in range(ports)]
    total = sum(map(len, bursts))

    def word(port, number, beat):
        return port << 32 | number << 8 | beat

    def addresses(port):
        async def bench(ctx):
            pause = Stalls(stalls, seed=port)
            for _ in range(port * late):
                await ctx.tick()
            for number, length in enumerate(bursts[port]):
                for _ in range(pause()):
                    await ctx.tick()
                request = {"addr": 4096 * number, "len": length - 1, "size": 3, "burst": 1}
                await put(ctx, getattr(dut.arbiter, f"port{port}").aw, {**request, "id": port})

        return bench

    def data(port):
        async def bench(ctx):
            pause = Stalls(stalls, seed=9 + port)
            for number, length in enumerate(bursts[port]):
                for beat in range(length):
                    for _ in range(pause()):
                        await ctx.tick()
                    given = {"data": word(port, number, beat), "strb": 255}
                    last = beat == length - 1
                    await put(ctx, getattr(dut.arbiter, f"port{port}").w, {**given, "last": last})

        return bench

    def take(port):
        async def bench(ctx):
            for number, _ in enumerate(bursts[port]):
                answer = await get(ctx, getattr(dut.arbiter, f"port{port}").b)
                answers[port].append((answer.id, answer.resp))
                assert answer.resp == number % 4

        return bench

    async def memory(ctx):
        given = [0] * ports
        for _ in range(ports * late):
            await ctx.tick()
        for _ in range(total):
            for _ in range(rng.randint(0, stalls)):
                await ctx.tick()
            request = await get(ctx, bus.aw)
            beats = []
            while not beats or not beats[-1].last:
                for _ in range(rng.randint(0, stalls)):
                    await ctx.tick()
                beats.append(await get(ctx, bus.w))
            number = request.addr // 4096
            found.append((int(request.id), number, [int(beat.data) for beat in beats]))
            assert len(beats) == request.len + 1
            await put(ctx, bus.b, {"id": request.id, "resp": given[request.id] % 4})
            given[request.id] += 1

    async def rule(ctx):
        while True:
            _, _, broken = await ctx.tick().sample(dut.checker.rule)
            assert broken == 0, broken

    steps = [kind(port) for port in range(ports) for kind in (addresses, data, take)]
    simulate(dut, memory, *steps, background=[rule], limit_cycles=20_000)
    for port in range(ports):
        mine = [burst for burst in found if burst[0] == port]
        assert [number for _, number, _ in mine] == list(range(len(bursts[port])))
        for _, number, beats in mine:
            assert beats == [word(port, number, beat) for beat in range(bursts[port][number])]
        assert [id for id, _ in answers[port]] == [port] * len(bursts[port])
    return [port for port, *_ in found]


@pytest.mark.parametrize("ports", [1, 2, 3])
@pytest.mark.parametrize("stalls", [0, 3])
def test_every_burst_arrives_whole_and_in_order(ports, stalls):
    rng = random.Random(ports)
    bursts = [[rng.choice([1, 1, 2, 5, 8]) for _ in range(20)] for _ in range(ports)]
    write(ports, bursts, stalls=stalls, seed=stalls)


def test_ports_take_turns():
    order = write(2, [[2] * 12, [2] * 12])
    assert sorted(order[:2]) == [0, 1]
    assert order == order[:2] * 12


def test_an_address_on_offer_stays():
    assert write(3, [[2], [1, 1], [3]], late=5)[0] == 0


def test_too_many_ports_are_refused():
    with pytest.raises(ValueError, match="ID width must tell 5 ports apart, not 2 bits"):
        WriteArbiter(AXI, 5)


def test_launches_of_both_kinds_take_turns_one_at_a_time():
    dut, seen = LaunchTurns(), []

    def offer(port, tag):
        async def bench(ctx):
            for _ in range(8):
                await put(ctx, port, {"tag": tag})

        return bench

    async def core(ctx):
        rng = random.Random(1)
        for _ in range(16):
            for _ in range(rng.randint(0, 3)):
                await ctx.tick()
            launch = await get(ctx, dut.launches)
            seen.append(int(launch.tag))
            for _ in range(rng.randint(0, 5)):
                _, _, valid, is_ring = await ctx.tick().sample(dut.launches.valid, dut.is_ring)
                assert not valid, "one at a time"
                assert is_ring == (launch.tag == 2)
            await put(ctx, dut.done, {"tag": launch.tag})

    async def ring_done(ctx):
        ctx.set(dut.ring_done.ready, 1)
        while True:
            _, _, valid, payload = await ctx.tick().sample(
                dut.ring_done.valid, dut.ring_done.payload
            )
            assert not valid or payload.tag == 2

    simulate(dut, core, offer(dut.single, 1), offer(dut.ring, 2), background=[ring_done])
    assert sorted(seen[:2]) == [1, 2]
    assert seen == seen[:2] * 8
