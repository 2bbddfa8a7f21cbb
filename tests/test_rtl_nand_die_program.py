# amaranth: UnusedElaboratable=no
"""What a die of an extended part takes: data, programs, erases. Expectations are ONFI's, by hand.

Ref: ONFI 3.1, sections 4.2 and 4.3 (data input), 5.9 (erase), 5.18 to 5.20 (programs).
"""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation
from tests.die_operations_bench import WAY, OperationPlay, operations
from tests.die_operations_bench import played as played_for
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_die_luns import Begin
from tests.scenarios.onfi_kernel import BUSY, WORK, Kernel
from tests.scenarios.onfi_operations import FULL, PLANES, OperationBus

pytestmark = pytest.mark.slow

PAGE_BYTES = 576
DATA = random.Random(3).randbytes(PAGE_BYTES + 64)
ERASED = bytes(PAGE_BYTES)
"""What a register of the model holds when nothing was loaded."""


def in_page(*pieces):
    """A register with pieces, each (column, bytes), laid over zeros."""
    page = bytearray(ERASED)
    for column, raw in pieces:
        page[column : column + len(raw)] = raw
    return bytes(page)


def played(bus, kernel=None, tail=BUSY + WORK + 20):
    return played_for(bus, kernel, tail)


@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("lun", [0, 1])
@pytest.mark.parametrize(("column", "count"), [(0, 130), (126, 4), (254, 4), (574, 2), (10, 66)])
def test_a_program_takes_its_bytes(phases, lun, column, count):
    bus = OperationBus(phases=phases)
    confirm = bus.program(WAY, lun, 7, column, DATA[:count])
    play = played(bus)
    fall = confirm + bus.limit("wb")
    assert play.begins == [Begin(fall, lun, 1, ArrayOperation.PROGRAM, 7, 0)]
    assert play.loaded == [in_page((column, DATA[:count]))]
    levels = [pins["rb_n"] for pins in play.pins]
    assert levels == [1] * fall + [0] * BUSY + [1] * (len(levels) - fall - BUSY)


@pytest.mark.parametrize("phases", [1, 2])
def test_pieces_of_a_page(phases):
    bus = OperationBus(phases=phases)
    bus.load(WAY, 1, 2, 100, DATA[:6])
    bus.load_more(200, DATA[6:16])
    bus.load_more(102, DATA[16:20])
    bus.end(0x10)
    play = played(bus)
    assert operations(play) == [(1, ArrayOperation.PROGRAM, 2, 0)]
    assert play.loaded == [in_page((100, DATA[:6]), (200, DATA[6:16]), (102, DATA[16:20]))]


def test_a_second_burst_goes_on_where_the_first_ended():
    bus = OperationBus()
    bus.load(WAY, 0, 2, 100, DATA[:6])
    bus.tick(5)
    bus.data_in(DATA[6:10], gap=0)
    bus.end(0x10)
    assert played(bus).loaded == [in_page((100, DATA[:10]))]


@pytest.mark.parametrize(("phases", "lost"), [(1, 1), (2, 2)])
def test_a_short_preamble_loses_the_first_bytes(phases, lost):
    """With one byte a clock the falling edge of the second pairs it with nothing: zero."""
    bus = OperationBus(phases=phases)
    bus.program(WAY, 0, 2, 0, DATA[:8], wpre=bus.limit("wpre") - 1)
    first = b"\0" if lost == 1 else b""
    assert played(bus).loaded == [in_page((0, first + DATA[lost:8]))]


@pytest.mark.parametrize("name", ["adl", "ccs"])
@pytest.mark.parametrize("phases", [1, 2])
def test_data_before_its_time_is_lost(name, phases):
    bus = OperationBus(phases=phases)
    times = {"gap": bus.limit(name) - 2} if name == "adl" else {}
    bus.load(WAY, 0, 2, 0, DATA[:8], **times)
    times = {"gap": bus.limit(name) - 2} if name == "ccs" else {}
    bus.load_more(20, DATA[:8], **times)
    bus.end(0x10)
    column, late = (0, 20) if name == "adl" else (20, 0)
    expected = in_page((column, DATA[2 * phases : 8]), (late, DATA[:8]))
    assert played(bus).loaded == [expected]


@pytest.mark.parametrize("phases", [1, 2])
def test_a_postamble_cut_off_loses_the_last_pair(phases):
    bus = OperationBus(phases=phases)
    bus.program(WAY, 0, 2, 0, DATA[:8], wpst=bus.limit("wpst") - 1)
    assert played(bus).loaded == [in_page((0, DATA[:6]))]


@pytest.mark.parametrize("pins", [{"cle": 1}, {"ale": 1}, {"we_n": 0}, {"re_n": 0}])
def test_data_comes_while_the_other_pins_rest(pins):
    bus = OperationBus()
    bus.load(WAY, 0, 2, 0, DATA[:8])
    bus.clocks = [clock | pins if clock["dqs_oe"] else clock for clock in bus.clocks]
    bus.tick(2)
    bus.end(0x10)
    assert played(bus).loaded == [ERASED]


def test_undriven_bytes_are_zero():
    bus = OperationBus()
    bus.load(WAY, 0, 2, 0, DATA[:8])
    for clock in bus.clocks:
        clock["dq_oe"] &= not clock["dqs_oe"]
    bus.end(0x10)
    assert played(bus).loaded == [ERASED]


@pytest.mark.parametrize("phases", [1, 2])
def test_data_beyond_the_page_is_dropped(phases):
    """It goes on past the 1,024 bytes that eight words of the memory would have."""
    bus = OperationBus(phases=phases)
    bus.program(WAY, 0, 2, 570, DATA[:480])
    play = played(bus)
    assert play.loaded == [in_page((570, DATA[:6]))]
    assert all(play.registers[place] == ERASED for place in play.registers if place != (0, 0, 0))


def test_a_register_keeps_what_no_data_came_for():
    bus = OperationBus()
    bus.program(WAY, 0, 2, 0, DATA[:8])
    bus.tick(100)
    bus.program(WAY, 0, 3, 2, DATA[8:10])
    assert played(bus).loaded[1] == in_page((0, DATA[:8]), (2, DATA[8:10]))


def incomplete(name):
    """Cycles of a program that must not happen."""
    bus = OperationBus()
    bus.begin(WAY if name != "other way" else 0)
    first = {"no first cycle": 0x77, "85h alone": 0x85, "read": 0x00}.get(name, 0x80)
    bus.command(first)
    row = 3 << 4 if name == "no such lun" else 3
    bus.address(row << 16, {"four addresses": 4, "six addresses": 6, "85h alone": 2}.get(name, 5))
    bus.data_in(DATA[:8])
    if name == "change of one address":
        bus.command(0x85)
        bus.address(0, 1)
    if name == "change without address":
        bus.command(0x85)
    if name.startswith("something between"):
        bus.command(0x70)
    if name == "something between data":
        bus.load_more(20, DATA[:2])
    if name == "no confirm":
        bus.deselect()
    else:
        bus.end({"wrong confirm": 0xD0, "no such command": 0x14}.get(name, 0x10))
    return bus


@pytest.mark.parametrize(
    "name",
    [
        "other way",
        "no first cycle",
        "85h alone",
        "read",
        "no such lun",
        "four addresses",
        "six addresses",
        "change of one address",
        "change without address",
        "something between",
        "something between data",
        "no confirm",
        "wrong confirm",
        "no such command",
    ],
)
def test_incomplete_programs_do_nothing(name):
    play = played(incomplete(name))
    assert play.begins == []
    assert all(pins["rb_n"] for pins in play.pins)


def test_the_same_waveform_complete_programs():
    assert operations(played(incomplete("nothing"))) == [(0, ArrayOperation.PROGRAM, 3, 0)]


@pytest.mark.parametrize("act", ["program", "erase", "read", "late confirm"])
def test_a_busy_lun_takes_nothing(act):
    bus = OperationBus()
    confirm = bus.erase(WAY, 0, 4)
    bus.until(confirm + 15)
    if act == "program":
        bus.program(WAY, 0, 2, 0, DATA[:2])
    elif act == "erase":
        bus.erase(WAY, 0, 8)
    elif act == "read":
        bus.sense(WAY, 0, 8)
    else:
        bus.load(WAY, 0, 2, 0, DATA[:2])
        bus.until(confirm + BUSY + 20)
        bus.end(0x10)
    bus.tick(20)
    play = OperationPlay(bus, lambda begin: Kernel(FULL)(begin) if act == "late confirm" else ())
    play.check()
    assert operations(play) == [(0, ArrayOperation.ERASE, 4, 0)]
    assert play.registers[0, 0, 0] == ERASED


def test_the_other_lun_is_free():
    bus = OperationBus()
    bus.erase(WAY, 0, 4)
    bus.program(WAY, 1, 2, 0, DATA[:2])
    assert operations(played(bus)) == [
        (0, ArrayOperation.ERASE, 4, 0),
        (1, ArrayOperation.PROGRAM, 2, 0),
    ]


@pytest.mark.parametrize(
    ("count", "confirm", "expected"), [(3, 0xD0, 1), (2, 0xD0, 0), (4, 0xD0, 0)]
)
def test_an_erase_has_three_addresses(count, confirm, expected):
    bus = OperationBus()
    bus.begin(WAY)
    bus.command(0x60)
    bus.address(8, count)
    bus.end(confirm)
    assert len(played(bus).begins) == expected


@pytest.mark.parametrize("confirm", [0x11, 0xD1, 0x32])
def test_a_part_of_one_plane_queues_none(confirm):
    bus = OperationBus()
    if confirm == 0x11:
        bus.program(WAY, 0, 2, 0, DATA[:2], confirm)
    elif confirm == 0xD1:
        bus.erase(WAY, 0, 2, confirm)
    else:
        bus.sense(WAY, 0, 2, 0, confirm)
    assert played(bus).begins == []


def test_cached_programs_take_turns_with_two_registers():
    """Ready rises with the first answer, ARDY with the second; FAIL and FAILC as answered."""
    bus = OperationBus(one_lun(FULL))
    starts, loads = [], [DATA[:4], DATA[4:8], DATA[8:12]]
    for row, raw in enumerate(loads):
        last = row == 2
        confirm = bus.program(WAY, 0, row, 0, raw, 0x10 if last else 0x15)
        bus.until(confirm + bus.limit("wb") + BUSY)
        starts.append(bus.status_bytes(WAY))
        bus.tick(BUSY + WORK)
    ends = {(0, 1): (True, False), (0, 2): (False, True), (0, 3): (True, False)}
    play = played(bus, Kernel(bus.part, ends))
    assert operations(play) == [
        (0, ArrayOperation.PROGRAM_CACHE, 0, 0),
        (0, ArrayOperation.PROGRAM_CACHE, 1, 1),
        (0, ArrayOperation.PROGRAM, 2, 0),
    ]
    assert [raw[:4] for raw in play.loaded] == loads
    assert [play.data(start, 2) for start in starts] == [b"\xc0\xc0", b"\xc0\xc0", b"\xe1\xe1"]


def test_the_end_of_a_cached_program_counts_after_the_next_one_started():
    """Its answer comes when the next operation is under way; FAIL is then visible at once."""
    bus = OperationBus(one_lun(FULL))
    first = bus.program(WAY, 0, 0, 0, DATA[:2], 0x15)
    bus.until(first + bus.limit("wb") + BUSY + 2)
    second = bus.program(WAY, 0, 1, 0, DATA[2:4], 0x15)
    begin = second + bus.limit("wb")
    bus.until(begin + 5)
    early = bus.status_bytes(WAY)
    bus.until(begin + 70)
    late = bus.status_bytes(WAY)

    def kernel(start):
        answer = Kernel(bus.part, {(0, 1): (True, False)})
        (_, cached), (_, last) = answer(start)
        if start.number == 1:
            return [(BUSY, cached), (begin + 2 - start.edge, last)]
        return [(BUSY, cached._replace(fail=True, failc=False)), (400, last)]

    play = played(bus, kernel)
    assert play.data(early, 2) == b"\x81\x81"
    assert play.data(late, 2) == b"\xc1\xc1"


def test_planes_have_registers_of_their_own():
    """Rows 0 and 8 are plane 0's, 4 plane 1's; a 15h changes those of the planes it is for."""
    bus = OperationBus(PLANES)
    loads = [(0, 0x11), (4, 0x15), (4, 0x11), (8, 0x10), (8, 0x15), (4, 0x10)]
    for index, (row, confirm) in enumerate(loads):
        bus.program(WAY, 1, row, 2 * index, DATA[2 * index :][:2], confirm)
        bus.tick(bus.limit("wb") + BUSY + WORK)
    play = played(bus)
    assert operations(play) == [
        (1, ArrayOperation.PROGRAM_PLANE, 0, 0),
        (1, ArrayOperation.PROGRAM_CACHE, 4, 0),
        (1, ArrayOperation.PROGRAM_PLANE, 4, 1),
        (1, ArrayOperation.PROGRAM, 8, 1),
        (1, ArrayOperation.PROGRAM_CACHE, 8, 1),
        (1, ArrayOperation.PROGRAM, 4, 1),
    ]
    pieces = [raw[2 * index : 2 * index + 2] for index, raw in enumerate(play.loaded)]
    assert b"".join(pieces) == DATA[: 2 * len(loads)]


def test_erases_of_two_planes():
    bus = OperationBus(PLANES)
    for row, confirm in ((0, 0xD1), (4, 0xD0)):
        bus.erase(WAY, 0, row, confirm)
        bus.tick(bus.limit("wb") + BUSY)
    assert [begin[:3] for begin in operations(played(bus))] == [
        (0, ArrayOperation.ERASE_PLANE, 0),
        (0, ArrayOperation.ERASE, 4),
    ]


@pytest.mark.parametrize("phases", [1, 2])
def test_features_are_taken_with_their_fourth_byte(phases):
    bus = OperationBus(phases=phases)
    end = bus.set_features(WAY, 0x85, DATA[:4])
    play = played(bus)
    fall = end + bus.limit("wb")
    assert play.begins == [Begin(fall, 0, 1, ArrayOperation.SET_FEATURES, 0x85, 0)]
    assert play.loaded == [in_page((0, DATA[:4]))]


def test_two_bytes_are_no_feature():
    bus = OperationBus()
    bus.set_features(WAY, 0x01, DATA[:2])
    assert played(bus).begins == []


def test_what_follows_a_feature_is_dropped():
    bus = OperationBus(replace(FULL, t_wb_ps=30_000))
    bus.set_features(WAY, 0x01, DATA[:12])
    play = played(bus)
    assert len(play.begins) == 1
    assert play.registers[0, 0, 0] == in_page((0, DATA[:4]))
