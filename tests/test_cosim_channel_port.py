"""The flash port's words, spans and refusals, on channels that are played by hand."""

import pytest

from cosim.kernel import BOOT_PS
from cosim.spans import critical_path, stage_totals
from cosim.units.violation import ProtocolViolation
from rtl.contract.channel import ChannelCommand, ChannelStatus
from rtl.contract.codec import unpack
from tests.hand_channel import LAYOUT, PERIOD_PS, PLAIN, HandChannel

T_R_PS = PLAIN.t_r_ps


@pytest.fixture
def bench():
    return HandChannel()


COMPLETION = {
    "tag": 0,
    "slot": 1,
    "accepted": 101,
    "command": 103,
    "issued": 120,
    "ready": 425,
    "transfer": 430,
    "received": 470,
    "last": 470,
}
BEGIN = {"number": 1, "way": 1, "lun": 0, "row": 3}


def finish(bench, read, **changed):
    bench.event(4, 124, begin_valid=1, begin=BEGIN)
    bench.engine.memory(4, "landing.memory.ram.mem").data[20] = bytes(range(128))
    bench.event(4, 471, completion_valid=1, completion=COMPLETION | changed)
    bench.kernel.env.run(read)
    return read.value


def test_a_command_is_packed_and_its_toggle_flipped(bench):
    bench.read(way=1, lun=1, row=77, column=554, length=554)
    command = unpack(ChannelCommand, bench.engine.boxes[4, "command"].value.to_bytes(16, "little"))
    assert (command.way, command.lun, command.row) == (1, 1, 77)
    assert (command.column, command.length, command.tag) == (554, 554, 0)
    assert bench.engine.boxes[4, "command_toggle"].history == [1]


def test_commands_of_one_moment_go_over_one_an_edge(bench):
    for way, lun in ((0, 0), (0, 1), (1, 0)):
        bench.read(way=way, lun=lun)
    bench.read(channel=1)
    bench.kernel.env.run(BOOT_PS + 10 * PERIOD_PS)
    assert bench.lockstep.writes == [BOOT_PS, BOOT_PS, BOOT_PS + PERIOD_PS, BOOT_PS + 2 * PERIOD_PS]
    tags = [value >> 96 & 0xFFFF for value in bench.engine.boxes[4, "command"].history]
    assert tags == [0, 1, 2]


def test_a_mailbox_is_free_from_the_edge_on_that_took_it(bench):
    bench.kernel.env.run(BOOT_PS + 3)
    bench.read(way=0)
    bench.kernel.env.run(BOOT_PS + PERIOD_PS)
    bench.read(way=1)
    assert bench.lockstep.writes == [BOOT_PS + 3, BOOT_PS + PERIOD_PS]


def test_the_page_register_is_filled_and_answered_when_the_array_time_is_over(bench):
    bench.read()
    bench.event(4, 124, begin_valid=1, begin=BEGIN | {"number": 7})
    page = bench.engine.memory(4, "die1.page0.ram.mem")
    begin_ps = 124 * PERIOD_PS
    bench.kernel.env.run(begin_ps + T_R_PS)
    assert page.data == {}
    bench.kernel.env.run(begin_ps + T_R_PS + 1)
    assert page.data[0][:4] == bytes([0, 1, 0, 3])
    # LUN 0 of way 1 is word 2 of the vector; number 7 and a changed toggle.
    assert bench.engine.boxes[4, "array_done"].value == 0x107 << 32
    assert bench.lockstep.writes[-1] == begin_ps + T_R_PS


def test_answers_of_luns_do_not_disturb_each_other(bench):
    bench.read(way=0, lun=0)
    bench.read(way=1, lun=1)
    bench.event(4, 124, begin_valid=1, begin={"number": 1, "way": 0, "lun": 0})
    bench.event(4, 125, begin_valid=1, begin={"number": 255, "way": 1, "lun": 1})
    bench.kernel.env.run(10_000_000)
    assert bench.engine.boxes[4, "array_done"].value == 0x1FF << 48 | 0x101


def test_each_answer_to_a_lun_changes_its_toggle(bench):
    for edge, number in ((124, 1), (10_000, 2)):
        bench.read()
        bench.event(4, edge, begin_valid=1, begin=BEGIN | {"number": number})
    bench.kernel.env.run(200_000_000)
    assert bench.engine.boxes[4, "array_done"].history == [0x101 << 32, 0x002 << 32]


def test_the_spans_of_a_read_own_all_of_its_time(bench):
    read = bench.read()
    value = finish(bench, read)
    path = critical_path(bench.kernel.spans, value.cause, BOOT_PS)
    edges = {
        "flash.hand-over": 101 * PERIOD_PS - BOOT_PS,
        "flash.queue": 2 * PERIOD_PS,
        "flash.command": 21 * PERIOD_PS,
        "flash.sense": T_R_PS,
        "flash.poll": 425 * PERIOD_PS - 124 * PERIOD_PS - T_R_PS,
        "flash.bus-wait": 5 * PERIOD_PS,
        "flash.transfer": 40 * PERIOD_PS,
        "flash.complete": PERIOD_PS,
    }
    assert stage_totals(path) == edges
    assert {segment.span.unit for segment in path} == {"flash.ch0"}
    assert {segment.span.request for segment in path} == {9}


def test_the_latency_of_a_decoder_is_a_span():
    bench = HandChannel(has_decoder=True)
    value = finish(bench, bench.read(), received=440)
    stages = stage_totals(critical_path(bench.kernel.spans, value.cause, BOOT_PS))
    assert stages["flash.ecc"] == (470 - 440) * PERIOD_PS
    assert stages["flash.complete"] == PERIOD_PS


def test_a_wait_for_the_bus_names_the_transfer_that_ended_it(bench):
    other = bench.read(way=0)
    first = bench.read()
    bench.event(4, 124, begin_valid=1, begin=BEGIN)
    bench.event(4, 130, begin_valid=1, begin=BEGIN | {"way": 0})
    bench.engine.memory(4, "landing.memory.ram.mem").data[20] = bytes(128)
    bench.engine.memory(4, "landing.memory.ram.mem").data[0] = bytes(128)
    bench.event(4, 471, completion_valid=1, completion=COMPLETION | {"tag": 1})
    late = COMPLETION | {"slot": 0, "ready": 440, "transfer": 474, "received": 514}
    bench.event(4, 515, completion_valid=1, completion=late)
    bench.kernel.env.run(other)
    assert first.processed
    spans = {(span.stage, span.end_ps): span for span in bench.kernel.spans}
    released = spans["flash.transfer", 470 * PERIOD_PS]
    wait = spans["flash.bus-wait", 474 * PERIOD_PS]
    assert (wait.cause, wait.start_ps) == (released.number, 470 * PERIOD_PS)
    assert wait.ready_ps == 440 * PERIOD_PS
    path = critical_path(bench.kernel.spans, other.value.cause, BOOT_PS)
    assert stage_totals(path)["flash.transfer"] == 80 * PERIOD_PS


def test_a_wait_for_a_landing_slot_names_the_release(bench):
    """Both slots are held until edge 520; the page that is ready waits for the first release."""
    ready = [bench.read(way=way) for way in (0, 1)]
    late = bench.read(way=1, lun=1)
    memory = bench.engine.memory(4, "landing.memory.ram.mem")
    memory.data |= {0: bytes(128), 20: bytes(128)}
    for edge, place in ((124, {"way": 0}), (126, {"way": 1}), (128, {"way": 1, "lun": 1})):
        bench.event(4, edge, begin_valid=1, begin={"number": 1, **place})
    for tag, slot, last in ((0, 0, 470), (1, 1, 510)):
        stamps = {
            "tag": tag,
            "slot": slot,
            "transfer": last - 38,
            "received": last,
            "ready": last - 39,
        }
        event = COMPLETION | stamps
        bench.event(4, last + 1, completion_valid=1, completion=event)
    bench.kernel.env.run(520 * PERIOD_PS)
    assert all(read.processed for read in ready)
    taken = bench.kernel.record(
        "ssd-dram",
        "dram.flash-in",
        ready[0].value.cause.at_ps,
        520 * PERIOD_PS,
        ready[0].value.cause,
    )
    bench.port.free(0, 0, taken)
    last = {"tag": 2, "slot": 0, "ready": 440, "transfer": 523, "received": 563}
    bench.event(4, 564, completion_valid=1, completion=COMPLETION | last)
    bench.kernel.env.run(late)
    wait = next(s for s in bench.kernel.spans if s.end_ps == 523 * PERIOD_PS)
    assert (wait.stage, wait.cause, wait.start_ps) == (
        "flash.bus-wait",
        taken.span,
        520 * PERIOD_PS,
    )


def test_a_slot_is_not_free_while_its_data_is_in_the_decoder():
    """One slot is held until edge 500, the other one's data is in the decoder until 600."""
    bench = HandChannel(has_decoder=True)
    reads = [bench.read(way=way) for way in (0, 1)] + [bench.read(way=1, lun=1)]
    memory = bench.engine.memory(4, "landing.memory.ram.mem")
    memory.data |= {0: bytes(128), 20: bytes(128)}
    for edge, place in ((124, {"way": 0}), (126, {"way": 1}), (128, {"way": 1, "lun": 1})):
        bench.event(4, edge, begin_valid=1, begin={"number": 1, **place})

    def complete(edge, **stamps):
        completion = COMPLETION | {"last": edge - 1} | stamps
        bench.event(4, edge, completion_valid=1, completion=completion)

    complete(451, tag=0, slot=0, ready=425, transfer=430, received=440)
    bench.kernel.env.run(500 * PERIOD_PS)
    cause = reads[0].value.cause
    taken = bench.kernel.record("ssd-dram", "dram.flash-in", cause.at_ps, 500 * PERIOD_PS, cause)
    bench.port.free(0, 0, taken)
    complete(600, tag=1, slot=1, ready=431, transfer=445, received=480)
    complete(700, tag=2, slot=0, ready=432, transfer=503, received=543)
    bench.kernel.env.run(reads[2])
    wait = next(span for span in bench.kernel.spans if span.end_ps == 503 * PERIOD_PS)
    assert (wait.stage, wait.cause, wait.start_ps) == (
        "flash.bus-wait",
        taken.span,
        500 * PERIOD_PS,
    )


def test_the_value_has_the_data_of_its_slot(bench):
    value = finish(bench, bench.read())
    assert value.data == bytes(range(128))
    assert (value.slot, value.status) == (1, ChannelStatus.OK)
    bench.port.free(0, 1, value.cause)
    assert bench.engine.boxes[4, "landing_free"].history == [0b10]


@pytest.mark.parametrize(
    ("column", "length", "payload"),
    [
        (0, LAYOUT.data_bytes, LAYOUT.page_bytes),
        (LAYOUT.pair_bytes, LAYOUT.pair_bytes, 2 * LAYOUT.chunk_bytes),
        (LAYOUT.metadata_column, LAYOUT.metadata_bytes, 0),
        (2, LAYOUT.chunk_bytes, LAYOUT.chunk_bytes - 2),
    ],
)
def test_payload_is_data_without_parity(bench, column, length, payload):
    bench.engine.memory(4, "landing.memory.ram.mem").data[20] = bytes(length)
    read = bench.read(column=column, length=length)
    bench.event(4, 124, begin_valid=1, begin=BEGIN)
    bench.event(4, 471, completion_valid=1, completion=COMPLETION)
    bench.kernel.env.run(read)
    transfer = next(span for span in bench.kernel.spans if span.stage == "flash.transfer")
    assert (transfer.payload_bytes, transfer.overhead_bytes) == (payload, length - payload)
    assert transfer.kind == "page"


def test_a_refused_command_has_no_data_and_no_slot(bench):
    read = bench.read()
    refusal = {"tag": 0, "accepted": 101, "status": ChannelStatus.BAD_COMMAND}
    bench.event(4, 102, completion_valid=1, completion=refusal)
    bench.kernel.env.run(read)
    assert (read.value.data, read.value.slot) == (b"", -1)
    path = critical_path(bench.kernel.spans, read.value.cause, BOOT_PS)
    assert list(stage_totals(path)) == ["flash.hand-over", "flash.complete"]


def test_a_violation_ends_the_run_with_time_way_and_rule(bench):
    with pytest.raises(
        ProtocolViolation,
        match=r"At 2000000 ps on flash channel 1, way 3: rule 1 \(CE_ONE_LOW\) was broken",
    ):
        bench.event(5, 200, violation_valid=1, violation={"rule": 1, "way": 3})


def test_a_lun_takes_two_commands(bench):
    bench.read()
    bench.read()
    bench.read(lun=1)
    with pytest.raises(RuntimeError, match="LUN 0 of way 1 of channel 0 must have at most 2"):
        bench.read()


def test_a_read_begins_now(bench):
    cause = bench.kernel.origin("test", "test.start")
    bench.kernel.env.run(BOOT_PS + 1)
    with pytest.raises(RuntimeError, match="cause must be now"):
        bench.port.read(0, 0, 0, 0, 0, 128, cause)


def test_only_a_held_slot_can_be_freed(bench):
    with pytest.raises(RuntimeError, match="Slot 1 of channel 0 must be held"):
        bench.port.free(0, 1, bench.kernel.origin("test", "test.start"))


def test_what_is_outstanding_is_named(bench):
    bench.read()
    assert bench.lockstep.waiting() == ["flash read of channel 0, way 1, LUN 0, row 3 (waiting)"]
