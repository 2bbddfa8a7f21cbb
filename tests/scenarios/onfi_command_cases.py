"""Waveforms that keep, or break, the bus rules about commands and busy LUNs."""

from dataclasses import replace

from rtl.contract.onfi import BusRule, Opcode, row_address
from tests.scenarios.onfi_bus import PART, OnfiBus
from tests.scenarios.onfi_scene import Scene, case, transferred


@case(BusRule.OPCODE)
def unknown_opcode(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(0x90 if broken else 0xFF)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def address_cycles_of_a_read(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 4 if broken else 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def one_address_too_many(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 6 if broken else 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def address_cycles_of_a_status(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS_ENHANCED)
    bus.address(0, 2 if broken else 3)
    bus.command(Opcode.READ_STATUS)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_address(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS)
    if broken:
        bus.address(0, 1)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_data(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.cycle(0xFF, cle=int(not broken))
    return Scene(bus)


@case(BusRule.SEQUENCE)
def stray_confirm(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM if broken else Opcode.RESET)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def wrong_confirm(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 5)
    bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM if broken else Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def command_within_a_command(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 3)
    bus.command(Opcode.READ_STATUS if broken else Opcode.RESET)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def confirm_to_another_way(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ)
    bus.address(0, 5)
    bus.begin(0 if broken else 1)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.SEQUENCE)
def latch_enable_during_a_burst(broken):
    scene = transferred()
    scene.forced = {scene.bus.last_data + (2 if broken else 6): {"ale": 1}}
    return scene


@case(BusRule.ROW)
def row_beyond_the_lun(broken):
    bus = OnfiBus()
    bus.read(1, 1, 12 if broken else 11, 0)
    return Scene(bus)


@case(BusRule.ROW)
def lun_beyond_the_part(broken):
    bus = OnfiBus()
    bus.begin(1)
    bus.command(Opcode.READ_STATUS_ENHANCED)
    bus.address(row_address(PART, 2 if broken else 1, 0), 3)
    return Scene(bus)


@case(BusRule.COLUMN)
def odd_column(broken):
    bus = OnfiBus()
    bus.choose(1, 0, 0, 3 if broken else 2)
    return Scene(bus)


@case(BusRule.COLUMN)
def column_beyond_the_page(broken):
    bus = OnfiBus()
    bus.read(1, 0, 0, 576 if broken else 574)
    return Scene(bus)


@case(BusRule.BUSY)
def read_of_a_busy_lun(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.tick(20)
    confirm = bus.read(1, 0, 4, 0)
    return Scene(bus, [(confirm + broken, 1, 0, 1)])


@case(BusRule.BUSY)
def choice_of_a_busy_lun(broken):
    bus = OnfiBus()
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    confirm = bus.choose(1, 1, 3, 0)
    return Scene(bus, [(confirm + broken, 1, 1, 1)])


@case(BusRule.BUSY)
def ready_known_from_status_alone(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    ready = bus.edge
    bus.tick(10)
    if not broken:
        bus.status_enhanced(1, 0, 3)
    bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(ready, 1, 0, 1)])


@case(BusRule.BUSY)
def status_says_busy(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    first = bus.status_enhanced(1, 0, 3)
    shown = first + bus.limit("rpre") + bus.limit("dqsre")
    bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(shown - 1 + broken, 1, 0, 1)])


@case(BusRule.BUSY)
def status_of_another_lun(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.read(1, 1, 3, 0)
    bus.tick(20)
    ready = bus.edge
    bus.tick(5)
    bus.status_enhanced(1, 1, 3)
    bus.transfer(1, 0 if broken else 1, 3, 0, 8)
    return Scene(bus, [(ready, 1, 1, 1)])


@case(BusRule.BUSY)
def reset_of_another_way(broken):
    bus = OnfiBus()
    bus.read(1, 0, 3, 0)
    bus.tick(20)
    bus.reset(0 if broken else 1)
    bus.read(1, 0, 3, 0)
    return Scene(bus)


def within_twb(broken, opcode, addresses):
    bus = OnfiBus(replace(PART, t_wb_ps=600_000, poll_first_ps=600_000))
    confirm = bus.read(1, 0, 3, 0)
    window = confirm + bus.limit("wb")
    bus.until(window - bus.limit("cs") - broken)
    bus.select(1)
    assert bus.command(opcode) == window - broken
    if addresses:
        address = row_address(PART, 0, 3) << 16
        bus.address(address >> 8 * (5 - addresses), addresses)
    return Scene(bus, [(window + 3, 1, 0, 1)])


@case(BusRule.T_WB_ACCESS)
def status_within_twb(broken):
    return within_twb(broken, Opcode.READ_STATUS, 0)


@case(BusRule.T_WB_ACCESS)
def enhanced_status_within_twb(broken):
    return within_twb(broken, Opcode.READ_STATUS_ENHANCED, 3)


@case(BusRule.T_WB_ACCESS)
def choice_within_twb(broken):
    scene = within_twb(broken, Opcode.CHANGE_READ_COLUMN_ENHANCED, 5)
    scene.bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)
    return scene


@case(BusRule.T_WB_ACCESS)
def read_within_twb(broken):
    scene = within_twb(broken, Opcode.READ, 5)
    scene.bus.command(Opcode.READ_CONFIRM)
    return scene


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall(broken):
    bus = OnfiBus()
    window = bus.read(1, 0, 3, 0) + bus.limit("wb")
    bus.tick(20)
    levels = {window - 1: {"rb_n": 0b11}} | ({window: {"rb_n": 0b11}} if broken else {})
    return Scene(bus, forced=levels)
