"""Waveforms that keep, or break, the bus rules about what comes after what."""

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import FULL, PLANES
from tests.scenarios.onfi_scene import case


@case(BusRule.LOAD_LEFT)
def status_of_a_loaded_lun(broken):
    made = scene()
    made.bus.load(1, 0, 0)
    made.bus.status_enhanced(1, 0 if broken else 1, 0)
    return made


@case(BusRule.LOAD_LEFT)
def plain_status_of_a_loaded_lun(broken):
    made = scene(one_lun(FULL))
    made.bus.load(1, 0, 0)
    made.bus.status(1 if broken else 0)
    return made


@case(BusRule.LOAD_LEFT)
def erase_of_a_loaded_lun(broken):
    made = scene()
    made.bus.load(1, 0, 0)
    if not broken:
        made.wait(made.bus.reset(1), 1)
    made.bus.erase(1, 0, 0)
    return made


@case(BusRule.LOAD_LEFT)
def identifier_of_a_loaded_way(broken):
    made = scene()
    made.bus.load(1, 0, 0)
    made.bus.ask(1 if broken else 0, Opcode.READ_ID)
    return made


@case(BusRule.TARGET_IDLE)
def feature_of_a_busy_way(broken):
    made = scene()
    made.bus.sense(1, 1, 3)
    made.bus.tick(20)
    rise = made.bus.ask(1, Opcode.GET_FEATURES)
    made.answers = [(rise + broken, 1, 1)]
    return made


@case(BusRule.TARGET_IDLE)
def feature_set_in_a_busy_way(broken):
    made = scene()
    made.bus.sense(1, 1, 3)
    made.bus.tick(20)
    made.bus.begin(1)
    made.bus.command(Opcode.SET_FEATURES)
    rise = made.bus.address(1, 1)
    made.answers = [(rise + broken, 1, 1)]
    return made


@case(BusRule.TARGET_IDLE)
def identifier_while_an_array_works(broken):
    made = erased()
    made.program(1, 0, 0, Opcode.PROGRAM_CACHE)
    if not broken:
        made.rest(1, 0)
    made.bus.ask(1, Opcode.READ_ID)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_without_a_read(broken):
    made = scene()
    if not broken:
        made.read(1, 0, 0)
    made.bus.sense(1, 0, 3, confirm=Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_after_a_program(broken):
    made = erased()
    if broken:
        made.read(1, 0, 0)
        made.program(1, 0, 0)
    else:
        made.program(1, 0, 0)
        made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_after_an_erase(broken):
    made = scene()
    made.read(1, 0, 0)
    made.erase(1, 0 if broken else 1, 4)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_after_a_reset(broken):
    made = scene()
    made.read(1, 0, 0)
    way = 1 if broken else 0
    made.wait(made.bus.reset(way), way)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_that_ends_nothing(broken):
    made = scene()
    made.read(1, 0, 0)
    if not broken:
        made.alone(1, 0, Opcode.READ_CACHE)
    made.alone(1, 0, Opcode.READ_CACHE_END)
    return made


@case(BusRule.CACHE_ORDER)
def cached_read_after_its_end(broken):
    made = scene()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if broken:
        made.alone(1, 0, Opcode.READ_CACHE_END)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def next_page_beyond_the_block(broken):
    made = scene()
    made.read(1, 0, 2)
    made.alone(1, 0, Opcode.READ_CACHE)
    if broken:
        made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.CACHE_ORDER)
def next_page_of_several_planes(broken):
    made = scene(PLANES)
    if broken:
        made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    made.read(1, 0, 4)
    made.alone(1, 0, Opcode.READ_CACHE)
    return made


@case(BusRule.ARRAY_BUSY)
def erase_behind_a_cached_read(broken):
    made = scene()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if not broken:
        made.rest(1, 0)
    made.erase(1, 0, 4)
    return made


@case(BusRule.ARRAY_BUSY)
def status_says_that_the_array_works(broken):
    made = scene()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if not broken:
        made.rests.append((made.bus.edge, 1, 0))
    made.bus.tick(2)
    made.bus.status_enhanced(1, 0, 0)
    made.read(1, 0, 3)
    return made


@case(BusRule.ARRAY_BUSY)
def read_behind_a_cached_read(broken):
    made = scene()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if not broken:
        made.alone(1, 0, Opcode.READ_CACHE_END)
    made.read(1, 0, 3)
    return made


@case(BusRule.ARRAY_BUSY)
def program_behind_a_cached_read(broken):
    made = erased()
    made.read(1, 0, 0)
    made.alone(1, 0, Opcode.READ_CACHE)
    if not broken:
        made.alone(1, 0, Opcode.READ_CACHE_END)
    made.program(1, 0, 0)
    return made


@case(BusRule.ARRAY_BUSY)
def read_behind_a_cached_program(broken):
    made = erased()
    made.program(1, 0, 0, Opcode.PROGRAM_CACHE)
    made.program(1, 0, 1, Opcode.PROGRAM_CACHE if broken else Opcode.PROGRAM_CONFIRM)
    made.read(1, 0, 0)
    return made


@case(BusRule.ARRAY_BUSY)
def plane_queued_behind_a_cached_program(broken):
    made = erased(PLANES)
    made.program(1, 0, 0, Opcode.PROGRAM_CACHE)
    if not broken:
        made.rest(1, 0)
    made.read(1, 0, 0, Opcode.READ_MULTI_PLANE)
    return made
