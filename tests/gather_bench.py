"""Amaranth test kit of the gather unit's tests: streams with stalls, a cycle limit, an AXI memory."""

import random

from amaranth.sim import Simulator

__all__ = ["Stalls", "collect", "feed", "get", "put", "simulate"]

CYCLE = 4e-9


class Stalls:
    """Idle clocks between transfers, drawn from a seed; ``most`` 0 is never a pause."""

    def __init__(self, most, seed=0):
        self._most = most
        self._random = random.Random(seed)

    def __call__(self):
        return self._random.randint(0, self._most) if self._random.random() < 0.5 else 0


async def put(ctx, port, payload):
    ctx.set(port.payload, payload)
    ctx.set(port.valid, 1)
    while True:
        _, _, ready = await ctx.tick().sample(port.ready)
        if ready:
            break
    ctx.set(port.valid, 0)


async def get(ctx, port):
    ctx.set(port.ready, 1)
    while True:
        _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
        if valid:
            break
    ctx.set(port.ready, 0)
    return payload


async def feed(ctx, port, payloads, stalls):
    for payload in payloads:
        for _ in range(stalls()):
            await ctx.tick()
        await put(ctx, port, payload)


async def collect(ctx, port, count, stalls):
    taken = []
    for _ in range(count):
        for _ in range(stalls()):
            await ctx.tick()
        taken.append(await get(ctx, port))
    return taken


def simulate(dut, *benches, limit_cycles=10_000, background=()):
    """Run ``benches`` against ``dut``; fail, instead of hanging, at the cycle limit."""

    async def watchdog(ctx):
        await ctx.delay(limit_cycles * CYCLE)
        raise AssertionError(f"no end after {limit_cycles} cycles")

    sim = Simulator(dut)
    sim.add_clock(CYCLE)
    for bench in benches:
        sim.add_testbench(bench)
    for bench in (*background, watchdog):
        sim.add_testbench(bench, background=True)
    sim.run()
