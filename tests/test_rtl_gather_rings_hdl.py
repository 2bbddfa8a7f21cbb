"""The Verilog of a gather unit with descriptor rings, edge by edge against Amaranth."""

import json

import pytest

from cosim.engines.build import MAKE_FLAGS
from rtl.emit_gather import GATHER_MODULE, emit_gather
from tests.hdl_bench import build_module, find_tools, run_module
from tests.scenarios.gather_ring_unit import RING_UNIT, told
from tests.scenarios.gather_unit import UNIT
from tests.test_rtl_gather_ring_unit import tell

pytestmark = [pytest.mark.hdl, pytest.mark.slow]


def test_unit_does_at_each_edge_what_it_does_in_amaranth(simulator, waves, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        find_tools(simulator, patch, MAKE_FLAGS)
        sources = emit_gather(tmp_path / "unit.v", **UNIT, **RING_UNIT)
        built = build_module(simulator, sources, GATHER_MODULE, tmp_path / "build", waves=waves)
        result = tmp_path / "story.json"
        run_module(
            simulator,
            built,
            GATHER_MODULE,
            "tests.benches.gather_ring_unit",
            tmp_path,
            waves=waves,
            environment={"COCOTB_RANDOM_SEED": "1", "STORY_RESULT": str(result)},
        )
    assert json.loads(result.read_text()) == json.loads(json.dumps(told(tell())))
