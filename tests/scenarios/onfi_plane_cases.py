"""Waveforms that keep, or break, the bus rules about planes, their registers, blocks and status."""

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import PLANES
from tests.scenarios.onfi_scene import case


@case(BusRule.PLANE_ORDER)
def same_plane_read_twice(broken):
    made = scene(PLANES)
    made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    made.read(1, 0, 8 if broken else 12)
    return made


@case(BusRule.PLANE_ORDER)
def planes_read_at_different_pages(broken):
    made = scene(PLANES)
    made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    made.read(1, 0, 5 if broken else 4)
    return made


@case(BusRule.PLANE_ORDER)
def plane_queued_for_something_else(broken):
    made = scene(PLANES)
    made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    if broken:
        made.erase(1, 0, 4)
    else:
        made.read(1, 0, 4)
    return made


@case(BusRule.PLANE_ORDER)
def data_chosen_before_all_planes_are_read(broken):
    made = scene(PLANES)
    made.read(1, 0, 0)
    made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    if not broken:
        made.read(1, 0, 4)
    made.bus.choose(1, 0, 0, 0)
    return made


@case(BusRule.PLANE_ORDER)
def next_page_after_a_queued_plane(broken):
    made = scene(PLANES)
    made.read(1, 0, 0)
    if broken:
        made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.PLANE_ORDER)
def planes_programmed_at_different_pages(broken):
    made = erased(PLANES)
    made.erase(1, 0, 4)
    made.program(1, 0, 0, Opcode.PROGRAM_MULTI_PLANE)
    made.program(1, 0, 5 if broken else 4)
    return made


@case(BusRule.PLANE_ORDER)
def same_plane_erased_twice(broken):
    made = scene(PLANES)
    made.erase(1, 0, 0, Opcode.BLOCK_ERASE_MULTI_PLANE)
    made.erase(1, 0, 8 if broken else 13)
    return made


@case(BusRule.PAGE_REGISTER)
def data_of_nothing_read(broken):
    made = scene()
    made.read(1, 1 if broken else 0, 3)
    made.bus.transfer(1, 0, 3, 0, 8)
    return made


@case(BusRule.PAGE_REGISTER)
def data_of_a_plane_not_read(broken):
    made = scene(PLANES)
    made.read(1, 0, 0)
    made.bus.transfer(1, 0, 4 if broken else 8, 0, 8)
    return made


@case(BusRule.PAGE_REGISTER)
def data_overwritten_by_a_program(broken):
    made = erased(PLANES)
    made.read(1, 0, 0)
    made.read(1, 0, 4)
    made.program(1, 0, 0)
    made.bus.transfer(1, 0, 0 if broken else 4, 0, 8)
    return made


@case(BusRule.PAGE_REGISTER)
def data_after_a_reset(broken):
    made = scene()
    made.read(1, 0, 0)
    way = 1 if broken else 0
    made.wait(made.bus.reset(way), way)
    made.bus.transfer(1, 0, 0, 0, 8)
    return made


@case(BusRule.PAGE_REGISTER)
def data_after_parameters(broken):
    made = scene()
    made.read(1, 0, 0)
    way = 1 if broken else 0
    made.wait(made.bus.ask(way, Opcode.READ_PARAMETER_PAGE), way)
    made.bus.transfer(1, 0, 0, 0, 8)
    return made


@case(BusRule.PAGE_REGISTER)
def data_of_a_plane_before_the_cached_read(broken):
    made = scene(PLANES)
    made.read(1, 0, 0)
    made.read(1, 0, 4)
    made.read(1, 0, 8, Opcode.READ_CACHE)
    made.bus.transfer(1, 0, 0 if broken else 4, 0, 8)
    return made


@case(BusRule.PROGRAM_ORDER)
def pages_programmed_downwards(broken):
    made = erased()
    made.program(1, 0, 2)
    made.program(1, 0, 1 if broken else 3)
    return made


@case(BusRule.PROGRAM_ORDER)
def pages_programmed_downwards_from_the_cache(broken):
    made = erased()
    made.program(1, 0, 2, Opcode.PROGRAM_CACHE)
    made.program(1, 0, 0 if broken else 3, Opcode.PROGRAM_CACHE)
    return made


@case(BusRule.PROGRAM_ERASED)
def block_never_erased(broken):
    made = erased()
    made.program(1, 0, 4 if broken else 0)
    return made


@case(BusRule.PROGRAM_ERASED)
def block_of_another_lun_erased(broken):
    made = erased(lun=1 if broken else 0)
    made.program(1, 0, 0)
    return made


@case(BusRule.PROGRAM_ERASED)
def page_programmed_twice(broken):
    made = erased()
    made.program(1, 0, 1)
    if not broken:
        made.erase(1, 0, 3)
    made.program(1, 0, 1)
    return made


def status_forced(made, byte):
    """The next status of LUN 0 of way 1, whatever the die says."""
    bus = made.bus
    shown = bus.status_enhanced(1, 0, 0) + bus.limit("rpre") + bus.limit("dqsre")
    made.forced = {shown: {"dq_i": byte * 0x101}}
    return made


@case(BusRule.STATUS_BITS)
def unused_status_bit(broken):
    return status_forced(scene(), 0xE4 if broken else 0xE3)


@case(BusRule.STATUS_BITS)
def array_rests_in_a_busy_lun(broken):
    made = scene()
    made.bus.sense(1, 0, 0)
    made.bus.tick(20)
    return status_forced(made, 0xA0 if broken else 0x80)


@case(BusRule.STATUS_BITS)
def array_works_after_a_read(broken):
    made = scene()
    made.read(1, 0, 0)
    if not broken:
        made.alone(1, 0, Opcode.READ_CACHE)
    return status_forced(made, 0xC0)


@case(BusRule.STATUS_BITS)
def array_works_again_by_itself(broken):
    made = scene()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if broken:
        made.rest(1, 0)
    return status_forced(made, 0xC0)
