"""A part description from the parameter page that a part answers, and the other way round."""

from dataclasses import replace

from rtl.contract.bus_times import Interface
from rtl.contract.nand_array import NandGeometry
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES
from rtl.contract.parameter_page import (
    COPIES,
    Feature,
    MultiPlane,
    decode_parameter_pages,
    encode_parameter_pages,
    page_text,
)
from rtl.contract.part_description import InterfaceSupport

__all__ = ["parameter_pages_of", "part_from_parameter_pages"]

PS_PER_NS = 10**3
PS_PER_US = 10**6
MODEL = 20
"""Characters of a device's model (ONFI 3.1, section 5.7.1, bytes 44 to 63)."""
ONFI_3_1 = 1 << 7


def part_from_parameter_pages(raw, like):
    """The part that ``raw`` describes.

    Geometry, tR, tPROG, tBERS, tCCS and timing modes are the page's; all other bus times are ONFI's
    for these modes. Chip enables, the other busy times, polls and suspend opcodes, of which a page
    does not tell, are those of ``like``.

    Parameters
    ----------
    raw : bytes
        Copies of the parameter page, as Read Parameter Page returns them.
    like : PartDescription
        For what the page does not say.

    Raises
    ------
    ValueError
        If no copy is good, the part has a 16-bit bus or other address cycles than this bus has, or
        its numbers contradict each other or those of ``like``.
    """
    page = decode_parameter_pages(raw)
    _check_bus(page)
    return replace(
        like,
        name=page_text(page.model, 20),
        geometry=_geometry(page, like),
        array=replace(
            like.array,
            t_r_ps=page.t_r_us * PS_PER_US,
            t_prog_ps=page.t_prog_us * PS_PER_US,
            t_bers_ps=page.t_bers_us * PS_PER_US,
        ),
        interfaces=tuple(_interfaces(page)),
    )


def _check_bus(page):
    if page.features & Feature.BUS_16_BITS:
        raise ValueError("Data bus must be 8 bits wide, not 16")
    address_cycles = page.column_address_cycles, page.row_address_cycles
    if address_cycles != (COLUMN_CYCLES, ROW_CYCLES):
        raise ValueError(
            f"Address cycles must be {COLUMN_CYCLES} of the column and {ROW_CYCLES} of the row, "
            f"not {address_cycles[0]} and {address_cycles[1]}"
        )


def _geometry(page, like):
    return NandGeometry(
        page_bytes=page.page_bytes,
        spare_bytes=page.spare_bytes,
        pages_per_block=page.pages_per_block,
        blocks_per_lun=page.blocks_per_lun,
        planes=1 << page.plane_address_bits,
        luns=page.luns,
        chip_enables=like.geometry.chip_enables,
        bits_per_cell=page.bits_per_cell,
        programs_per_page=page.programs_per_page,
        bad_blocks_max=page.bad_blocks_max,
    )


def _interfaces(page):
    support = (
        (Interface.SDR, True, page.sdr_modes),
        (Interface.NV_DDR, page.features & Feature.NV_DDR, page.nv_ddr_modes),
        (Interface.NV_DDR2, page.features & Feature.NV_DDR2, page.nv_ddr2_modes),
    )
    times = {"t_ccs_ps": page.t_ccs_ns * PS_PER_NS} if page.t_ccs_ns else {}
    for interface, is_supported, bits in support:
        if is_supported:
            modes = tuple(mode for mode in range(bits.bit_length()) if bits >> mode & 1)
            yield InterfaceSupport(interface=interface, modes=modes, times=times)


def parameter_pages_of(
    part, *, copies=COPIES, manufacturer="", model=None, jedec_id=0, optional_commands=0
):
    """What ``part`` answers to Read Parameter Page; times are rounded up to the page's units.

    Parameters
    ----------
    part : PartDescription
        It has the busy times and modes.
    manufacturer, model, jedec_id : str, str, int
        Who made it, and what it is called: the part's name, as much as fits, where it is absent.
    optional_commands : OptionalCommand
        What its command decoder knows.

    Raises
    ------
    ValueError
        If a number or text does not fit its field.
    """
    geometry, array = part.geometry, part.array
    modes = {one.interface: sum(1 << mode for mode in one.modes) for one in part.interfaces}
    t_ccs_ps = max(one.of_mode(mode).t_ccs_ps for one in part.interfaces for mode in one.modes)
    return encode_parameter_pages(
        copies,
        revision=ONFI_3_1,
        features=_features(geometry, modes),
        optional_commands=optional_commands,
        manufacturer=page_text(manufacturer, 12),
        model=page_text(part.name[:MODEL] if model is None else model, MODEL),
        jedec_id=jedec_id,
        page_bytes=geometry.page_bytes,
        spare_bytes=geometry.spare_bytes,
        pages_per_block=geometry.pages_per_block,
        blocks_per_lun=geometry.blocks_per_lun,
        luns=geometry.luns,
        row_address_cycles=ROW_CYCLES,
        column_address_cycles=COLUMN_CYCLES,
        bits_per_cell=geometry.bits_per_cell,
        bad_blocks_max=geometry.bad_blocks_max,
        programs_per_page=geometry.programs_per_page,
        plane_address_bits=geometry.plane_address_bits,
        multi_plane=MultiPlane.NO_BLOCK_RESTRICTIONS if geometry.planes > 1 else 0,
        sdr_modes=modes[Interface.SDR],
        nv_ddr_modes=modes.get(Interface.NV_DDR, 0),
        nv_ddr2_modes=modes.get(Interface.NV_DDR2, 0),
        t_prog_us=cycles(array.t_prog_ps, PS_PER_US),
        t_bers_us=cycles(array.t_bers_ps, PS_PER_US),
        t_r_us=cycles(array.t_r_ps, PS_PER_US),
        t_ccs_ns=cycles(t_ccs_ps, PS_PER_NS),
    )


def _features(geometry, modes):
    features = Feature(0)
    if geometry.luns > 1:
        features |= Feature.SEVERAL_LUNS
    if geometry.planes > 1:
        features |= Feature.MULTI_PLANE_PROGRAM_ERASE | Feature.MULTI_PLANE_READ
    if Interface.NV_DDR in modes:
        features |= Feature.NV_DDR
    if Interface.NV_DDR2 in modes:
        features |= Feature.NV_DDR2
    return features
