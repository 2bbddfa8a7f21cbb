"""The trace on which both simulators are compared reaches whatever the design can get into."""

import json
from collections import Counter

import pytest

from tests.scenarios.reach import SYSTEMS, reach_configuration
from tests.system_runs import ROOT, as_text, reference, run, run_function

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

NAMES = [system.get("name", system["kind"]) for system in SYSTEMS]

ELSEWHERE = {
    # What only a broken host, firmware or flash leads to.
    "firmware.bad_doorbells": "test_firmware_nvme:test_bad_doorbell_is_counted_and_ignored",
    "firmware.failed_commands": "test_laws_errors:test_a_broken_ns_config_is_an_error_by_name",
    "firmware.uncorrectable": "test_firmware_sampling:"
    "test_uncorrectable_page_fails_all_who_wait_for_it_and_is_read_again_later",
    "channel.uncorrectable": "test_rtl_nand_correction:"
    "test_a_page_is_corrected_a_fixed_time_after_it_was_read",
    "channel.bad_commands": "test_rtl_nand_unit:test_each_kind_of_bad_command_is_refused_alone",
    # Nothing is written to the flash.
    "channel.programs": "test_rtl_nand_controller_operations:test_counters_of_programs_and_erases",
    "channel.erases": "test_rtl_nand_controller_operations:test_counters_of_programs_and_erases",
    "channel.failed": "test_rtl_nand_controller_operations:test_status_decides_the_end",
    "channel.timeouts": "test_rtl_nand_controller_order:"
    "test_a_lun_that_hangs_is_given_up_until_a_reset",
    "channel.suspends": "test_rtl_nand_controller_suspend:test_a_read_does_not_wait",
    "gather.bad_descriptors": "test_rtl_gather:test_refused_descriptor_does_not_stop_the_next",
    # Every page can be corrected at once.
    "firmware.read_retries": "test_laws_retry:test_a_page_is_read_right_at_the_second_level",
    "firmware.recovered_reads": "test_laws_retry:test_a_page_is_read_right_at_the_second_level",
    "firmware.read_levels_set": "test_laws_retry:test_a_page_is_read_right_at_the_second_level",
    "firmware.way_resets": "test_laws_hang:"
    "test_a_read_that_hangs_is_a_media_error_and_the_device_serves_on",
    # It takes more than 126 segments of at least 4 KiB: half a megabyte of ids.
    "firmware.list_pages": "test_firmware_sampling:"
    "test_body_and_result_of_hundreds_of_segments_are_chained",
    # The host goes from hop to hop here.
    **{
        f"firmware.{name}": "test_firmware_hops:test_many_chains_share_the_device"
        for name in (
            "chains",
            "row_lookups",
            "hop_target_waits",
            "pointer_page_jobs",
            "pointer_hits",
            "pointer_merges",
            "pointer_misses",
        )
    },
    "firmware.pointer_refills": "test_firmware_hops:test_parts_of_a_page_of_row_pointers_are_read",
    "firmware.pointer_evictions": "test_firmware_hops:"
    "test_pages_of_row_pointers_have_frames_of_their_own",
    # A graph begins at block 0, whence ids of 4 or 8 bytes never cross a page's end.
    "firmware.straddles": "test_firmware_sampling:"
    "test_ids_that_straddle_pages_blocks_and_codewords",
    # One worker copies, launches and fetches, one after the other.
    "gather.ties": "test_laws_reach:test_two_workers_meet_at_the_card",
    "gather.launch_waits": "test_laws_reach:test_two_workers_meet_at_the_card",
    "pcie.fpga.down.waits": "test_laws_reach:test_two_workers_meet_at_the_card",
    "pcie.fpga.up.waits": "test_laws_reach:test_two_workers_meet_at_the_card",
    # The host launches by register here.
    "gather.ring_runs": "test_laws_rings:test_every_round_is_a_doorbell_an_interrupt_and_an_entry",
    "gather.ring_writes": "test_laws_rings:"
    "test_every_round_is_a_doorbell_an_interrupt_and_an_entry",
    # Links have room for all that comes in a round trip.
    "pcie.ssd.read-window.waits": "test_cosim_credits:test_reads_wait_for_room",
    **{
        f"pcie.{link}.credits.waits": "test_cosim_credits:"
        "test_a_write_holds_the_link_while_it_waits_for_credits"
        for link in ("ssd.up", "ssd.down", "fpga.up", "fpga.down", "p2p")
    },
    # Results land in a memory that takes a word a clock.
    "gather.output_stalls": "test_rtl_gather:test_reads_stop_while_results_are_not_taken",
    # A command costs the firmware more than a clock of the channel.
    "channel.hand_over_waits": "test_cosim_channel_port:"
    "test_commands_of_one_moment_go_over_one_an_edge",
    # Times that are equal to the picosecond are a matter of chance.
    "lockstep.rtl_ties": "test_cosim_lockstep:"
    "test_rtl_comes_first_at_equal_times_in_the_order_of_units",
    "lockstep.kernel_ties": "test_cosim_lockstep:"
    "test_rtl_comes_before_a_process_that_starts_at_the_same_time",
}
"""Counters that no good trace of this size moves, and the test that does."""


@pytest.fixture(scope="module")
def outcomes():
    document = reach_configuration()
    return {
        simulator: {name: run(name, simulator, document) for name in NAMES}
        for simulator in ("icarus", "verilator")
    }


def test_every_counter_moves(outcomes):
    total = Counter()
    for outcome in outcomes["icarus"].values():
        total.update(outcome.result.counters)
    still = {name for name, count in total.items() if not count}
    assert still <= set(ELSEWHERE)
    assert set(ELSEWHERE) <= set(total)


def test_clocks_and_words_of_the_gather_unit_add_up(outcomes):
    for name, outcome in outcomes["icarus"].items():
        counters = outcome.result.counters
        if "gather.busy" not in counters:
            continue
        parts = ("transfers", "output_stalls", "memory_stalls", "gaps")
        assert counters["gather.busy"] == sum(counters[f"gather.{part}"] for part in parts), name
        assert counters["gather.words"] == counters["gather.ids"] + counters["gather.descriptors"]
        assert counters["gather.ids"] == counters["gather.id_reads"] + counters["gather.merges"]


def test_what_stands_still_is_moved_by_a_test_of_its_own():
    for name, test in ELSEWHERE.items():
        module, function = test.split(":")
        assert f"def {function}(" in (ROOT / "tests" / f"{module}.py").read_text(), name


def test_two_workers_meet_at_the_card():
    folder = run_function("run_two_workers", "fpga-csd", "icarus", as_text())
    counters = json.loads((folder / "counters.json").read_text())
    assert counters["gather.launch_waits"] == 1
    assert counters["gather.launches"] == 2
    for name in ("gather.ties", "pcie.fpga.down.waits", "pcie.fpga.up.waits"):
        assert counters[name] > 0, name


@pytest.mark.parametrize("name", NAMES)
def test_both_simulators_tell_the_same_story(outcomes, name):
    one, other = (outcomes[simulator][name] for simulator in ("icarus", "verilator"))
    assert one.latencies_ps == other.latencies_ps
    assert one.spans == other.spans
    assert one.result.counters == other.result.counters
    assert one.subgraphs == other.subgraphs == reference(reach_configuration())
