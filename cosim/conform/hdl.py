"""A block in an HDL simulator, for conformance runs: what is around it, and the job there."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cocotb.triggers import Timer
from cocotb.utils import get_sim_time

from cosim.conform.gather_cases import CASES
from cosim.conform.gather_lists import GatherLimits, Room
from cosim.conform.judge import Outcome, judge
from cosim.conform.wires import PERIOD_PS, Wires

__all__ = ["BENCH_PUBLIC", "bench_top", "play_gather"]

LEAD_PS = 1000
"""Outputs are looked at so long before an edge, when all has settled."""
BENCH_PUBLIC = (("csd_top", "drive"), ("csd_top", "seen"))
_NO_DELAY = 3  # cocotb's code for a write that takes effect at once
_KNOWN = str.maketrans("xXzZ", "0000")
_UNKNOWN = str.maketrans("01xXzZ", "001111")


def bench_top(
    module: str, ports: Mapping[str, tuple[bool, int]], parameters: Mapping[str, int | str | bool]
) -> str:
    """Verilog of ``csd_top``: a clock, and ``module`` between a register and a wire.

    What is written to ``drive`` is in the inputs from the next rising edge on; ``seen`` are the
    outputs. Both hold the ports in order, the first lowest. Edge n is at n clock periods.
    """
    wires = Wires(ports)
    shift = {True: 0, False: 0}
    pins = ["        .clk(clk)"]
    for name, (is_input, bits) in ports.items():
        first, vector = shift[is_input], "inputs" if is_input else "seen"
        pins.append(f"        .{name}({vector}[{first + bits - 1}:{first}])")
        shift[is_input] += bits
    values = ", ".join(f".{name}({_literal(value)})" for name, value in parameters.items())
    connected = ",\n".join(pins)
    head = f"{module} #({values})" if values else module
    return f"""`timescale 1ps/1ps
module csd_top;
    reg clk = 1'b0;
    reg [{wires.input_bits - 1}:0] drive = 0, inputs = 0;
    wire [{wires.output_bits - 1}:0] seen;
    always begin
        #{PERIOD_PS // 2} clk = 1'b0;
        #{PERIOD_PS // 2} clk = 1'b1;
    end
    always @(posedge clk) inputs <= drive;
    {head} block (
{connected}
    );
endmodule
"""


def _literal(value: int | str | bool) -> str:
    return json.dumps(value) if isinstance(value, str) else str(int(value))


class HdlDriver:
    """The bench of :func:`bench_top`, entered once a clock."""

    def __init__(self, dut: Any, wires: Wires) -> None:
        self._drive, self._seen = dut.drive._handle, dut.seen._handle
        self._bits = wires.input_bits
        self._applied: int | None = None
        self._clock = Timer(PERIOD_PS, "step")

    async def step(self, inputs: int) -> tuple[int, int]:
        """As in the protocol."""
        if inputs != self._applied:
            self._drive.set_signal_val_binstr(_NO_DELAY, format(inputs, f"0{self._bits}b"))
            self._applied = inputs
        await self._clock
        seen = self._seen.get_signal_val_binstr()
        try:
            return int(seen, 2), 0
        except ValueError:
            return int(seen.translate(_KNOWN), 2), int(seen.translate(_UNKNOWN), 2)


async def play_gather(dut: Any, job: Mapping[str, Any]) -> None:
    """Judge a block by the cases that the job names; the report grows case by case."""
    ports = {name: (is_input, bits) for name, (is_input, bits) in job["ports"].items()}
    limits = {**job["limits"], "modes": tuple(job["limits"]["modes"])}
    room = Room(limits=GatherLimits(**limits), beat_bytes=job["beat_bytes"])
    driver = HdlDriver(dut, Wires(ports))
    await Timer(PERIOD_PS - LEAD_PS, "step")
    outcomes: list[Outcome] = []
    for case in (each for each in CASES if each.name in job["cases"]):
        outcome = await judge(case, room, driver, ports, lambda: int(get_sim_time("step")))
        outcomes.append(outcome)
        Path(job["result"]).write_text(json.dumps([vars(each) for each in outcomes]))
