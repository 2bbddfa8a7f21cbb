"""Waveforms that keep, or break, the bus rules about data to a die."""

from dataclasses import replace

from rtl.contract.onfi import BusRule, Opcode
from tests.scenarios.onfi_checked_scene import erased, scene
from tests.scenarios.onfi_operations import EIGHT, FULL, piece
from tests.scenarios.onfi_scene import case


def loaded(part=FULL, phases=2, row=0, column=0, raw=EIGHT, **times):
    """80h with data to LUN 0 of way 1, and no confirm cycle; CE# stays low."""
    made = scene(part, phases=phases)
    made.bus.load(1, 0, row, column, raw, **times)
    made.bus.tick(8)
    return made


def programmed(**load):
    made = erased()
    made.bus.program(1, 0, 0, **load)
    return made


@case(BusRule.T_ADL)
def address_to_data(broken):
    return programmed(gap=15 - broken)


@case(BusRule.T_ADL)
def address_to_feature(broken):
    made = scene()
    made.bus.set_features(1, gap=15 - broken)
    return made


@case(BusRule.T_CCS_WRITE)
def write_column_to_data(broken):
    made = erased()
    made.bus.load(1, 0, 0)
    made.bus.load_more(100, gap=13 - broken)
    made.bus.end(Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.T_WPRE)
def write_preamble(broken):
    return programmed(wpre=2 - broken)


@case(BusRule.T_WPRE)
def no_write_preamble(broken):
    return programmed(wpre=0 if broken else 2)


@case(BusRule.T_WPST)
def write_postamble(broken):
    return programmed(wpst=3 - broken)


@case(BusRule.WRITE_SOURCE)
def data_twice(broken):
    made = erased()
    made.bus.load(1, 0, 0)
    made.bus.tick(2)
    if broken:
        made.bus.data_in(EIGHT)
    made.bus.end(Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.WRITE_SOURCE)
def data_to_another_way(broken):
    made = scene()
    bus = made.bus
    bus.begin(1)
    bus.command(Opcode.PROGRAM)
    bus.page(0, 0)
    bus.deselect()
    bus.select(0 if broken else 1, cs=20)
    bus.data_in(EIGHT)
    return made


@case(BusRule.WRITE_SOURCE)
def data_of_an_erase(broken):
    made = scene()
    bus = made.bus
    bus.begin(1)
    bus.command(Opcode.BLOCK_ERASE)
    bus.address(0, 3)
    if broken:
        bus.data_in(EIGHT)
    bus.end(Opcode.BLOCK_ERASE_CONFIRM)
    return made


@case(BusRule.WRITE_ALONE)
def latch_enable_with_the_strobe(broken):
    made = loaded()
    made.forced = {made.bus.last_write + (3 if broken else 4): {"ale": 1}}
    return made


@case(BusRule.WRITE_ALONE)
def chip_enable_before_the_strobe_is_off(broken):
    made = loaded()
    made.bus.deselect()
    off = made.bus.edge - 1 + broken
    made.forced = {clock: {"dqs_oe": 1} for clock in range(made.bus.last_write, off)}
    return made


@case(BusRule.WRITE_DRIVEN)
def undriven_data(broken):
    made = programmed()
    if broken:
        made.forced = {made.bus.last_write: {"dq_oe": 0}}
    return made


@case(BusRule.WRITE_LENGTH)
def half_a_pair_to_a_die(broken):
    made = programmed()
    if broken:
        last = made.bus.last_write
        made.forced = {last - 1: {"dqs_o": 0b11}, last: {"dqs_o": 0b01}}
    return made


@case(BusRule.WRITE_LENGTH)
def empty_data(broken):
    return programmed(raw=piece(0 if broken else 2))


@case(BusRule.WRITE_LENGTH)
def odd_data_at_one_transfer_a_clock(broken):
    made = loaded(phases=1, raw=piece(4))
    if broken:
        last = made.bus.last_write
        made.forced = {last + extra: {"dqs_o": 1} for extra in range(4)}
    return made


@case(BusRule.WRITE_LENGTH)
def half_a_feature(broken):
    made = scene()
    made.bus.set_features(1, raw=piece(2 if broken else 4))
    return made


@case(BusRule.WRITE_LENGTH)
def more_than_a_feature(broken):
    made = scene()
    made.bus.set_features(1, raw=piece(6 if broken else 4))
    return made


@case(BusRule.WRITE_PAUSE)
def pause_in_data(broken):
    made = programmed()
    if broken:
        made.forced = {made.bus.last_write - 2: {"dqs_o": 0}}
    return made


@case(BusRule.WRITE_PAGE_END)
def data_past_the_page(broken):
    return programmed(column=572, raw=piece(6 if broken else 4))


@case(BusRule.WRITE_PAGE_END)
def more_data_past_the_page(broken):
    made = erased()
    made.bus.load(1, 0, 0)
    made.bus.load_more(572, piece(6 if broken else 4))
    made.bus.end(Opcode.PROGRAM_CONFIRM)
    return made


@case(BusRule.WRITE_PAGE_END)
def byte_past_the_page_at_one_transfer_a_clock(broken):
    return loaded(phases=1, column=572, raw=piece(6 if broken else 4))


@case(BusRule.T_CH)
def chip_enable_after_data(broken):
    made = scene(replace(FULL, t_ch_ps=100_000))
    bus = made.bus
    bus.load(1, 0, 0)
    bus.until(bus.last_write + 10 - broken)
    bus.tick(ce_n=0b11)
    return made


@case(BusRule.T_CS)
def chip_enable_before_data(broken):
    made = scene()
    bus = made.bus
    bus.begin(1)
    bus.command(Opcode.PROGRAM)
    bus.page(0, 0)
    bus.deselect()
    bus.tick(20)
    bus.tick(4 - broken, ce_n=0b01)
    bus.data_in(EIGHT)
    return made


@case(BusRule.CONTENTION)
def die_drives_within_the_strobe(broken):
    made = loaded()
    made.forced = {made.bus.last_write + (3 if broken else 4): {"die_oe": 0b10}}
    return made
