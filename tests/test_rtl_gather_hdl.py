"""The Verilog of the gather unit: the core judged by cocotbext-axi, the whole against Amaranth."""

import json
import re
from functools import cache

import pytest

from cosim.bench.run import cocotb_tests
from cosim.engines.build import MAKE_FLAGS
from rtl.emit_gather import CORE_MODULE, GATHER_MODULE, emit_gather, emit_gather_core
from tests.gather_campaign import CORES, REDUCED, environment
from tests.hdl_bench import build_module, find_tools, run_module
from tests.scenarios.dram import DDR4
from tests.scenarios.gather_unit import UNIT, story
from tests.test_rtl_gather_unit import play

MODULES = {
    CORE_MODULE: (emit_gather_core, CORES["wide"]),
    GATHER_MODULE: (emit_gather, UNIT),
}


REACHED = (
    *("targets OK", "targets BAD_DESCRIPTOR", "targets BUS_ERROR", "targets ABORTED"),
    *("empty targets", "launches given up", "launches without words", "launches back to back"),
    *("beats SLVERR", "beats DECERR", "overtakes"),
)


@pytest.fixture(scope="module")
def tools(simulator):
    with pytest.MonkeyPatch.context() as patch:
        find_tools(simulator, patch, MAKE_FLAGS)
        yield


@pytest.fixture(scope="module")
def built(simulator, waves, tools, tmp_path_factory):
    """Emit and build a module; all its benches use the one build."""

    @cache
    def make(toplevel):
        folder = tmp_path_factory.mktemp(f"{toplevel}-{simulator}")
        emit, options = MODULES[toplevel]
        sources = emit(folder / f"{toplevel}.v", **options)
        return build_module(simulator, sources, toplevel, folder / "build", waves=waves)

    return make


@pytest.fixture
def run_bench(simulator, waves, built, tmp_path):
    """Run a cocotb module on a module of :data:`MODULES`; returns the log."""

    def run(toplevel, bench, **environment):
        return run_module(
            simulator,
            built(toplevel),
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
def test_gather_core_reads_cocotbext_memory(run_bench, name):
    chosen = f"{re.escape(name)}$"
    assert "PASS=1 FAIL=0" in run_bench(CORE_MODULE, "gather_axi", COCOTB_TEST_FILTER=chosen)


@pytest.mark.hdl
@pytest.mark.slow
def test_random_descriptors_give_what_the_reference_gives(run_bench, simulator, tmp_path):
    """A tenth of ``make gather-campaign``, on both simulators together."""
    found = tmp_path / "found.json"
    job = environment("wide", REDUCED[simulator], 7, tmp_path, found)
    run_bench(CORE_MODULE, "gather_campaign", **job)
    found = json.loads(found.read_text())
    assert found["differences"] == []
    assert found["counts"]["descriptors"] == REDUCED[simulator]
    assert min(found["kinds"].values()) > 5
    for name in REACHED:
        assert found["counts"][name] > 5, name


@pytest.mark.hdl
@pytest.mark.slow
def test_unit_does_at_each_edge_what_it_does_in_amaranth(run_bench, tmp_path):
    told = tmp_path / "story.json"
    run_bench(GATHER_MODULE, "gather_unit", STORY_RESULT=str(told))
    here = play(story()[1], free_after=777)
    expected = {"events": here.events, "results": here.results, "counters": here.counters}
    assert json.loads(told.read_text()) == json.loads(json.dumps(expected))
