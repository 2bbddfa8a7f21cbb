"""No switch of a system changes what it samples, and each changes what it is there to change."""

import pytest

from cosim.results import moved_bytes
from cosim.units.fields import FieldReader
from rtl.contract.gather import GatherCounters
from tests.system_runs import hub_configuration, reference, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

FIRMWARE, FPGA = "firmware-csd", "fpga-csd"
BOTH = FIRMWARE, FPGA


def sampled(system, **changes):
    """A run on Icarus whose subgraphs are those of the reference."""
    document = hub_configuration(**changes)
    outcome = run(system, "icarus", document)
    assert outcome.subgraphs == reference(document)
    return outcome


def both(**keys):
    return {"systems": systems(keys, keys)}


def fpga(**keys):
    return {"systems": systems(fpga=keys)}


def firmware(**keys):
    return {"systems": systems(firmware=keys)}


def flash_bytes(outcome):
    return moved_bytes(outcome.result.spans)[0]["flash"]


def count(outcome, name):
    return outcome.result.counters[name]


@pytest.mark.parametrize("system", BOTH)
@pytest.mark.parametrize("fan_outs", [[4], [2, 2, 2]], ids=["one-hop", "three-hops"])
def test_any_number_of_hops(system, fan_outs):
    outcome = sampled(system, fan_outs=fan_outs)
    assert len(outcome.subgraphs[0]) == len(fan_outs)


@pytest.mark.parametrize("system", BOTH)
def test_ids_of_eight_bytes_take_more_flash(system):
    wide = sampled(system, run__graph__id_bytes=8)
    # The graph takes twice as many pages, and fewer of the ids sampled share one.
    assert flash_bytes(wide) > flash_bytes(sampled(system))
    assert wide.subgraphs == sampled(system).subgraphs


def test_positions_drawn_by_the_firmware_need_not_travel():
    here, there = sampled(FIRMWARE), sampled(FIRMWARE, **both(positions="device"))
    travelled = [moved_bytes(run.result.spans)[1]["ns_config"] for run in (here, there)]
    headers = 4096 * count(here, "firmware.ns_config_headers")
    # 16 bytes an entry, then 4 a position or 4 a key; empty lists have no positions.
    targets, ids = count(here, "firmware.targets"), count(here, "firmware.ids")
    assert travelled == [headers + 16 * targets + 4 * ids, headers + 20 * targets]


def test_positions_drawn_by_the_gather_unit_need_whole_lists():
    here, there = sampled(FPGA), sampled(FPGA, **both(positions="device"))
    assert moved_bytes(here.result.spans)[1]["positions"] > 0
    assert moved_bytes(there.result.spans)[1]["positions"] == 0
    moved = [moved_bytes(run.result.spans)[0]["p2p"] for run in (here, there)]
    assert moved[1] > moved[0]


@pytest.mark.parametrize("system", BOTH)
def test_parts_of_pages_are_enough(system):
    whole, part = sampled(system), sampled(system, **both(whole_page=False))
    assert flash_bytes(whole) == 2048 * count(whole, "firmware.flash_reads")
    assert flash_bytes(part) < flash_bytes(whole)
    assert flash_bytes(part) % 512 == 0
    # Both pass the ECC decoders, whose latency is that of a codeword.
    assert min(outcome.stages_ps()["flash.ecc"] for outcome in (whole, part)) > 0
    assert part.latencies_ps != whole.latencies_ps


@pytest.mark.parametrize(("targets", "commands"), [(1, 15), (3, 6), (1024, 2)])
def test_coalescing_decides_the_number_of_commands(targets, commands):
    outcome = sampled(FIRMWARE, **firmware(coalescing=targets))
    # One a hop and group of the eight root targets, one of which has no neighbours to go on from.
    assert count(outcome, "firmware.sampling_commands") == commands
    assert count(outcome, "firmware.commands") == commands


def test_blocks_are_read_as_often_as_asked_for():
    once, again = sampled(FPGA), sampled(FPGA, **fpga(unique_blocks=False))
    assert count(again, "host.reads") == count(again, "gather.id_reads")
    assert count(once, "host.reads") < count(again, "host.reads")


def test_whole_lists_are_those_that_the_device_would_draw_from():
    listed, drawn = (
        sampled(FPGA, **fpga(**keys)) for keys in ({"whole_lists": True}, {"positions": "device"})
    )
    assert count(listed, "host.reads") == count(drawn, "host.reads")
    assert listed.subgraphs == drawn.subgraphs == sampled(FPGA).subgraphs


def test_counters_are_read_over_pcie_behind_the_last_mini_batch():
    plain, read = sampled(FPGA), sampled(FPGA, **fpga(read_counters=True))
    assert read.latencies_ps == plain.latencies_ps
    counted = (one.result.counters for one in (plain, read))
    before, after = (
        {name: n for name, n in one.items() if name.startswith("gather.")} for one in counted
    )
    assert after == before
    (end,) = {batch.end.at_ps for batch in plain.result.batches[-1:]}
    late = [span for span in read.spans if span.kind == "card_registers" and span.start_ps >= end]
    assert sum(span.payload_bytes for span in late) == 4 * len(FieldReader(GatherCounters).names)
    assert not [span for span in plain.spans if span.start_ps >= end and span.request == 0]


def test_reads_in_flight_save_time():
    one, many = (sampled(FPGA, **fpga(reads_in_flight=n)) for n in (1, 32))
    assert one.latencies_ps[0] > 1.5 * many.latencies_ps[0]
    assert count(one, "host.reads") == count(many, "host.reads")


@pytest.mark.parametrize("system", BOTH)
def test_one_page_of_buffer_is_enough(system):
    outcome = sampled(system, **both(page_buffer="2 KiB"))
    assert count(outcome, "firmware.evictions") == count(outcome, "firmware.misses") - 1
    assert count(outcome, "firmware.buffer_full_waits") > 0
    assert outcome.latencies_ps[0] > sampled(system).latencies_ps[0]


@pytest.mark.parametrize("system", BOTH)
def test_all_switches_at_once(system):
    keys = {"positions": "device", "whole_page": False, "page_buffer": "2 KiB"}
    both_systems = systems(
        {**keys, "coalescing": 1}, {**keys, "reads_in_flight": 1, "unique_blocks": False}
    )
    sampled(system, systems=both_systems, run__graph__id_bytes=8)


@pytest.mark.parametrize("system", BOTH)
def test_clocks_that_run_on_change_nothing(system, simulator):
    stopped = run(system, simulator, hub_configuration())
    running = run(system, simulator, hub_configuration(engine={"stop_clocks": False}))
    assert running.spans == stopped.spans
    assert running.subgraphs == stopped.subgraphs
    counters = dict(stopped.result.counters)
    assert counters.pop("channel.clock_stops") > 0
    assert running.result.counters["channel.clock_stops"] == 0
    assert counters.items() <= running.result.counters.items()
