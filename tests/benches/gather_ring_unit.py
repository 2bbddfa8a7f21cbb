"""The emitted gather unit plays the story of tests.scenarios.gather_ring_unit."""

import json
import os
from pathlib import Path

import cocotb

from tests.benches.gather_unit import HdlDriver
from tests.scenarios.gather_ring_unit import RingPlayer, ring_story, told
from tests.scenarios.gather_unit import SIZES


@cocotb.test()
async def tells_the_story_of_the_rings(dut):
    driver = HdlDriver(dut)
    await driver.start("ring_write", "ring_write_toggle")
    *_, actions = ring_story()
    player = RingPlayer(actions=actions, stop=True, free_after=900, **SIZES)
    await player.play(driver)
    Path(os.environ["STORY_RESULT"]).write_text(json.dumps(told(player)))
