"""Array times of programs and erases that are put aside, and what holds them meanwhile."""

from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation, ChannelOperation
from tests.hand_channel import FULL, PERIOD_PS, HandChannel, answers
from tests.scenarios.onfi_die_luns import KINDS
from tests.scenarios.onfi_operations import SUSPEND

ASIDE = {ArrayOperation.PROGRAM: 500_000, ArrayOperation.ERASE: 700_000}
PART = replace(
    FULL,
    suspend=replace(SUSPEND, t_program_suspend_ps=500_000, t_erase_suspend_ps=700_000),
)
WHOLE = {
    ArrayOperation.PROGRAM: PART.extended.t_prog_ps,
    ArrayOperation.ERASE: PART.extended.t_bers_ps,
}
RAW = PART.raw_page_bytes
DONE = {
    ArrayOperation.PROGRAM: ("program", 0, 1, 0, 3, bytes([4]) * RAW),
    ArrayOperation.ERASE: ("erase", 0, 1, 0, 3),
}
START = 200
BY_NAME = {"ids": lambda kind: kind.name}


@pytest.fixture
def bench():
    channel = HandChannel(PART)
    for number in range(8):
        channel.register(number).data[0] = bytes([4]) * RAW
    return channel


def ps(edge):
    return edge * PERIOD_PS


@pytest.mark.parametrize("kind", KINDS, **BY_NAME)
def test_the_time_that_was_left_passes_after_the_resume(bench, kind):
    suspend, resume = KINDS[kind]
    bench.begin(START, 7, kind)
    answers(bench, ps(START + 40) - 1)
    bench.begin(START + 40, 7, suspend)
    held_ps = ps(START + 40) + ASIDE[kind]
    assert answers(bench, ps(START + 150)) == [(held_ps, (7, 1, 0, 0))]
    bench.begin(START + 160, 8, ArrayOperation.READ, row=9)
    read_ps = ps(START + 160) + PART.t_r_ps
    assert answers(bench, ps(START + 900)) == [(read_ps, (8, 0, 0, 0))]
    assert bench.medium.log == []
    bench.begin(START + 1000, 9, resume)
    end_ps = ps(START + 1000) + WHOLE[kind] - ps(40)
    assert answers(bench, end_ps + 10_000_000) == [(end_ps, (9, 0, 0, 0))]
    assert bench.medium.log == [DONE[kind]]


def test_it_may_be_put_aside_again(bench):
    bench.begin(START, 7, ArrayOperation.ERASE)
    for number, edge in ((7, 100), (8, 400)):
        bench.begin(START + edge, number, ArrayOperation.ERASE_SUSPEND)
        answers(bench, ps(START + edge + 200) - 1)
        bench.begin(START + edge + 200, number + 1, ArrayOperation.ERASE_RESUME)
    end_ps = ps(START + 600) + WHOLE[ArrayOperation.ERASE] - ps(200)
    assert answers(bench, end_ps) == [(end_ps, (9, 0, 0, 0))]


@pytest.mark.parametrize("kind", KINDS, **BY_NAME)
@pytest.mark.parametrize("late", [False, True])
def test_what_would_be_over_by_then_is_not_put_aside(bench, kind, late):
    bench.begin(START, 7, kind)
    edge = START + (WHOLE[kind] - ASIDE[kind]) // PERIOD_PS - (not late)
    answers(bench, ps(edge) - 1)
    bench.begin(edge, 7, KINDS[kind][0])
    found = answers(bench, ps(edge) + 10_000_000)
    if late:
        assert found == [(ps(START) + WHOLE[kind], (7, 0, 0, 0))]
        assert bench.medium.log == [DONE[kind]]
    else:
        assert found == [(ps(edge) + ASIDE[kind], (7, 1, 0, 0))]
        assert bench.medium.log == []


@pytest.mark.parametrize(
    ("kind", "spoiled"),
    [(ArrayOperation.PROGRAM, "spoil page"), (ArrayOperation.ERASE, "spoil block")],
)
def test_a_reset_cuts_off_what_is_held(bench, kind, spoiled):
    bench.begin(START, 7, kind)
    bench.begin(START + 40, 7, KINDS[kind][0])
    answers(bench, ps(START + 200) - 1)
    bench.begin(START + 200, 8, ArrayOperation.RESET)
    answers(bench, ps(START + 2000))
    assert bench.medium.log == [(spoiled, 0, 1, 0, 3)]


def test_the_spans_of_a_suspended_program_follow_each_other():
    """A page is read meanwhile; the program's spans end with its own completion."""
    bench = HandChannel(PART)
    for number in range(8):
        bench.register(number).data[0] = bytes(RAW)
    bench.engine.memory(4, "landing.memory.ram.mem").data[0] = bytes(128)
    bench.submit(ChannelOperation.PROGRAM, row=3, data=bytes(64))
    read = bench.read(row=9, length=128)
    stamps = {"accepted": 110, "command": 120, "issued": 190}
    bench.begin(START, 7, ArrayOperation.PROGRAM)
    bench.begin(START + 40, 7, ArrayOperation.PROGRAM_SUSPEND)
    answers(bench, ps(START + 110) - 1)
    bench.begin(START + 110, 8, ArrayOperation.READ, row=9)
    answers(bench, ps(START + 900) - 1)
    later = {"ready": 1080, "transfer": 1085, "received": 1095, "last": 1095}
    bench.complete(START + 900, tag=1, accepted=111, command=300, issued=305, **later)
    bench.begin(START + 910, 9, ArrayOperation.PROGRAM_RESUME)
    end = START + 910 + WHOLE[ArrayOperation.PROGRAM] // PERIOD_PS - 40
    answers(bench, ps(end))
    last = {"ready": end + 1, "transfer": end + 3, "received": end + 9, "last": end + 9}
    bench.complete(end + 10, tag=0, **stamps, **last)
    assert read.value.status == 0
    spans = [(span.stage, span.end_ps) for span in bench.kernel.spans if span.request == 9]
    own = [stage for stage, _ in spans if stage in ("flash.program", "flash.suspend", "flash.held")]
    assert own == ["flash.program", "flash.suspend", "flash.held", "flash.program"]
    assert ("flash.held", ps(START + 910)) in spans
    assert ("flash.program", ps(end)) in spans
