"""The emitted gather unit plays the story of tests.scenarios.gather_unit; the result is a file."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

from rtl.emit_gather import DRAM_MEMORY, RESULT_MEMORY, STAGE_MEMORY
from tests.scenarios.gather_unit import SIZES, UnitPlayer, story

HALF_PS = 2000
INPUTS = (
    "launch",
    "launch_toggle",
    "stage",
    "stage_toggle",
    "result_free",
    "abort",
    "now",
    "rst",
    "clk",
)
MEMORIES = {"stage": STAGE_MEMORY, "results": RESULT_MEMORY, "dram": DRAM_MEMORY}


class HdlDriver:
    """The unit in an HDL simulator, its clock made by hand."""

    def __init__(self, dut):
        self._dut = dut
        self._memories = {name: self._find(path) for name, path in MEMORIES.items()}

    def _find(self, path):
        handle = self._dut
        for name in path.split("."):
            handle = getattr(handle, name)
        return handle

    async def start(self, *more):
        """Bring the unit out of reset; ``more`` are inputs that not every unit has."""
        for name in (*INPUTS, *more):
            getattr(self._dut, name).value = 0
        for reset in (0, 1, 1, 0):
            self._dut.rst.value = reset
            await self.clock(0)

    async def set(self, port, word):
        getattr(self._dut, port).value = word
        await Timer(2, "ps")

    async def get(self, port):
        return int(self._dut[port].value)

    async def clock(self, edge):
        self._dut.now.value = edge
        await Timer(2, "ps")
        for level in (1, 0):
            self._dut.clk.value = level
            await Timer(HALF_PS, "ps")

    async def store(self, memory, row, word):
        self._memories[memory][row].value = word
        await Timer(2, "ps")

    async def load(self, memory, row):
        # What lies behind the last result word was never written and is X on Icarus.
        return int(str(self._memories[memory][row].value).replace("X", "0"), 2)


@cocotb.test()
async def tells_the_story(dut):
    driver = HdlDriver(dut)
    await driver.start()
    scenario, actions = story()
    player = UnitPlayer(actions=actions, stop=True, free_after=777, **SIZES)
    await player.play(driver)
    first = scenario.launches[0].address // 64
    assert await driver.load("dram", first) == int.from_bytes(
        scenario.image[64 * first : 64 * first + 64], "little"
    )
    told = {name: getattr(player, name) for name in ("events", "results", "counters")}
    Path(os.environ["STORY_RESULT"]).write_text(json.dumps(told))
