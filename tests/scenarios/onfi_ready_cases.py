"""Waveforms of all operations that keep, or break, the bus rules about who is busy, and when."""

from dataclasses import replace

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import FULL
from tests.scenarios.onfi_scene import case

SLOW_TO_BUSY = replace(FULL, t_wb_ps=600_000, poll_first_ps=600_000)


@case(BusRule.BUSY)
def data_to_a_busy_lun(broken):
    made = scene()
    bus = made.bus
    bus.sense(1, 0, 3)
    bus.tick(20)
    bus.begin(1)
    bus.command(Opcode.PROGRAM)
    rise = bus.page(0, 0)
    made.answers = [(rise + broken, 1, 0)]
    return made


@case(BusRule.BUSY)
def erase_of_a_busy_lun(broken):
    made = scene()
    made.bus.sense(1, 0, 3)
    made.bus.tick(20)
    confirm = made.bus.erase(1, 0, 0)
    made.answers = [(confirm + broken, 1, 0)]
    return made


@case(BusRule.BUSY)
def read_of_a_lun_that_is_reset(broken):
    made = scene()
    made.bus.reset(1)
    made.bus.tick(20)
    confirm = made.bus.sense(1, 1, 3)
    made.answers = [(confirm + broken, 1, lun) for lun in range(2)]
    return made


@case(BusRule.BUSY)
def status_ends_a_reset(broken):
    """R/B# is low for another LUN's sake."""
    made = scene(one_lun(FULL))
    confirm = made.bus.reset(1)
    made.answers = [(confirm + 20, 1, 0)]
    made.forced = {edge: {"rb_n": 0b01} for edge in range(confirm + 20, confirm + 200)}
    made.bus.until(confirm + 30)
    if not broken:
        made.bus.status(1)
    made.bus.sense(1, 0, 3)
    return made


@case(BusRule.BUSY)
def parameters_before_they_are_there(broken):
    made = scene()
    rise = made.bus.ask(1, Opcode.READ_PARAMETER_PAGE)
    made.bus.until(rise + 40)
    start = made.bus.output(1, 4)
    made.answers = [(start + 1 if broken else start - 3, 1, lun) for lun in range(2)]
    return made


@case(BusRule.T_WB_ACCESS)
def status_within_twb_of_a_reset(broken):
    made = scene(SLOW_TO_BUSY)
    window = made.bus.reset(1) + made.bus.limit("wb")
    made.bus.until(window - made.bus.limit("cs") - broken)
    made.bus.select(1)
    assert made.bus.command(Opcode.READ_STATUS) == window - broken
    return made


@case(BusRule.T_WB_ACCESS)
def identifier_within_twb_of_an_erase(broken):
    made = scene(SLOW_TO_BUSY)
    window = made.bus.erase(1, 1, 0) + made.bus.limit("wb")
    made.bus.until(window - made.bus.limit("cs") - broken)
    made.bus.select(1)
    assert made.bus.command(Opcode.READ_ID) == window - broken
    rise = made.bus.address(0, 1)
    made.answers = [(rise, 1, 1)]
    return made


def ready_busy_after(broken, confirm, made):
    window = confirm + made.bus.limit("wb")
    made.bus.tick(20)
    made.forced = {window - 1: {"rb_n": 0b11}}
    if broken:
        made.forced[window] = {"rb_n": 0b11}
    return made


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall_for_a_reset(broken):
    made = scene()
    return ready_busy_after(broken, made.bus.reset(1), made)


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall_for_a_second_reset(broken):
    made = scene()
    made.bus.reset(1)
    made.bus.tick(20)
    return ready_busy_after(broken, made.bus.reset(1), made)


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall_for_a_feature(broken):
    made = scene()
    return ready_busy_after(broken, made.bus.set_features(1), made)


@case(BusRule.T_WB_BUSY)
def ready_busy_does_not_fall_for_a_program(broken):
    made = erased()
    return ready_busy_after(broken, made.bus.program(1, 0, 0), made)


@case(BusRule.T_RR)
def ready_to_parameters(broken):
    made = scene()
    rise = made.bus.ask(1, Opcode.GET_FEATURES, 1)
    made.bus.until(rise + 40)
    start = made.bus.output(1, 4)
    made.answers = [(start - 3 + broken, 1, lun) for lun in range(2)]
    return made


@case(BusRule.T_WHR)
def address_to_identifier(broken):
    made = scene(replace(FULL, t_whr_ps=200_000))
    rise = made.bus.ask(1, Opcode.READ_ID)
    made.bus.ask(0, Opcode.READ_ID)
    made.bus.until(rise + 60)
    rise = made.bus.ask(1, Opcode.READ_ID)
    assert made.bus.output(1, 4, whr=20 - broken) == rise + 20 - broken
    made.bus.output(0, 4)
    return made
