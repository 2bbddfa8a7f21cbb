"""Waveforms that keep, or break, the bus rules about levels and write cycles."""

from dataclasses import replace

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_bus import PART, OnfiBus
from tests.scenarios.onfi_scene import Scene, case, have_read, read_with, transferred


@case(BusRule.CE_ONE_LOW)
def two_chips_enabled(broken):
    scene = have_read()
    scene.bus.select(1)
    scene.bus.tick(3, ce_n=0b00 if broken else 0b01)
    scene.bus.tick(3, ce_n=0b01)
    return scene


@case(BusRule.NO_TARGET)
def writing_to_nobody(broken):
    bus = OnfiBus()
    if not broken:
        bus.begin(0)
    bus.command(Opcode.RESET)
    return Scene(bus)


@case(BusRule.NO_TARGET)
def reading_nobody(broken):
    scene = have_read()
    scene.bus.tick(3, re_n=0b00 if broken else 0b11)
    scene.bus.tick(re_n=0b11)
    return scene


@case(BusRule.LATCH_BOTH)
def command_and_address_at_once(broken):
    bus = OnfiBus()
    bus.begin(0)
    bus.cycle(Opcode.READ, cle=1, ale=int(broken))
    bus.address(0, 5)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.T_WP)
def write_pulse(broken):
    return read_with(low=2 - broken)


@case(BusRule.T_WH)
def write_high(broken):
    bus = OnfiBus(replace(PART, t_cah_ps=10_000))
    bus.begin(1)
    bus.cycle(Opcode.READ, cle=1, high=2 - broken)
    bus.address(0, 5, low=3)
    bus.command(Opcode.READ_CONFIRM)
    return Scene(bus)


@case(BusRule.T_WC)
def write_cycle(broken):
    return read_with(replace(PART, t_wc_ps=60_000), high=4 - broken)


@case(BusRule.T_CALS)
def set_up(broken):
    return read_with(setup=2 - broken)


@case(BusRule.T_CALS)
def undriven_byte(broken):
    return read_with(oe=int(not broken))


@case(BusRule.T_CALS)
def late_byte(broken):
    scene = read_with()
    if broken:
        scene.forced = {scene.bus.rise - 2: {"dq_o": 0xFF}}
    return scene


@case(BusRule.T_CALS)
def byte_at_the_last_moment(broken):
    scene = read_with()
    if broken:
        rise = scene.bus.rise
        scene.forced = {rise - 2: {"dq_o": 0xFF}, rise - 1: {"dq_o": 0xFF}}
    return scene


@case(BusRule.T_CAH)
def hold(broken):
    return read_with(hold=2 - broken)


@case(BusRule.T_CS)
def chip_enable_before_write(broken):
    bus = OnfiBus()
    bus.select(1, cs=4 - broken)
    bus.command(Opcode.RESET)
    return Scene(bus)


@case(BusRule.T_CS)
def chip_enable_before_burst(broken):
    scene = transferred()
    scene.bus.tick(10)
    scene.bus.tick(4 - broken, ce_n=0b01)
    scene.bus.burst(4)
    return scene


@case(BusRule.T_CH)
def chip_enable_after_write(broken):
    scene = read_with()
    bus = scene.bus
    bus.begin(0)
    bus.command(Opcode.RESET)
    bus.deselect(ch=3 - broken)
    return scene


@case(BusRule.T_CH)
def chip_enable_after_burst(broken):
    return transferred(replace(PART, t_ch_ps=100_000), rpst=9 - broken)
