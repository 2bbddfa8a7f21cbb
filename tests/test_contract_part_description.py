"""Part descriptions: what contradicts itself is refused; modes, clocks, today's read path."""

from dataclasses import fields, replace

import pytest

from cosim.config.nand_file import load_part
from rtl.contract.bus_times import Interface
from rtl.contract.flash_channel import FlashChannel
from rtl.contract.nand_array import NandArrayTimes, NandGeometry, Poll, Polls, SuspendOpcodes
from rtl.contract.nand_part import NandPart
from rtl.contract.onfi_modes import onfi_mode
from rtl.contract.page import PageLayout
from rtl.contract.part_description import InterfaceSupport, PartDescription

GEOMETRY = NandGeometry(
    page_bytes=512,
    spare_bytes=320,
    pages_per_block=4,
    blocks_per_lun=10,
    planes=2,
    luns=2,
    chip_enables=3,
    bits_per_cell=2,
    programs_per_page=1,
    bad_blocks_max=9,
)
# All of them at the limit that the next one sets.
ARRAY = NandArrayTimes(
    t_r_ps=400,
    t_prog_ps=800,
    t_bers_ps=1600,
    t_rcbsy_ps=400,
    t_cbsy_ps=800,
    t_plrbsy_ps=400,
    t_plpbsy_ps=800,
    t_plebsy_ps=1600,
    t_feat_ps=1000,
    t_itc_ps=1000,
    t_rst_ready_ps=50,
    t_rst_read_ps=50,
    t_rst_program_ps=50,
    t_rst_erase_ps=50,
)
POLL = Poll(first_ps=200_000, period_ps=1)
SUSPEND = SuspendOpcodes(
    program_suspend=0x84,
    program_resume=0x13,
    erase_suspend=0x61,
    erase_resume=0xD2,
    t_program_suspend_ps=800,
    t_erase_suspend_ps=1600,
)
PART = PartDescription(
    name="made-up",
    geometry=GEOMETRY,
    array=ARRAY,
    polls=Polls(read=POLL, program=POLL, erase=POLL),
    interfaces=(
        InterfaceSupport(interface=Interface.SDR, modes=(0, 4)),
        InterfaceSupport(interface=Interface.NV_DDR, modes=(5,)),
        InterfaceSupport(
            interface=Interface.NV_DDR2, modes=(4, 7), times={"t_ccs_ps": 340_000, "t_whr_ps": 1}
        ),
    ),
    suspend=SUSPEND,
)
LAYOUT = PageLayout(page_bytes=512, spare_bytes=320, lba_bytes=512)
CHANNEL = FlashChannel(
    part=PART, ways=3, layout=LAYOUT, interface=Interface.NV_DDR2, mode=4, period_ps=10_000
)


@pytest.mark.parametrize("record", [GEOMETRY, ARRAY, POLL, SUSPEND])
def test_numbers_are_positive_integers(record):
    for field in fields(record):
        for value in (-1, 2.5, None):
            with pytest.raises(ValueError, match=f"{field.name} must be a .* integer, not {value}"):
                replace(record, **{field.name: value})
        if field.name == "bad_blocks_max":
            replace(record, bad_blocks_max=0)
            continue
        with pytest.raises(ValueError, match=f"{field.name} must be a positive integer, not 0"):
            replace(record, **{field.name: 0})


@pytest.mark.parametrize(
    ("record", "change", "message"),
    [
        (GEOMETRY, {"page_bytes": 511}, "page_bytes must be even on a DDR bus, not 511"),
        (GEOMETRY, {"spare_bytes": 321}, "spare_bytes must be even on a DDR bus, not 321"),
        (GEOMETRY, {"pages_per_block": 6}, "pages_per_block must be a power of two, not 6"),
        (GEOMETRY, {"planes": 3}, "planes must be a power of two, not 3"),
        (GEOMETRY, {"planes": 4}, "blocks_per_lun must be a multiple of planes, not 10 in 4"),
        (GEOMETRY, {"bad_blocks_max": 10}, "bad_blocks_max must be less than blocks_per_lun, not"),
        # 2^22 blocks of four pages and two LUNs: 22 + 2 + 1 = 25 bits.
        (GEOMETRY, {"blocks_per_lun": 1 << 22}, "at most 24 bits of a row address, not 25"),
        (GEOMETRY, {"spare_bytes": 65_026}, "must be at most 65536 together, not 65538"),
        (ARRAY, {"t_rcbsy_ps": 401}, "t_rcbsy_ps must be at most t_r_ps, not 401 > 400"),
        (ARRAY, {"t_plrbsy_ps": 401}, "t_plrbsy_ps must be at most t_r_ps, not 401 > 400"),
        (ARRAY, {"t_cbsy_ps": 801}, "t_cbsy_ps must be at most t_prog_ps, not 801 > 800"),
        (ARRAY, {"t_plpbsy_ps": 801}, "t_plpbsy_ps must be at most t_prog_ps, not 801 > 800"),
        (ARRAY, {"t_plebsy_ps": 1601}, "t_plebsy_ps must be at most t_bers_ps, not 1601 > 1600"),
        (ARRAY, {"t_rst_ready_ps": 51}, "t_rst_ready_ps must be at most t_rst_read_ps, not 51"),
        (ARRAY, {"t_rst_erase_ps": 49}, "t_rst_program_ps must be at most t_rst_erase_ps, not 50"),
        (
            ARRAY,
            {"t_rst_ready_ps": 51, "t_rst_read_ps": 51},
            "t_rst_read_ps must be at most t_rst_program_ps, not 51 > 50",
        ),
        (SUSPEND, {"erase_suspend": 0x160}, "erase_suspend must be a byte, not 0x160"),
        (SUSPEND, {"erase_suspend": 0x60}, "erase_suspend must be an opcode of its own, not 0x60"),
        (SUSPEND, {"erase_resume": 0x84}, "of its own, not 0x84 as program_suspend"),
        (PART, {"interfaces": PART.interfaces[1:]}, "modes of sdr must have 0"),
        (PART, {"interfaces": PART.interfaces * 2}, "interfaces must be described once each"),
        (
            PART,
            {"array": replace(ARRAY, t_prog_ps=799, t_cbsy_ps=1, t_plpbsy_ps=1)},
            "t_program_suspend_ps must be at most t_prog_ps, not 800 > 799",
        ),
        (
            PART,
            {"array": replace(ARRAY, t_bers_ps=1599, t_plebsy_ps=1)},
            "t_erase_suspend_ps must be at most t_bers_ps, not 1600 > 1599",
        ),
        (
            PART,
            {"polls": replace(PART.polls, erase=replace(POLL, first_ps=199_999))},
            "first_ps of erase must be at least tWB, not 199999 < 200000",
        ),
    ],
)
def test_contradictions(record, change, message):
    with pytest.raises(ValueError, match=message):
        replace(record, **change)


def test_a_part_that_wakes_up_in_no_sdr_mode():
    sdr = InterfaceSupport(interface=Interface.SDR, modes=(4,))
    with pytest.raises(ValueError, match="modes of sdr must have 0, in which every part wakes up"):
        replace(PART, interfaces=(sdr,))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"modes": ()}, r"modes must be different ones, at least one, not \[\]"),
        ({"modes": (4, 4)}, r"modes must be different ones, at least one, not \[4, 4\]"),
        ({"modes": (0, 8)}, "Timing mode of nv-ddr2 must be 0 to 7, not 8"),
        ({"times": {"t_rp_ps": 5}}, "t_rp_ps must be a time of nv-ddr2, and is not"),
        ({"times": {"mode": 5}}, "mode must be a time of nv-ddr2, and is not"),
        ({"times": {"t_wc_ps": 21_999}}, r"t_wc_ps must be at least t_wp_ps \+ t_wh_ps"),
    ],
)
def test_interfaces_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        InterfaceSupport(interface=Interface.NV_DDR2, **{"modes": (4,), **arguments})


def test_geometry_of_planes_and_marks():
    assert GEOMETRY.plane_address_bits == 1
    assert replace(GEOMETRY, planes=1).plane_address_bits == 0
    assert replace(GEOMETRY, planes=4, blocks_per_lun=8, bad_blocks_max=0).plane_address_bits == 2
    # The first spare byte: column 512 of pages of 512 bytes.
    assert GEOMETRY.bad_block_column == 512


def test_bus_times_are_those_of_onfi_but_for_the_parts_own():
    standard = onfi_mode(Interface.NV_DDR2, 7)
    assert PART.bus_times(Interface.NV_DDR2, 7) == replace(standard, t_ccs_ps=340_000, t_whr_ps=1)
    assert PART.bus_times(Interface.SDR, 4) == onfi_mode(Interface.SDR, 4)


def test_modes_that_the_part_does_not_have():
    message = "Timing mode of nv-ddr2 must be one of the part's, 4, 7, not 5"
    with pytest.raises(ValueError, match=message):
        PART.bus_times(Interface.NV_DDR2, 5)
    sdr_only = replace(PART, interfaces=PART.interfaces[:1])
    with pytest.raises(ValueError, match="Interface must be one of made-up's, sdr, not nv-ddr"):
        sdr_only.timing(Interface.NV_DDR, 5, 10_000)


def test_the_read_path_takes_the_times_of_nv_ddr2():
    timing = PART.timing(Interface.NV_DDR2, 4, 10_000)
    part = PART.nand_part(timing)
    assert isinstance(part, NandPart)
    # The postamble depends on the rate: tDQSRE 25 ns + tRC / 2 of 5 ns, or 2.5 ns at 400 MT/s.
    assert (part.t_rpst_ps, part.t_ccs_ps, part.t_r_ps, part.planes) == (30_000, 340_000, 400, 2)
    assert PART.nand_part(PART.timing(Interface.NV_DDR2, 7, 10_000)).t_rpst_ps == 27_500
    assert (part.poll_first_ps, part.poll_period_ps) == (200_000, 1)
    # One time for all resets and one for all planes: the longest.
    assert (part.extended.t_rst_ps, part.extended.t_dbsy_ps) == (50, 1600)
    assert (part.extended.t_adl_ps, part.extended.t_prog_ps) == (400_000, 800)


def test_an_sdr_bus_takes_the_longest_set_up_and_hold_and_no_strobe():
    sdr = PART.nand_part(PART.timing(Interface.SDR, 0, 10_000))
    # ONFI's mode 0: tCLS 50 ns, tDS 40 ns; tCLH 20 ns; tWC 100 ns, tREA 40 ns.
    assert (sdr.t_cals_ps, sdr.t_cah_ps, sdr.t_wc_ps) == (50_000, 20_000, 100_000)
    assert (sdr.sdr.t_rea_ps, sdr.sdr.t_rhoh_ps, sdr.t_dqsre_ps) == (40_000, 0, None)
    assert (sdr.extended.t_adl_ps, sdr.extended.t_wpre_ps) == (400_000, None)


@pytest.mark.parametrize(("mode", "phases", "ratio"), [(5, 2, 1), (3, 1, 2)])
def test_an_nv_ddr_bus_counts_in_periods_of_its_clk(mode, phases, ratio):
    part = load_part("tiny")
    timing = part.timing(Interface.NV_DDR, mode, 10_000)
    found = part.nand_part(timing)
    assert (timing.phases, timing.clock_ratio) == (phases, ratio)
    grid = 10_000 * ratio
    whole = ("t_wc_ps", "t_whr_ps", "t_ccs_ps", "t_rhw_ps", "t_rpre_ps", "t_rr_ps", "t_cs_ps")
    assert all(getattr(found, name) % grid == 0 for name in whole)
    # Preamble and postamble of a write, and WE# low of what follows them, are whole periods, too.
    low = max(found.t_wp_ps, -(-found.t_cals_ps // 10_000) * 10_000)
    assert (found.extended.t_wpre_ps + found.extended.t_wpst_ps + low) % grid == 0
    assert found.extended.t_wpst_ps >= found.extended.t_wpre_ps >= 15_000 * ratio


def test_a_channel_has_the_fastest_timing_of_its_mode():
    assert (CHANNEL.phases, CHANNEL.timing.transfers_per_second) == (2, 200_000_000)
    slow = replace(CHANNEL, phases=1)
    assert (slow.phases, slow.timing.transfers_per_second) == (1, 100_000_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ways": 4}, "ways must be 1 to 3, the chip enables of made-up, not 4"),
        ({"ways": 0}, "ways must be 1 to 3, the chip enables of made-up, not 0"),
        (
            {"layout": replace(LAYOUT, spare_bytes=322)},
            "be the 512 and 320 of made-up, not",
        ),
        ({"mode": 7, "phases": 4, "period_ps": 8_000}, "nv-ddr2 mode 7 must take at least 5000 ps"),
        (
            {"interface": Interface.NV_DDR, "mode": 5, "phases": None, "period_ps": 8_000},
            "to 12000",
        ),
        ({"interface": Interface.NV_DDR, "mode": 4}, "must be one of the part's, 5, not 4"),
    ],
)
def test_channels_that_cannot_be(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CHANNEL, **change)


def test_a_page_that_the_codewords_do_not_fit():
    with pytest.raises(ValueError, match=r"page_bytes \+ spare_bytes must hold 832 bytes"):
        replace(LAYOUT, spare_bytes=318)


def test_equal_descriptions_are_equal_however_their_times_are_given():
    nv_ddr2 = PART.interfaces[2]
    again = replace(nv_ddr2, times=(("t_whr_ps", 1), ("t_ccs_ps", 340_000)))
    assert again == nv_ddr2
    assert len({replace(PART, interfaces=(*PART.interfaces[:2], again)), PART}) == 1
