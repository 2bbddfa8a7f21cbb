"""The Verilog of the gather core, judged by cocotbext-axi in both simulators."""

import os
import re

import pytest
from cocotb_tools.runner import get_runner

from cosim.engines.build import MAKE_FLAGS
from cosim.engines.tools import verilator_root
from rtl.emit_gather import CORE_MODULE, emit_gather, emit_gather_core

BUILD = {"verilator": ["-Wno-fatal", "-Wno-lint"], "icarus": ["-g2012"]}


@pytest.fixture
def tool_path(simulator, monkeypatch):
    """Environment in which the cocotb runner finds the simulator."""
    if simulator == "verilator":
        root = verilator_root()
        monkeypatch.setenv("VERILATOR_ROOT", str(root))
        monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("MAKEFLAGS", MAKE_FLAGS)
        monkeypatch.delenv("OPT", raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("emit", [emit_gather, emit_gather_core])
def test_no_logic_waits_for_an_event_that_time_0_does_not_bring(emit, tmp_path):
    """Undefined for good on Icarus: a lone assignment whose right side never changes."""
    *_, path = emit(tmp_path / "unit.v")
    assert re.findall(r"always @\*\n    [^\n;]+;", path.read_text()) == []


@pytest.mark.hdl
@pytest.mark.slow
@pytest.mark.usefixtures("tool_path")
def test_gather_core_reads_cocotbext_memory(simulator, waves, tmp_path):
    sources = emit_gather_core(tmp_path / "gather_core.v", data_bits=512, outstanding=16)
    runner = get_runner(simulator)
    runner.build(
        sources=sources,
        hdl_toplevel=CORE_MODULE,
        build_dir=tmp_path / "build",
        build_args=BUILD[simulator],
        timescale=("1ns", "1ps"),
        waves=waves,
        log_file=tmp_path / "build.log",
    )
    results = runner.test(
        hdl_toplevel=CORE_MODULE,
        test_module="tests.benches.gather_axi",
        build_dir=tmp_path / "build",
        test_dir=tmp_path,
        results_xml=str(tmp_path / "results.xml"),
        waves=waves,
        log_file=tmp_path / "test.log",
        extra_env={"COCOTB_RANDOM_SEED": "1"},
    )
    log = (tmp_path / "test.log").read_text()
    assert results.exists(), log
    assert "PASS=4 FAIL=0" in log, log
