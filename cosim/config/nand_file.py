"""NAND part files: the constants of one part, and its description made of them."""

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from cosim.config.explain import naming
from cosim.config.part import Items, Part, nearest, validate
from cosim.config.platform import PLATFORM_FOLDER, Byte, Constant, Device
from cosim.config.quantities import Size, Time
from cosim.config.yaml_source import YamlSource, read_yaml
from cosim.errors import UserError
from rtl.contract.bus_times import Interface
from rtl.contract.nand_array import NandArrayTimes, NandGeometry, Poll, Polls, SuspendOpcodes
from rtl.contract.onfi_modes import MODES
from rtl.contract.part_description import InterfaceSupport, PartDescription

__all__ = [
    "PART_FOLDER",
    "NandPartFile",
    "Suspend",
    "load_part",
    "load_part_file",
    "part_description",
    "part_file",
    "part_names",
]

PART_FOLDER = PLATFORM_FOLDER / "parts"

Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]


class Geometry(Part):
    """Sizes and counts; names as in ``rtl.contract.nand_array``."""

    page: Constant[Size]
    spare: Constant[Size]
    pages_per_block: Constant[Positive]
    blocks_per_lun: Constant[Positive]
    planes: Constant[Positive]
    luns: Constant[Positive]
    chip_enables: Constant[Positive]
    bits_per_cell: Constant[Positive]
    programs_per_page: Constant[Positive]
    bad_blocks_max: Constant[NotNegative]


class ArrayTimes(Part):
    """Busy times; names as in ``rtl.contract.nand_array``."""

    t_r: Constant[Time]
    t_prog: Constant[Time]
    t_bers: Constant[Time]
    t_rcbsy: Constant[Time]
    t_cbsy: Constant[Time]
    t_plrbsy: Constant[Time]
    t_plpbsy: Constant[Time]
    t_plebsy: Constant[Time]
    t_feat: Constant[Time]
    t_itc: Constant[Time]
    t_rst_ready: Constant[Time]
    t_rst_read: Constant[Time]
    t_rst_program: Constant[Time]
    t_rst_erase: Constant[Time]


class PollTimes(Part):
    """When a LUN is asked for its status."""

    first: Constant[Time]
    """After the confirm cycle."""
    period: Constant[Time]


class PollsByOperation(Part):
    """Polls by what the LUN is busy with."""

    read: PollTimes
    program: PollTimes
    erase: PollTimes


class Suspend(Part):
    """Vendor commands; names as in ``rtl.contract.nand_array``."""

    program_suspend: Constant[Byte]
    program_resume: Constant[Byte]
    erase_suspend: Constant[Byte]
    erase_resume: Constant[Byte]
    t_program_suspend: Constant[Time]
    t_erase_suspend: Constant[Time]


def _interface(interface: Interface, name: str) -> type[Part]:
    """Model of one data interface: its timing modes, and any of its bus times instead of ONFI's."""
    times: dict[str, Any] = {
        field.name.removesuffix("_ps"): (Constant[Time] | None, None)
        for field in fields(MODES[interface][0])
        if field.name != "mode"
    }
    modes = (Constant[Items[NotNegative]], ...)
    return create_model(name, __base__=Part, __module__=__name__, modes=modes, **times)


if TYPE_CHECKING:  # A type checker does not follow how they are made.
    Sdr = Part
    NvDdr = Part
    NvDdr2 = Part
else:
    Sdr = _interface(Interface.SDR, "Sdr")
    NvDdr = _interface(Interface.NV_DDR, "NvDdr")
    NvDdr2 = _interface(Interface.NV_DDR2, "NvDdr2")


class NandPartFile(Device):
    """A NAND part."""

    part: Literal["nand"]
    geometry: Geometry
    array: ArrayTimes
    polls: PollsByOperation
    sdr: Sdr
    nv_ddr: NvDdr | None = None
    nv_ddr2: NvDdr2 | None = None
    suspend: Suspend | None = None


def part_names() -> list[str]:
    """Names of the parts that come with the package."""
    return sorted(path.stem for path in PART_FOLDER.glob("*.yaml"))


def part_file(name: str, base: Path = Path()) -> Path:
    """File of a part: one of ours by name, or a ``*.yaml`` file relative to ``base``.

    Raises
    ------
    UserError
        If there is none of that name.
    """
    if name.endswith(".yaml"):
        return base / name
    if name not in part_names():
        raise UserError(
            f"part must be the name of a NAND part or a .yaml file, not {name!r}"
            f"{nearest(name, part_names())}"
        )
    return Path(os.path.relpath(PART_FOLDER / f"{name}.yaml"))


def load_part_file(name: str, base: Path = Path()) -> tuple[NandPartFile, YamlSource]:
    """Constants of a part, one of ours by name or a ``*.yaml`` file relative to ``base``.

    Raises
    ------
    UserError
        If there is none of that name, or its file is not valid.
    """
    source = read_yaml(part_file(name, base))
    if source.values.get("part") != "nand":
        raise source.error(("part",), f"must be 'nand', not {source.values.get('part')!r}")
    return validate(NandPartFile, source), source


def load_part(name: str, base: Path = Path()) -> PartDescription:
    """Description of a part, one of ours by name or a ``*.yaml`` file relative to ``base``.

    Raises
    ------
    UserError
        If there is none of that name, its file is not valid, or its constants contradict each
        other; with file and line.
    """
    file, source = load_part_file(name, base)
    return part_description(file, Path(source.file).stem, source)


def part_description(
    file: NandPartFile, name: str, source: YamlSource | None = None
) -> PartDescription:
    """Description of the part whose constants are ``file``.

    Raises
    ------
    UserError
        If constants contradict each other; with ``source`` by file and line.
    """
    with naming("nand", source, "geometry"):
        geometry = NandGeometry(**_values(file.geometry))
    with naming("nand", source, "array"):
        array = NandArrayTimes(**_values(file.array))
    suspend = None
    if file.suspend is not None:
        with naming("nand", source, "suspend"):
            suspend = SuspendOpcodes(**_values(file.suspend))
    polls, interfaces = _polls(file.polls, source), tuple(_interfaces(file, source))
    with naming("nand", source, "polls", "suspend", "array", "sdr"):
        return PartDescription(
            name=name,
            geometry=geometry,
            array=array,
            polls=polls,
            interfaces=interfaces,
            suspend=suspend,
        )


def _polls(polls: PollsByOperation, source: YamlSource | None) -> Polls:
    made = {}
    for operation in PollsByOperation.model_fields:
        with naming("nand", source, f"polls.{operation}"):
            times = getattr(polls, operation)
            made[operation] = Poll(first_ps=times.first.value, period_ps=times.period.value)
    return Polls(**made)


def _interfaces(file: NandPartFile, source: YamlSource | None) -> Iterator[InterfaceSupport]:
    for interface in Interface:
        key = interface.name.lower()
        constants = getattr(file, key)
        if constants is not None:
            with naming("nand", source, key):
                times = _values(constants)
                yield InterfaceSupport(interface=interface, modes=times.pop("modes"), times=times)


def _values(part: Part) -> dict[str, Any]:
    """Values of the constants of ``part`` under their parameters' names."""
    values: dict[str, Any] = {}
    for key in type(part).model_fields:
        constant = getattr(part, key)
        if constant is not None:
            unit = "_ps" if key.startswith("t_") else "_bytes" if key in ("page", "spare") else ""
            values[f"{key}{unit}"] = constant.value
    return values
