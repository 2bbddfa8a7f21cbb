"""Test kit of the gather unit's tests: streams with stalls, a cycle limit, an AXI memory."""

import random

from amaranth.sim import Simulator

__all__ = ["ReadMemory", "Stalls", "collect", "feed", "get", "put", "simulate"]

CYCLE = 4e-9
ERRORS = (2, 3)
"""SLVERR and DECERR."""


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


class ReadMemory:
    """An AXI4 read subordinate that checks what it is asked and answers at its own pace.

    Beats of one ID come in order; those of different IDs in any order, interleaved too. ``stalls``
    delays requests and answers; ``latency`` is the least number of clocks between them.
    """

    def __init__(self, axi, scenario, *, stalls=0, latency=0, seed=0, ports=()):
        self._axi = axi
        self._scenario = scenario
        self._latency = latency
        self._random = random.Random(seed)
        self._stalls = stalls
        self._waiting = {}
        self.requests = []
        """(clock, id, address, beats) of each request."""
        self._ports = ports
        self.in_flight = 0
        """Most requests of one of ``ports`` at a time, each being its IDs."""

    async def serve(self, ctx):
        ar, r = self._axi.ar, self._axi.r
        clock, held = 0, None
        while True:
            ctx.set(ar.ready, self._random.randint(0, self._stalls) == 0)
            sample = ctx.tick().sample(ar.valid, ar.ready, ar.payload, r.valid, r.ready)
            _, _, ar_valid, ar_ready, request, r_valid, r_ready = await sample
            clock += 1
            if held is not None:
                assert ar_valid, "AR was withdrawn"
                assert self._fields(request) == held, "AR changed while it waited"
            held = self._fields(request) if ar_valid and not ar_ready else None
            if ar_valid and ar_ready:
                self._accept(request, clock)
            if r_valid and r_ready:
                ctx.set(r.valid, 0)
                r_valid = 0
            if not r_valid:
                self._answer(ctx, r, clock)

    @staticmethod
    def _fields(request):
        return (request.addr, request.len, request.size, request.burst, request.id)

    def _accept(self, request, clock):
        beats, size = request.len + 1, 1 << request.size
        assert request.burst == 1
        assert request.addr % size == 0
        assert request.addr // 4096 == (request.addr + beats * size - 1) // 4096, "crosses 4 KB"
        self.requests.append((clock, request.id, request.addr, beats))
        queue = self._waiting.setdefault(request.id, [])
        for beat in range(beats):
            address = request.addr + beat * size
            queue.append((clock + self._latency, address, size, beat == beats - 1))
        for ids in self._ports:
            waiting = [beat for id in ids for beat in self._waiting.get(id, ())]
            self.in_flight = max(self.in_flight, sum(last for *_, last in waiting))

    def _answer(self, ctx, r, clock):
        ready = [id for id, queue in self._waiting.items() if queue and queue[0][0] <= clock]
        if not ready or self._random.randint(0, self._stalls):
            return
        id = self._random.choice(ready)
        _, address, size, last = self._waiting[id].pop(0)
        width = self._scenario.beat_bytes
        base = address - address % width
        fails = self._scenario.fails(address, size)
        word = 0 if fails else int.from_bytes(self._scenario.image[base : base + width], "little")
        resp = self._random.choice(ERRORS) if fails else 0
        ctx.set(r.payload, {"data": word, "resp": resp, "last": last, "id": id})
        ctx.set(r.valid, 1)
