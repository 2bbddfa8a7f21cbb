# amaranth: UnusedElaboratable=no
"""Each operation of the flash-channel controller: its bus cycles, times, stamps and status.

Cycles are written out by hand from ONFI 3.1, section 5; times are those of the part, in clocks.
"""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.onfi import FEATURE_BYTES
from rtl.nand.controller import FlashChannelController
from tests.controller_bench import (
    FULL,
    FULL_TWO_LUNS,
    FULL_TWO_PLANES,
    Command,
    ControllerBench,
)
from tests.scenarios.nand import PERIOD_PS, TINY
from tests.scenarios.nand_reads import page_image

pytestmark = pytest.mark.slow

ROW, COLUMN = 5, 6
DATA = random.Random(1).randbytes(304)
PAGE = ".06 .00 .05 .00 .00"
"""Column and row above as five address cycles."""
STATUS = "78 .05 .00 .00 out 2"


def command(operation, **fields):
    length = FEATURE_BYTES if operation == ChannelOperation.SET_FEATURES else 10
    fields = {"tag": 1, "row": ROW, "column": COLUMN, "length": length} | fields
    return Command(operation=operation, **fields)


def hexadecimal(count):
    return f"<{DATA[:count].hex()}>"


CYCLES = {
    ChannelOperation.READ: [f"00 {PAGE} 30", f"05 {PAGE} E0 out 10"],
    ChannelOperation.SENSE: [f"00 {PAGE} 30"],
    ChannelOperation.TRANSFER: [f"05 {PAGE} E0 out 10"],
    ChannelOperation.READ_CACHE_RANDOM: [f"00 {PAGE} 31", f"05 {PAGE} E0 out 10"],
    ChannelOperation.READ_CACHE_SEQUENTIAL: ["31", f"05 {PAGE} E0 out 10"],
    ChannelOperation.READ_CACHE_END: ["3F", f"05 {PAGE} E0 out 10"],
    ChannelOperation.PROGRAM: [f"80 {PAGE} {hexadecimal(10)} 10", STATUS],
    ChannelOperation.PROGRAM_CACHE: [f"80 {PAGE} {hexadecimal(10)} 15", STATUS],
    ChannelOperation.LOAD: [f"80 {PAGE} {hexadecimal(10)}"],
    ChannelOperation.LOAD_MORE: [f"85 .06 .00 {hexadecimal(10)}"],
    ChannelOperation.PROGRAM_MORE: [f"85 .06 .00 {hexadecimal(10)} 10", STATUS],
    ChannelOperation.ERASE: ["60 .05 .00 .00 D0", STATUS],
    ChannelOperation.READ_STATUS: [STATUS],
    ChannelOperation.READ_TARGET_STATUS: ["70 out 2"],
    ChannelOperation.RESET: ["FF"],
    ChannelOperation.READ_ID: ["90 .05", "out 10"],
    ChannelOperation.READ_PARAMETER_PAGE: ["EC .05", "out 10"],
    ChannelOperation.GET_FEATURES: ["EE .05", "out 10"],
    ChannelOperation.SET_FEATURES: [f"EF .05 {hexadecimal(FEATURE_BYTES)}"],
}
PLANE_CYCLES = {
    ChannelOperation.SENSE_PLANE: [f"00 {PAGE} 32"],
    ChannelOperation.PROGRAM_PLANE: [f"80 {PAGE} {hexadecimal(10)} 11"],
    ChannelOperation.ERASE_PLANE: ["60 .05 .00 .00 D1"],
    ChannelOperation.TRANSFER: [f"06 {PAGE} E0 out 10"],
}
BY_NAME = {"ids": lambda value: getattr(value, "name", None)}


@pytest.mark.parametrize("operation", CYCLES, **BY_NAME)
def test_bus_cycles(operation):
    bench = ControllerBench(launch={0: DATA})
    done = bench.run([command(operation)])
    assert bench.texts == CYCLES[operation]
    assert done[1]["status"] == ChannelStatus.OK


@pytest.mark.parametrize("operation", PLANE_CYCLES, **BY_NAME)
def test_bus_cycles_on_two_planes(operation):
    bench = ControllerBench(FULL_TWO_PLANES, launch={0: DATA})
    bench.run([command(operation)])
    assert bench.texts == PLANE_CYCLES[operation]


def test_one_byte_a_clock():
    bench = ControllerBench(launch={0: DATA}, phases=1)
    operations = (ChannelOperation.PROGRAM, ChannelOperation.READ)
    bench.run([command(operation, tag=tag) for tag, operation in enumerate(operations)])
    assert bench.texts == [text for operation in operations for text in CYCLES[operation]]
    assert bench.data == {1: page_image(FULL, 0, 0, ROW)[6:16]}


def test_every_operation_is_tried():
    assert set(CYCLES) | set(PLANE_CYCLES) == set(ChannelOperation)


@pytest.mark.parametrize(
    ("operation", "first"),
    [
        (ChannelOperation.READ_CACHE_SEQUENTIAL, "78 .15 .00 .00 31"),
        (ChannelOperation.READ_CACHE_END, "78 .15 .00 .00 3F"),
        (ChannelOperation.RESET, "FF"),
    ],
)
def test_a_lun_is_addressed_before_a_command_without_address(operation, first):
    """LUN 1's bit lies above four row bits."""
    bench = ControllerBench(FULL_TWO_LUNS)
    bench.run([command(operation, lun=1)])
    assert bench.texts[0] == first


def test_an_address_of_one_byte_has_no_lun_bits():
    bench = ControllerBench(FULL_TWO_LUNS)
    bench.run([command(ChannelOperation.READ_ID, lun=1, row=0x20)])
    assert bench.texts == ["90 .20", "out 10"]


@pytest.mark.parametrize(
    ("operation", "column", "expected"),
    [
        (ChannelOperation.READ, COLUMN, page_image(FULL, 0, 0, ROW)[6:16]),
        (ChannelOperation.READ_ID, 0, bytes((0x90 + ROW + n) for n in range(10))),
        (ChannelOperation.READ_PARAMETER_PAGE, 0, bytes((0xEC + ROW + n) for n in range(10))),
        (ChannelOperation.GET_FEATURES, 0, bytes((0xEE + ROW + n & 0xFF) for n in range(10))),
    ],
    **BY_NAME,
)
def test_data_out(operation, column, expected):
    bench = ControllerBench()
    bench.run([command(operation, column=column)])
    assert bench.data == {1: expected}


@pytest.mark.parametrize("length", [2, 126, 128, 130, 304])
def test_data_in_comes_from_the_slot(length):
    slots = {slot: random.Random(slot).randbytes(304) for slot in range(3)}
    bench = ControllerBench(launch=slots, slots=3)
    done = bench.run(
        [
            command(ChannelOperation.PROGRAM, tag=slot, slot=slot, column=0, length=length)
            for slot in slots
        ]
    )
    loads = [text for text in bench.texts if text.startswith("80")]
    assert loads == [f"80 .00 .00 .05 .00 .00 <{slots[n][:length].hex()}> 10" for n in range(3)]
    assert [done[slot]["slot"] for slot in slots] == [0, 1, 2]
    assert [done[slot]["polls"] for slot in slots] == [1, 1, 1]


def test_times_of_data_in():
    """tADL 145 ns, tWPRE 15 ns, tWPST 25 ns at 10 ns a clock; 5 words of two bytes."""
    bench = ControllerBench(launch={0: DATA})
    bench.run([command(ChannelOperation.PROGRAM)])
    marks = bench.log_of("80").marks
    assert marks["dqs_on"] - marks["rise_before"] == 15
    assert marks["first_in"] - marks["dqs_on"] == 2
    assert marks["last_in"] - marks["first_in"] == 4
    assert marks["dqs_off"] - marks["last_in"] == 1 + 3
    assert bench.log_of("80").falls[-1] == marks["dqs_off"]


def test_data_in_after_a_change_of_column_waits_for_tccs():
    """tCCS is 95 ns."""
    bench = ControllerBench(launch={0: DATA})
    bench.run([command(ChannelOperation.PROGRAM_MORE)])
    marks = bench.log_of("85").marks
    assert marks["dqs_on"] - marks["rise_before"] == 10


def test_chip_enable_stays_for_tch_after_data_without_a_confirm():
    part = replace(FULL, t_ch_ps=95_000)
    bench = ControllerBench(part, launch={0: DATA})
    bench.run([command(ChannelOperation.LOAD)])
    marks = bench.log_of("80").marks
    assert marks["end"] - marks["dqs_off"] == 10


@pytest.mark.parametrize("name", ["t_cs_ps", "t_whr_ps", "t_rr_ps"])
def test_output_without_a_choice_keeps_its_times(name):
    part = replace(FULL, **{name: 295_000})
    bench = ControllerBench(part)
    bench.run([command(ChannelOperation.GET_FEATURES)])
    output = bench.log_of("out")
    assert output.marks["re_fall"] - output.begin == 30


def stamps(**fields):
    return fields


def test_stamps_of_a_program():
    """By hand, at 10 ns a clock; WE# 2 clocks low and 1 high, CE# 1 clock before."""
    bench = ControllerBench(launch={0: DATA}, busy={0x10: 300})
    (done,) = bench.run([command(ChannelOperation.PROGRAM, edge=8)]).values()
    accepted = 8 + 1  # checked
    began = accepted + 4 + 1  # asked, chosen, looked up, begun; CE#
    address = began + 2 + 5 * 3 + 1  # the die latches one edge later
    data_end = address + 15 + 2 + 5 + 3  # tADL, tWPRE, five words, tWPST
    confirm = data_end + 2
    ready = confirm + 10 + 300  # tWB, then busy
    poll = ready + 4 + 1
    status = poll + 1 + 2 + 3 * 3 + 6 + 2  # 78h and three rows, tWHR, tRPRE
    last = status + 1 + 3  # tDQSRE, captured
    assert {name: done[name] for name in ("accepted", "command", "issued")} == stamps(
        accepted=accepted, command=began, issued=confirm
    )
    assert {name: done[name] for name in ("ready", "transfer", "last")} == stamps(
        ready=ready, transfer=poll, last=last
    )
    assert (done["polls"], done["nand_status"]) == (1, 0xE0)


def test_a_poll_that_brings_ready_and_status_is_one_moment():
    bench = ControllerBench(FULL_TWO_LUNS, busy={0xD0: 100})
    (done,) = bench.run([command(ChannelOperation.ERASE, lun=1)]).values()
    polls = [text for text in bench.texts if text.startswith("78")]
    # Decided 300, 600 and 900 ns after D0h; the third answer is 230 ns later, after 1.1 us.
    assert len(polls) == done["polls"] == 3
    assert done["ready"] == done["transfer"] == done["last"]
    assert (done["status"], done["nand_status"]) == (ChannelStatus.OK, 0xE0)


@pytest.mark.parametrize(
    "operation",
    [ChannelOperation.SENSE, ChannelOperation.RESET, ChannelOperation.SET_FEATURES],
    **BY_NAME,
)
def test_what_has_no_finish_ends_when_it_is_ready(operation):
    (done,) = ControllerBench(launch={0: DATA}).run([command(operation)]).values()
    assert done["issued"] < done["ready"] == done["transfer"] == done["last"]


def test_what_makes_nothing_busy_is_ready_at_once():
    (load,) = ControllerBench(launch={0: DATA}).run([command(ChannelOperation.LOAD)]).values()
    assert load["command"] < load["issued"] == load["ready"] == load["transfer"] == load["last"]
    (found,) = ControllerBench().run([command(ChannelOperation.READ_ID)]).values()
    assert found["issued"] == found["ready"] < found["transfer"] < found["last"]


@pytest.mark.parametrize("part", [FULL, FULL_TWO_LUNS], ids=lambda part: part.name)
def test_what_is_not_issued_begins_when_its_lun_takes_it_up(part):
    bench = ControllerBench(part)
    pair = [command(ChannelOperation.SENSE), command(ChannelOperation.TRANSFER, tag=2)]
    sense, transfer = bench.run(pair).values()
    taken_up = sense["edge"]
    assert transfer["command"] == transfer["issued"] == transfer["ready"] == taken_up
    assert transfer["accepted"] < taken_up < transfer["transfer"] < transfer["last"]


FAIL, FAILC, ARDY, RDY, WP_N = 0x01, 0x02, 0x20, 0x40, 0x80
READY = RDY | WP_N


@pytest.mark.parametrize("part", [FULL, FULL_TWO_LUNS], ids=lambda part: part.name)
@pytest.mark.parametrize(
    ("operation", "opcode", "byte", "status"),
    [
        (ChannelOperation.PROGRAM, 0x10, READY | ARDY, ChannelStatus.OK),
        (ChannelOperation.PROGRAM, 0x10, READY | ARDY | FAIL, ChannelStatus.FAILED),
        (ChannelOperation.PROGRAM, 0x10, READY | ARDY | FAIL | FAILC, ChannelStatus.FAILED),
        (ChannelOperation.PROGRAM_MORE, 0x10, READY | ARDY | FAILC, ChannelStatus.PREVIOUS_FAILED),
        (ChannelOperation.PROGRAM_CACHE, 0x15, READY | FAILC, ChannelStatus.PREVIOUS_FAILED),
        (ChannelOperation.PROGRAM_CACHE, 0x15, READY | FAIL, ChannelStatus.OK),
        (ChannelOperation.ERASE, 0xD0, READY | ARDY | FAIL, ChannelStatus.FAILED),
        (ChannelOperation.ERASE, 0xD0, READY | ARDY | FAILC, ChannelStatus.OK),
        (ChannelOperation.SENSE, 0x30, READY | ARDY | FAIL, ChannelStatus.OK),
    ],
    **BY_NAME,
)
def test_status_decides_the_end(part, operation, opcode, byte, status):
    bench = ControllerBench(part, launch={0: DATA}, status={opcode: [byte]})
    (done,) = bench.run([command(operation)]).values()
    assert done["status"] == status
    assert done["nand_status"] == (byte if done["polls"] else 0)
    is_failure = status in (ChannelStatus.FAILED, ChannelStatus.PREVIOUS_FAILED)
    assert int(bench.counters.failed) == is_failure


def test_counters_of_programs_and_erases():
    bench = ControllerBench(FULL_TWO_PLANES, launch={0: DATA}, slots=1)
    operations = [
        ChannelOperation.PROGRAM,
        ChannelOperation.PROGRAM_CACHE,
        ChannelOperation.PROGRAM_PLANE,
        ChannelOperation.PROGRAM,
        ChannelOperation.LOAD,
        ChannelOperation.PROGRAM_MORE,
        ChannelOperation.ERASE_PLANE,
        ChannelOperation.ERASE,
        ChannelOperation.SET_FEATURES,
    ]
    bench.run([command(operation, tag=tag) for tag, operation in enumerate(operations)])
    assert (int(bench.counters.programs), int(bench.counters.erases)) == (5, 2)
    assert int(bench.counters.transfers) == 0


MALFORMED = {
    "unknown operation": {"operation": 7},
    "operation beyond the last": {"operation": 31},
    "way": {"way": 1},
    "LUN": {"lun": 1},
    "row": {"row": FULL.rows},
    "odd column": {"column": 5},
    "odd length": {"length": 9},
    "no length": {"length": 0},
    "beyond the page": {"column": 296},
    "slot": {"slot": 2},
    "queued plane": {"operation": ChannelOperation.PROGRAM_PLANE},
}


def test_malformed_commands_are_refused():
    bench = ControllerBench(launch={0: DATA})
    whole = {"operation": ChannelOperation.PROGRAM}
    bad = [command(**whole | fields, tag=tag) for tag, fields in enumerate(MALFORMED.values())]
    done = bench.run([*bad, command(ChannelOperation.ERASE, tag=99)])
    for tag, fault in enumerate(MALFORMED):
        refused = done.pop(tag)
        assert refused["status"] == ChannelStatus.BAD_COMMAND, fault
        assert refused["accepted"] > 0
        assert [refused[name] for name in ("command", "issued", "ready", "last")] == [0] * 4
    assert bench.texts == CYCLES[ChannelOperation.ERASE]


def test_each_kind_of_operation_is_checked():
    faults = [
        {"operation": ChannelOperation.ERASE, "row": FULL.rows},
        {"operation": ChannelOperation.SENSE, "column": 304},
        {"operation": ChannelOperation.SENSE, "column": 1},
        {"operation": ChannelOperation.READ_ID, "row": 256},
        {"operation": ChannelOperation.READ_ID, "length": 3},
        {"operation": ChannelOperation.SET_FEATURES, "length": 0},
        {"operation": ChannelOperation.SET_FEATURES, "length": 2},
        {"operation": ChannelOperation.SET_FEATURES, "length": 6},
        {"operation": ChannelOperation.LOAD_MORE, "column": 296},
        {"operation": ChannelOperation.TRANSFER, "length": 0},
        {"operation": ChannelOperation.LOAD, "slot": 2},
        {"operation": ChannelOperation.SENSE_PLANE},
        {"operation": ChannelOperation.ERASE_PLANE},
    ]
    bench = ControllerBench()
    done = bench.run([command(**fields, tag=tag) for tag, fields in enumerate(faults)])
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.BAD_COMMAND}
    assert bench.texts == []


def test_status_without_an_address_is_refused_where_luns_share_a_way():
    bench = ControllerBench(FULL_TWO_LUNS)
    asked = [command(ChannelOperation.READ_TARGET_STATUS, lun=lun, tag=lun) for lun in range(2)]
    done = bench.run([*asked, command(ChannelOperation.READ_STATUS, tag=2)])
    assert [done[tag]["status"] for tag in range(3)] == [
        *[ChannelStatus.BAD_COMMAND] * 2,
        ChannelStatus.OK,
    ]
    assert bench.texts == [STATUS]
    assert int(bench.counters.bad_commands) == 2


def test_fields_that_mean_nothing_are_not_looked_at():
    fields = [
        {"operation": ChannelOperation.ERASE, "length": 0},
        {"operation": ChannelOperation.SENSE, "length": 0},
        {"operation": ChannelOperation.RESET, "length": 0, "slot": 9},
        {"operation": ChannelOperation.READ_TARGET_STATUS, "length": 0, "slot": 9},
        {"operation": ChannelOperation.READ, "slot": 9},
        {"operation": ChannelOperation.READ_ID, "row": 255},
    ]
    done = ControllerBench().run([command(**some, tag=tag) for tag, some in enumerate(fields)])
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.OK}


def test_phases_are_checked():
    with pytest.raises(ValueError, match="Phases must be 1, 2 or 4, not 3"):
        FlashChannelController(FULL, period_ps=PERIOD_PS, ways=1, phases=3)


def test_a_part_of_plain_reads_refuses_all_else():
    bench = ControllerBench(TINY)
    others = set(ChannelOperation) - {ChannelOperation.READ}
    done = bench.run([command(operation, tag=operation) for operation in others])
    assert set(done) == others
    assert {completion["status"] for completion in done.values()} == {ChannelStatus.BAD_COMMAND}
    assert bench.texts == []
