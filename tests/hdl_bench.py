"""Plain cocotb modules on Verilog, for units that need no kernel."""

import os

import pytest
from cocotb_tools.runner import get_runner

from cosim.engines.tools import verilator_root

ARGUMENTS = {"verilator": ["-Wno-fatal", "-Wno-lint"], "icarus": ["-g2012"]}


def find_tools(simulator, monkeypatch, make_flags):
    """Set the environment in which the cocotb runner finds the simulator."""
    if simulator != "verilator":
        return
    root = verilator_root()
    monkeypatch.setenv("VERILATOR_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MAKEFLAGS", make_flags)
    monkeypatch.delenv("OPT", raising=False)


def build_module(simulator, sources, toplevel, folder, *, waves=False, more=()):
    """Build sources in ``folder``, for any number of :func:`run_module`.

    ``more`` are further arguments of the build.
    """
    get_runner(simulator).build(
        sources=sources,
        hdl_toplevel=toplevel,
        build_dir=folder,
        build_args=[*ARGUMENTS[simulator], *more],
        timescale=("1ps", "1ps"),
        waves=waves,
        log_file=folder.with_suffix(".log"),
    )
    return folder


def run_module(simulator, build, toplevel, module, folder, *, waves=False, environment=None):
    """Run a cocotb module on what was built in the folder ``build``; returns the log.

    A test that fails fails here, with the log.
    """
    log = folder / "test.log"
    try:
        get_runner(simulator).test(
            hdl_toplevel=toplevel,
            hdl_toplevel_lang="verilog",
            test_module=module,
            build_dir=build,
            test_dir=folder,
            results_xml=str(folder / "results.xml"),
            waves=waves,
            log_file=log,
            extra_env=environment,
        )
    except SystemExit:
        pytest.fail(log.read_text(), pytrace=False)
    return log.read_text()
