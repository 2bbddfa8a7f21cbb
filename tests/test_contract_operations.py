"""The table of channel operations against ONFI 3.1's command set, written out by hand."""

import pytest

from rtl.contract.channel import ChannelOperation
from rtl.contract.operations import OPERATIONS, AddressCycles, Finish

CYCLES = {
    # First and last command cycle, address bytes and direction of data: ONFI 3.1, table 60.
    "READ": "00 aaaaa 30 out",
    "SENSE": "00 aaaaa 30",
    "SENSE_PLANE": "00 aaaaa 32",
    "TRANSFER": "out",
    "READ_CACHE_RANDOM": "00 aaaaa 31 out",
    "READ_CACHE_SEQUENTIAL": "31 out",
    "READ_CACHE_END": "3F out",
    "PROGRAM": "80 aaaaa in 10 status",
    "PROGRAM_CACHE": "80 aaaaa in 15 status",
    "PROGRAM_PLANE": "80 aaaaa in 11",
    "LOAD": "80 aaaaa in",
    "LOAD_MORE": "85 aa in",
    "PROGRAM_MORE": "85 aa in 10 status",
    "ERASE": "60 aaa D0 status",
    "ERASE_PLANE": "60 aaa D1",
    "READ_STATUS": "status",
    "READ_TARGET_STATUS": "70 status",
    "RESET": "FF",
    "READ_ID": "90 a as-is",
    "READ_PARAMETER_PAGE": "EC a as-is",
    "GET_FEATURES": "EE a as-is",
    "SET_FEATURES": "EF a in",
}
ADDRESS = dict(zip(AddressCycles, ("", "a", "aa", "aaa", "aaaaa"), strict=True))
FINISH = dict(zip(Finish, ("", "status", "out", "as-is"), strict=True))


def test_every_operation_has_steps():
    assert set(OPERATIONS) == set(ChannelOperation)
    assert {operation.name for operation in ChannelOperation} == set(CYCLES)


@pytest.mark.parametrize("operation", ChannelOperation, ids=lambda operation: operation.name)
def test_cycles_are_those_of_the_command_set(operation):
    steps = OPERATIONS[operation]
    words = [
        "" if steps.first is None else f"{steps.first:02X}",
        ADDRESS[steps.address],
        "in" if steps.data_in else "",
        "" if steps.confirm is None else f"{steps.confirm:02X}",
        f"{steps.status:02X}" if steps.needs_single_lun else "",
        FINISH[steps.finish],
    ]
    assert " ".join(filter(None, words)) == CYCLES[operation.name]


def test_pieces_of_a_page_keep_the_bus():
    keeping = {operation.name for operation, steps in OPERATIONS.items() if steps.keeps_bus}
    assert keeping == {"LOAD", "LOAD_MORE"}


def test_what_is_asked_of_a_target():
    asked = {operation.name for operation, steps in OPERATIONS.items() if steps.is_target}
    features = {"GET_FEATURES", "SET_FEATURES"}
    assert asked == {"RESET", "READ_ID", "READ_PARAMETER_PAGE"} | features


def test_what_leaves_the_lun_ready():
    ready = {operation.name for operation, steps in OPERATIONS.items() if not steps.is_busy}
    status = {"READ_STATUS", "READ_TARGET_STATUS"}
    assert ready == {"TRANSFER", "LOAD", "LOAD_MORE", "READ_ID"} | status


def test_what_does_not_say_which_lun_it_is_for():
    asked = {operation.name for operation, steps in OPERATIONS.items() if steps.needs_single_lun}
    assert asked == {"READ_TARGET_STATUS"}
