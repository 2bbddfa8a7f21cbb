"""Part descriptions: what is refused, rounding to cycles, and row addresses on the bus."""

from dataclasses import fields, replace

import pytest

from rtl.contract.nand_array import Poll, SuspendOpcodes
from rtl.contract.nand_part import ExtendedTimes, NandPart, SdrReadTimes, cycles
from rtl.contract.onfi import Opcode, StatusBit, plane, row_address, row_bits, split_row
from tests.scenarios.onfi_bus import NO_STROBE

PART = NandPart(
    name="made up",
    page_bytes=16_384,
    spare_bytes=1_664,
    pages_per_block=128,
    blocks_per_lun=10,
    luns=2,
    t_r_ps=50_000_000,
    t_wc_ps=25_000,
    t_wp_ps=11_000,
    t_wh_ps=11_000,
    t_cs_ps=20_000,
    t_ch_ps=5_000,
    t_cals_ps=10_000,
    t_cah_ps=5_000,
    t_wb_ps=100_000,
    t_rr_ps=20_000,
    t_whr_ps=80_000,
    t_ccs_ps=300_000,
    t_rhw_ps=100_000,
    t_rpre_ps=15_000,
    t_rpst_ps=12_500,
    t_dqsre_ps=25_000,
    poll_first_ps=50_000_000,
    poll_period_ps=1_000_000,
)
NO_NUMBERS = ("name", "extended", "program_poll", "erase_poll", "suspend", "sdr")
NUMBERS = [field.name for field in fields(NandPart) if field.name not in NO_NUMBERS]
EXTENDED = ExtendedTimes(
    t_adl_ps=300_000,
    t_wpre_ps=15_000,
    t_wpst_ps=6_500,
    t_prog_ps=400_000_000,
    t_bers_ps=3_000_000_000,
    t_cbsy_ps=5_000_000,
    t_rcbsy_ps=5_000_000,
    t_dbsy_ps=1_000_000,
    t_feat_ps=1_000_000,
    t_rst_ps=5_000_000,
)
SUSPEND = SuspendOpcodes(
    program_suspend=0x84,
    program_resume=0x13,
    erase_suspend=0x61,
    erase_resume=0xD2,
    t_program_suspend_ps=400_000_000,
    t_erase_suspend_ps=3_000_000_000,
)
POLL = Poll(first_ps=100_000, period_ps=1)
WRITES = {"program_poll": POLL, "erase_poll": POLL, "suspend": SUSPEND}


SDR_TIMES = {
    "t_rc_ps": 25_000,
    "t_rp_ps": 12_000,
    "t_reh_ps": 10_000,
    "t_rea_ps": 20_000,
    "t_rhoh_ps": 15_000,
    "t_rloh_ps": 5_000,
}
SDR = SdrReadTimes(**SDR_TIMES)


@pytest.mark.parametrize("name", SDR_TIMES)
def test_times_of_read_pulses_are_integers_and_hold_times_may_be_zero(name):
    assert replace(SDR, t_rhoh_ps=0, t_rloh_ps=0).t_rloh_ps == 0
    is_hold = name in ("t_rhoh_ps", "t_rloh_ps")
    kind, value = ("non-negative", -1) if is_hold else ("positive", 0)
    with pytest.raises(ValueError, match=f"{name} must be a {kind} integer, not {value}"):
        replace(SDR, **{name: value})


def test_a_read_cycle_holds_its_halves():
    with pytest.raises(ValueError, match="t_rc_ps must be at least t_rp_ps"):
        replace(SDR, t_rc_ps=21_999)


def test_an_sdr_bus_has_no_times_of_a_strobe():
    part = replace(PART, sdr=SDR, **NO_STROBE)
    whole = replace(EXTENDED, t_wpre_ps=None, t_wpst_ps=None)
    assert replace(part, extended=whole).sdr == SDR
    with pytest.raises(ValueError, match="t_rpre_ps must be None on an SDR bus, not 15000"):
        replace(PART, sdr=SDR)
    with pytest.raises(ValueError, match="t_wpst_ps must be None on an SDR bus, not 6500"):
        replace(part, extended=replace(whole, t_wpst_ps=6_500))
    with pytest.raises(ValueError, match="t_wpre_ps must be given on a bus with DQS, not None"):
        replace(PART, extended=whole)


def test_derived_sizes():
    assert PART.raw_page_bytes == 18_048
    assert PART.rows == 1_280


@pytest.mark.parametrize("value", [0, -1, 2.5, "5", None])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_positive_integers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a positive integer, not {value!r}"):
        replace(PART, **{name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"page_bytes": 16_383}, "must be even on a DDR bus, not 16383 and 1664"),
        ({"pages_per_block": 96}, "pages_per_block must be a power of two, not 96"),
        ({"spare_bytes": 1_663}, "must be even on a DDR bus, not 16384 and 1663"),
        (
            {"t_wc_ps": 21_999},
            r"t_wc_ps must be at least t_wp_ps \+ t_wh_ps, not 21999 < 11000 \+ 11000",
        ),
        ({"poll_first_ps": 99_999}, "poll_first_ps must be at least t_wb_ps, not 99999 < 100000"),
    ],
)
def test_contradictions(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PART, **change)


def test_limits_that_just_hold():
    replace(PART, t_wc_ps=22_000, poll_first_ps=100_000)


@pytest.mark.parametrize(
    ("duration_ps", "whole"),
    [(0, 0), (1, 1), (9_999, 1), (10_000, 1), (10_001, 2), (100_000, 10), (105_000, 11)],
)
def test_cycles_of_a_100_mhz_clock(duration_ps, whole):
    assert cycles(duration_ps, 10_000) == whole


def test_cycles_are_exact_beyond_floating_point():
    assert cycles(10**20 + 1, 10) == 10**19 + 1


def test_row_addresses_put_the_lun_above_the_rows():
    # 1,280 rows need 11 bits (2^10 < 1,280 <= 2^11): LUN 1 is 1 << 11 = 2,048.
    assert row_bits(PART) == 11
    assert row_address(PART, 1, 5) == 2_053
    assert split_row(PART, 2_053) == (1, 5)
    for lun in range(2):
        for row in (0, 1, 127, 128, 1_279):
            assert split_row(PART, row_address(PART, lun, row)) == (lun, row)


@pytest.mark.parametrize(("blocks", "bits"), [(8, 10), (16, 11), (17, 12)])
def test_row_bits_of_whole_powers(blocks, bits):
    # 8 * 128 = 1,024 rows, 0 to 1,023, fit 10 bits.
    assert row_bits(replace(PART, blocks_per_lun=blocks)) == bits


def test_commands_and_status_as_onfi_prints_them():
    # ONFI 3.1, table 60: Read 00h 30h; Change Read Column 05h E0h; Read Status 70h; Read Status
    # Enhanced 78h; Reset FFh. (05h with a row address is the form of Toggle-mode parts.)
    # ONFI 3.1, table 60.
    read_path = [0x00, 0x30, 0x05, 0xE0, 0x70, 0x78, 0xFF]
    others = "06 32 31 3F 80 10 15 11 85 60 D0 D1 90 EC EE EF"
    assert [opcode.value for opcode in Opcode] == [*read_path, *bytes.fromhex(others)]
    # Section 5.13: bit 7 WP_n, 6 RDY, 5 ARDY, 1 FAILC, 0 FAIL.
    assert {bit.name: bit.value for bit in StatusBit} == {
        "FAIL": 1 << 0,
        "FAILC": 1 << 1,
        "ARDY": 1 << 5,
        "RDY": 1 << 6,
        "WP_N": 1 << 7,
    }


@pytest.mark.parametrize("name", [field.name for field in fields(ExtendedTimes)])
def test_extended_times_are_positive_integers(name):
    with pytest.raises(ValueError, match=f"{name} must be a positive integer, not 0"):
        replace(EXTENDED, **{name: 0})


@pytest.mark.parametrize("planes", [3, 4])
def test_planes_share_out_the_blocks(planes):
    message = rf"planes must be a power of two that divides blocks_per_lun \(10\), not {planes}"
    with pytest.raises(ValueError, match=message):
        replace(PART, planes=planes, extended=EXTENDED)


def test_several_planes_need_extended_times():
    with pytest.raises(ValueError, match="extended times must be given"):
        replace(PART, planes=2)


@pytest.mark.parametrize("name", WRITES)
def test_what_is_about_programs_and_erases_needs_extended_times(name):
    replace(PART, extended=EXTENDED, **WRITES)
    message = f"extended times must be given for a part with {name}, not None"
    with pytest.raises(ValueError, match=message):
        replace(PART, **{name: WRITES[name]})


@pytest.mark.parametrize("name", ["program_poll", "erase_poll"])
def test_no_first_poll_comes_before_twb(name):
    message = f"first_ps of {name} must be at least t_wb_ps, not 99999 < 100000"
    with pytest.raises(ValueError, match=message):
        replace(PART, extended=EXTENDED, **{name: replace(POLL, first_ps=99_999)})


@pytest.mark.parametrize("kind", ["program", "erase"])
def test_a_suspend_is_no_longer_than_what_it_suspends(kind):
    name = f"t_{kind}_suspend_ps"
    suspend = replace(SUSPEND, **{name: getattr(SUSPEND, name) + 1})
    with pytest.raises(ValueError, match=f"{name} must be at most t_"):
        replace(PART, extended=EXTENDED, suspend=suspend)


def test_the_plane_is_the_lowest_bit_of_the_block():
    part = replace(PART, planes=2, extended=EXTENDED)
    assert [plane(part, row) for row in (0, 127, 128, 255, 256)] == [0, 0, 1, 1, 0]
