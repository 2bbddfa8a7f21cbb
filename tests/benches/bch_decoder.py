"""Plays words to the emitted decoder, clock by clock, and notes what comes out; both are files."""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

INPUTS = ("valid", "word", "last", "enable")
OUTPUTS = ("out_valid", "out_word", "out_last", "codeword_valid", "codeword", "transfer", "quiet")
HALF_PS = 5000


async def clock(dut):
    """One clock; inputs set before are seen at its edge."""
    for level in (1, 0):
        dut.clk.value = level
        await Timer(HALF_PS, "ps")


@cocotb.test()
async def plays(dut):
    words = json.loads(Path(os.environ["BCH_WORDS"]).read_text())
    dut.clk.value = 0
    for name in INPUTS:
        getattr(dut, name).value = 0
    for reset in (0, 1, 1, 0):
        dut.rst.value = reset
        await clock(dut)
    told = []
    for values in words:
        for name, value in zip(INPUTS, values, strict=True):
            getattr(dut, name).value = value
        await Timer(HALF_PS, "ps")
        told.append([int(getattr(dut, name).value) for name in OUTPUTS])
        await clock(dut)
    Path(os.environ["BCH_TOLD"]).write_text(json.dumps(told))
