"""Runs a job inside an HDL simulator: a child process with cocotb, which calls one function."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Event
from typing import Any
from xml.etree import ElementTree

import cocotb_tools.config
import find_libpython

from cosim.engines.build import Build
from cosim.engines.leash import leashed
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from rtl.top import TOP

__all__ = ["JOB_VARIABLE", "SimulationFailed", "run_job"]

JOB_VARIABLE = "CSD_COSIM_JOB"
FAILURE = "failure.json"
POLL_S = 0.1


class SimulationFailed(Exception):
    """The simulation ended with an error.

    Parameters
    ----------
    message : str
        What happened.
    kind : str
        Name of the error's class in the child.
    log : Path, optional
        The simulator's log, where it says more than ``message``, which then names it.
    """

    def __init__(self, message: str, kind: str = "", log: Path | None = None) -> None:
        self.message = message
        self.kind = kind
        self.log = log
        super().__init__(message, kind, log)

    def __str__(self) -> str:
        return self.message if self.log is None else f"{self.message}; see {self.log}"


def run_job(
    build: Build,
    function: str,
    job: Mapping[str, Any],
    folder: Path,
    *,
    module: str = "cosim.bench.entry",
    test: str | None = None,
    time_limit_s: float | None = None,
    stop: Event | None = None,
) -> None:
    """Call ``function`` ("module:name") as ``await function(dut, job)`` in the simulator.

    ``job`` is anything that JSON carries. The function writes its results itself. ``folder`` gets
    the job, the simulator's log, and the waves of a build that has them (``build.waves_name``).
    Another ``module`` of cocotb tests may be named instead of the entry that calls ``function``,
    and the one ``test`` of it that is to run. Whoever sets ``stop`` ends the simulator at once. It
    does not outlive the call, however that ends, nor (on Linux) a caller that is killed.

    Raises
    ------
    UserError
        If the child raised one: with its message.
    SimulationFailed
        If it raised anything else, crashed, took longer than ``time_limit_s`` or was stopped.
    """
    folder = folder.resolve()  # the child runs in it
    folder.mkdir(parents=True, exist_ok=True)
    failure = folder / FAILURE
    failure.unlink(missing_ok=True)
    description = folder / "job.json"
    description.write_text(json.dumps({"function": function, "failure": str(failure), "job": job}))
    results = folder / "results.xml"
    results.unlink(missing_ok=True)
    environment = _environment(module, description, results)
    environment.pop("COCOTB_TEST_FILTER", None)
    if test is not None:
        environment["COCOTB_TEST_FILTER"] = f"{re.escape(f'{module}.{test}')}$"
    log = folder / "simulator.log"
    status = _simulate(_command(build, folder), folder, environment, log, time_limit_s, stop)
    if failure.exists():
        raise _failed(json.loads(failure.read_text()))
    _check_results(results, status, log)


def _simulate(
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    log: Path,
    time_limit_s: float | None,
    stop: Event | None,
) -> int:
    """Run the simulator to its end and return its exit status."""
    until = None if time_limit_s is None else time.monotonic() + time_limit_s
    with log.open("w") as out:
        # In a session of its own, Ctrl-C at the terminal is for this process alone to deal with.
        process = subprocess.Popen(
            leashed(command),
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        while stop is None or not stop.is_set():
            try:
                return process.wait(POLL_S)
            except subprocess.TimeoutExpired:
                if until is not None and time.monotonic() > until:
                    raise SimulationFailed(
                        f"The simulation must end within {time_limit_s} s of wall time; "
                        "it was stopped"
                    ) from None
        raise SimulationFailed("The simulation was stopped")
    finally:
        process.kill()
        process.wait()


def _check_results(results: Path, status: int, log: Path) -> None:
    """Raise unless the simulator ended well and all tests of its results file passed."""
    if not results.exists():
        raise SimulationFailed(f"The simulator ended with status {status}", log=log)
    for failed in ElementTree.parse(results).iter("failure"):
        message = " ".join(failed.get("message", "").split())
        kind = failed.get("type", "")
        raise SimulationFailed(f"{kind}: {message}", kind, log)
    if status:
        raise SimulationFailed(f"The simulator ended with status {status}", log=log)


def _environment(module: str, description: Path, results: Path) -> dict[str, str]:
    library = find_libpython.find_libpython()
    if library is None:
        raise UserError("cocotb needs a shared libpython, and this Python has none")
    # A kept build may have been linked in another virtual environment that is gone.
    libraries = [str(cocotb_tools.config.libs_dir), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(path for path in libraries if path),
        "COCOTB_TOPLEVEL": TOP,
        "COCOTB_TEST_MODULES": module,
        "COCOTB_RESULTS_FILE": str(results),
        "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
        # Else each new handle calls Python's logging several times.
        "GPI_LOG_LEVEL": os.environ.get("GPI_LOG_LEVEL", "WARNING"),
        "TOPLEVEL_LANG": "verilog",
        "GPI_USERS": f"{library};{cocotb_tools.config.pygpi_entry_point()}",
        "PYGPI_PYTHON_BIN": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        JOB_VARIABLE: str(description),
    }


def _command(build: Build, folder: Path) -> list[str]:
    waves = folder / build.waves_name
    if build.simulator is Simulator.VERILATOR:
        options = ["--trace", "--trace-file", str(waves)] if build.waves else []
        return [str(build.program), *options]
    entry = cocotb_tools.config.lib_entry("vpi", "icarus")
    options = ["-fst", f"+waves={waves}"] if build.waves else ["-none"]
    return ["vvp", "-n", "-m", str(entry), str(build.program), *options]


def _failed(report: Mapping[str, Any]) -> Exception:
    if report["user_error"]:
        return UserError(report["message"])
    return SimulationFailed(report["message"], report["kind"])
