"""Whole systems in other timing modes of the flash bus: the same subgraphs, in other times."""

from functools import cache

import pytest

from tests.system_runs import configuration, reference, run

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = [
    {"kind": "firmware-csd", "whole_page": False},
    {"kind": "fpga-csd", "reads_in_flight": 4},
]
MODES = {
    "nv-ddr2 mode 7, 4 transfers a clock": {"ssd.flash.mode": 7},
}


@cache
def document(mode):
    return configuration(systems=SYSTEMS, platform_overrides=MODES[mode])


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
@pytest.mark.parametrize("mode", MODES)
def test_subgraphs_and_times_are_those_of_every_engine(mode, simulator):
    changed = document(mode)
    plain = configuration(systems=SYSTEMS)
    for system in ("firmware-csd", "fpga-csd"):
        found = run(system, simulator, changed)
        assert found.subgraphs == reference(changed)
        assert found.latencies_ps != run(system, "icarus", plain).latencies_ps
        assert found.spans == run(system, "icarus", changed).spans
