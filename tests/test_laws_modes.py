"""Whole systems on other flash buses: the same subgraphs, in other times."""

import pytest

from tests.system_runs import configuration, reference, run

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = [
    {"kind": "firmware-csd", "whole_page": False},
    {"kind": "fpga-csd", "reads_in_flight": 4},
]
NAMES = [system["kind"] for system in SYSTEMS]
FOUR_A_CLOCK = {"ssd.flash.mode": 7}
"""400 MT/s at 100 MHz."""
PULSES = {"ssd.flash.interface": "sdr", "ssd.flash.mode": 4}
CLOCKED = {"ssd.flash.interface": "nv-ddr", "ssd.flash.mode": 5}


def on_bus(overrides):
    return configuration(systems=SYSTEMS, platform_overrides=overrides)


@pytest.mark.parametrize("system", NAMES)
def test_at_four_transfers_a_clock_both_simulators_tell_the_same_story(system):
    document = on_bus(FOUR_A_CLOCK)
    one, other = run(system, "verilator", document), run(system, "icarus", document)
    assert one.subgraphs == other.subgraphs == reference(document)
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters


@pytest.mark.parametrize("overrides", [PULSES, CLOCKED], ids=["sdr", "nv-ddr"])
@pytest.mark.parametrize("system", NAMES)
def test_on_other_interfaces_subgraphs_are_those_of_the_reference(system, overrides):
    document = on_bus(overrides)
    assert run(system, "icarus", document).subgraphs == reference(document)
