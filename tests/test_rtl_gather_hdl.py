"""The Verilog of the gather unit: the core judged by cocotbext-axi, the whole against Amaranth."""

import json
import re

import pytest

from cosim.bench.run import cocotb_tests
from cosim.engines.build import MAKE_FLAGS
from rtl.emit_gather import CORE_MODULE, GATHER_MODULE, emit_gather, emit_gather_core
from tests.hdl_bench import find_tools, run_module
from tests.scenarios.dram import DDR4
from tests.scenarios.gather_unit import UNIT, story
from tests.test_rtl_gather_unit import play


@pytest.fixture
def tool_path(simulator, monkeypatch):
    find_tools(simulator, monkeypatch, MAKE_FLAGS)


@pytest.fixture
def run_bench(simulator, waves, tmp_path, tool_path):
    """Build sources and run a cocotb module on them; returns the log."""

    def run(sources, toplevel, bench, **environment):
        return run_module(
            simulator,
            sources,
            toplevel,
            f"tests.benches.{bench}",
            tmp_path,
            waves=waves,
            environment={"COCOTB_RANDOM_SEED": "1", **environment},
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("emit", "parameters"), [(emit_gather, {"times": DDR4}), (emit_gather_core, {})]
)
def test_no_logic_waits_for_an_event_that_time_0_does_not_bring(emit, parameters, tmp_path):
    """Undefined for good on Icarus: a lone assignment whose right side never changes."""
    *_, path = emit(tmp_path / "unit.v", **parameters)
    assert re.findall(r"always @\*\n    [^\n;]+;", path.read_text()) == []


@pytest.mark.hdl
@pytest.mark.slow
@pytest.mark.parametrize("name", cocotb_tests("tests.benches.gather_axi", ""))
def test_gather_core_reads_cocotbext_memory(run_bench, tmp_path, name):
    sources = emit_gather_core(tmp_path / "gather_core.v", data_bits=512, outstanding=16)
    chosen = f"{re.escape(name)}$"
    assert "PASS=1 FAIL=0" in run_bench(
        sources, CORE_MODULE, "gather_axi", COCOTB_TEST_FILTER=chosen
    )


@pytest.mark.hdl
@pytest.mark.slow
def test_unit_does_at_each_edge_what_it_does_in_amaranth(run_bench, tmp_path):
    sources = emit_gather(tmp_path / "gather_unit.v", **UNIT)
    told = tmp_path / "story.json"
    run_bench(sources, GATHER_MODULE, "gather_unit", STORY_RESULT=str(told))
    here = play(story()[1], free_after=777)
    expected = {"events": here.events, "results": here.results, "counters": here.counters}
    assert json.loads(told.read_text()) == json.loads(json.dumps(expected))
