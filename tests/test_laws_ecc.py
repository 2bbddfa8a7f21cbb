"""ECC decoders in the channels: bits that read wrong are corrected, too many end the command."""

import pytest

from cosim.engines.run import SimulationFailed
from tests.scenarios import one_request
from tests.scenarios.stage_formulas import ecc_clocks
from tests.system_runs import as_text, configuration, reference, run, run_function

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = ["firmware-csd", "fpga-csd"]
ABSENT = {"ssd.flash.decoder": "absent"}
CORRECTED_BITS = 14
CODEWORD_BITS = 8 * (256 + 21)
BITS = [CODEWORD_BITS * n // (CORRECTED_BITS + 1) + 7 for n in range(CORRECTED_BITS + 1)]
"""One more than can be corrected, of the first codeword, parity included."""


def one_page(system, bits=(), simulator="icarus", **engine):
    """One request that reads page 0, ``bits`` of which read wrong."""
    document = one_request.document() | {"engine": engine}
    return run(system, simulator, document, flips=[(0, bit) for bit in bits])


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_latency_of_the_decoder_is_a_stage(system):
    plain, found = one_request.outcome(system, ABSENT), one_page(system)
    stages = found.stages_ps()
    assert stages.pop("flash.ecc") == ecc_clocks() * 10_000
    assert set(stages) == set(plain.stages_ps())
    assert stages["flash.transfer"] == plain.stages_ps()["flash.transfer"]
    assert found.latencies_ps[0] > plain.latencies_ps[0]
    assert found.subgraphs == plain.subgraphs


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_can_be_corrected_changes_no_result_and_no_time(system):
    clean, found = one_page(system), one_page(system, BITS[:CORRECTED_BITS])
    assert found.subgraphs == clean.subgraphs
    assert found.spans == clean.spans
    before, after = clean.result.counters, found.result.counters
    reads = after["medium.sensed"]
    assert {name: count for name, count in after.items() if count != before[name]} == {
        "channel.corrected": reads,
        "firmware.corrected_bits": CORRECTED_BITS * reads,
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_bit_more_is_a_media_error(system):
    document = one_request.document()
    flips = [(0, bit) for bit in BITS]
    with pytest.raises(SimulationFailed, match="not UNRECOVERED_READ_ERROR") as caught:
        run_function("run", system, "icarus", as_text(document), flips=flips, blind=False)
    assert caught.value.kind == "NvmeError"


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_clock_that_stops_changes_nothing(system):
    stopping, running = one_page(system, BITS[:3]), one_page(system, BITS[:3], stop_clocks=False)
    assert running.spans == stopping.spans
    assert running.subgraphs == stopping.subgraphs


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_simulators_tell_the_same_story(system):
    flips = tuple((page, bit) for page in range(3) for bit in BITS[:5])
    one, other = (
        run(system, name, configuration(), flips=flips) for name in ("verilator", "icarus")
    )
    assert one.result.counters["firmware.corrected_bits"] > 0
    assert one.latencies_ps == other.latencies_ps
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters
    assert one.subgraphs == other.subgraphs == reference()
