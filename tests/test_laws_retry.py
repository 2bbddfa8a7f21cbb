"""Whole systems whose flash must be read at other levels: pages come right, or are given up."""

import json

import pytest

from tests.scenarios import one_request
from tests.system_runs import as_text, reference, run, run_function

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = ["firmware-csd", "fpga-csd"]
RETRYING = {"ssd.flash.operations": "all", "ssd.firmware.read_retries": 2}
OLD = RETRYING | {
    # 40 wrong bits a codeword at level 0, 28 at level 1, two at level 2; 14 can be corrected.
    "ssd.cells.cycles": 1000,
    "ssd.cells.age": "1000 h",
    "ssd.cells.worn_rate": "0 ppt",
    "ssd.cells.aged_rate": "18000 ppm",
    "ssd.cells.level_shares": "100 %, 70 %, 5 %",
}
T_FEAT_PS = 200_000
BITS = [8 * 18 * n + 7 for n in range(15)]
"""One more than can be corrected, of the first codeword."""


def document(constants):
    return one_request.document(constants)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_page_is_read_right_at_the_second_level(system):
    one, other = (run(system, name, document(OLD)) for name in ("icarus", "verilator"))
    assert one.subgraphs == reference(document(OLD))
    counters = one.result.counters
    assert counters["firmware.read_retries"] == counters["firmware.uncorrectable"] == 2
    assert counters["firmware.recovered_reads"] == 1
    assert counters["firmware.read_levels_set"] == 3
    assert counters["firmware.flash_reads"] == counters["medium.sensed"] == 3
    assert counters["channel.uncorrectable"] > 9 > 0 < counters["channel.corrected"] <= 9
    assert other.spans == one.spans
    assert other.latencies_ps == one.latencies_ps
    assert other.result.counters == counters
    assert other.subgraphs == one.subgraphs


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_retry_has_its_share_of_the_latency(system):
    clean, found = (run(system, "icarus", document(keys)) for keys in (RETRYING, OLD))
    before, after = clean.stages_ps(), found.stages_ps()
    assert after["flash.feature"] == 2 * T_FEAT_PS
    assert "flash.feature" not in before
    for stage in ("flash.sense", "flash.transfer", "flash.ecc", "firmware.flash_complete"):
        assert after[stage] == 3 * before[stage], stage
    for stage in ("firmware.retry_level", "firmware.retry_complete"):
        assert after[stage] > 0, stage
    # The way back to level 0 is nobody's wait.
    spans = [span for span in found.spans if span.stage == "flash.feature"]
    assert len(spans) == 3
    assert sum(after.values()) == found.latencies_ps[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_page_that_no_level_makes_good_is_a_media_error_and_the_device_serves_on(
    system, simulator
):
    text = as_text(document(RETRYING))
    flips = [(0, bit) for bit in BITS]
    folder = run_function("run_media_error", system, simulator, text, flips=flips)
    name, counters = json.loads((folder / "error.json").read_text())
    assert name == "UNRECOVERED_READ_ERROR"
    assert (counters["firmware.read_retries"], counters["firmware.recovered_reads"]) == (2, 0)
    assert counters["firmware.read_levels_set"] == 3
    assert counters["firmware.failed_commands"] == 1
    (hops,) = json.loads((folder / "subgraphs.json").read_text())
    assert (tuple(bytes.fromhex(hop) for hop in hops),) == reference(document(RETRYING))
