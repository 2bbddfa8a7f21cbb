"""The ONFI parameter page: what a part says of itself, 256 bytes with a CRC, in several copies.

Ref: ONFI 3.1, section 5.7 (Read Parameter Page, definition in table 67). Multi-byte fields are
little-endian.
"""

from amaranth.lib import data, enum

from rtl.contract.codec import pack, unpack

__all__ = [
    "COPIES",
    "PAGE_BYTES",
    "Feature",
    "MultiPlane",
    "OptionalCommand",
    "ParameterPage",
    "decode_parameter_pages",
    "encode_parameter_pages",
    "integrity_crc",
    "page_text",
]

PAGE_BYTES = 256
COPIES = 3
"""The least that a part has: the first and two redundant ones."""

_SIGNATURE = int.from_bytes(b"ONFI", "little")
_CRC_BYTES = 2
_CRC_INIT = 0x4F4E
_CRC_POLYNOMIAL = 0x8005


class Feature(enum.IntFlag, shape=16):
    """Bytes 6 and 7."""

    BUS_16_BITS = 1 << 0
    SEVERAL_LUNS = 1 << 1
    NON_SEQUENTIAL_PROGRAM = 1 << 2
    MULTI_PLANE_PROGRAM_ERASE = 1 << 3
    ODD_TO_EVEN_COPYBACK = 1 << 4
    NV_DDR = 1 << 5
    MULTI_PLANE_READ = 1 << 6
    EXTENDED_PARAMETER_PAGE = 1 << 7
    REGISTER_CLEAR_ENHANCEMENT = 1 << 8
    EZ_NAND = 1 << 9
    NV_DDR2 = 1 << 10
    VOLUME_ADDRESSING = 1 << 11
    EXTERNAL_VPP = 1 << 12


class OptionalCommand(enum.IntFlag, shape=16):
    """Bytes 8 and 9."""

    PROGRAM_CACHE = 1 << 0
    READ_CACHE = 1 << 1
    FEATURES = 1 << 2
    READ_STATUS_ENHANCED = 1 << 3
    COPYBACK = 1 << 4
    READ_UNIQUE_ID = 1 << 5
    CHANGE_READ_COLUMN_ENHANCED = 1 << 6
    CHANGE_ROW_ADDRESS = 1 << 7
    SMALL_DATA_MOVE = 1 << 8
    RESET_LUN = 1 << 9
    VOLUME_SELECT = 1 << 10
    ODT_CONFIGURE = 1 << 11


class MultiPlane(enum.IntFlag, shape=8):
    """Byte 114."""

    OVERLAPPED = 1 << 0
    NO_BLOCK_RESTRICTIONS = 1 << 1
    PROGRAM_CACHE = 1 << 2
    CACHE_ADDRESS_RESTRICTIONS = 1 << 3
    READ_CACHE = 1 << 4
    LOWER_BIT_XNOR = 1 << 5


class ParameterPage(data.Struct):
    """Fields at their bytes, times in the specification's units (they end the fields' names).

    ``manufacturer`` and ``model`` are text filled up with spaces: see :func:`page_text`. Timing
    modes are a bit each, mode 0 the lowest.
    """

    signature: 32
    revision: 16
    """Bit 1 is ONFI 1.0, 2 is 2.0, 3 is 2.1, 4 is 2.2, 5 is 2.3, 6 is 3.0, 7 is 3.1."""
    features: Feature
    optional_commands: OptionalCommand
    jedec_commands: 8
    reserved11: 8
    extended_length: 16
    parameter_pages: 8
    reserved15: 136
    manufacturer: 96
    model: 160
    jedec_id: 8
    date_code: 16
    reserved67: 104
    page_bytes: 32
    spare_bytes: 16
    partial_page_bytes: 32
    partial_spare_bytes: 16
    pages_per_block: 32
    blocks_per_lun: 32
    luns: 8
    row_address_cycles: 4
    column_address_cycles: 4
    bits_per_cell: 8
    bad_blocks_max: 16
    endurance_value: 8
    endurance_exponent: 8
    """Block endurance is value * 10 ** exponent."""
    guaranteed_blocks: 8
    guaranteed_endurance: 16
    programs_per_page: 8
    partial_program_attributes: 8
    ecc_bits: 8
    """Correctability asked for, in bits per 512 bytes; FFh leaves it to the extended page."""
    plane_address_bits: 4
    reserved113: 4
    multi_plane: MultiPlane
    ez_nand: 8
    reserved116: 96
    io_capacitance_max_pf: 8
    sdr_modes: 16
    sdr_cache_modes: 16
    t_prog_us: 16
    t_bers_us: 16
    t_r_us: 16
    t_ccs_ns: 16
    nv_ddr_modes: 8
    nv_ddr2_modes: 8
    nv_ddr_features: 8
    clk_capacitance: 16
    """In tenths of a picofarad, as the next two."""
    io_capacitance: 16
    input_capacitance: 16
    input_capacitance_max_pf: 8
    drive_strengths: 8
    t_r_multi_plane_us: 16
    t_adl_ns: 16
    t_r_ez_nand_us: 16
    nv_ddr2_features: 8
    nv_ddr2_warm_up: 8
    reserved160: 32
    vendor_revision: 16
    vendor: 704
    crc: 16


def integrity_crc(content):
    """CRC-16 of bytes 0 to 253 (section 5.7.1).

    Polynomial 8005h, initial value 4F4Eh, bits from the highest of each byte on, nothing inverted.
    """
    crc = _CRC_INIT
    for byte in content:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ (_CRC_POLYNOMIAL | 1 << 16 if crc >> 15 else 0)
    return crc


def encode_parameter_pages(copies=COPIES, **fields):
    """Bytes of ``copies`` equal parameter pages; signature, copies and CRC are put in here.

    Raises
    ------
    ValueError
        If there are fewer copies than a part has, or a value does not fit its field.
    KeyError
        If a field is not one of :class:`ParameterPage`.
    """
    if not COPIES <= copies <= 255:
        raise ValueError(f"Copies must be {COPIES} to 255, not {copies!r}")
    page = pack(ParameterPage, **fields, signature=_SIGNATURE, parameter_pages=copies)
    content = page[:-_CRC_BYTES]
    return (content + integrity_crc(content).to_bytes(_CRC_BYTES, "little")) * copies


def decode_parameter_pages(raw):
    """The first of several copies whose CRC is good, as a view of :class:`ParameterPage`.

    Raises
    ------
    ValueError
        If there are too few bytes for all copies, or no copy is good.
    """
    whole = len(raw) // PAGE_BYTES
    if whole < COPIES:
        raise ValueError(
            f"Parameter pages must be at least {COPIES} copies of {PAGE_BYTES} bytes, "
            f"not {len(raw)} bytes"
        )
    wrong = []
    for place in range(whole):
        page = unpack(ParameterPage, raw[PAGE_BYTES * place : PAGE_BYTES * (place + 1)])
        expected = integrity_crc(raw[PAGE_BYTES * place : PAGE_BYTES * (place + 1) - _CRC_BYTES])
        if page.signature == _SIGNATURE and page.crc == expected:
            return page
        wrong.append(f"{page.crc:04X}h for {expected:04X}h")
    raise ValueError(
        "Parameter page must have a copy that begins with ONFI and whose CRC is good, "
        f"not {', '.join(wrong)}"
    )


def page_text(text, length):
    """Text field of ``length`` bytes: from a string, or back from the field's value.

    Raises
    ------
    ValueError
        If a string is longer than its field or not ASCII.
    """
    if not isinstance(text, str):
        return text.to_bytes(length, "little").decode("ascii", "replace").rstrip()
    if len(text) > length or not text.isascii():
        raise ValueError(f"Text must be at most {length} ASCII characters, not {text!r}")
    return int.from_bytes(text.ljust(length).encode("ascii"), "little")
