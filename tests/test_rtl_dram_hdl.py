"""The Verilog of the DRAM's planner says of each access what the plain model says."""

import json

import pytest

from cosim.engines.build import MAKE_FLAGS
from rtl.emit import emit_component
from rtl.gather.dram_planner import DramPlanner
from tests.hdl_bench import build_module, find_tools, run_module
from tests.scenarios.dram import ACCESSES, PLANNED, planned

TOP = "dram_planner"


@pytest.mark.hdl
@pytest.mark.slow
def test_accesses_equal_the_model(simulator, tmp_path, monkeypatch):
    find_tools(simulator, monkeypatch, MAKE_FLAGS)
    source, told = tmp_path / f"{TOP}.v", tmp_path / "planned.json"
    emit_component(source, DramPlanner(PLANNED[-1]), TOP)
    build = build_module(simulator, [source], TOP, tmp_path / "build", waves=False)
    environment = {"COCOTB_RANDOM_SEED": "1", "PLANNED_RESULT": str(told)}
    bench = f"tests.benches.{TOP}"
    run_module(simulator, build, TOP, bench, tmp_path, waves=False, environment=environment)
    _, expected, model = planned(PLANNED[-1], ACCESSES, seed=2)
    assert json.loads(told.read_text()) == [list(found) for found in expected]
    assert min(model.passed, model.hits, model.misses, model.refreshes, model.turns) > 50
