"""Commands of all kinds through the flash port, on channels that are played by hand."""

import pytest

from cosim.kernel import BOOT_PS
from cosim.spans import critical_path, stage_totals
from rtl.contract.channel import (
    ArrayOperation,
    ChannelCommand,
    ChannelOperation,
    ChannelStatus,
)
from rtl.contract.codec import unpack
from rtl.contract.nand_part import cycles
from tests.hand_channel import FULL, PERIOD_PS, HandChannel

RAW = FULL.raw_page_bytes
IMAGE = bytes(range(256)) * (RAW // 256) + bytes(RAW % 256)
PROGRAM_EDGES = FULL.extended.t_prog_ps // PERIOD_PS
STAMPS = {"accepted": 101, "command": 103, "issued": 200}


@pytest.fixture
def bench():
    channel = HandChannel(FULL)
    for way in (0, 1):
        for number in range(8):
            channel.register(number, way).data[0] = IMAGE
    return channel


def command_of(bench):
    return unpack(ChannelCommand, bench.engine.boxes[4, "command"].value.to_bytes(16, "little"))


def launched(bench):
    """Data in each launch slot of channel 4."""
    words = -(-RAW // 128)
    return {first // words: data for first, data in bench.engine.memories[4, LAUNCH].data.items()}


LAUNCH = "launch.memory.ram.mem"


def finish_program(bench, done, tag=0, slot=0, at=210, way=1, **changed):
    bench.begin(at, 1, ArrayOperation.PROGRAM, way=way)
    ready = at + PROGRAM_EDGES + 5
    stamps = STAMPS | {"ready": ready, "transfer": ready + 2, "received": ready + 20}
    stamps |= {"issued": at - 10, "last": ready + 20, "nand_status": 0xE0}
    bench.complete(ready + 21, tag=tag, slot=slot, **(stamps | changed))
    bench.kernel.env.run(done)
    return done.value


def test_data_lies_in_a_launch_slot_when_the_command_is_handed_over(bench):
    bench.submit(ChannelOperation.PROGRAM, row=9, column=6, data=b"abcd", is_raw=True)
    command = command_of(bench)
    assert (command.operation, command.row, command.column) == (ChannelOperation.PROGRAM, 9, 6)
    assert (command.length, command.slot, command.is_raw) == (4, 0, 1)
    bench.submit(ChannelOperation.PROGRAM, way=0, data=b"efgh")
    bench.kernel.env.run(BOOT_PS + 2 * PERIOD_PS)
    assert command_of(bench).slot == 1
    assert launched(bench) == {0: b"abcd", 1: b"efgh"}


def test_the_spans_of_a_program_own_all_of_its_time(bench):
    value = finish_program(bench, bench.submit(ChannelOperation.PROGRAM, data=IMAGE))
    assert (value.status, value.nand_status, value.data, value.slot) == (0, 0xE0, b"", -1)
    path = critical_path(bench.kernel.spans, value.cause, BOOT_PS)
    assert stage_totals(path) == {
        "flash.hand-over": 101 * PERIOD_PS - BOOT_PS,
        "flash.queue": 2 * PERIOD_PS,
        "flash.command": 107 * PERIOD_PS,
        "flash.program": FULL.extended.t_prog_ps,
        "flash.poll": 5 * PERIOD_PS,
        "flash.bus-wait": 2 * PERIOD_PS,
        "flash.status": 18 * PERIOD_PS,
        "flash.complete": PERIOD_PS,
    }
    moved = next(s for s in bench.kernel.spans if s.stage == "flash.command")
    assert moved.payload_bytes + moved.overhead_bytes == RAW
    assert moved.payload_bytes == FULL.page_bytes


def test_an_erase_is_a_stage_of_its_own_and_a_failed_one_says_so(bench):
    done = bench.submit(ChannelOperation.ERASE, row=4)
    bench.begin(210, 1, ArrayOperation.ERASE, row=4)
    ready = 210 + FULL.extended.t_bers_ps // PERIOD_PS + 1
    stamps = STAMPS | {"ready": ready, "transfer": ready, "received": ready, "last": ready}
    bench.complete(ready + 1, status=ChannelStatus.FAILED, nand_status=0xE1, **stamps)
    bench.kernel.env.run(done)
    assert done.value.status == ChannelStatus.FAILED
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert totals["flash.erase"] == FULL.extended.t_bers_ps


def test_a_command_that_leaves_the_lun_ready_has_no_array_time(bench):
    done = bench.submit(ChannelOperation.LOAD, data=b"abcd")
    stamps = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), 200)
    bench.complete(202, **stamps)
    bench.kernel.env.run(done)
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert list(totals) == ["flash.hand-over", "flash.queue", "flash.command", "flash.complete"]


def test_what_comes_without_a_choice_is_an_answer(bench):
    bench.engine.memory(4, "landing.memory.ram.mem").data[0] = b"ONFI"
    done = bench.submit(ChannelOperation.READ_ID, row=0x20, length=4)
    stamps = STAMPS | {"ready": 200, "transfer": 210, "received": 214, "last": 214}
    bench.complete(215, **stamps)
    bench.kernel.env.run(done)
    assert (done.value.data, done.value.slot) == (b"ONFI", 0)
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert totals["flash.answer"] == 4 * PERIOD_PS
    assert "flash.transfer" not in totals


def test_a_command_without_a_free_launch_slot_waits_for_one(bench):
    """It is free when the data is on the die, long before its program is done."""
    for lun in (0, 1):
        bench.submit(ChannelOperation.PROGRAM, lun=lun, data=IMAGE)
    late = bench.submit(ChannelOperation.PROGRAM, way=0, data=b"late")
    bench.kernel.env.run(209 * PERIOD_PS)
    assert len(bench.engine.boxes[4, "command"].history) == 2
    bench.begin(210, 1, ArrayOperation.PROGRAM)
    command = command_of(bench)
    assert (command.way, command.slot) == (0, 0)
    assert launched(bench)[0] == b"late"
    assert bench.port.launch_waits == 1
    stamps = {"accepted": 211, "command": 213}
    value = finish_program(bench, late, tag=2, way=0, at=310, **stamps)
    ready = 310 + PROGRAM_EDGES + 100
    done = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), ready)
    bench.complete(ready + 1, tag=0, **done)
    waited = next(s for s in bench.kernel.spans if s.end_ps == 211 * PERIOD_PS)
    assert (waited.stage, waited.start_ps) == ("flash.hand-over", 210 * PERIOD_PS)
    assert waited.ready_ps == BOOT_PS
    sender = bench.kernel.spans[waited.cause]
    assert (sender.stage, sender.end_ps) == ("flash.command", 210 * PERIOD_PS)
    totals = stage_totals(critical_path(bench.kernel.spans, value.cause, BOOT_PS))
    assert totals["flash.command"] == (210 - 103 + 310 - 213) * PERIOD_PS


def test_the_last_slot_is_for_luns_with_nothing_under_way(bench):
    """What waits for its LUN would keep it from the bus for the time of a program."""
    bench.submit(ChannelOperation.ERASE)
    bench.submit(ChannelOperation.PROGRAM, way=0, data=IMAGE)
    bench.submit(ChannelOperation.PROGRAM, data=b"after the erase")
    bench.submit(ChannelOperation.PROGRAM, lun=1, data=b"at once")
    bench.kernel.env.run(BOOT_PS + 10 * PERIOD_PS)
    assert launched(bench) == {0: IMAGE, 1: b"at once"}
    same = dict.fromkeys(("ready", "transfer", "received", "last"), 200)
    bench.begin(210, 1, ArrayOperation.PROGRAM, way=0)
    assert launched(bench)[0] == IMAGE
    bench.complete(215, tag=0, **(STAMPS | same))
    assert launched(bench)[0] == b"after the erase"


def test_a_command_behind_one_that_waits_for_a_slot_waits_too(bench):
    for lun in (0, 1):
        bench.submit(ChannelOperation.PROGRAM, lun=lun, data=IMAGE)
    bench.submit(ChannelOperation.PROGRAM, way=0, row=9, data=IMAGE)
    bench.submit(ChannelOperation.READ, way=0, row=9, length=128)
    bench.submit(ChannelOperation.READ, way=0, lun=1, row=7, length=128)
    bench.kernel.env.run(BOOT_PS + 10 * PERIOD_PS)
    assert len(bench.engine.boxes[4, "command"].history) == 3
    assert command_of(bench).row == 7
    # What another LUN gives back is no slot.
    bench.complete(210, tag=4, status=ChannelStatus.BAD_COMMAND, accepted=105)
    bench.kernel.env.run(220 * PERIOD_PS)
    assert len(bench.engine.boxes[4, "command"].history) == 3


def test_a_lun_keeps_its_slot_between_the_pieces_of_a_page(bench):
    """Or programs of others, which its bus is kept from, would have all slots for ever."""
    bench.submit(ChannelOperation.PROGRAM, way=0, data=IMAGE)
    done = bench.submit(ChannelOperation.LOAD, data=b"abcd")
    bench.submit(ChannelOperation.PROGRAM, way=0, lun=1, data=IMAGE)
    same = dict.fromkeys(("ready", "transfer", "received", "last"), 200)
    bench.complete(202, tag=1, slot=1, **(STAMPS | same))
    bench.kernel.env.run(done)
    assert len(bench.engine.boxes[4, "command"].history) == 2
    bench.submit(ChannelOperation.PROGRAM_MORE, column=8, data=b"efgh")
    bench.kernel.env.run(bench.now + PERIOD_PS)
    command = command_of(bench)
    assert (command.operation, command.slot) == (ChannelOperation.PROGRAM_MORE, 1)
    assert launched(bench)[1] == b"efgh"


def test_what_gives_a_page_up_gives_its_slot_back(bench):
    done = bench.submit(ChannelOperation.LOAD, data=b"abcd")
    same = dict.fromkeys(("ready", "transfer", "received", "last"), 200)
    bench.complete(202, slot=0, **(STAMPS | same))
    bench.kernel.env.run(done)
    bench.submit(ChannelOperation.RESET, lun=1)
    for lun in (0, 1):
        bench.submit(ChannelOperation.PROGRAM, way=0, lun=lun, data=IMAGE)
    bench.kernel.env.run(bench.now + 5 * PERIOD_PS)
    assert bench.port.launch_waits == 0


def test_a_wait_for_the_bus_names_the_data_of_a_program_that_is_still_under_way(bench):
    """The read's 00h waits until the program's data is on the die, long before it completes."""
    bench.submit(ChannelOperation.PROGRAM, data=IMAGE)
    read = bench.submit(ChannelOperation.READ, way=0, row=5, length=128)
    bench.begin(210, 1, ArrayOperation.PROGRAM)
    bench.begin(240, 1, ArrayOperation.READ, way=0, row=5)
    bench.engine.memory(4, "landing.memory.ram.mem").data[0] = bytes(128)
    stamps = {"accepted": 102, "command": 208, "issued": 230, "ready": 600, "transfer": 610}
    bench.complete(701, tag=1, slot=0, received=700, last=700, **stamps)
    bench.kernel.env.run(read)
    wait = next(s for s in bench.kernel.spans if s.end_ps == 208 * PERIOD_PS)
    assert (wait.stage, wait.ready_ps) == ("flash.queue", 102 * PERIOD_PS)
    # R/B# falls tWB after the last cycle.
    free = 210 - cycles(FULL.t_wb_ps, PERIOD_PS)
    assert wait.start_ps == free * PERIOD_PS
    stamps = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), 800)
    bench.complete(801, tag=0, **stamps)
    bench.kernel.env.run(bench.now + 1)
    owner = bench.kernel.spans[wait.cause]
    assert (owner.stage, owner.start_ps) == ("flash.command", 103 * PERIOD_PS)
    path = critical_path(bench.kernel.spans, read.value.cause, BOOT_PS)
    assert stage_totals(path)["flash.command"] == (free - 103 + 240 - 208) * PERIOD_PS


def test_only_a_page_is_named_before_its_command_completes(bench):
    """A feature's bytes are no long use of the bus, and its command may outlive the run."""
    bench.submit(ChannelOperation.SET_FEATURES, row=0x90, data=b"abcd")
    bench.begin(210, 1, ArrayOperation.SET_FEATURES, row=0x90)
    assert bench.kernel.reserve() == len(bench.kernel.spans)
    bench.submit(ChannelOperation.PROGRAM, way=0, data=IMAGE)
    known = len(bench.kernel.spans)
    bench.begin(310, 1, ArrayOperation.PROGRAM, way=0)
    assert bench.kernel.reserve() == known + 2


def test_a_lun_that_is_given_up_owns_its_time_too(bench):
    done = bench.submit(ChannelOperation.ERASE)
    bench.begin(210, 1, ArrayOperation.ERASE)
    stamps = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), 300)
    bench.complete(302, status=ChannelStatus.TIMEOUT, **stamps)
    bench.kernel.env.run(done)
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert list(totals)[-2:] == ["flash.poll", "flash.complete"]
    assert sum(totals.values()) == done.value.cause.at_ps - BOOT_PS
    assert "flash.status" not in {span.stage for span in bench.kernel.spans}


def test_an_array_that_ends_after_its_lun_was_given_up_owns_no_time_beyond(bench):
    done = bench.submit(ChannelOperation.ERASE)
    bench.begin(210, 1, ArrayOperation.ERASE)
    end = 210 + FULL.extended.t_bers_ps // PERIOD_PS
    stamps = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), end - 1)
    bench.kernel.env.run((end + 1) * PERIOD_PS)
    bench.complete(end + 1, status=ChannelStatus.TIMEOUT, **stamps)
    bench.kernel.env.run(done)
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert totals["flash.erase"] == FULL.extended.t_bers_ps - PERIOD_PS
    assert totals["flash.complete"] == 2 * PERIOD_PS


def test_work_of_a_whole_way_is_that_of_the_lun_that_asked_for_it(bench):
    done = bench.submit(ChannelOperation.SET_FEATURES, lun=1, row=0x90, data=b"abcd")
    bench.begin(210, 1, ArrayOperation.SET_FEATURES, row=0x90)
    ready = 210 + FULL.extended.t_feat_ps // PERIOD_PS + 1
    stamps = STAMPS | dict.fromkeys(("ready", "transfer", "received", "last"), ready)
    bench.complete(ready + 1, **stamps)
    bench.kernel.env.run(done)
    totals = stage_totals(critical_path(bench.kernel.spans, done.value.cause, BOOT_PS))
    assert totals["flash.feature"] == FULL.extended.t_feat_ps


@pytest.mark.parametrize(
    ("operation", "data", "message"),
    [
        (ChannelOperation.PROGRAM, b"", f"Data of program must be 1 to {RAW} bytes, not 0"),
        (ChannelOperation.LOAD_MORE, bytes(RAW + 1), f"1 to {RAW} bytes, not {RAW + 1}"),
        (ChannelOperation.ERASE, b"ab", "Data of erase must be 0 to 0 bytes, not 2"),
    ],
)
def test_data_that_does_not_fit_the_operation_is_refused(bench, operation, data, message):
    with pytest.raises(ValueError, match=message):
        bench.submit(operation, data=data)


def test_a_part_of_plain_reads_takes_no_data():
    with pytest.raises(ValueError, match="part of plain reads must not be told to program"):
        HandChannel().submit(ChannelOperation.PROGRAM, data=b"ab")
