# amaranth: UnusedElaboratable=no
"""The gather core in Amaranth's simulator, with the reference at its side."""

from rtl.contract.codec import pack
from rtl.contract.gather import GatherStatus, ResultHeader
from rtl.gather.core import COUNTS, PULSES, GatherUnit
from tests.gather_bench import ReadMemory, Stalls, collect, feed, get, simulate
from tests.scenarios.gather import DESCRIPTOR_BYTES, reference

__all__ = ["GatherBench", "header"]


class GatherBench:
    """Runs a scenario's launches through the unit and keeps what came out.

    ``hold`` is clocks before the first result word is taken; ``abort`` says after how many clocks
    in the unit a launch, by its number, is given up.
    """

    def __init__(self, scenario, *, stalls=0, latency=0, seed=0, hold=0, abort=None, **parameters):
        limits = {"max_fan_out": scenario.max_fan_out, "max_distinct": scenario.max_distinct}
        parameters = {"data_bits": 8 * scenario.beat_bytes, **limits, **parameters}
        self.scenario = scenario
        self.dut = GatherUnit(**parameters)
        self.memory = ReadMemory(
            self.dut.axi,
            scenario,
            stalls=stalls,
            latency=latency,
            seed=seed,
            ports=self.dut.axi_ids[1 + self.dut.lanes :],
        )
        self.stalls = stalls
        self.hold = hold
        self.abort = abort or {}
        self.aborted = {}
        self.words, self.done, self.last = [], [], []
        self.pulses = dict.fromkeys(("busy", *PULSES, *COUNTS), 0)

    async def _launch(self, ctx):
        launches = [
            {"descriptor_address": launch.address, "count": launch.count, "tag": 7 + number}
            for number, launch in enumerate(self.scenario.launches)
        ]
        await feed(ctx, self.dut.launches, launches, Stalls(self.stalls, seed=3))

    async def _watch(self, ctx):
        stalls = Stalls(self.stalls, seed=4)
        for _ in range(self.hold):
            await ctx.tick()
        for launch in self.scenario.launches:
            taken = []
            has_words = launch.count and launch.address % DESCRIPTOR_BYTES == 0
            while has_words and not (taken and taken[-1].last):
                taken += await collect(ctx, self.dut.results, 1, stalls)
            self.words.append([word for one in taken for word in one.words[: one.count]])
            self.last.append([one.last for one in taken])
            self.done.append(await get(ctx, self.dut.done))

    async def _count(self, ctx):
        clock = 0
        ports = [getattr(self.dut, name) for name in self.pulses]
        while True:
            _, _, *values = await ctx.tick().sample(*ports)
            clock += 1
            ctx.set(self.dut.now, clock)
            for name, value in zip(self.pulses, values, strict=True):
                self.pulses[name] += value

    async def _abort(self, ctx):
        """Give launches up: the unit is asked while it is busy with them."""
        dut, number, clock = self.dut, 0, 0
        while True:
            _, _, busy, *done = await ctx.tick().sample(dut.busy, dut.done.valid, dut.done.ready)
            ctx.set(dut.abort, 0)
            clock += busy
            if busy and clock == self.abort.get(number):
                ctx.set(dut.abort, 1)
                self.aborted[number] = int(ctx.get(dut.now))
            if all(done):
                number, clock = number + 1, 0

    def run(self, limit_cycles=20_000):
        simulate(
            self.dut,
            self._launch,
            self._watch,
            background=(self.memory.serve, self._count, self._abort),
            limit_cycles=limit_cycles,
        )
        return self

    def check(self):
        for number, launch in enumerate(self.scenario.launches):
            words, status = reference(self.scenario, launch)
            assert self.words[number] == words
            assert self.last[number][:-1] == [0] * (len(self.last[number]) - 1)
            assert self.last[number][-1:] == [1] * (len(words) > 0)
            done = self.done[number]
            assert (done.tag, done.status, done.words) == (7 + number, status, len(words))
            assert done.started <= done.first <= done.last


def header(count, status=GatherStatus.OK):
    return int.from_bytes(pack(ResultHeader, count=count, status=status), "little")
