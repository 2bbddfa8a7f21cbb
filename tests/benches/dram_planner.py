"""The emitted planner takes the accesses of tests.scenarios.dram; the result is a file."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

from tests.scenarios.dram import ACCESSES, PLANNED, planned


@cocotb.test()
async def plans(dut):
    accesses, *_ = planned(PLANNED[-1], ACCESSES, seed=2)
    found = []
    for name in ("clk", "rst", "enable", "write", "time", "address", "id"):
        getattr(dut, name).value = 0
    for level in (1, 0) * 2:
        dut.rst.value = level
        dut.clk.value = level
        await Timer(2, "ns")
    dut.enable.value = 1
    for time, address, write, id in accesses:
        for name, value in (("time", time), ("address", address), ("write", write), ("id", id)):
            getattr(dut, name).value = value
        await Timer(2, "ns")
        found.append([int(dut.done.value), int(dut.hit.value)])
        for level in (1, 0):
            dut.clk.value = level
            await Timer(1, "ns")
    Path(os.environ["PLANNED_RESULT"]).write_text(json.dumps(found))
