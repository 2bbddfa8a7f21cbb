"""Every key of a system and every constant of a platform changes some result, and no subgraph.

What a run shows is its spans (so its latencies, stages and bytes) and its counters. Times that one
calm request meets are tested in ``test_law_times``; the others are here, with all that is no time.
"""

import pytest
import yaml

from cosim.compare import compare
from cosim.config.load import load_config
from cosim.config.model import Engine, FirmwareCsd, FpgaCsd
from cosim.errors import UserError
from tests.scenarios import crowded, one_request
from tests.scenarios.platform_keys import constant_keys, time_keys
from tests.test_law_times import UNSEEN

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

FIRMWARE, FPGA, DRAWS, HOPS, CHAINS = crowded.NAMES
CALM_FIRMWARE, CALM_FPGA = one_request.SYSTEMS
BINDING = "ssd.firmware.binding"
CORES = "ssd.firmware.cores"
LARGE_PAGES = {
    "ssd.nand.page": "4 KiB",
    "ssd.nand.spare": "768 B",
    "ssd.firmware.page_buffer": "16 KiB",
    "fpga.window": "256 KiB",
}
# Two codewords of 512 bytes are the least that can be read; their code needs a larger field.
LONG_CODEWORDS = LARGE_PAGES | {"ssd.page_format.lba": "4 KiB", "ssd.page_format.field_bits": 13}
CACHED = {"ssd.firmware.page_buffer_memory": "cached"}

AGED = {"ssd.cells.cycles": 3000, "ssd.cells.age": "2000 h"}
"""Cells with three or four wrong bits a codeword."""

CHANGES = {
    "ssd.nand.page": (FIRMWARE, "2 KiB", {"ssd.nand.spare": "448 B"}),
    "ssd.nand.luns": (FIRMWARE, 1),
    "ssd.flash.channels": (FIRMWARE, 2),
    "ssd.flash.ways": (FIRMWARE, 1),
    "ssd.flash.part": (FIRMWARE, "ull-3us"),
    "ssd.flash.interface": (FIRMWARE, "sdr"),
    "ssd.flash.mode": (CALM_FIRMWARE, 2),
    "ssd.flash.clock": (CALM_FIRMWARE, "200 MHz"),
    "ssd.flash.policy": (DRAWS, "oldest-ready-first", {"ssd.flash.operations": "all"}),
    "ssd.flash.landing_slots": (FIRMWARE, 1),
    "ssd.flash.decoder": (CALM_FIRMWARE, "absent"),
    # On one channel its places are as good as each other.
    "ssd.flash.striping": (FIRMWARE, "way lun channel", {"ssd.flash.channels": 2}),
    "ssd.cells.cycles": (CALM_FIRMWARE, 2000, AGED),
    "ssd.cells.age": (CALM_FIRMWARE, "1000 h", AGED),
    "ssd.cells.fresh_rate": (CALM_FIRMWARE, "500 ppm"),
    "ssd.cells.worn_rate": (CALM_FIRMWARE, "200 ppm", AGED),
    "ssd.cells.aged_rate": (CALM_FIRMWARE, "100 ppm", AGED),
    "ssd.cells.cycles_exponent": (CALM_FIRMWARE, 1, AGED),
    "ssd.cells.age_exponent": (CALM_FIRMWARE, 1, AGED),
    "ssd.cells.level_shares": (CALM_FIRMWARE, "50 %", AGED),
    "ssd.cells.die_spread": (CALM_FIRMWARE, "0 %", AGED),
    "ssd.cells.seed": (CALM_FIRMWARE, 2, AGED),
    "ssd.page_format.lba": (FPGA, "4 KiB", LARGE_PAGES),
    "ssd.page_format.chunk": (FIRMWARE, "512 B", LONG_CODEWORDS),
    "ssd.page_format.field_bits": (FIRMWARE, 13),
    "ssd.page_format.corrected_bits": (CALM_FIRMWARE, 12),
    **{
        f"{CORES}.{core}.{key}": (CALM_FIRMWARE, *value)
        for core in ("core0", "core1")
        for key, *value in (
            ("type", "cortex_m7"),
            ("clock", "500 MHz"),
            ("issue_rate", 2),
            ("poll", "50 cycles"),
            ("loads.page_buffer_cached", "500 ns", CACHED),
        )
    },
    "ssd.firmware.page_buffer_memory": (CALM_FIRMWARE, "cached"),
    **{
        f"{BINDING}.{task}": (FIRMWARE, "core1")
        for task in ("front_end", "isp_control", "translate", "flash_issue", "flash_completion")
    },
    f"{BINDING}.gather": (FIRMWARE, "core0"),
    f"{BINDING}.write_back": (FIRMWARE, "core0"),
    f"{BINDING}.block_io": (FPGA, "core0"),
    "ssd.firmware.page_buffer": (FIRMWARE, "8 KiB"),
    "ssd.firmware.page_buffer_policy": (FIRMWARE, "clock"),
    "ssd.firmware.flash_order": (FIRMWARE, "idle-first"),
    "ssd.firmware.flash_priority": (FIRMWARE, "sampling host background"),
    "ssd.firmware.flash_patience": (FIRMWARE, 1, {"ssd.firmware.flash_order": "idle-first"}),
    "ssd.firmware.page_jobs": (FIRMWARE, 1),
    "ssd.firmware.subgraph_buffer": (FIRMWARE, "128 B"),
    "ssd.firmware.body_pieces_ahead": (FIRMWARE, 1),
    "ssd.nvme.command_slots": (FPGA, 1),
    "ssd.nvme.queue_entries": (FPGA, 2),
    "ssd.nvme.transfer_limit": (DRAWS, "4 KiB"),
    "ssd.dma.slots": (FIRMWARE, 1),
    "ssd.dma.descriptor": (FIRMWARE, "4 KiB"),
    "ssd.dram_rate": (CALM_FIRMWARE, "2 GB/s"),
    "ssd.pcie.rate": (CALM_FIRMWARE, "2 GB/s"),
    "ssd.pcie.max_payload": (CALM_FIRMWARE, "8 B"),
    "ssd.pcie.header": (CALM_FIRMWARE, "20 B"),
    "ssd.pcie.max_read_request": (CALM_FIRMWARE, "256 B"),
    "ssd.pcie.read_completion": (CALM_FIRMWARE, "128 B"),
    "ssd.pcie.read_window": (CALM_FIRMWARE, "1 KiB"),
    "ssd.pcie.posted_headers": (CALM_FIRMWARE, 1),
    "ssd.pcie.posted_data": (CALM_FIRMWARE, "16 B", {"ssd.pcie.max_payload": "16 B"}),
    "fpga.clock": (CALM_FPGA, "125 MHz"),
    "fpga.window": (DRAWS, "32 KiB"),
    "fpga.lanes": (FPGA, 1),
    "fpga.outstanding_reads": (FPGA, 16),
    "fpga.result_words": (FPGA, 1),
    # A block is then more pieces than there are slots.
    "fpga.stage_slots": (FPGA, 4, {"fpga.stage_slot": "64 B"}),
    "fpga.stage_slot": (FPGA, "256 B"),
    **{
        f"fpga.hops.{key}": (HOPS, "1 us")
        for key in ("command", "completion", "target", "id", "launch")
    },
    "fpga.dram.banks": (FPGA, 4),
    "fpga.dram.groups": (FPGA, 2),
    "fpga.dram.row": (FPGA, "128 B"),
    "fpga.dram.t_ccd_l": (FPGA, "16 ns"),
    "fpga.dram.t_ras": (FPGA, "64 ns"),
    "fpga.dram.t_rtp": (FPGA, "60 ns"),
    "fpga.dram.t_wr": (FPGA, "60 ns"),
    "fpga.dram.t_rrd": (FPGA, "16 ns", {"fpga.dram.groups": 2, "fpga.dram.t_rrd_l": "16 ns"}),
    "fpga.dram.t_rrd_l": (FPGA, "16 ns"),
    "fpga.dram.t_faw": (FPGA, "200 ns"),
    "fpga.dram.t_refi": (FPGA, "4 us"),
    "fpga.dram.t_rfc": (FPGA, "500 ns"),
    "fpga.p2p.rate": (CALM_FPGA, "2 GB/s"),
    "fpga.pcie.rate_up": (CALM_FPGA, "2 GB/s"),
    "fpga.pcie.rate_down": (CALM_FPGA, "2 GB/s"),
    **{
        f"fpga.{link}.{key}": (CALM_FPGA, value)
        for link in ("p2p", "pcie")
        for key, value in (("max_payload", "32 B"), ("header", "20 B"))
    },
    **{
        f"fpga.{link}.{key}": (CALM_FPGA, value, {f"fpga.{link}.max_payload": "32 B"})
        for link in ("p2p", "pcie")
        for key, value in (("posted_headers", 1), ("posted_data", "32 B"))
    },
}
"""By constant: a system whose run it changes, another value, and what else must change with it."""

LIMITS = {
    "ssd.nand.spare": ("256 B", "must hold 1386 bytes of codewords"),
    "ssd.nand.pages_per_block": (1, "must fit the flash array"),
    "ssd.nand.blocks_per_lun": (1, "must fit the flash array"),
    "ssd.nand.chip_enables": (1, "ways must be at most chip_enables, not 2 > 1"),
}
"""Constants that only bound what is accepted: a value that is too small, and the refusal."""

ROUNDS = "a worker's blocks are written before they are read; tests.test_rtl_dram_planner"

TESTED_ALONE = {
    **{f"fpga.dram.{key}": ROUNDS for key in ("t_wtr_s", "t_wtr_l", "t_rtw", "turn")},
    "fpga.dram.reorder": (
        "who goes first of reads with different AXI IDs that are far ahead of the data; "
        "tests.test_rtl_dram_planner"
    ),
    "ssd.firmware.read_retries": "decides whether a page is given up; tests.test_laws_retry",
    "host.compare": "positions are drawn with replacement; tests.test_laws_sampling",
    "ssd.firmware.list_pages": (
        "bounds commands of several hundred KB; tests.test_firmware_sampling"
    ),
    "ssd.flash.operations": (
        "bounds what a channel is asked for, beyond the reads of these systems; "
        "tests.test_rtl_nand_controller, tests.test_rtl_nand_controller_operations"
    ),
    "ssd.flash.suspends": (
        "for programs and erases, beyond the reads of these systems; "
        "tests.test_rtl_nand_controller_suspend"
    ),
    "fpga.hops.frontier": (
        "bounds the nodes of a hop; tests.test_cosim_hops, tests.test_cosim_hypothetical"
    ),
    "ssd.firmware.hop_targets": (
        "bounds the targets of a hop; tests.test_firmware_hops, tests.test_cosim_firmware_hops"
    ),
    "ssd.firmware.row_pointer_memory": (
        "where the firmware goes from hop to hop; tests.test_laws_firmware_hops, "
        "tests.test_cosim_firmware_hops"
    ),
    "ssd.flash.watchdog": "for dies that hang; tests.test_rtl_nand_controller_order",
}

BACKGROUND = {"reads_in_flight": 1, "size": "512 B", "seed": 1}

SYSTEM_KEYS = {
    "firmware-csd": {
        "positions": (FIRMWARE, "device"),
        "page_buffer": (FIRMWARE, "8 KiB"),
        "whole_page": (FIRMWARE, False),
        "coalescing": (FIRMWARE, 2),
        "hops": (CHAINS, "host"),
        "row_pointers": (CHAINS, "flash"),
        "background": (FIRMWARE, BACKGROUND),
    },
    "fpga-csd": {
        "background": (FPGA, BACKGROUND),
        "positions": (FPGA, "device"),
        "page_buffer": (FPGA, "1 KiB"),
        "whole_page": (FPGA, False),
        "launch": (FPGA, "ring"),
        "reads_in_flight": (FPGA, 1),
        "unique_blocks": (FPGA, False),
        "whole_lists": (FPGA, True),
        "read_counters": (FPGA, True),
        "hops": (DRAWS, "device", crowded.WINDOWS[HOPS]),
    },
}
LABELS = {"kind", "name"}
"""Keys that say which system it is, and what it is called."""
OWN_RTL = {"gather", "flash_channel"}
"""Keys that put other hardware in the place of ours; tests.test_cosim_own_rtl."""


def visible(result):
    """All that a run shows beside its subgraphs, without the system's name."""
    found = result.result
    return result.latencies_ps, result.spans, dict(found.counters)


def test_every_constant_has_an_entry():
    here = [*CHANGES, *LIMITS, *TESTED_ALONE]
    assert len(here) == len(set(here))
    assert set(here) | set(time_keys()) - set(UNSEEN) == set(constant_keys())


@pytest.mark.parametrize("key", list(CHANGES))
def test_constant_changes_something(key):
    system, value, *companions = CHANGES[key]
    others = companions[0] if companions else {}
    scene = crowded if system in crowded.SYSTEMS else one_request
    before = scene.outcome(system, constants=others)
    after = scene.outcome(system, constants=others | {key: value})
    # Not "!=", whose message would be all spans of both.
    assert (visible(after) == visible(before)) is False
    assert after.subgraphs == before.subgraphs


@pytest.mark.parametrize("key", list(LIMITS))
def test_limit_refuses_what_is_beyond_it(key, tmp_path):
    value, message = LIMITS[key]
    path = tmp_path / "config.yaml"
    constants = {"ssd.nand.pages_per_block": 8, "ssd.nand.blocks_per_lun": 8} | {key: value}
    path.write_text(yaml.safe_dump(crowded.document(FIRMWARE, constants=constants)))
    with pytest.raises(UserError, match=message):
        compare(load_config(path), engine="icarus", out=tmp_path / "run")


@pytest.mark.parametrize("system", crowded.NAMES)
def test_subgraphs_are_those_of_the_reference(system):
    assert crowded.outcome(system).subgraphs == crowded.expected(system)


def test_every_policy_of_the_page_buffer_runs_otherwise():
    key = "ssd.firmware.page_buffer_policy"
    clock, queues = (crowded.outcome(FIRMWARE, constants={key: name}) for name in ("clock", "2q"))
    assert (visible(clock) == visible(queues)) is False
    assert clock.subgraphs == queues.subgraphs == crowded.expected(FIRMWARE)


def test_every_key_of_a_system_has_an_entry():
    for model in (FirmwareCsd, FpgaCsd):
        (kind,) = model.model_fields["kind"].annotation.__args__
        assert set(SYSTEM_KEYS[kind]) | LABELS == set(model.model_fields) - OWN_RTL


@pytest.mark.parametrize(
    ("kind", "key"), [(kind, key) for kind, keys in SYSTEM_KEYS.items() for key in keys]
)
def test_key_of_a_system_changes_something(kind, key):
    system, value, *companions = SYSTEM_KEYS[kind][key]
    constants = companions[0] if companions else {}
    before = crowded.outcome(system, constants=constants)
    after = crowded.outcome(system, {key: value}, constants=constants)
    assert (visible(after) == visible(before)) is False
    assert after.subgraphs == before.subgraphs


@pytest.mark.parametrize(
    ("key", "value"),
    [("reads_in_flight", 1), ("unique_blocks", False), ("page_buffer", "1 KiB"),
     ("whole_page", False)],
)  # fmt: skip
def test_key_of_a_system_matters_where_the_card_goes_from_hop_to_hop(key, value):
    before = crowded.outcome(HOPS)
    after = crowded.outcome(HOPS, {key: value})
    assert (visible(after) == visible(before)) is False
    assert after.subgraphs == before.subgraphs


def test_name_changes_the_name_alone():
    before = crowded.outcome(FIRMWARE)
    after = crowded.outcome(FIRMWARE, {"name": "another"})
    assert after.result.name == "another"
    assert visible(after) == visible(before)


def test_keys_of_the_engine_change_nothing():
    tested = {"stop_clocks", "name", "waves"}
    assert set(Engine.model_fields) == tested
    before = crowded.outcome(FPGA)
    running = crowded.outcome(FPGA, engine={"stop_clocks": False})
    assert running.spans == before.spans
    assert running.subgraphs == before.subgraphs


@pytest.mark.parametrize(("system", "core"), [(FIRMWARE, "core0"), (FPGA, "core1")])
def test_slow_core_changes_the_order_of_other_units(system, core):
    """Not only when things end: what the flash and the links do comes in another order."""
    before = crowded.outcome(system)
    slow = crowded.outcome(system, constants={f"{CORES}.{core}.clock": "500 MHz"})
    assert slow.latencies_ps[0] > before.latencies_ps[0]
    assert (order_of_others(slow) == order_of_others(before)) is False
    assert slow.subgraphs == before.subgraphs


def order_of_others(result):
    """Which units other than cores began what, in order of time."""
    others = [span for span in result.spans if not span.unit.startswith("core")]
    starts = sorted((span.start_ps, span.number) for span in others)
    by_number = {span.number: span for span in others}
    return [(by_number[n].unit, by_number[n].stage, by_number[n].kind) for _, n in starts]
