"""A firmware that goes from hop to hop by itself obeys the laws, in RTL: see test_firmware_hops."""

import pytest

from cosim.conservation import check_bytes
from tests.scenarios import crowded

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

BY_HOST = {"hops": "host"}
SWITCHES = {
    "host, positions by the host": BY_HOST | {"positions": "host"},
    "host, positions by the device": BY_HOST,
    "device, row pointers in DRAM": {},
    "device, row pointers on flash": {"row_pointers": "flash"},
}
POINTERS = "ssd.firmware.row_pointer_memory"


def outcome(switch, **changes):
    return crowded.outcome("chains", SWITCHES[switch], **changes)


def visible(found):
    return found.latencies_ps, found.spans


@pytest.mark.parametrize("switch", SWITCHES)
def test_all_switches_give_the_reference_and_account_for_time_and_bytes(switch):
    found = outcome(switch)
    assert found.subgraphs == crowded.expected("chains")
    check_bytes(found.spans)
    assert sum(found.stages_ps().values()) == found.latencies_ps[0]
    counters = found.result.counters
    chains = switch.startswith("device")
    assert counters["firmware.commands"] == (1 if chains else 2)
    assert counters["firmware.row_lookups"] == chains * counters["firmware.targets"]
    on_flash = counters["firmware.pointer_misses"]
    assert (on_flash > 0) == switch.endswith("on flash")
    reads = sum(span.stage == "flash.transfer" for span in found.spans)
    assert reads == counters["firmware.misses"] + on_flash


def test_each_switch_is_another_run():
    found = [visible(outcome(switch)) for switch in SWITCHES]
    assert all(one != other for n, one in enumerate(found) for other in found[:n])


def test_the_memory_for_pages_of_row_pointers_changes_times_alone():
    switch = "device, row pointers on flash"
    before, after = outcome(switch), outcome(switch, constants={POINTERS: "1 KiB"})
    assert (visible(after) == visible(before)) is False
    assert after.subgraphs == before.subgraphs == crowded.expected("chains")
