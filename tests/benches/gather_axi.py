"""The emitted gather core against cocotbext-axi's memory, with stalls at every stream."""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiRamRead, AxiReadBus

from rtl.contract.codec import pack, unpack
from rtl.contract.gather import GatherDone, GatherLaunch
from tests.scenarios.gather import random_scenario, reference

PERIOD_NS = 4
# The memory drives its beats' fields only with its first beat, and ready depends on their ID.
INPUTS = (
    *("rst", "now", "launches__valid", "launches__payload", "results__ready", "done__ready"),
    *(f"m_axi_{name}" for name in ("arready", "rvalid", "rid", "rdata", "rresp", "rlast")),
)


def pauses(most, seed):
    """Endless pause bits for a stream: runs of up to ``most`` idle clocks."""
    rng = random.Random(seed)
    while True:
        yield from (1,) * rng.randint(0, most)
        yield from (0,) * rng.randint(1, 4)


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
        ram = AxiRamRead(
            AxiReadBus.from_prefix(self.dut, "m_axi"),
            self.dut.clk,
            self.dut.rst,
            size=self.scenario.size,
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
                self.words.append((raw & (1 << 64) - 1, raw >> 64))

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
    scenario = random_scenario(seed, targets=24)
    scenario.faulty = []  # this memory does not fail; refused descriptors stay in
    bench = GatherBench(dut, scenario, stalls)
    await bench.start()
    for tag, launch in enumerate(scenario.launches):
        bench.words.clear()
        done = await with_timeout(bench.launch(launch, tag), 200, "us")
        words, status = reference(scenario, launch)
        assert [word for word, _ in bench.words] == words
        assert [last for _, last in bench.words] == [0] * (len(words) - 1) + [1]
        assert (done.tag, done.status, done.words) == (tag, status, len(words))
        assert done.started < done.first <= done.last
