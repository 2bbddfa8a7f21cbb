# amaranth: UnusedElaboratable=no
"""Status, reset and stale answers: a die's side.

Expectations are ONFI's, by hand. Ref: ONFI 3.1, sections 5.3 (reset), 5.12 and 5.13 (status).
"""

from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation
from tests.die_operations_bench import WAY, out, played, ready_after, silent
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_die_luns import Answer, Begin
from tests.scenarios.onfi_kernel import BUSY, WORK, Kernel, stored
from tests.scenarios.onfi_operations import FULL, OperationBus


@pytest.mark.parametrize("wait", [0, 30, 120])
def test_a_reset_makes_the_whole_die_busy(wait):
    """In tWB of the read, in its array time, and when it is over."""
    bus = OperationBus(replace(FULL, t_wb_ps=200_000))
    confirm = bus.sense(WAY, 1, 4)
    bus.until(confirm + wait)
    fall = bus.reset(WAY) + bus.limit("wb")
    bus.until(fall + 1)
    statuses = [bus.status_bytes(WAY, lun) for lun in (0, 1)]
    bus.until(fall + 220)
    again = bus.sense(WAY, 1, 2) + bus.limit("wb")

    def kernel(begin):
        ((_, answer),) = Kernel(bus.part)(begin)
        return [(200 if begin.operation == ArrayOperation.RESET else 70, answer)]

    play = played(bus, kernel)
    reset = next(begin for begin in play.begins if begin.operation == ArrayOperation.RESET)
    assert reset == Begin(fall, 0, 1, ArrayOperation.RESET, 0, 0)
    assert play.begins[-1] == Begin(again, 1, 3, ArrayOperation.READ, 2, 0)
    assert [play.data(start, 2) for start in statuses] == [b"\x80\x80", b"\x80\x80"]
    levels = [pins["rb_n"] for pins in play.pins]
    assert levels[fall : fall + 201] == [0] * 200 + [1]
    assert levels[fall - 1] == (wait != 30)


def test_a_reset_forgets_failures_and_roles():
    bus = OperationBus(one_lun(FULL))
    confirm = bus.program(WAY, 0, 4, 0, b"ab", 0x15)
    ready_after(bus, confirm, WORK)
    polls = [bus.status_bytes(WAY)]
    fall = bus.reset(WAY) + bus.limit("wb")
    bus.until(fall + 2)
    polls.append(bus.status_bytes(WAY))
    ready_after(bus, fall)
    polls.append(bus.status_bytes(WAY))
    bus.program(WAY, 0, 4, 0, b"cd")
    play = played(bus, Kernel(bus.part, {(0, 1): (True, True)}))
    assert [play.data(poll, 2)[0] for poll in polls] == [0xE3, 0x80, 0xE0]
    assert [begin.register for begin in play.begins] == [0, 0, 0]


def test_answers_from_before_a_reset_are_stale():
    """The end of a cached program that was cut off neither ends the reset nor counts."""
    bus = OperationBus(one_lun(FULL))
    ready_after(bus, bus.program(WAY, 0, 4, 0, b"ab", 0x15))
    fall = bus.reset(WAY) + bus.limit("wb")
    bus.until(fall + 5)

    def kernel(begin):
        if begin.operation == ArrayOperation.RESET:
            return [(100, answer) for _, answer in Kernel(bus.part)(begin)]
        (_, cached), (_, last) = Kernel(bus.part, {(0, 1): (True, True)})(begin)
        return [(BUSY, cached), (fall + 3 - begin.edge, last)]

    polls = [bus.status_bytes(WAY)]
    bus.tick(100)
    polls.append(bus.status_bytes(WAY))
    play = played(bus, kernel)
    assert [pins["rb_n"] for pins in play.pins[fall : fall + 101]] == [0] * 100 + [1]
    assert [play.data(poll, 2)[0] for poll in polls] == [0x80, 0xE0]


def test_an_answer_to_the_operation_before_is_dropped():
    """That operation was no cached one, and has been answered."""
    bus = OperationBus(one_lun(FULL))
    ready_after(bus, bus.erase(WAY, 0, 4))
    fall = bus.erase(WAY, 0, 8) + bus.limit("wb")
    bus.until(fall + 5)
    status = bus.status_bytes(WAY)

    def kernel(begin):
        answers = Kernel(bus.part)(begin)
        if begin.number == 1:
            answers.append((fall + 2 - begin.edge, Answer(0, 1, fail=True, failc=True)))
        return answers

    assert played(bus, kernel).data(status, 2) == b"\x80\x80"


def test_status_is_of_the_lun_addressed_last():
    ends = {(0, 1): (True, False), (1, 1): (False, True)}
    bus = OperationBus()
    bus.erase(WAY, 0, 4)
    ready_after(bus, bus.erase(WAY, 1, 4))
    starts = [bus.status_bytes(WAY, lun) for lun in (None, 0, None, 1, None)]
    play = played(bus, Kernel(bus.part, ends))
    assert [play.data(start, 2)[0] for start in starts] == [0xE2, 0xE1, 0xE1, 0xE2, 0xE2]


@pytest.mark.parametrize("after", ["choice", "read", "identity", "resume"])
def test_what_ends_the_output_of_a_status(after):
    bus = OperationBus(one_lun(FULL))
    ready_after(bus, bus.sense(WAY, 0, 4, 6))
    bus.status_bytes(WAY)
    content = stored(bus.part, 0, 4)
    if after == "choice":
        start, expected = out(bus, 0, 4, 20, 4), content[20:24]
    elif after == "read":
        ready_after(bus, bus.sense(WAY, 0, 5, 20))
        start, expected = bus.output(WAY, 4), stored(bus.part, 0, 5)[20:24]
    elif after == "identity":
        bus.ask(WAY, 0x90, 0x20)
        start, expected = bus.output(WAY, 4), b"ONFI"
    else:
        bus.single(WAY, 0x00)
        start, expected = bus.output(WAY, 4), content[6:10]
    assert played(bus).data(start, 4) == expected


def test_no_data_ends_the_output_of_a_status_while_busy():
    bus = OperationBus(one_lun(FULL))
    confirm = bus.erase(WAY, 0, 4)
    bus.until(confirm + bus.limit("wb") + 2)
    bus.status_bytes(WAY)
    bus.single(WAY, 0x00)
    start = bus.output(WAY, 2)
    assert played(bus, silent).data(start, 2) == b"\x80\x80"
