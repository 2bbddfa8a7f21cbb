"""Waveforms of all operations that keep, or break, the bus rules about commands and output."""

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import EIGHT
from tests.scenarios.onfi_scene import case


@case(BusRule.OPCODE)
def plane_queued_in_a_part_of_one(broken):
    made = scene()
    made.bus.sense(1, 0, 3, confirm=Opcode.READ_MULTI_PLANE if broken else Opcode.READ_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def program_without_data(broken):
    made = erased()
    bus = made.bus
    bus.begin(1)
    bus.command(Opcode.PROGRAM)
    bus.page(0, 0)
    if not broken:
        bus.data_in(EIGHT)
    bus.end(Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def more_data_of_no_program(broken):
    made = scene()
    if not broken:
        made.bus.load(1, 0, 0)
    else:
        made.bus.begin(1)
    made.bus.command(Opcode.CHANGE_WRITE_COLUMN)
    return made


@case(BusRule.SEQUENCE)
def more_data_that_never_comes(broken):
    made = erased()
    bus = made.bus
    bus.load(1, 0, 0)
    bus.command(Opcode.CHANGE_WRITE_COLUMN)
    bus.address(100, 2)
    if not broken:
        bus.data_in(EIGHT)
    bus.end(Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def another_way_between_pieces(broken):
    made = scene()
    made.bus.load(1, 0, 0)
    if broken:
        made.bus.status(0)
    made.bus.begin(1)
    made.bus.command(Opcode.CHANGE_WRITE_COLUMN)
    return made


@case(BusRule.SEQUENCE)
def program_confirmed_twice(broken):
    made = erased()
    made.program(1, 0, 0)
    if broken:
        made.bus.single(1, Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def address_cycles_of_an_erase(broken):
    made = scene()
    bus = made.bus
    bus.begin(1)
    bus.command(Opcode.BLOCK_ERASE)
    bus.address(0, 2 if broken else 3)
    bus.end(Opcode.BLOCK_ERASE_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def erase_confirmed_as_a_read(broken):
    made = scene()
    made.bus.erase(1, 0, 0, Opcode.READ_CONFIRM if broken else Opcode.BLOCK_ERASE_CONFIRM)
    return made


@case(BusRule.SEQUENCE)
def address_cycles_of_an_identifier(broken):
    made = scene()
    made.bus.begin(1)
    made.bus.command(Opcode.READ_ID)
    made.bus.address(0, 2 if broken else 1)
    return made


@case(BusRule.SEQUENCE)
def next_page_of_whichever_lun(broken):
    made = scene()
    made.read(1, 0, 0)
    made.bus.status_enhanced(0 if broken else 1, 0, 0)
    made.bus.single(1, Opcode.READ_CACHE)
    return made


@case(BusRule.SEQUENCE)
def data_shown_again_to_nobody(broken):
    made = scene()
    made.read(1, 0, 3)
    bus = made.bus
    bus.transfer(1, 0, 3, 0, 8)
    bus.begin(1)
    rise = bus.command(Opcode.READ)
    bus.until(rise + bus.limit("whr"))
    if not broken:
        bus.burst(4)
    bus.status(1)
    return made


@case(BusRule.ROW)
def erase_beyond_the_lun(broken):
    made = scene()
    made.bus.erase(1, 1, 12 if broken else 11)
    return made


@case(BusRule.COLUMN)
def odd_column_of_a_program(broken):
    made = scene()
    made.bus.load(1, 0, 0, column=3 if broken else 2)
    return made


@case(BusRule.COLUMN)
def column_of_more_data_beyond_the_page(broken):
    made = scene()
    made.bus.load(1, 0, 0)
    made.bus.command(Opcode.CHANGE_WRITE_COLUMN)
    made.bus.address(576 if broken else 574, 2)
    return made


@case(BusRule.TARGET_ADDRESS)
def address_of_an_identifier(broken):
    made = scene()
    made.bus.ask(1, Opcode.READ_ID, 0x10 if broken else 0x20)
    return made


@case(BusRule.TARGET_ADDRESS)
def address_of_the_parameters(broken):
    made = scene()
    made.bus.ask(1, Opcode.READ_PARAMETER_PAGE, 0x40 if broken else 0)
    return made


@case(BusRule.BURST_SOURCE)
def identifier_of_another_way(broken):
    made = scene()
    made.bus.ask(1, Opcode.READ_ID)
    made.bus.tick(10)
    made.bus.output(0 if broken else 1, 4)
    return made


@case(BusRule.BURST_SOURCE)
def identifier_after_another_command(broken):
    made = scene()
    made.bus.ask(1, Opcode.READ_ID)
    if broken:
        made.bus.reset(1)
    made.bus.tick(10)
    made.bus.output(1, 4)
    return made


@case(BusRule.BURST_SOURCE)
def identifier_after_a_command_byte(broken):
    made = scene()
    made.bus.ask(1, Opcode.READ_ID)
    if broken:
        made.bus.single(1, Opcode.BLOCK_ERASE)
    made.bus.tick(10)
    made.bus.output(1, 4)
    return made


@case(BusRule.BURST_SOURCE)
def data_shown_again_after_another_luns_status(broken):
    made = scene()
    made.read(1, 0, 3)
    bus = made.bus
    bus.transfer(1, 0, 3, 0, 8)
    bus.status_enhanced(1, 1 if broken else 0, 0)
    bus.begin(1)
    rise = bus.command(Opcode.READ)
    bus.until(rise + bus.limit("whr"))
    bus.burst(4)
    return made


@case(BusRule.BURST_SOURCE)
def data_shown_again_after_a_read(broken):
    made = scene()
    made.read(1, 0, 3)
    bus = made.bus
    bus.transfer(1, 0, 3, 0, 8)
    if broken:
        made.read(1, 0, 4)
    bus.begin(1)
    rise = bus.command(Opcode.READ)
    bus.until(rise + bus.limit("whr"))
    bus.burst(4)
    return made


@case(BusRule.PAGE_END)
def parameters_past_the_register(broken):
    made = scene()
    made.wait(made.bus.ask(1, Opcode.READ_PARAMETER_PAGE), 1)
    made.bus.output(1, 578 if broken else 576)
    return made
