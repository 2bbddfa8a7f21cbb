"""Whole systems with dies that do not become ready: an error, a reset, and on it goes."""

import json

import pytest

from tests.scenarios import one_request
from tests.system_runs import as_text, reference, run_function

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

# Reads take 3 us, erases 30 us; for as long as they hang reads take 60 us.
WATCHED = {
    "ssd.flash.operations": "all",
    "ssd.flash.watchdog": "40 us",
}


@pytest.mark.parametrize("system", ["firmware-csd", "fpga-csd"])
def test_a_read_that_hangs_is_a_media_error_and_the_device_serves_on(system, simulator):
    document = one_request.document(WATCHED)
    folder = run_function("run_hanging", system, simulator, as_text(document))
    name, counters = json.loads((folder / "error.json").read_text())
    assert name == "UNRECOVERED_READ_ERROR"
    assert counters["firmware.way_resets"] == counters["channel.timeouts"] == 1
    assert counters["firmware.flash_reads"] == counters["firmware.failed_commands"] == 1
    (hops,) = json.loads((folder / "subgraphs.json").read_text())
    assert (tuple(bytes.fromhex(hop) for hop in hops),) == reference(document)
