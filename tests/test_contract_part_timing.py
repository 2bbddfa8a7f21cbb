"""Modes in clocks: counted by hand, and for any clock the least that keep every rule."""

from dataclasses import fields, replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from rtl.contract.bus_times import Interface
from rtl.contract.interface_timing import (
    NvDdr2Timing,
    NvDdrTiming,
    SdrTiming,
    interface_timing,
)
from rtl.contract.onfi_modes import MODES, onfi_mode

ALL = [times for modes in MODES.values() for times in modes]
COMMON = {
    "select_to_command": "t_cs_ps",
    "command_to_deselect": "t_ch_ps",
    "deselect_to_select": "t_ceh_ps",
    "address_to_data_in": "t_adl_ps",
    "column_to_data": "t_ccs_ps",
    "command_to_data_out": "t_whr_ps",
    "data_out_to_command": "t_rhw_ps",
    "ready_to_data_out": "t_rr_ps",
    "confirm_to_busy": "t_wb_ps",
}
"""By count: the time that it keeps, in all interfaces."""


def sdr_rules(times, period, phases, c):
    """What ONFI asks of SDR; every count is one of clocks of ``period``."""
    low, high = c.command_low * period, c.command_high * period
    yield low >= max(times.t_wp_ps, times.t_cls_ps, times.t_als_ps, times.t_ds_ps)
    yield high >= max(times.t_wh_ps, times.t_clh_ps, times.t_alh_ps, times.t_dh_ps)
    yield low + high >= times.t_wc_ps
    re_low, cycle = c.read_low * period, (c.read_low + c.read_high) * period
    yield re_low >= times.t_rp_ps
    yield cycle - re_low >= times.t_reh_ps
    yield cycle >= times.t_rc_ps
    captured = c.response * period
    yield captured >= times.t_rea_ps
    is_edo = cycle < 30_000
    yield captured <= (cycle + times.t_rloh_ps if is_edo else re_low + times.t_rhoh_ps)


def nv_ddr_rules(times, period, phases, c):
    """What ONFI asks of NV-DDR, with CLK of ``2 / phases`` clocks."""
    clk = Fraction(2 * period, phases)
    step = clk / period if clk > period else 1
    low, high = c.command_low * period, c.command_high * period
    yield low >= max(times.t_cals_ps, times.t_cas_ps)
    yield high >= max(times.t_calh_ps, times.t_cah_ps)
    yield low + high >= times.t_cad_ps
    yield (c.command_low + c.command_high) % step == 0
    yield all(getattr(c, name) % step == 0 for name in (*COMMON, "read_preamble"))
    yield c.response * period >= times.t_dqsck_ps
    yield c.read_preamble * period >= times.t_wrck_ps
    yield c.read_postamble * period >= -(-(times.t_dqsck_ps + clk) // clk) * clk
    yield c.write_preamble * period >= clk * 3 / 2
    yield c.write_postamble * period >= clk * 3 / 2


def nv_ddr2_rules(times, period, phases, c):
    """What ONFI asks of NV-DDR2."""
    low, high = c.command_low * period, c.command_high * period
    yield low >= max(times.t_wp_ps, times.t_cals_ps, times.t_cas_ps)
    yield high >= max(times.t_wh_ps, times.t_calh_ps, times.t_cah_ps)
    yield low + high >= times.t_wc_ps
    yield c.response * period >= times.t_dqsre_ps
    yield c.read_preamble * period >= times.t_rpre_ps
    yield c.read_postamble * period >= times.t_dqsre_ps + Fraction(period, phases)
    yield c.read_hold * period >= times.t_rpsth_ps
    yield c.write_setup * period >= times.t_cdqss_ps
    yield c.write_preamble * period >= times.t_wpre_ps
    yield c.write_postamble * period >= times.t_wpst_ps
    yield c.write_hold * period >= times.t_wpsth_ps


DDR = ("command_low", "command_high", "response", "read_preamble", "read_postamble")
WRITE = ("write_preamble", "write_postamble")
INTERFACES = {
    Interface.SDR: (
        SdrTiming,
        sdr_rules,
        ("command_low", "command_high", "response", "read_low", "read_high"),
    ),
    Interface.NV_DDR: (NvDdrTiming, nv_ddr_rules, (*DDR, *WRITE)),
    Interface.NV_DDR2: (
        NvDdr2Timing,
        nv_ddr2_rules,
        (*DDR, *WRITE, "read_hold", "write_setup", "write_hold"),
    ),
}


def broken(timing, counts):
    """Whether ``counts`` break a rule of the mode."""
    _, rules, _ = INTERFACES[timing.times.interface]
    c, period = SimpleNamespace(**counts), timing.period_ps
    common = (counts[name] * period >= getattr(timing.times, t) for name, t in COMMON.items())
    return not all((*common, *rules(timing.times, period, timing.phases, c)))


def all_counts(timing):
    names = INTERFACES[timing.times.interface][2]
    return {name: getattr(timing, name) for name in (*COMMON, *names)}


def is_in_window(times, period, phases):
    cycle = Fraction(2 * period, phases)
    if times.interface is Interface.NV_DDR:
        return times.t_ck_ps <= cycle <= times.t_ck_max_ps
    return times.interface is Interface.SDR or cycle >= times.t_rc_ps


@st.composite
def modes_of_parts(draw):
    """Any mode, with some of its times as a part may ask for them."""
    times = draw(st.sampled_from(ALL))
    names = [field.name for field in fields(times) if field.name != "mode"]
    changes = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 120_000), max_size=3))
    try:
        return replace(times, **changes)
    except ValueError:
        return times


@settings(max_examples=500, deadline=None)
@given(times=modes_of_parts(), half_period=st.integers(250, 60_000))
def test_counts_are_the_least_that_keep_every_rule(times, half_period):
    period = 2 * half_period
    choices = (1,) if times.interface is Interface.SDR else (1, 2, 4)
    fitting = [phases for phases in choices if is_in_window(times, period, phases)]
    event(f"{times.interface.value}: {max(fitting, default='none')}")
    if not fitting:
        with pytest.raises(ValueError, match=f"{times} must take"):
            interface_timing(times, period)
        return
    timing = interface_timing(times, period)
    kind, counts = INTERFACES[times.interface][0], all_counts(timing)
    assert (type(timing), timing.phases) == (kind, max(fitting))
    assert min(counts.values()) >= 1
    assert not broken(timing, counts)
    for name in counts:
        # At half the rate of CLK the next smaller distance is two clocks less.
        steps = (1, 2) if times.interface is Interface.NV_DDR and timing.phases == 1 else (1,)
        for step in steps:
            if name in ("response", *WRITE, "read_postamble") and step == 2:
                continue
            assert broken(timing, counts | {name: counts[name] - step}), (name, step)


WHOLES = {
    Interface.SDR: {"t_wc_ps": 200_000, "t_rc_ps": 200_000},
    Interface.NV_DDR: {"t_cad_ps": 200_000, "t_ck_max_ps": 200_000},
    Interface.NV_DDR2: {"t_wc_ps": 200_000},
}
"""Times of which others are a part."""
LONG = [
    pytest.param(modes[-1], field.name, id=f"{modes[-1].interface.value}-{field.name}")
    for modes in MODES.values()
    for field in fields(modes[-1])
    if field.name != "mode"
]


@pytest.mark.parametrize(("times", "name"), LONG)
def test_each_time_is_kept_where_it_is_the_longest(times, name):
    for changes in ({}, WHOLES[times.interface]):
        try:
            asked = replace(times, **(changes | {name: 97_000}))
        except ValueError:
            continue
        for period in (2_500, 5_000, 10_000, 50_000):
            if any(is_in_window(asked, period, phases) for phases in (1, 2, 4)):
                timing = interface_timing(asked, period)
                assert not broken(timing, all_counts(timing)), period


@settings(deadline=None)
@given(times=st.sampled_from(ALL), half_period=st.integers(250, 60_000), phases=st.integers(0, 5))
def test_phases_of_the_phy_are_taken_or_refused(times, half_period, phases):
    allowed = (1,) if times.interface is Interface.SDR else (1, 2, 4)
    if phases in allowed and is_in_window(times, 2 * half_period, phases):
        assert interface_timing(times, 2 * half_period, phases).phases == phases
    else:
        with pytest.raises(ValueError, match=f"{times} must"):
            interface_timing(times, 2 * half_period, phases)


def counts_of(interface, mode, period, *names):
    timing = interface_timing(onfi_mode(interface, mode), period)
    return [getattr(timing, name) for name in names]


def test_nv_ddr2_mode_4_at_100_mhz():
    # By hand, 10 ns a clock. WE# low: tCALS 15 -> 2. High: tWC 25 -> 3 less 2, but tWH 11 -> 2.
    # Postamble: tDQSRE 25 + tRC / 2 of 5 = 30 -> 3. RE# to DQS: 25 -> 3. tRPRE 15 -> 2.
    names = ("phases", "command_low", "command_high", "read_preamble", "read_postamble", "response")
    assert counts_of(Interface.NV_DDR2, 4, 10_000, *names) == [2, 2, 2, 2, 3, 3]
    # tCDQSS 30 -> 3, tWPRE 15 -> 2, tWPST 6.5 -> 1, tWPSTH 15 -> 2, tADL 400 -> 40, tCCS 500 -> 50.
    names = ("write_setup", "write_preamble", "write_postamble", "write_hold")
    assert counts_of(Interface.NV_DDR2, 4, 10_000, *names) == [3, 2, 1, 2]
    names = ("address_to_data_in", "column_to_data", "command_to_data_out", "confirm_to_busy")
    assert counts_of(Interface.NV_DDR2, 4, 10_000, *names) == [40, 50, 8, 10]


def test_sdr_mode_5_at_100_mhz():
    # tRP 10 -> 1, tREH 7 -> 1: a byte in two clocks, 50 MT/s. tREA 16 -> 2: with RE# falling again.
    names = ("clocks_per_transfer", "read_low", "read_high", "response", "transfers_per_second")
    assert counts_of(Interface.SDR, 5, 10_000, *names) == [2, 1, 1, 2, 50_000_000]
    assert counts_of(Interface.SDR, 5, 10_000, "command_low", "command_high") == [1, 1]


def test_sdr_read_waits_until_its_data_is_captured():
    # Mode 1, 25 ns a clock. tREA 30 -> captured after 2 clocks, 50 ns. tRP and tRC would do with
    # one clock low and one high, but then RE# rises at 25 ns and data holds until 40 ns.
    assert counts_of(Interface.SDR, 1, 25_000, "read_low", "read_high", "response") == [2, 1, 2]


def test_sdr_data_that_is_extended_beyond_the_rising_edge():
    # Mode 5 but tREA 26 ns, 4 ns a clock: captured after 7 clocks, 28 ns. tREH 7 -> 2, tRP 10 -> 3
    # make a cycle of 20 ns, and the data holds until 20 + tRLOH 5 = 25 ns; in 24 ns until 29.
    times = replace(onfi_mode(Interface.SDR, 5), t_rea_ps=26_000)
    timing = interface_timing(times, 4_000)
    assert (timing.read_low, timing.read_high, timing.response) == (4, 2, 7)


def test_nv_ddr_with_a_clk_of_two_clocks():
    # Mode 2, 10 ns a clock, CLK 20 ns. tCAD 45 -> 3 periods of CLK = 6 clocks; tCALS 4 -> 1.
    names = ("phases", "command_low", "command_high", "clock_ratio", "read_preamble")
    assert counts_of(Interface.NV_DDR, 2, 10_000, *names) == [1, 1, 5, 2, 2]
    # tCKWR: (25 + 20) / 20 -> 3 periods = 6 clocks; tWPRE 1.5 periods = 3 clocks.
    names = ("read_postamble", "write_preamble", "response")
    assert counts_of(Interface.NV_DDR, 2, 10_000, *names) == [6, 3, 3]


@pytest.mark.parametrize(
    ("interface", "mode", "period", "rate_mt"),
    [
        (Interface.SDR, 0, 10_000, 10),
        (Interface.NV_DDR, 5, 20_000, 200),
        (Interface.NV_DDR, 5, 10_000, 200),
        (Interface.NV_DDR, 5, 5_000, 200),
        (Interface.NV_DDR2, 7, 10_000, 400),
        (Interface.NV_DDR2, 7, 5_000, 400),
        (Interface.NV_DDR2, 7, 2_500, 400),
    ],
)
def test_rates(interface, mode, period, rate_mt):
    rate = counts_of(interface, mode, period, "transfers_per_second")
    assert rate == [rate_mt * 10**6]


def test_a_clock_that_cannot_make_the_mode():
    message = (
        "nv-ddr mode 5 must take 10000 to 12000 ps for two transfers, "
        "not what a clock of 8000 ps makes of 1 or 2 or 4 transfers a clock"
    )
    with pytest.raises(ValueError, match=message):
        interface_timing(onfi_mode(Interface.NV_DDR, 5), 8_000)
    message = "nv-ddr2 mode 0 must take at least 30000 ps for two transfers, not .* 10000 ps"
    with pytest.raises(ValueError, match=message):
        interface_timing(onfi_mode(Interface.NV_DDR2, 0), 10_000)
    with pytest.raises(ValueError, match="sdr mode 3 must have 1 transfer a clock, not 2"):
        interface_timing(onfi_mode(Interface.SDR, 3), 10_000, 2)


@pytest.mark.parametrize("period", [0, -2, 3, 10_000.0, None])
def test_periods_are_positive_even_integers(period):
    with pytest.raises(TypeError, match="Period must be a positive, even integer"):
        interface_timing(onfi_mode(Interface.SDR, 3), period)
    with pytest.raises(TypeError, match="Period must be a positive, even integer"):
        NvDdr2Timing(times=onfi_mode(Interface.NV_DDR2, 0), period_ps=period, phases=2)


def test_a_timing_of_its_own_is_checked_too():
    with pytest.raises(ValueError, match="nv-ddr2 mode 4 must take at least 10000 ps"):
        NvDdr2Timing(times=onfi_mode(Interface.NV_DDR2, 4), period_ps=10_000, phases=4)
