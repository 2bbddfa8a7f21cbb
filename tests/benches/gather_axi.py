"""The emitted gather core against cocotbext-axi's memory, with stalls at every stream."""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiRamRead, AxiReadBus

from rtl.contract.codec import pack, unpack
from rtl.contract.gather import GatherDone, GatherLaunch, GatherStatus
from tests.scenarios.gather import given_up, random_scenario, reference, targets

PERIOD_NS = 4
RESULT_WORDS = 2
"""Of a transfer, where the unit is not made for another number."""
# The memory drives its beats' fields only with its first beat, and ready depends on their ID.
INPUTS = (
    *(
        "rst",
        "abort",
        "now",
        "launches__valid",
        "launches__payload",
        "results__ready",
        "done__ready",
    ),
    *(f"m_axi_{name}" for name in ("arready", "rvalid", "rid", "rdata", "rresp", "rlast")),
)


def pauses(most, seed):
    """Endless pause bits for a stream: runs of up to ``most`` idle clocks."""
    rng = random.Random(seed)
    while True:
        yield from (1,) * rng.randint(0, most)
        yield from (0,) * rng.randint(1, 4)


class FaultyRam(AxiRamRead):
    """A memory that answers with SLVERR, and zeros, where the scenario says so."""

    def __init__(self, *arguments, scenario, **options):
        super().__init__(*arguments, size=scenario.size, **options)
        self._scenario = scenario

    async def _read(self, address, length):
        if self._scenario.fails(address, length):
            raise OSError(f"{length} bytes at {address:#x} must not be read")
        return await super()._read(address, length)


class GatherBench:
    """Clock, reset, edge number, the memory, and the unit's streams."""

    def __init__(self, dut, scenario, stalls):
        self.dut = dut
        self.scenario = scenario
        self.stalls = stalls
        self.words = []

    async def start(self):
        dut = self.dut
        for name in INPUTS:
            getattr(dut, name).value = 0
        Clock(dut.clk, PERIOD_NS, "ns").start()
        # Reset rises after an edge, so that event-driven simulators see it rise.
        await Timer(PERIOD_NS + 1, "ns")
        dut.rst.value = 1
        await Timer(3 * PERIOD_NS, "ns")
        dut.rst.value = 0
        self._connect_memory()
        cocotb.start_soon(self._count())
        cocotb.start_soon(self._take())

    def _connect_memory(self):
        """Only after reset: the memory looks at its bus at once, where Icarus starts with X."""
        ram = FaultyRam(
            AxiReadBus.from_prefix(self.dut, "m_axi"),
            self.dut.clk,
            self.dut.rst,
            scenario=self.scenario,
        )
        ram.write(0, bytes(self.scenario.image))
        if self.stalls:
            ram.ar_channel.set_pause_generator(pauses(self.stalls, 1))
            ram.r_channel.set_pause_generator(pauses(self.stalls, 2))

    async def _count(self):
        for edge in itertools.count(1):
            self.dut.now.value = edge
            await RisingEdge(self.dut.clk)

    async def _take(self):
        """Take result words, at a pace of its own."""
        ready = 0
        for pause in pauses(self.stalls, 3):
            self.dut.results__ready.value = ready = 1 - pause
            await RisingEdge(self.dut.clk)
            if ready and self.dut.results__valid.value:
                raw = int(self.dut.results__payload.value)
                # 64-bit words, then how many of them count, then last.
                count_bits = RESULT_WORDS.bit_length()
                count = raw >> 64 * RESULT_WORDS & (1 << count_bits) - 1
                last = raw >> 64 * RESULT_WORDS + count_bits
                for number in range(count):
                    word = raw >> 64 * number & (1 << 64) - 1
                    self.words.append((word, last * (number == count - 1)))

    async def launch(self, launch, tag):
        """Hand a launch over and return its end."""
        dut = self.dut
        word = pack(GatherLaunch, descriptor_address=launch.address, count=launch.count, tag=tag)
        dut.launches__payload.value = int.from_bytes(word, "little")
        dut.launches__valid.value = 1
        await self._handshake("launches")
        dut.launches__valid.value = 0
        dut.done__ready.value = 1
        await self._handshake("done")
        dut.done__ready.value = 0
        return unpack(GatherDone, self.done.to_bytes(32, "little"))

    async def abort(self, clocks):
        """Give the launch up that is in the unit after so many clocks."""
        busy = self.dut.busy
        while clocks:
            await RisingEdge(self.dut.clk)
            clocks -= int(busy.value)
        self.dut.abort.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.abort.value = 0

    async def _handshake(self, name):
        valid, ready = (getattr(self.dut, f"{name}__{end}") for end in ("valid", "ready"))
        while True:
            await RisingEdge(self.dut.clk)
            if valid.value and ready.value:
                self.done = int(self.dut.done__payload.value) if name == "done" else 0
                return


@cocotb.test()
@cocotb.parametrize(seed=[1, 2], stalls=[0, 3])
async def gathers_what_the_reference_gathers(dut, seed, stalls):
    """Refused descriptors and reads that fail are among what it gathers."""
    scenario = random_scenario(seed, targets=24)
    lists = range(scenario.size // 2, scenario.size, 2048)
    scenario.faulty += [range(start, start + 64) for start in lists]
    bench = GatherBench(dut, scenario, stalls)
    await bench.start()
    failed = set()
    for tag, launch in enumerate(scenario.launches):
        bench.words.clear()
        done = await with_timeout(bench.launch(launch, tag), 200, "us")
        words, status = reference(scenario, launch)
        assert [word for word, _ in bench.words] == words
        assert [last for _, last in bench.words] == [0] * (len(words) - 1) + [1]
        assert (done.tag, done.status, done.words) == (tag, status, len(words))
        assert done.started < done.first <= done.last
        failed |= {status for status, _ in targets(words)}
    assert failed == {GatherStatus.OK, GatherStatus.BAD_DESCRIPTOR, GatherStatus.BUS_ERROR}


@cocotb.test()
@cocotb.parametrize(stalls=[0, 3])
async def a_launch_is_given_up_at_any_moment(dut, stalls):
    """Reads that fail are in it, too; the launch behind it is whole."""
    scenario = random_scenario(4, targets=12)
    bench = GatherBench(dut, scenario, stalls)
    await bench.start()
    long, short = scenario.launches
    expected, rest = targets(reference(scenario, long)[0]), reference(scenario, short)[0]
    rng, counts = random.Random(stalls), []
    for number in range(8):
        bench.words.clear()
        abort = cocotb.start_soon(bench.abort(rng.randint(1, 20 * (number + 1))))
        done = await with_timeout(bench.launch(long, number), 200, "us")
        await abort
        found = targets([word for word, _ in bench.words])
        counts.append(given_up(found, expected))
        assert done.words == len(bench.words)
        assert done.status == GatherStatus.ABORTED
        bench.words.clear()
        await with_timeout(bench.launch(short, 99), 200, "us")
        assert [word for word, _ in bench.words] == rest
    assert sum(count > 0 for count in counts) > 4
