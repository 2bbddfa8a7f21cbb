"""Waveforms that keep, or break, the bus rules of an SDR bus."""

from dataclasses import replace

from rtl.contract.onfi import BusRule
from tests.scenarios.onfi_scene import Scene, case, then_reset
from tests.scenarios.onfi_sdr import SDR_PART, SdrBus

LONG_HOLD = {"t_rhoh_ps": 300_000, "t_rloh_ps": 200_000}


def transferred(part=SDR_PART, count=6, column=0, dies=None, **times):
    """A scene in which LUN 0 of way 1 has read row 3, and bytes of it are transferred."""
    bus = SdrBus(part)
    confirm = bus.read(1, 0, 3, 0)
    ready = confirm + bus.limit("wb") + 20
    bus.until(ready + 10)
    bus.transfer(1, 0, 3, column, count, **times)
    return Scene(bus, [(ready, 1, 0, 1)], die_part=dies)


@case(BusRule.T_RC)
def read_cycle(broken):
    return transferred(rc=6 - broken)


@case(BusRule.T_RP)
def read_low(broken):
    return transferred(rp=3 - broken)


@case(BusRule.T_REH)
def read_high(broken):
    return transferred(rp=5, reh=2 - broken, rc=6)


@case(BusRule.T_REA)
def late_die(broken):
    scene = transferred()
    if broken:
        scene.forced = {scene.bus.falls[2] + 3: {"die_oe": 0}}
    return scene


@case(BusRule.READ_WINDOW)
def byte_that_is_gone(broken):
    # Captured six clocks after the fall; the dies hold it for longer than they must.
    part = replace(SDR_PART, sdr=replace(SDR_PART.sdr, t_rea_ps=55_000))
    dies = replace(part, sdr=replace(part.sdr, **LONG_HOLD))
    return transferred(part, dies=dies, rp=5 - broken, rc=7)


@case(BusRule.READ_WINDOW)
def byte_that_the_next_one_pushes_out(broken):
    times = {"t_rc_ps": 20_000, "t_rp_ps": 10_000, "t_reh_ps": 10_000}
    held = replace(SDR_PART.sdr, **times, t_rea_ps=15_000 + 10_000 * broken, t_rhoh_ps=20_000)
    part = replace(SDR_PART, sdr=held)
    dies = replace(part, sdr=replace(held, t_rloh_ps=10_000))
    return transferred(part, dies=dies, rp=1, rc=2)


@case(BusRule.T_RHW)
def read_to_write(broken):
    return then_reset(transferred(), rhw=10 - broken)


@case(BusRule.BURST_LENGTH)
def odd_burst(broken):
    return transferred(count=5 if broken else 6)


@case(BusRule.PAGE_END)
def burst_beyond_the_page(broken):
    return transferred(column=572 + 2 * broken, count=4)
