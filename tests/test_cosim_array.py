"""What the kernel does for the arrays of the dies: when it answers, and with what."""

from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation, ChannelOperation
from rtl.contract.nand_array import array_times
from tests.hand_channel import FULL, PERIOD_PS, HandChannel, answers

TIMES = FULL.extended
RAW = FULL.raw_page_bytes
BLOCK = FULL.pages_per_block
START = 200
"""Edge of the first begin."""
START_PS = START * PERIOD_PS


@pytest.fixture
def bench():
    channel = HandChannel(FULL, parameter_page=b"parameters")
    for number in range(8):
        channel.register(number).data[0] = bytes([number]) * RAW
    return channel


def image(row, lun=0):
    return bytes([0, 1, lun, row]) * (RAW // 4)


@pytest.mark.parametrize(
    ("operation", "duration_ps"),
    [
        (ArrayOperation.READ, FULL.t_r_ps),
        (ArrayOperation.READ_PLANE, TIMES.t_dbsy_ps),
        (ArrayOperation.PROGRAM, TIMES.t_prog_ps),
        (ArrayOperation.PROGRAM_PLANE, TIMES.t_dbsy_ps),
        (ArrayOperation.ERASE, TIMES.t_bers_ps),
        (ArrayOperation.ERASE_PLANE, TIMES.t_dbsy_ps),
        (ArrayOperation.RESET, TIMES.t_rst_ps),
        (ArrayOperation.PARAMETER_PAGE, FULL.t_r_ps),
        (ArrayOperation.GET_FEATURES, TIMES.t_feat_ps),
        (ArrayOperation.SET_FEATURES, TIMES.t_feat_ps),
    ],
)
def test_each_operation_is_answered_after_its_time(bench, operation, duration_ps):
    bench.begin(START, 7, operation)
    found = answers(bench, START_PS + 10_000_000)
    assert found == [(START_PS + duration_ps, (7, 0, 0, 0))]


@pytest.mark.parametrize(
    ("operation", "move_ps", "work_ps"),
    [
        (ArrayOperation.READ_CACHE_RANDOM, TIMES.t_rcbsy_ps, FULL.t_r_ps),
        (ArrayOperation.READ_CACHE_SEQUENTIAL, TIMES.t_rcbsy_ps, FULL.t_r_ps),
        (ArrayOperation.PROGRAM_CACHE, TIMES.t_cbsy_ps, TIMES.t_prog_ps),
    ],
)
def test_a_cached_operation_is_answered_twice(bench, operation, move_ps, work_ps):
    bench.begin(START, 7, operation)
    ready_ps = START_PS + move_ps
    assert answers(bench, START_PS + 10_000_000) == [
        (ready_ps, (7, 1, 0, 0)),
        (ready_ps + work_ps, (7, 0, 0, 0)),
    ]


def test_a_cached_operation_waits_for_the_work_of_the_one_before(bench):
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE)
    second = START + TIMES.t_cbsy_ps // PERIOD_PS + 20
    answers(bench, second * PERIOD_PS - 1)
    bench.begin(second, 8, ArrayOperation.PROGRAM_CACHE, row=4, register=1)
    free_ps = START_PS + TIMES.t_cbsy_ps + TIMES.t_prog_ps
    ready_ps = free_ps + TIMES.t_cbsy_ps
    assert answers(bench, START_PS + 10_000_000) == [
        (free_ps, (7, 0, 0, 0)),
        (ready_ps, (8, 1, 0, 0)),
        (ready_ps + TIMES.t_prog_ps, (8, 0, 0, 0)),
    ]
    assert [entry[4] for entry in bench.medium.log] == [3, 4]


def test_the_end_of_cached_reads_waits_for_what_is_sensed(bench):
    bench.begin(START, 7, ArrayOperation.READ_CACHE_RANDOM, row=3, register=1)
    second = START + TIMES.t_rcbsy_ps // PERIOD_PS + 20
    answers(bench, second * PERIOD_PS - 1)
    bench.begin(second, 8, ArrayOperation.READ_CACHE_END, row=3, register=1)
    free_ps = START_PS + TIMES.t_rcbsy_ps + FULL.t_r_ps
    assert answers(bench, free_ps - 1) == []
    assert bench.register(1).data[0] == bytes([1]) * RAW
    assert answers(bench, START_PS + 10_000_000) == [
        (free_ps, (7, 0, 0, 0)),
        (free_ps + TIMES.t_rcbsy_ps, (8, 0, 0, 0)),
    ]
    assert bench.register(1).data[0] == image(3)


def test_a_program_after_a_cached_one_begins_when_the_array_is_free(bench):
    bench.begin(START, 255, ArrayOperation.PROGRAM_CACHE)
    second = START + TIMES.t_cbsy_ps // PERIOD_PS + 20
    answers(bench, second * PERIOD_PS - 1)
    bench.begin(second, 0, ArrayOperation.PROGRAM, row=4)
    free_ps = START_PS + TIMES.t_cbsy_ps + TIMES.t_prog_ps
    assert answers(bench, START_PS + 10_000_000) == [
        (free_ps, (255, 0, 0, 0)),
        (free_ps + TIMES.t_prog_ps, (0, 0, 0, 0)),
    ]


def test_a_plane_is_queued_while_the_array_goes_on(bench):
    """RDY without ARDY after 11h, too; the end of the array's work then has its number."""
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE)
    second = START + TIMES.t_cbsy_ps // PERIOD_PS + 20
    answers(bench, second * PERIOD_PS - 1)
    bench.begin(second, 8, ArrayOperation.PROGRAM_PLANE, row=4)
    assert answers(bench, START_PS + 10_000_000) == [
        (second * PERIOD_PS + TIMES.t_dbsy_ps, (8, 1, 0, 0)),
        (START_PS + TIMES.t_cbsy_ps + TIMES.t_prog_ps, (8, 0, 0, 0)),
    ]


@pytest.mark.parametrize(
    ("failing", "expected"),
    [
        ({3}, [(8, 1, 0, 1), (8, 0, 0, 1), (9, 0, 0, 0)]),
        ({4}, [(8, 1, 0, 0), (8, 0, 1, 0), (9, 0, 0, 1)]),
        ({5}, [(8, 1, 0, 0), (8, 0, 0, 0), (9, 0, 1, 0)]),
    ],
)
def test_fail_is_the_last_program_and_failc_the_cached_one_before(bench, failing, expected):
    bench.medium.failing = failing
    edges = [START, START + 20 + TIMES.t_cbsy_ps // PERIOD_PS]
    edges.append(edges[1] + (TIMES.t_prog_ps + 2 * TIMES.t_cbsy_ps) // PERIOD_PS)
    kinds = [ArrayOperation.PROGRAM_CACHE, ArrayOperation.PROGRAM_CACHE, ArrayOperation.PROGRAM]
    found = []
    for number, (edge, kind) in enumerate(zip(edges, kinds, strict=True), 7):
        found += answers(bench, edge * PERIOD_PS - 1)
        bench.begin(edge, number, kind, row=number - 4)
    found += answers(bench, START_PS + 20_000_000)
    assert [answer for _, answer in found] == [
        (7, 1, 0, 0),
        (7, 0, int(failing == {3}), 0),
        *expected,
    ]


def test_a_program_on_its_own_knows_no_program_before(bench):
    bench.medium.failing = {3}
    bench.begin(START, 7, ArrayOperation.PROGRAM)
    assert answers(bench, START_PS + 5_000_000)[-1][1] == (7, 0, 1, 0)
    bench.begin(START + 600, 8, ArrayOperation.PROGRAM, row=4)
    assert answers(bench, START_PS + 20_000_000)[-1][1] == (8, 0, 0, 0)


def test_planes_that_were_queued_are_sensed_together(bench):
    bench.begin(START, 7, ArrayOperation.READ_PLANE, row=2, register=1)
    answers(bench, START_PS + 1_000_000)
    bench.begin(START + 200, 8, ArrayOperation.READ, row=BLOCK + 2)
    ready_ps = (START + 200) * PERIOD_PS + FULL.t_r_ps
    assert answers(bench, ready_ps - 1) == []
    assert bench.register(1).data[0] == bytes([1]) * RAW
    assert answers(bench, ready_ps) == [(ready_ps, (8, 0, 0, 0))]
    # Registers of plane 0, then of plane 1.
    assert bench.register(1).data[0] == image(2)
    assert bench.register(2).data[0] == image(BLOCK + 2)


def test_planes_that_were_queued_are_programmed_together(bench):
    bench.medium.failing = {2}
    bench.begin(START, 7, ArrayOperation.PROGRAM_PLANE, row=2, register=1)
    answers(bench, START_PS + 1_000_000)
    bench.begin(START + 200, 8, ArrayOperation.PROGRAM, row=BLOCK + 2)
    end_ps = (START + 200) * PERIOD_PS + TIMES.t_prog_ps
    assert answers(bench, end_ps - 1) == []
    assert bench.medium.log == []
    assert answers(bench, end_ps) == [(end_ps, (8, 0, 1, 0))]
    assert bench.medium.log == [
        ("program", 0, 1, 0, 2, bytes([1]) * RAW),
        ("program", 0, 1, 0, BLOCK + 2, bytes([2]) * RAW),
    ]
    bench.begin(START + 1000, 9, ArrayOperation.PROGRAM, row=5)
    assert answers(bench, START_PS + 20_000_000)[-1][1] == (9, 0, 0, 0)
    assert [entry[4] for entry in bench.medium.log] == [2, BLOCK + 2, 5]


def test_planes_that_were_queued_are_erased_together(bench):
    bench.begin(START, 7, ArrayOperation.ERASE_PLANE, row=0)
    answers(bench, START_PS + 1_000_000)
    bench.begin(START + 200, 8, ArrayOperation.ERASE, row=BLOCK)
    answers(bench, START_PS + 20_000_000)
    assert bench.medium.log == [("erase", 0, 1, 0, 0), ("erase", 0, 1, 0, BLOCK)]


def test_a_program_takes_the_register_at_its_begin(bench):
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE, lun=1, row=3)
    bench.register(4).data[0] = b"the next page"
    answers(bench, START_PS + 10_000_000)
    assert bench.medium.log == [("program", 0, 1, 1, 3, bytes([4]) * RAW)]


@pytest.mark.parametrize(
    ("operation", "spoiled"),
    [
        (ArrayOperation.READ, []),
        (ArrayOperation.READ_CACHE_RANDOM, []),
        (ArrayOperation.PROGRAM_PLANE, []),
        (ArrayOperation.PROGRAM, [("spoil page", 0, 1, 1, 3)]),
        (ArrayOperation.ERASE, [("spoil block", 0, 1, 1, 3)]),
    ],
)
def test_a_reset_cuts_off_what_any_lun_of_the_way_does(bench, operation, spoiled):
    bench.begin(START, 7, operation, lun=1)
    bench.begin(START + 20, 3, ArrayOperation.RESET)
    end_ps = (START + 20) * PERIOD_PS + TIMES.t_rst_ps
    assert answers(bench, START_PS + 20_000_000) == [(end_ps, (3, 0, 0, 0))]
    assert bench.answer(3) is None
    assert bench.medium.log == spoiled


def test_a_reset_takes_as_long_as_what_it_cuts_off_asks_for():
    names = ("ready", "read", "program", "erase")
    given = {f"t_rst_{name}_ps": 100_000 * (index + 1) for index, name in enumerate(names)}
    operations = (None, ArrayOperation.READ, ArrayOperation.PROGRAM, ArrayOperation.ERASE)
    for name, operation in zip(names, operations, strict=True):
        bench = HandChannel(FULL, times=replace(array_times(FULL), **given))
        bench.register(4).data[0] = bytes(RAW)
        if operation is not None:
            bench.begin(START, 7, operation, lun=1)
        bench.begin(START + 5, 3, ArrayOperation.RESET)
        end_ps = (START + 5) * PERIOD_PS + given[f"t_rst_{name}_ps"]
        assert answers(bench, START_PS + 20_000_000) == [(end_ps, (3, 0, 0, 0))]


def test_a_reset_forgets_queued_planes_and_failures(bench):
    bench.medium.failing = {3}
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE)
    answers(bench, START_PS + 5_000_000)
    bench.begin(START + 600, 8, ArrayOperation.PROGRAM_PLANE, row=4)
    answers(bench, START_PS + 7_000_000)
    bench.begin(START + 800, 9, ArrayOperation.RESET)
    answers(bench, START_PS + 9_000_000)
    bench.begin(START + 1000, 10, ArrayOperation.PROGRAM, row=BLOCK + 5)
    assert answers(bench, START_PS + 20_000_000)[-1][1] == (10, 0, 0, 0)
    assert [entry[4] for entry in bench.medium.log] == [3, BLOCK + 5]


def test_features_keep_what_was_set(bench):
    bench.register(0).data[0] = b"\x01\x02\x03\x04"
    bench.begin(START, 7, ArrayOperation.SET_FEATURES, row=0x91)
    assert bench.port.feature(0, 1, 0x91) == bytes(4)
    answers(bench, START_PS + TIMES.t_feat_ps)
    assert bench.port.feature(0, 1, 0x91) == b"\x01\x02\x03\x04"
    assert bench.port.feature(0, 0, 0x91) == bytes(4)
    assert bench.port.feature(0, 1, 0x90) == bytes(4)
    bench.begin(START + 100, 8, ArrayOperation.RESET)
    answers(bench, START_PS + 2_000_000)
    bench.begin(START + 300, 9, ArrayOperation.GET_FEATURES, row=0x91)
    assert bench.register(0).data[0] == b"\x01\x02\x03\x04"
    bench.register(0).data[0] = bytes(4)
    answers(bench, START_PS + 5_000_000)
    assert bench.register(0).data[0] == b"\x01\x02\x03\x04"


def test_a_page_is_sensed_at_the_read_level_of_its_die(bench):
    bench.register(0).data[0] = b"\x03\x00\x00\x00"
    bench.begin(START, 7, ArrayOperation.SET_FEATURES, row=0x89)
    answers(bench, START_PS + TIMES.t_feat_ps)
    bench.begin(START + 100, 8, ArrayOperation.READ, row=2)
    answers(bench, START_PS + 10_000_000)
    assert bench.register(0).data[0] == image(2 ^ 3 << 4)


def test_a_feature_of_the_interface_takes_its_own_time():
    bench = HandChannel(FULL, times=replace(array_times(FULL), t_itc_ps=900_000))
    bench.register(0).data[0] = bytes(4)
    bench.begin(START, 7, ArrayOperation.SET_FEATURES, row=0x01)
    assert answers(bench, START_PS + 5_000_000) == [(START_PS + 900_000, (7, 0, 0, 0))]


def test_the_parameter_page_is_brought(bench):
    bench.begin(START, 7, ArrayOperation.PARAMETER_PAGE, row=0)
    answers(bench, START_PS + 5_000_000)
    assert bench.register(0).data[0] == b"parameters"


def test_of_two_answers_in_a_clock_period_the_later_one_counts():
    """No edge lies between them: a toggle that changed twice would not be seen."""
    short = {"t_cbsy_ps": 1, "t_plpbsy_ps": 1, "t_prog_ps": 1_001}
    bench = HandChannel(FULL, times=replace(array_times(FULL), **short))
    bench.register(0).data[0] = bytes(RAW)
    box = bench.engine.boxes[4, "array_done"]
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE)
    answers(bench, START_PS + 2_000)
    assert len(box.history) == 2
    assert bench.answer(2) == (7, 0, 0, 0)
    assert box.value >> 32 & 0x100


def test_a_command_owns_the_rest_of_the_work_before_it_and_no_more(bench):
    """The second cached program waits for the first one's tPROG; its own is nobody's."""
    first = bench.submit(ChannelOperation.PROGRAM_CACHE, row=3, data=b"ab")
    bench.begin(START, 7, ArrayOperation.PROGRAM_CACHE)
    bench.kernel.env.run(START_PS + 400_000)
    second = bench.submit(ChannelOperation.PROGRAM_CACHE, row=4, data=b"ab")
    stamps = {"accepted": 101, "command": 103, "issued": 190}
    stamps |= dict.fromkeys(("ready", "transfer", "received", "last"), 235)
    bench.complete(242, tag=0, **stamps)
    bench.begin(300, 8, ArrayOperation.PROGRAM_CACHE, row=4)
    free_ps = START_PS + TIMES.t_cbsy_ps + TIMES.t_prog_ps
    ready = (free_ps + TIMES.t_cbsy_ps) // PERIOD_PS + 1
    stamps = {"accepted": 243, "command": 250, "issued": 290}
    stamps |= dict.fromkeys(("ready", "transfer", "received", "last"), ready)
    bench.complete(ready + 1, tag=1, **stamps)
    bench.kernel.env.run(second)
    assert first.processed
    stages = {s.stage: (s.start_ps, s.end_ps) for s in bench.kernel.spans if s.cause >= 0}
    assert stages["flash.program"] == (300 * PERIOD_PS, free_ps)
    assert stages["flash.cache"] == (free_ps, free_ps + TIMES.t_cbsy_ps)
