"""The parameter page: bytes by hand, the CRC by another method, and a real part's page."""

from dataclasses import replace

import pytest
from amaranth.lib.data import Layout
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl.contract.bus_times import Interface
from rtl.contract.codec import byte_size
from rtl.contract.parameter_page import (
    PAGE_BYTES,
    Feature,
    MultiPlane,
    OptionalCommand,
    ParameterPage,
    decode_parameter_pages,
    encode_parameter_pages,
    integrity_crc,
    page_text,
)
from rtl.contract.part_identity import parameter_pages_of, part_from_parameter_pages
from tests.test_contract_part_description import PART

# What a Hynix H27U2G8F2CTR-BC answers (ONFI 1.0), from byte 0 on; the bytes not named are zero.
HYNIX = {
    0: "4F 4E 46 49 02 00 1C 00 1B 00",
    32: "48 59 4E 49 58 20 20 20 20 20 20 20",
    44: "48 32 37 55 32 47 38 46 32 43 54 52 2D 42 43 20 20 20 20 20",
    64: "AD",
    80: "00 08 00 00 40 00 00 02 00 00 10 00 40 00 00 00 00 08 00 00 01 23 01 28 00 01 05 01",
    110: "04 00 01 01 04",
    128: "0A 1F 00 1F 00 BC 02 0A 00 19 00 64 00",
    254: "6E 68",
}


def real_page():
    page = bytearray(PAGE_BYTES)
    for place, digits in HYNIX.items():
        field = bytes.fromhex(digits)
        page[place : place + len(field)] = field
    return bytes(page)


def crc_by_division(content):
    """Remainder of the message as one polynomial, its first 16 bits xored with 4F4Eh."""
    rest = int.from_bytes(content, "big") ^ 0x4F4E << 8 * len(content) - 16
    rest <<= 16
    while rest.bit_length() > 16:
        rest ^= 0x18005 << rest.bit_length() - 17
    return rest


def test_a_real_page_has_a_good_crc():
    assert integrity_crc(real_page()[:254]) == 0x686E == crc_by_division(real_page()[:254])


@settings(deadline=None)
@given(st.binary(min_size=2, max_size=254))
def test_crc_is_the_remainder_of_a_division(content):
    assert integrity_crc(content) == crc_by_division(content)


def test_crc_of_nothing_is_the_initial_value():
    assert integrity_crc(b"") == 0x4F4E


def test_fields_of_a_real_page():
    page = decode_parameter_pages(real_page() * 3)
    assert (page_text(page.manufacturer, 12), page_text(page.model, 20), page.jedec_id) == (
        "HYNIX",
        "H27U2G8F2CTR-BC",
        0xAD,
    )
    assert (page.page_bytes, page.spare_bytes, page.pages_per_block) == (2048, 64, 64)
    assert (page.blocks_per_lun, page.luns, page.bits_per_cell) == (2048, 1, 1)
    assert (page.column_address_cycles, page.row_address_cycles) == (2, 3)
    assert (page.bad_blocks_max, page.programs_per_page, page.ecc_bits) == (40, 4, 1)
    assert (page.endurance_value, page.endurance_exponent, page.guaranteed_blocks) == (1, 5, 1)
    assert (page.plane_address_bits, page.multi_plane) == (1, MultiPlane.PROGRAM_CACHE)
    assert (page.t_prog_us, page.t_r_us, page.t_ccs_ns, page.sdr_modes) == (700, 25, 100, 0x1F)
    assert page.features == (
        Feature.NON_SEQUENTIAL_PROGRAM
        | Feature.MULTI_PLANE_PROGRAM_ERASE
        | Feature.ODD_TO_EVEN_COPYBACK
    )
    assert page.optional_commands == (
        OptionalCommand.PROGRAM_CACHE
        | OptionalCommand.READ_CACHE
        | OptionalCommand.READ_STATUS_ENHANCED
        | OptionalCommand.COPYBACK
    )


# ONFI 3.1, section 5.7: first byte of each field that is not reserved or obsolete.
PLACES = {
    "signature": 0,
    "revision": 4,
    "features": 6,
    "optional_commands": 8,
    "jedec_commands": 10,
    "extended_length": 12,
    "parameter_pages": 14,
    "manufacturer": 32,
    "model": 44,
    "jedec_id": 64,
    "date_code": 65,
    "page_bytes": 80,
    "spare_bytes": 84,
    "pages_per_block": 92,
    "blocks_per_lun": 96,
    "luns": 100,
    "row_address_cycles": 101,
    "column_address_cycles": 101.5,
    "bits_per_cell": 102,
    "bad_blocks_max": 103,
    "endurance_value": 105,
    "endurance_exponent": 106,
    "guaranteed_blocks": 107,
    "guaranteed_endurance": 108,
    "programs_per_page": 110,
    "ecc_bits": 112,
    "plane_address_bits": 113,
    "multi_plane": 114,
    "ez_nand": 115,
    "io_capacitance_max_pf": 128,
    "sdr_modes": 129,
    "t_prog_us": 133,
    "t_bers_us": 135,
    "t_r_us": 137,
    "t_ccs_ns": 139,
    "nv_ddr_modes": 141,
    "nv_ddr2_modes": 142,
    "nv_ddr_features": 143,
    "clk_capacitance": 144,
    "io_capacitance": 146,
    "input_capacitance": 148,
    "input_capacitance_max_pf": 150,
    "drive_strengths": 151,
    "t_r_multi_plane_us": 152,
    "t_adl_ns": 154,
    "t_r_ez_nand_us": 156,
    "nv_ddr2_features": 158,
    "nv_ddr2_warm_up": 159,
    "vendor_revision": 164,
    "vendor": 166,
    "crc": 254,
}


def test_places_of_the_fields():
    layout = Layout.cast(ParameterPage)
    assert {name: layout[name].offset / 8 for name in PLACES} == PLACES
    assert byte_size(ParameterPage) == PAGE_BYTES


def test_bits_of_features_and_commands():
    # Bytes 6-7: multiple LUNs is bit 1, NV-DDR bit 5, NV-DDR2 bit 10. Bytes 8-9: read cache is bit
    # 1, Read Status Enhanced bit 3, Change Read Column Enhanced bit 6, Reset LUN bit 9.
    assert (Feature.SEVERAL_LUNS, Feature.NV_DDR, Feature.NV_DDR2) == (0x0002, 0x0020, 0x0400)
    assert (OptionalCommand.READ_CACHE, OptionalCommand.READ_STATUS_ENHANCED) == (0x0002, 0x0008)
    assert (OptionalCommand.CHANGE_READ_COLUMN_ENHANCED, OptionalCommand.RESET_LUN) == (64, 512)


def test_bytes_of_a_page():
    raw = encode_parameter_pages(
        revision=0x80, page_bytes=16_384, row_address_cycles=3, column_address_cycles=2, t_r_us=50
    )
    page = bytearray(PAGE_BYTES)
    page[0:6] = b"ONFI\x80\x00"
    page[14] = 3
    page[80:84] = bytes([0x00, 0x40, 0x00, 0x00])
    page[101] = 0x23
    page[137:139] = bytes([50, 0])
    crc = crc_by_division(page[:254])
    page[254:256] = bytes([crc & 0xFF, crc >> 8])
    assert raw == bytes(page) * 3


@settings(deadline=None)
@given(bit=st.integers(0, 8 * PAGE_BYTES - 1), first=st.booleans())
def test_a_wrong_bit_sends_to_the_next_copy(bit, first):
    raw = bytearray(encode_parameter_pages(t_r_us=50, luns=2))
    for copy in (0,) if first else (0, 1):
        raw[PAGE_BYTES * copy + bit // 8] ^= 1 << bit % 8
    assert decode_parameter_pages(bytes(raw)).t_r_us == 50


def test_the_first_good_copy_wins():
    raw = [encode_parameter_pages(t_r_us=us)[:PAGE_BYTES] for us in (1, 2, 3)]
    assert decode_parameter_pages(b"".join(raw)).t_r_us == 1
    raw[0] = raw[0][:-1] + bytes([raw[0][-1] ^ 1])
    assert decode_parameter_pages(b"".join(raw)).t_r_us == 2


def test_no_good_copy_is_an_error():
    page = real_page()
    wrong = page[:-2] + b"\x6f\x68"
    # Another signature with a good CRC is no parameter page either.
    other = b"JESD" + page[4:-2]
    other += crc_by_division(other).to_bytes(2, "little")
    message = f"not 686Fh for 686Eh, 686Fh for 686Eh, ({other[-1]:02X}{other[-2]:02X}h for )"
    with pytest.raises(ValueError, match=message.replace("(", "").replace(")", "")):
        decode_parameter_pages(wrong * 2 + other)


@pytest.mark.parametrize("size", [0, 256, 512, 767])
def test_too_few_copies(size):
    with pytest.raises(ValueError, match=f"at least 3 copies of 256 bytes, not {size} bytes"):
        decode_parameter_pages((real_page() * 3)[:size])
    with pytest.raises(ValueError, match="Copies must be 3 to 255, not 2"):
        encode_parameter_pages(2)


def test_text_is_ascii_that_fits():
    assert page_text(page_text("AB", 4), 4) == "AB"
    assert page_text("AB", 4).to_bytes(4, "little") == b"AB  "
    for text in ("ABCDE", "é"):
        with pytest.raises(ValueError, match=f"at most 4 ASCII characters, not '{text}'"):
            page_text(text, 4)


@pytest.fixture
def pages():
    return parameter_pages_of(PART)


def test_a_part_and_its_page_say_the_same(pages):
    part = part_from_parameter_pages(pages, like=PART)
    # Times are rounded up to microseconds, tCCS to the longest of all interfaces.
    assert (part.array.t_r_ps, part.array.t_prog_ps, part.array.t_bers_ps) == (10**6,) * 3
    assert (part.name, part.geometry, part.polls) == (PART.name, PART.geometry, PART.polls)
    assert [(one.interface, one.modes) for one in part.interfaces] == [
        (one.interface, one.modes) for one in PART.interfaces
    ]
    assert part.bus_times(Interface.NV_DDR2, 7).t_ccs_ps == 500_000
    assert part.bus_times(Interface.NV_DDR2, 7).t_whr_ps == 80_000


def test_the_page_of_a_part(pages):
    page = decode_parameter_pages(pages)
    assert page.features == (
        Feature.SEVERAL_LUNS
        | Feature.MULTI_PLANE_PROGRAM_ERASE
        | Feature.MULTI_PLANE_READ
        | Feature.NV_DDR
        | Feature.NV_DDR2
    )
    assert (page.sdr_modes, page.nv_ddr_modes, page.nv_ddr2_modes) == (0x11, 0x20, 0x90)
    assert (page.revision, page.parameter_pages) == (1 << 7, 3)
    one_lun = replace(PART.geometry, luns=1, planes=1)
    plain = replace(PART, geometry=one_lun, interfaces=PART.interfaces[:1])
    assert decode_parameter_pages(parameter_pages_of(plain)).features == 0


def test_modes_without_their_feature_do_not_count(pages):
    page = bytearray(pages[:PAGE_BYTES])
    page[6:8] = b"\0\0"
    page[254:] = crc_by_division(page[:254]).to_bytes(2, "little")
    part = part_from_parameter_pages(bytes(page) * 3, like=PART)
    assert [one.interface for one in part.interfaces] == [Interface.SDR]


def test_a_real_page_makes_a_part():
    # This page's tBERS is 10 us: milliseconds were meant. The part of its other times takes 1.6 ns.
    part = part_from_parameter_pages(real_page() * 3, like=PART)
    assert (part.name, part.geometry.planes, part.geometry.chip_enables) == (
        "H27U2G8F2CTR-BC",
        2,
        3,
    )
    assert (part.array.t_r_ps, part.array.t_rcbsy_ps) == (25_000_000, 400)
    assert part.interfaces[0].modes == (0, 1, 2, 3, 4)
    assert part.bus_times(Interface.SDR, 4).t_ccs_ps == 100_000


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (6, 0x01, "Data bus must be 8 bits wide, not 16"),
        (101, 0x22, "Address cycles must be 2 of the column and 3 of the row, not 2 and 2"),
        (101, 0x13, "Address cycles must be 2 of the column and 3 of the row, not 1 and 3"),
        (137, 0x00, "t_r_ps must be a positive integer, not 0"),
        (129, 0x1E, "modes of sdr must have 0"),
        (129, 0x80, "Timing mode of sdr must be 0 to 5, not 7"),
        (92, 0x05, "pages_per_block must be a power of two, not 5"),
        (80, 0x01, "page_bytes must be even"),
    ],
)
def test_pages_that_make_no_part(place, value, message):
    page = bytearray(real_page())
    page[place] = value
    page[254:] = crc_by_division(page[:254]).to_bytes(2, "little")
    with pytest.raises(ValueError, match=message):
        part_from_parameter_pages(bytes(page) * 3, like=PART)


def test_reserved_bits_are_ignored():
    page = bytearray(real_page())
    page[7] |= 0xE0
    page[254:] = crc_by_division(page[:254]).to_bytes(2, "little")
    assert part_from_parameter_pages(bytes(page) * 3, like=PART).geometry.luns == 1


def test_a_model_of_its_own():
    raw = parameter_pages_of(PART, model="X", manufacturer="NOBODY", jedec_id=0x98, copies=5)
    assert len(raw) == 5 * PAGE_BYTES
    page = decode_parameter_pages(raw)
    assert (page_text(page.model, 20), page_text(page.manufacturer, 12)) == ("X", "NOBODY")
    assert page.jedec_id == 0x98
    with pytest.raises(ValueError, match="at most 20 ASCII characters"):
        parameter_pages_of(PART, model="X" * 21)
