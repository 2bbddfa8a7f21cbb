# amaranth: UnusedElaboratable=no
"""When a controller polls: first and again, by what the LUN is busy with."""

from dataclasses import replace

import pytest

from rtl.contract.channel import ChannelOperation
from rtl.contract.nand_array import Poll
from tests.controller_bench import FULL_TWO_LUNS, Command, ControllerBench
from tests.scenarios.nand import PERIOD_PS

pytestmark = pytest.mark.slow

FIRST = {"read": 410_000, "program": 905_000, "erase": 1_600_000}
PERIOD = {"read": 300_000, "program": 420_000, "erase": 705_000}
PART = replace(
    FULL_TWO_LUNS,
    poll_first_ps=FIRST["read"],
    poll_period_ps=PERIOD["read"],
    program_poll=Poll(first_ps=FIRST["program"], period_ps=PERIOD["program"]),
    erase_poll=Poll(first_ps=FIRST["erase"], period_ps=PERIOD["erase"]),
)
PLAIN = replace(PART, program_poll=None, erase_poll=None)
OPERATIONS = {
    ChannelOperation.READ: "read",
    ChannelOperation.SENSE: "read",
    ChannelOperation.PROGRAM: "program",
    # Busy for a move between registers, not for a program.
    ChannelOperation.PROGRAM_CACHE: "read",
    ChannelOperation.ERASE: "erase",
}
BUSY = 400
BY_NAME = {"ids": lambda value: getattr(value, "name", None)}


def polls(part, operation):
    """Clocks from a command's last cycle to the first CE# of each poll of it."""
    bench = ControllerBench(
        part, launch={0: bytes(10)}, busy=dict.fromkeys((0x30, 0x10, 0x15, 0xD0), BUSY)
    )
    command = Command(operation=operation, tag=1, lun=1, length=10)
    (done,) = bench.run([command]).values()
    return [item.begin - done["issued"] for item in bench.target.log if item.text[:2] == "78"]


def clocks(duration_ps):
    return -(-duration_ps // PERIOD_PS)


def expected(kind, count):
    """A poll may be chosen that long after the last cycle; CE# falls four clocks later."""
    return [clocks(FIRST[kind]) + 4 + clocks(PERIOD[kind]) * number for number in range(count)]


@pytest.mark.parametrize("operation", OPERATIONS, **BY_NAME)
def test_polls_come_at_the_times_of_their_kind(operation):
    found = polls(PART, operation)
    assert found == expected(OPERATIONS[operation], len(found))
    assert len(found) > 1


@pytest.mark.parametrize("operation", OPERATIONS, **BY_NAME)
def test_without_times_of_their_own_all_polls_are_those_of_reads(operation):
    found = polls(PLAIN, operation)
    assert found == expected("read", len(found))
