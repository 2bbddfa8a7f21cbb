"""What Yosys (``stat -json``) and nextpnr (``--report``) say, read into figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cosim.yowasp import ToolFailed

__all__ = ["KU15P", "Area", "Timing", "TimingPath", "ecp5_area", "timing", "xcup_area"]

ECP5_COUNTS = {
    "luts": "TRELLIS_COMB",
    "flip_flops": "TRELLIS_FF",
    "block_rams": "DP16KD",
    "multipliers": "MULT18X18D",
}
"""Fields of nextpnr's utilisation; TRELLIS_COMB are LUT4s, those of carries and RAMs among them.
Ref: nextpnr, ecp5/docs; Project Trellis, bel types."""

XCUP_CELLS = {
    "luts": {**dict.fromkeys((f"LUT{inputs}" for inputs in range(1, 7)), 1), "INV": 0},
    "flip_flops": dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1),
    "block_rams": {"RAMB36E2": 2, "RAMB18E2": 1},
    "multipliers": {"DSP48E2": 1},
}
"""Weights of UltraScale+ cells; block RAMs in halves of 18 kbit. Ref: Xilinx UG974."""

LUT_RAMS = {"RAM32M16": 16, "RAM32M": 4, "RAM64M8": 8, "RAM64M": 4, "RAM32X1D": 2, "RAM64X1D": 2}
"""LUTs of each distributed RAM. Ref: Xilinx UG974, UG574."""


@dataclass(frozen=True)
class Area:
    """Cells of a netlist. Block RAMs are 18 kbit each (DP16KD, or half a RAMB36E2)."""

    luts: int
    flip_flops: int
    block_rams: int
    multipliers: int


KU15P = Area(luts=522_720, flip_flops=1_045_440, block_rams=2 * 984, multipliers=1_968)
"""What there is of each in a KU15P. Ref: Xilinx DS890, Kintex UltraScale+ feature summary."""


@dataclass(frozen=True)
class TimingPath:
    """The slowest path between two registers: names of both, and where the time goes, in ps."""

    begin: str
    end: str
    logic_ps: int
    routing_ps: int
    levels: int
    """Logic cells between the registers."""


@dataclass(frozen=True)
class Timing:
    """Largest clock frequency, in kHz, and what limits it."""

    fmax_khz: int
    path: TimingPath


def ecp5_area(report: Mapping[str, Any]) -> Area:
    """Cells in use, from nextpnr's report.

    Raises
    ------
    ToolFailed
        If the report has no utilisation.
    """
    used = _member(report, "utilization", "nextpnr's report")
    return Area(**{name: used.get(cell, {}).get("used", 0) for name, cell in ECP5_COUNTS.items()})


def xcup_area(stat: Mapping[str, Any]) -> Area:
    """Cells of the design, from Yosys's statistics; distributed RAMs count as their LUTs.

    Raises
    ------
    ToolFailed
        If the statistics have no cells by type.
    """
    cells = _member(_member(stat, "design", "Yosys's statistics"), "num_cells_by_type", "design")
    counts = {
        name: sum(weight * cells.get(cell, 0) for cell, weight in weights.items())
        for name, weights in XCUP_CELLS.items()
    }
    counts["luts"] += sum(weight * cells.get(cell, 0) for cell, weight in LUT_RAMS.items())
    return Area(**counts)


def timing(report: Mapping[str, Any]) -> Timing:
    """The one clock of a unit, from nextpnr's report.

    Raises
    ------
    ToolFailed
        If there is not exactly one clock, or no path within it.
    """
    clocks = _member(report, "fmax", "nextpnr's report")
    if len(clocks) != 1:
        raise ToolFailed(f"nextpnr's report must have one clock, not {len(clocks)}")
    (clock,) = clocks
    paths = [
        path
        for path in _member(report, "critical_paths", "nextpnr's report")
        if path["from"] == path["to"] == f"posedge {clock}"
    ]
    if not paths:
        raise ToolFailed(f"nextpnr's report must have a path within {clock}, but has none")
    return Timing(round(1000 * clocks[clock]["achieved"]), _path(paths[0]["path"]))


def _path(steps: list[dict[str, Any]]) -> TimingPath:
    routing = sum(step["delay"] for step in steps if step["type"] == "routing")
    whole = sum(step["delay"] for step in steps)
    return TimingPath(
        begin=_register(steps[0]["from"]["cell"]),
        end=_register(steps[-1]["to"]["cell"]),
        logic_ps=round(1000 * (whole - routing)),
        routing_ps=round(1000 * routing),
        levels=sum(step["type"] == "logic" for step in steps),
    )


def _register(cell: str) -> str:
    """The signal behind a flip-flop, without what the tools appended to its name."""
    return re.sub(r"(\$\d+)?_(TRELLIS_FF|LUT4|PFUMX|L6MUX21|CCU2C)_.*$", "", cell)


def _member(values: Mapping[str, Any], name: str, where: str) -> Any:
    try:
        return values[name]
    except KeyError:
        raise ToolFailed(f"{where} must have {name!r}, but has {', '.join(values)}") from None
