"""Waveforms that keep, or break, the bus rules about reading and driving."""

from dataclasses import replace

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_bus import PART, OnfiBus
from tests.scenarios.onfi_scene import Scene, case, have_read, then_reset, transferred


@case(BusRule.T_RR)
def ready_to_read_enable(broken):
    bus = OnfiBus(replace(PART, t_rr_ps=300_000))
    confirm = bus.read(1, 0, 3, 0)
    bus.until(confirm + 20)
    start = bus.transfer(1, 0, 3, 0, 8)
    return Scene(bus, [(start - 30 + broken, 1, 0, 1)])


@case(BusRule.T_WHR)
def status_to_read_enable(broken):
    bus = OnfiBus()
    bus.status(1, whr=8 - broken)
    return Scene(bus)


@case(BusRule.T_WHR)
def enhanced_status_to_read_enable(broken):
    bus = OnfiBus()
    bus.status_enhanced(0, 1, 5, whr=8 - broken)
    return Scene(bus)


@case(BusRule.T_CCS)
def choice_to_read_enable(broken):
    return transferred(ccs=13 - broken)


@case(BusRule.T_RHW)
def read_to_write(broken):
    return then_reset(transferred(), rhw=10 - broken)


@case(BusRule.T_RPRE)
def preamble(broken):
    return transferred(rpre=2 - broken)


@case(BusRule.T_RPST)
def postamble(broken):
    return transferred(rpst=4 - broken)


@case(BusRule.BURST_SOURCE)
def burst_without_choice(broken):
    scene = have_read()
    if not broken:
        scene.bus.choose(1, 0, 3, 0)
        scene.bus.tick(13)
    else:
        scene.bus.select(1, cs=10)
    scene.bus.burst(4)
    return scene


@case(BusRule.BURST_SOURCE)
def burst_from_another_way(broken):
    scene = transferred()
    scene.bus.select(0 if broken else 1, cs=10)
    scene.bus.burst(4)
    return scene


@case(BusRule.BURST_SOURCE)
def burst_after_another_command(broken):
    scene = have_read()
    bus = scene.bus
    bus.choose(1, 0, 3, 0)
    if broken:
        bus.tick(5)
        bus.command(Opcode.RESET)
    bus.tick(13)
    bus.burst(4)
    return scene


@case(BusRule.BURST_LENGTH)
def half_a_pair(broken):
    scene = transferred()
    if broken:
        last = scene.bus.last_data
        scene.forced = {last - 1: {"re_n": 0b11}, last: {"re_n": 0b01}}
    return scene


@case(BusRule.BURST_LENGTH)
def empty_burst(broken):
    return transferred(count=0 if broken else 2, rpst=16)


@case(BusRule.BURST_LENGTH)
def odd_burst_at_one_transfer_a_clock(broken):
    scene = transferred(count=4, phases=1)
    if broken:
        last = scene.bus.last_data
        scene.forced = {last + extra: {"re_n": 1} for extra in range(5)}
    return scene


@case(BusRule.BURST_PAUSE)
def pause(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data - 3: {"re_n": 0}}
    return scene


@case(BusRule.PAGE_END)
def burst_past_the_page(broken):
    return transferred(column=572, count=6 if broken else 4)


@case(BusRule.DIE_DRIVES)
def two_dies(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data: {"die_oe": 0b11}}
    return scene


@case(BusRule.DIE_DRIVES)
def wrong_die(broken):
    scene = have_read()
    scene.bus.select(1)
    scene.bus.tick(3)
    scene.forced = {scene.bus.edge - 1: {"die_oe": 0b01 if broken else 0b10}}
    return scene


@case(BusRule.DIE_DRIVES)
def die_turns_off_late(broken):
    scene = transferred()
    bus = scene.bus
    first_high = bus.edge - 1
    scene.forced = {first_high + 2 + broken: {"die_oe": 0b10}}
    return scene


@case(BusRule.CONTENTION)
def both_drive(broken):
    scene = transferred()
    first_high = scene.bus.edge - 1
    scene.forced = {first_high + 3 - broken: {"dq_oe": 1}}
    return scene


def dqs_moved(by):
    scene = transferred()
    levels = [pins["dqs_i"] for pins in scene.pins()]
    scene.forced = {edge: {"dqs_i": levels[edge - by]} for edge in range(by, len(levels))}
    return scene


@case(BusRule.T_DQSRE)
def late_strobe(broken):
    return dqs_moved(int(broken))


@case(BusRule.T_DQSRE)
def die_does_not_drive(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.last_data + 5: {"die_oe": 0}}
    return scene


@case(BusRule.T_DQSRE)
def strobe_of_nobody(broken):
    scene = have_read()
    if broken:
        scene.forced = {scene.bus.edge - 1: {"dqs_i": 0b10}}
    return scene
