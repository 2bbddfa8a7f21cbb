"""Runs the cocotb tests of a user's module on a configuration's RTL, each in its own simulation."""

import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.config.load import LoadedConfig, pack
from cosim.engines.build import build
from cosim.engines.run import SimulationFailed, run_job
from cosim.engines.tools import Simulator, require
from cosim.errors import UserError
from cosim.own.find import find_own, named_system
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs

__all__ = ["OwnTest", "cocotb_tests", "run_tests"]


@dataclass(frozen=True)
class OwnTest:
    """One cocotb test: ``failure`` is empty if it passed; log and waves are in ``folder``."""

    name: str
    failure: str
    folder: Path


def cocotb_tests(module: str, pattern: str) -> list[str]:
    """Names of the cocotb tests of ``module`` that the regular expression ``pattern`` finds.

    Raises
    ------
    UserError
        If the pattern is not one, the module cannot be imported, or no test of it is left.
    """
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UserError(
            f"--filter must be a regular expression, not {pattern!r}: {error}"
        ) from None
    try:
        content = vars(importlib.import_module(module))
    except SyntaxError as error:
        raise UserError(f"{error.filename}:{error.lineno}: must be Python: {error.msg}") from None
    except Exception as error:  # the user's code may raise anything
        raise UserError(
            f"{module}: must be a module that can be imported: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from None
    generators: list[Any] = [item for item in content.values() if hasattr(item, "generate_tests")]
    names = [test.name for item in generators for test in item.generate_tests()]
    chosen = [name for name in names if wanted.search(name)]
    if not chosen:
        raise UserError(f"{module}: must have a cocotb test that matches {pattern!r}, not {names}")
    return chosen


def run_tests(
    loaded: LoadedConfig,
    module: Path,
    folder: Path,
    *,
    engine: str | None = None,
    waves: bool = False,
    pattern: str = "",
    system: str | None = None,
) -> Iterator[OwnTest]:
    """Run the tests of the file ``module``, one after the other; ``folder`` gets one folder each.

    The RTL is that of ``system``, with the user's blocks in it; of the first where it is None.

    Raises
    ------
    UserError, InputError
        If the file has no test that ``pattern`` finds, graph or trace cannot be used, or the
        simulator is missing.
    """
    if module.suffix != ".py" or not module.is_file():
        raise UserError(f"{module}: must be a Python file with cocotb tests")
    sys.path.insert(0, str(module.parent.resolve()))
    names = cocotb_tests(module.stem, pattern)
    chosen = named_system(loaded, system) if system else loaded.config.systems[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: output folder must be writable: {error.strerror}") from None
    simulator = Simulator(loaded.config.engine.name if engine is None else engine)
    require(simulator)
    inputs_sha256 = load_inputs(loaded).sha256
    design = machine_design(loaded.platforms, loaded.parts, find_own(loaded, chosen))
    built = build(design, simulator, waves=waves)
    job = {"loaded": pack(loaded), "inputs_sha256": inputs_sha256, "rtl_of": chosen.name}
    for name in names:
        own = (folder / re.sub(r"[^A-Za-z0-9_.=-]", "-", name)).resolve()
        failure = ""
        try:
            run_job(built, "", job, own, module=module.stem, test=name)
        except SimulationFailed as error:
            failure = str(error)
        yield OwnTest(name, failure, own)
