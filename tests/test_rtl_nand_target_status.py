# amaranth: UnusedElaboratable=no
"""READ STATUS (70h) on a channel with real dies and the bus checker.

Status bytes are those of ONFI 3.1, section 5.13: FAIL 01h, ARDY 20h, RDY 40h, WP# 80h.
"""

from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation, ChannelOperation, ChannelStatus
from rtl.contract.onfi import BusRule
from rtl.nand import command_cycles
from tests.mutation import mutated, put_in_place
from tests.operation_scenes import DATA, ERASE, FULL, commands
from tests.scenarios.nand_reads import page_image
from tests.unit_operations_bench import OperationUnitBench

pytestmark = pytest.mark.slow

BUSY, WORKING, READY = 0x80, 0xC0, 0xE0
FAIL = 0x01
ASK = (ChannelOperation.READ_TARGET_STATUS, {})
SLOW = replace(FULL, extended=replace(FULL.extended, t_prog_ps=4_000_000))


def play(*orders, part=FULL, ways=1, **options):
    """The bench after some commands of the first LUN, and the completions by tag."""
    bench = OperationUnitBench(part, ways, launch={0: bytes(DATA)}, **options)
    done = {completion["tag"]: completion for completion in bench.run(commands(*orders))}
    return bench, [done[tag] for tag in range(len(orders))]


def rules(bench):
    return {BusRule(rule) for _, rule, _ in bench.violations}


def bytes_of(done, *tags):
    return [done[tag]["nand_status"] for tag in tags]


def test_ready_and_at_rest_are_told_apart():
    """15h leaves the array at work; 10h does not."""
    cached, plain = ChannelOperation.PROGRAM_CACHE, ChannelOperation.PROGRAM
    bench, done = play(ASK, ERASE, (cached, {}), ASK, (plain, {"row": 1}), ASK, part=SLOW)
    assert {completion["status"] for completion in done} == {ChannelStatus.OK}
    assert bytes_of(done, 0, 3, 5) == [READY, WORKING, READY]
    assert rules(bench) == set()


def test_a_busy_die_says_so_after_the_channel_has_given_it_up():
    """The reset comes once the array has ended: it brings the LUN back, not the die."""
    read = ChannelOperation.READ
    bench, done = play(
        ERASE,
        (ChannelOperation.PROGRAM, {"edge": 4}),
        (ASK[0], {"edge": 5}),
        (read, {"edge": 400}),
        (ASK[0], {"edge": 1_000}),
        (ChannelOperation.RESET, {"edge": 1_001}),
        (ASK[0], {"edge": 1_002}),
        (read, {"edge": 1_003}),
        part=SLOW,
        watchdog_ps=2_000_000,
    )
    ok, timeout = ChannelStatus.OK, ChannelStatus.TIMEOUT
    statuses = [completion["status"] for completion in done]
    assert statuses == [ok, timeout, ok, timeout, ok, ok, ok, ok]
    assert bytes_of(done, 2, 4, 6) == [BUSY, READY, READY]
    assert rules(bench) == set()


@pytest.mark.parametrize(
    ("fails", "order"),
    [
        (ArrayOperation.PROGRAM, (ChannelOperation.PROGRAM, {"row": 4})),
        (ArrayOperation.ERASE, ERASE),
    ],
    ids=["program", "erase"],
)
def test_what_failed_is_told_again(fails, order):
    bench, done = play((ChannelOperation.ERASE, {"row": 4}), order, ASK, fails=(fails,))
    assert [completion["status"] for completion in done[1:]] == [ChannelStatus.FAILED] * 2
    assert bytes_of(done, 1, 2) == [READY | FAIL] * 2
    assert rules(bench) == set()


def test_data_of_a_read_comes_after_a_status():
    """Also that of cached reads; it is chosen anew."""
    bench, done = play(
        (ChannelOperation.SENSE, {"row": 4}),
        ASK,
        (ChannelOperation.TRANSFER, {"row": 4, "column": 6, "length": 10}),
        (ChannelOperation.READ_CACHE_SEQUENTIAL, {"row": 4}),
        ASK,
        (ChannelOperation.READ_CACHE_END, {"row": 5}),
    )
    assert {completion["status"] for completion in done} == {ChannelStatus.OK}
    pages = [page_image(FULL, 0, 0, row) for row in (4, 5)]
    assert [bench.data[tag] for tag in (2, 3, 5)] == [pages[0][6:16], *pages]
    assert rules(bench) == set()


def test_each_way_tells_its_own():
    """Way 1 is asked while way 0 programs, which nothing but its own status says."""
    bench, done = play(
        (ChannelOperation.PROGRAM_CACHE, {}),
        (ASK[0], {"way": 1, "edge": 120}),
        ASK,
        part=SLOW,
        ways=2,
        are_erased=True,
    )
    assert bytes_of(done, 1, 2) == [READY, WORKING]
    assert rules(bench) == set()


def test_times_are_those_of_a_status_byte():
    """tWHR from the cycle of 70h to RE#, as after 78h: three address cycles less."""
    _, (target,) = play(ASK)
    _, (lun,) = play((ChannelOperation.READ_STATUS, {}))
    cycle = -(-FULL.t_wc_ps // 10_000)
    assert target["command"] == target["issued"] == target["ready"] < target["transfer"]
    assert target["last"] - target["transfer"] == lun["last"] - lun["transfer"] - 3 * cycle
    assert (target["polls"], lun["polls"]) == (1, 1)


def test_an_address_after_it_is_caught(monkeypatch):
    slip = """
        -TARGET_POLL = OperationSteps(first=Opcode.READ_STATUS)
        +TARGET_POLL = OperationSteps(first=Opcode.READ_STATUS, address=AddressCycles.ROW)
        """
    put_in_place(monkeypatch, command_cycles, mutated(command_cycles, slip))
    bench, done = play(ASK)
    assert bytes_of(done, 0) == [READY]
    assert rules(bench) == {BusRule.SEQUENCE}
