"""ONFI's timing modes: values, order, and what a mode with other times must hold."""

from dataclasses import fields, replace

import pytest

from rtl.contract.bus_times import Interface
from rtl.contract.onfi_modes import MODES, onfi_mode

ALL = [times for modes in MODES.values() for times in modes]
GROW = ("t_rhoh_ps", "t_rloh_ps")
"""Times for which the host does the waiting less, the longer they are."""


@pytest.mark.parametrize(
    ("interface", "name", "values_ns"),
    [
        # ONFI 3.1, section 4.15: cycles and rates as everybody quotes them.
        (Interface.SDR, "t_wc_ps", (100, 45, 35, 30, 25, 20)),
        (Interface.SDR, "t_rc_ps", (100, 50, 35, 30, 25, 20)),
        (Interface.SDR, "t_rea_ps", (40, 30, 25, 20, 20, 16)),
        (Interface.NV_DDR, "t_ck_ps", (50, 30, 20, 15, 12, 10)),
        (Interface.NV_DDR2, "t_rc_ps", (30, 25, 15, 12, 10, 7.5, 6, 5)),
    ],
)
def test_cycles_of_the_modes(interface, name, values_ns):
    assert [getattr(times, name) for times in MODES[interface]] == [1000 * ns for ns in values_ns]


def test_the_longest_clock_of_a_mode_is_the_shortest_of_the_next_slower_one():
    modes = MODES[Interface.NV_DDR]
    assert [times.t_ck_max_ps for times in modes[1:]] == [times.t_ck_ps for times in modes[:-1]]


@pytest.mark.parametrize("interface", Interface)
def test_a_faster_mode_never_asks_for_more(interface):
    slower = MODES[interface][0]
    for faster in MODES[interface][1:]:
        for field in fields(faster):
            if field.name not in ("mode", *GROW):
                assert getattr(faster, field.name) <= getattr(slower, field.name), field.name
        assert faster.t_rhoh_ps >= slower.t_rhoh_ps if interface is Interface.SDR else True
        slower = faster


@pytest.mark.parametrize("interface", Interface)
def test_modes_are_found_by_number(interface):
    last = len(MODES[interface]) - 1
    assert [onfi_mode(interface, n).mode for n in range(last + 1)] == list(range(last + 1))
    message = f"Timing mode of {interface.value} must be 0 to {last}, not"
    for number in (-1, last + 1, None):
        with pytest.raises(ValueError, match=message):
            onfi_mode(interface, number)


@pytest.mark.parametrize("times", ALL, ids=str)
def test_all_times_are_positive_integers(times):
    for field in fields(times):
        may_be_zero = field.name in ("mode", *times.may_be_zero)
        replace(times, **({field.name: 0} if may_be_zero else {}))
        with pytest.raises(ValueError, match=rf"{field.name} must be a \S+ integer, not -1"):
            replace(times, **{field.name: -1})
        with pytest.raises(ValueError, match=rf"{field.name} must be a \S+ integer, not 2.5"):
            replace(times, **{field.name: 2.5})
        if not may_be_zero:
            with pytest.raises(ValueError, match=f"{field.name} must be a positive integer, not 0"):
                replace(times, **{field.name: 0})


@pytest.mark.parametrize(
    ("times", "change", "message"),
    [
        (
            MODES[Interface.SDR][0],
            {"t_wc_ps": 79_999},
            r"t_wc_ps must be at least t_wp_ps \+ t_wh_ps, not 79999 < 50000 \+ 30000",
        ),
        (
            MODES[Interface.SDR][5],
            {"t_rp_ps": 13_001},
            r"t_rc_ps must be at least t_rp_ps \+ t_reh_ps, not 20000 < 13001 \+ 7000",
        ),
        (
            MODES[Interface.NV_DDR][5],
            {"t_ck_ps": 12_001},
            "t_ck_max_ps must be at least t_ck_ps, not 12000 < 12001",
        ),
        (
            MODES[Interface.NV_DDR][0],
            {"t_cad_ps": 19_999},
            r"t_cad_ps must be at least t_cals_ps \+ t_calh_ps, not 19999 < 10000 \+ 10000",
        ),
        (
            MODES[Interface.NV_DDR][0],
            {"t_cas_ps": 40_000},
            r"t_cad_ps must be at least t_cas_ps \+ t_cah_ps, not 45000 < 40000 \+ 10000",
        ),
        (
            MODES[Interface.NV_DDR2][7],
            {"t_wh_ps": 14_001},
            r"t_wc_ps must be at least t_wp_ps \+ t_wh_ps, not 25000 < 11000 \+ 14001",
        ),
    ],
)
def test_times_that_contradict_each_other(times, change, message):
    with pytest.raises(ValueError, match=message):
        replace(times, **change)
