# amaranth: UnusedElaboratable=no
"""Cached and multi-plane reads, and what is asked of a target: a die's side.

Expectations are ONFI's, by hand. Ref: ONFI 3.1, sections 5.6 (Read ID), 5.7 (parameter page), 5.14
to 5.16 (reads), 5.26 and 5.27 (features).
"""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation
from rtl.contract.onfi import row_address
from rtl.nand.die import NandDie
from tests.die_operations_bench import (
    WAY,
    OperationPlay,
    operations,
    out,
    played,
    ready_after,
    silent,
)
from tests.scenarios.onfi_bus import PERIOD_PS, one_lun
from tests.scenarios.onfi_die_luns import Begin
from tests.scenarios.onfi_kernel import BUSY, WORK, Kernel, stored
from tests.scenarios.onfi_operations import FULL, PLANES, OperationBus

pytestmark = pytest.mark.slow

IDENTITY = bytes.fromhex("983c957a")
READ = ArrayOperation.READ
RANDOM = ArrayOperation.READ_CACHE_RANDOM
SEQUENTIAL = ArrayOperation.READ_CACHE_SEQUENTIAL
END = ArrayOperation.READ_CACHE_END


@pytest.mark.parametrize("opcode", [0x05, 0x06])
@pytest.mark.parametrize("phases", [1, 2, 4])
def test_a_plain_read(phases, opcode):
    bus = OperationBus(phases=phases)
    ready_after(bus, bus.sense(WAY, 1, 7))
    start = out(bus, 1, 7, 126, 6, opcode)
    play = played(bus)
    assert play.data(start, 6) == stored(bus.part, 1, 7)[126:132]
    assert operations(play) == [(1, READ, 7, 0)]


def test_data_past_the_end_of_the_page_and_from_a_busy_lun_is_zero():
    bus = OperationBus()
    ready_after(bus, bus.sense(WAY, 1, 7, 4))
    confirm = bus.sense(WAY, 1, 7, 4)
    bus.until(confirm + bus.limit("wb") + 2)
    busy = bus.output(WAY, 2)
    ready_after(bus, confirm)
    past = out(bus, 1, 7, 574, 6)
    play = played(bus)
    assert play.data(busy, 2) == bytes(2)
    assert play.data(past, 6) == stored(bus.part, 1, 7)[574:] + bytes(4)


def test_cached_reads_put_out_the_page_before():
    """Rows 4, 5 and 6 in turn; ready after the first answer while the array works on."""
    bus = OperationBus()
    ready_after(bus, bus.sense(WAY, 1, 4))
    starts = []
    for opcode in (0x31, 0x31, 0x3F):
        ready_after(bus, bus.single(WAY, opcode))
        starts.append(bus.output(WAY, 6))
        bus.tick(WORK)
    play = played(bus)
    assert operations(play) == [
        (1, READ, 4, 0),
        (1, SEQUENTIAL, 5, 1),
        (1, SEQUENTIAL, 6, 0),
        (1, END, 6, 0),
    ]
    assert [play.data(start, 6) for start in starts] == [
        stored(bus.part, 1, row)[:6] for row in (4, 5, 6)
    ]


def test_cached_reads_of_any_rows():
    """31h ignores its column: data begins at the first byte."""
    bus = OperationBus()
    ready_after(bus, bus.sense(WAY, 0, 4, 8))
    starts = []
    for row in (9, 2):
        ready_after(bus, bus.sense(WAY, 0, row, 8, 0x31))
        starts += [bus.output(WAY, 4), out(bus, 0, row, 40, 4)]
        bus.tick(WORK)
    play = played(bus)
    assert operations(play) == [(0, READ, 4, 0), (0, RANDOM, 9, 1), (0, RANDOM, 2, 0)]
    four, nine = stored(bus.part, 0, 4), stored(bus.part, 0, 9)
    expected = [four[:4], four[40:44], nine[:4], nine[40:44]]
    assert [play.data(start, 4) for start in starts] == expected


def test_an_address_chooses_the_lun_of_the_next_cached_read():
    """78h before 31h, where two LUNs read in turn."""
    bus = OperationBus()
    bus.sense(WAY, 0, 4)
    ready_after(bus, bus.sense(WAY, 1, 8))
    for lun in (0, 1):
        bus.begin(WAY)
        bus.command(0x78)
        bus.address(row_address(bus.part, lun, 0), 3)
        bus.end(0x31)
    assert operations(played(bus))[2:] == [(0, SEQUENTIAL, 5, 1), (1, SEQUENTIAL, 9, 1)]


def cached_after(first):
    bus = OperationBus()
    confirm = {
        "nothing": lambda: bus.edge,
        "a read": lambda: bus.sense(WAY, 0, 4),
        "an end": lambda: bus.sense(WAY, 0, 4),
        "an erase": lambda: bus.erase(WAY, 0, 4),
        "a program": lambda: bus.program(WAY, 0, 4, 0, b"ab"),
        "a reset": lambda: bus.reset(WAY),
        "addresses": lambda: bus.sense(WAY, 0, 4),
    }[first]()
    ready_after(bus, confirm)
    if first == "an end":
        ready_after(bus, bus.single(WAY, 0x3F))
    if first == "addresses":
        bus.begin(WAY)
        bus.command(0x00)
        bus.address(5 << 16, 4)
        bus.end(0x31)
    return bus


@pytest.mark.parametrize("opcode", [0x31, 0x3F, "random"])
@pytest.mark.parametrize(
    "first", ["nothing", "an end", "an erase", "a program", "a reset", "a read"]
)
def test_a_cached_read_follows_a_read(first, opcode):
    bus = cached_after(first)
    before = bus.edge
    if opcode == "random":
        bus.sense(WAY, 0, 6, 0, 0x31)
    else:
        bus.single(WAY, opcode)
    play = played(bus)
    assert len([begin for begin in play.begins if begin.edge > before]) == (first == "a read")


def test_a_cached_read_with_a_broken_address_is_none():
    assert operations(played(cached_after("addresses"))) == [(0, READ, 4, 0)]


def test_cached_reads_go_on_after_a_status():
    """70h, then 00h alone: the data of the page before, and 31h is sequential after it."""
    bus = OperationBus(one_lun(FULL))
    ready_after(bus, bus.sense(WAY, 0, 4))
    confirm = bus.single(WAY, 0x31)
    bus.until(confirm + bus.limit("wb") + 2)
    polls = [bus.status_bytes(WAY)]
    ready_after(bus, confirm)
    polls.append(bus.status_bytes(WAY))
    bus.tick(WORK)
    polls.append(bus.status_bytes(WAY))
    still = bus.output(WAY, 2)
    bus.single(WAY, 0x00)
    data = bus.output(WAY, 4)
    bus.single(WAY, 0x31)
    play = played(bus)
    assert [play.data(poll, 2) for poll in polls] == [b"\x80\x80", b"\xc0\xc0", b"\xe0\xe0"]
    assert play.data(still, 2) == b"\xe0\xe0"
    assert play.data(data, 4) == stored(bus.part, 0, 4)[:4]
    assert operations(play)[-1] == (0, SEQUENTIAL, 6, 0)


def test_a_multi_plane_read():
    """Rows 1 and 6 are of planes 0 and 1; the queued plane's page arrives with the last one's."""
    bus = OperationBus(PLANES)
    ready_after(bus, bus.sense(WAY, 0, 1, 0, 0x32))
    ready_after(bus, bus.sense(WAY, 0, 6))
    starts = [bus.output(WAY, 4), out(bus, 0, 1, 10, 4), out(bus, 0, 6, 20, 4)]
    play = played(bus)
    one, six = stored(bus.part, 0, 1), stored(bus.part, 0, 6)
    assert [play.data(start, 4) for start in starts] == [six[:4], one[10:14], six[20:24]]
    assert operations(play) == [(0, ArrayOperation.READ_PLANE, 1, 1), (0, READ, 6, 0)]


def test_multi_plane_cached_reads():
    """Two pages, then two more while the first ones are put out, plane by plane."""
    bus = OperationBus(PLANES)
    rows = [(1, 0x32), (5, 0x30), (2, 0x32), (6, 0x31)]
    for row, confirm in rows:
        ready_after(bus, bus.sense(WAY, 1, row, 0, confirm))
    starts = [out(bus, 1, row, 0, 4) for row in (1, 5)]
    bus.tick(WORK)
    ready_after(bus, bus.single(WAY, 0x3F))
    starts += [out(bus, 1, row, 0, 4) for row in (2, 6)]
    play = played(bus)
    assert [play.data(start, 4) for start in starts] == [
        stored(bus.part, 1, row)[:4] for row in (1, 5, 2, 6)
    ]


def test_a_cached_read_of_another_plane_leaves_the_first_ones_page():
    bus = OperationBus(PLANES)
    ready_after(bus, bus.sense(WAY, 0, 1))
    ready_after(bus, bus.sense(WAY, 0, 6, 0, 0x31), WORK)
    first = bus.output(WAY, 4)
    ready_after(bus, bus.single(WAY, 0x3F))
    second = bus.output(WAY, 4)
    play = played(bus)
    assert play.data(first, 4) == stored(bus.part, 0, 1)[:4]
    assert play.data(second, 4) == stored(bus.part, 0, 6)[:4]


@pytest.mark.parametrize("phases", [1, 2, 4])
@pytest.mark.parametrize(
    ("address", "expected"),
    [(0x00, IDENTITY + bytes(6)), (0x20, b"ONFI" + bytes(6)), (0x40, bytes(10))],
)
def test_read_id(phases, address, expected):
    bus = OperationBus(phases=phases)
    bus.ask(WAY, 0x90, address)
    start = bus.output(WAY, 10)
    play = played(bus, identity=IDENTITY)
    assert play.data(start, 10) == expected
    assert play.begins == []
    assert all(pins["rb_n"] for pins in play.pins)


def test_no_identity_while_a_lun_is_busy():
    bus = OperationBus()
    ready_after(bus, bus.sense(WAY, 0, 4))
    confirm = bus.sense(WAY, 1, 4)
    bus.until(confirm + bus.limit("wb") + 2)
    bus.ask(WAY, 0x90, 0x20)
    start = bus.output(WAY, 4)
    assert played(bus, silent).data(start, 4) == bytes(4)


@pytest.mark.parametrize(
    ("opcode", "operation"),
    [(0xEC, ArrayOperation.PARAMETER_PAGE), (0xEE, ArrayOperation.GET_FEATURES)],
)
def test_what_is_asked_comes_without_a_choice(opcode, operation):
    """Busy as a whole, then the answer from its first byte on, and by 05h from any."""
    answer = random.Random(5).randbytes(576)
    bus = OperationBus()
    ready_after(bus, bus.sense(WAY, 1, 4, 8))
    fall = bus.ask(WAY, opcode, 0x40) + bus.limit("wb")
    bus.until(fall + 2)
    status = bus.status_bytes(WAY, 1)
    ready_after(bus, fall)
    bus.status_bytes(WAY, 0)
    bus.single(WAY, 0x00)
    starts = [bus.output(WAY, 4), out(bus, 0, 0, 256, 4)]
    play = played(bus, Kernel(bus.part, brings={operation: answer}))
    assert play.begins[1] == Begin(fall, 0, 1, operation, 0x40, 0)
    assert play.data(status, 2) == b"\x80\x80"
    assert [pins["rb_n"] for pins in play.pins[fall - 1 : fall + BUSY + 1]] == [1] + [0] * BUSY + [
        1
    ]
    assert [play.data(start, 4) for start in starts] == [answer[:4], answer[256:260]]


@pytest.mark.parametrize("opcode", [0xEC, 0xEE])
def test_the_answer_follows_ready_at_once(opcode):
    answer = bytes(range(128))  # a whole word of the register: the kernel writes no parts of one
    bus = OperationBus()
    ready_after(bus, bus.ask(WAY, opcode, 0x00))
    start = bus.output(WAY, 8)
    brings = dict.fromkeys((ArrayOperation.PARAMETER_PAGE, ArrayOperation.GET_FEATURES), answer)
    assert played(bus, Kernel(bus.part, brings=brings)).data(start, 8) == answer[:8]


@pytest.mark.parametrize("opcode", [0xEC, 0xEE, 0xEF])
def test_a_busy_target_is_asked_nothing(opcode):
    bus = OperationBus()
    confirm = bus.sense(WAY, 1, 4)
    bus.until(confirm + bus.limit("wb") + 2)
    if opcode == 0xEF:
        bus.set_features(WAY, 1, b"abcd")
    else:
        bus.ask(WAY, opcode, 0)
    assert operations(played(bus, silent)) == [(1, READ, 4, 0)]


def test_nothing_is_asked_of_a_target_whose_lun_is_about_to_be_busy():
    bus = OperationBus(replace(FULL, t_wb_ps=2_000_000, poll_first_ps=2_000_000))
    bus.ask(WAY, 0xEC, 0)
    bus.sense(WAY, 1, 4)
    bus.tick(200)
    assert [begin.operation for begin in played(bus, silent).begins] == [
        ArrayOperation.PARAMETER_PAGE
    ]


def test_a_stopped_clock_changes_nothing():
    bus = OperationBus(PLANES)
    bus.tick(100)
    for row, confirm in ((1, 0x11), (5, 0x15), (2, 0x10)):
        edge = bus.program(WAY, 1, row, 4, b"some data.", confirm)
        ready_after(bus, edge, 150)
    ready_after(bus, bus.sense(WAY, 1, 6), 150)
    out(bus, 1, 6, 0, 8)
    ready_after(bus, bus.reset(WAY), 100)
    running = played(bus)
    stopped = OperationPlay(bus, Kernel(bus.part), stop=True).check()
    assert stopped.pins == running.pins
    assert stopped.edges_run < running.edges_run - 500


def test_quiet_is_low_while_data_comes():
    bus = OperationBus()
    bus.load(WAY, 0, 4, 0, b"abcd")
    bus.tick(3, ce_n=0b11)
    bus.tick(2, dqs_oe=1, ce_n=0b01)
    bus.tick(4, dqs_oe=0, ce_n=0b11)
    assert OperationPlay(bus).check().quiet[-4:] == [0, 1, 1, 1]


def test_a_long_identity_is_refused():
    with pytest.raises(ValueError, match="at most 8 bytes, not 9"):
        NandDie(FULL, period_ps=PERIOD_PS, ways=2, identity=bytes(9))
