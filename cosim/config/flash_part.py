"""The constants of the part that an SSD's flash is made of, in its timing mode."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.config.explain import naming
from cosim.config.flash_build import period_ps
from cosim.config.nand_file import (
    NandPartFile,
    Suspend,
    load_part_file,
    part_description,
    part_file,
)
from cosim.config.part import validate
from cosim.config.platform import FREE_MARKS, Constant, FlashArray, Mark
from cosim.config.quantities import SIZE, TIME, format_quantity
from cosim.config.yaml_source import KeyPath, YamlSource
from cosim.errors import UserError
from rtl.contract.bus_times import Interface
from rtl.contract.nand_part import NandPart
from rtl.contract.part_description import PartDescription

__all__ = ["put_part"]

ONFI = "ONFI"
ONFI_TITLE = "Open NAND Flash Interface 3.1"
NOT_STATED = {(Interface.NV_DDR2, "t_adl"), (Interface.NV_DDR2, "t_ccs")}
"""Times of ONFI that are those of the other interfaces, for want of a source of their own."""

GEOMETRY = ("page", "spare", "pages_per_block", "blocks_per_lun", "luns", "chip_enables")
ARRAY_TIMES = ("t_prog", "t_bers", "t_cbsy", "t_rcbsy", "t_feat")
WRITE_CYCLE: dict[str, tuple[str, ...]] = {"t_wc": ("t_wc",), "t_wp": ("t_wp",), "t_wh": ("t_wh",)}
COMMON: dict[str, tuple[str, ...]] = {
    key: (key,) for key in ("t_cs", "t_ch", "t_wb", "t_rr", "t_whr", "t_ccs", "t_rhw")
}
BUS_TIMES: dict[Interface, dict[str, tuple[str, ...]]] = {
    Interface.SDR: WRITE_CYCLE
    | COMMON
    | {"t_cals": ("t_cls", "t_als", "t_ds"), "t_cah": ("t_clh", "t_alh", "t_dh")}
    | {key: (key,) for key in ("t_rc", "t_rp", "t_reh", "t_rea", "t_rhoh", "t_rloh")},
    Interface.NV_DDR: {
        "t_wc": ("t_cad",),
        "t_wp": ("t_cals", "t_cas"),
        "t_wh": ("t_cad",),
        "t_cals": ("t_cals", "t_cas"),
        "t_cah": ("t_calh", "t_cah"),
        "t_ck": ("t_ck",),
        "t_ck_max": ("t_ck_max",),
        "t_rpre": ("t_wrck",),
        "t_rpst": ("t_dqsck",),
        "t_dqsre": ("t_dqsck",),
    }
    | COMMON,
    Interface.NV_DDR2: WRITE_CYCLE
    | COMMON
    | {"t_cals": ("t_cals", "t_cas"), "t_cah": ("t_calh", "t_cah"), "t_rpst": ("t_dqsre",)}
    | {key: (key,) for key in ("t_rc", "t_rpre", "t_dqsre")},
}
"""Bus times of reads, and which of an interface's each is the longest of."""
WRITE_TIMES: dict[Interface, dict[str, tuple[str, ...]]] = {
    Interface.SDR: {"t_adl": ("t_adl",)},
    Interface.NV_DDR: {"t_adl": ("t_adl",), "t_wpre": ("t_ck",), "t_wpst": ("t_ck",)},
    Interface.NV_DDR2: {"t_adl": ("t_adl",), "t_wpre": ("t_wpre",), "t_wpst": ("t_wpst",)},
}
POLLED = ("program", "erase")
"""Work that has polls of its own, beside reads."""
SUSPEND = tuple(Suspend.model_fields)
WINDOW = ("t_rc_ps", "t_ck_ps", "t_ck_max_ps")
PLANE_TIMES = ("array.t_plrbsy", "array.t_plpbsy", "array.t_plebsy")
WHOLE_PERIODS = "as whole periods of CLK, at this clock"
REASONS: dict[Interface, dict[str, str]] = {
    Interface.SDR: {},
    Interface.NV_DDR: dict.fromkeys(("t_cs", "t_ch", "t_wb", "t_rr", "t_whr"), WHOLE_PERIODS)
    | dict.fromkeys(("t_ccs", "t_rhw", "t_adl", "t_wc", "t_wp", "t_rpre"), WHOLE_PERIODS)
    | {
        "t_wh": "the rest of tCAD",
        "t_rpst": "tCKWR, the whole periods of CLK over tDQSCK + tCK",
        "t_dqsre": "as whole clocks",
        "t_wpre": "1.5 periods of CLK, at this clock",
        "t_wpst": "1.5 periods of CLK, at this clock",
    },
    Interface.NV_DDR2: {"t_rpst": "tDQSRE + tRC / 2"},
}
"""What a time is that is none of the part's, but follows from one."""


@dataclass(frozen=True)
class _Origin:
    """Where a constant is from: its key path in the part file, or none where it is ONFI's."""

    source: str
    mark: Mark
    key: str | None = None


def put_part(ssd: YamlSource, base: Path | None = None) -> None:
    """Put the constants of the part that ``flash`` names into ``nand`` of an SSD platform.

    Bus times are those of its interface and mode, and hardware for plain reads has none of other
    operations. A part file that an override names is relative to ``base``, else to the platform.

    Raises
    ------
    UserError
        If the part is not valid, does not run in the mode, or the clock cannot make it; if the
        platform gives constants of a part itself.
    """
    if not isinstance(ssd.values.get("flash"), dict):
        return  # Whoever makes a platform of it says so.
    if "nand" in ssd.values:
        raise ssd.error(("nand",), "must not be given: it is that of the part in flash.part")
    flash: FlashArray = validate(FlashArray, ssd, ("flash",))
    file, source = _read_part(ssd, flash.part.value, base)
    name = Path(source.file).stem
    part = part_description(file, name, source)
    interface = Interface(flash.interface.value)
    with naming("ssd", ssd, "flash.clock"):
        period = period_ps(flash.clock.value)
    with naming("ssd", ssd, "flash"):
        times = part.bus_times(interface, flash.mode.value)
        found = part.nand_part(part.timing(interface, flash.mode.value, period))
    values = _values(part, found, times)
    ssd.values["nand"] = nand = {}
    mode: KeyPath = ("flash", "mode", "value")
    ssd.places["nand",] = ssd.place(("flash", "part", "value"))
    for key, origin in _origins(file, times, has_all=flash.operations.value == "all"):
        text = _tagged(ssd, source, name, origin)
        nand[key] = {"value": values[key], "source": text, "mark": origin.mark}
        at = ssd.place(mode) if origin.key is None else source.place(tuple(origin.key.split(".")))
        ssd.places["nand", key] = ssd.places["nand", key, "value"] = at


def _read_part(ssd: YamlSource, name: str, base: Path | None) -> tuple[NandPartFile, YamlSource]:
    key: KeyPath = ("flash", "part", "value")
    if base is None or key not in ssd.labels:
        base = Path(ssd.file).parent
    try:
        part_file(name, base)
    except UserError as error:
        raise ssd.error(key, str(error).removeprefix("part ")) from None
    return load_part_file(name, base)


def _values(part: PartDescription, found: NandPart, times: Any) -> dict[str, Any]:
    """All constants that there may be, as a file would have them."""
    named: dict[str, Any] = {"chip_enables": part.geometry.chip_enables}
    # The window of its transfers is not among what hardware takes.
    named |= {name: value for name, value in vars(times).items() if name in WINDOW}
    named |= {**vars(found), **vars(found.extended)}
    if found.sdr is not None:
        named |= vars(found.sdr)
    for kind in POLLED:
        poll = getattr(found, f"{kind}_poll")
        named |= {f"{kind}_poll_{key}": value for key, value in vars(poll).items()}
    if found.suspend is not None:
        named |= vars(found.suspend)
    values: dict[str, Any] = {}
    for name, value in named.items():
        if value is None:
            continue
        if name.endswith("_ps"):
            values[name.removesuffix("_ps")] = format_quantity(TIME, value)
        elif name.endswith("_bytes"):
            values[name.removesuffix("_bytes")] = format_quantity(SIZE, value)
        else:
            values[name] = value
    return values


def _origins(file: NandPartFile, times: Any, *, has_all: bool) -> Iterator[tuple[str, _Origin]]:
    """Constants of ``nand`` in the order of its model, and where each is from."""
    for key in GEOMETRY:
        yield key, _own(file, f"geometry.{key}")
    if has_all:
        yield "planes", _own(file, "geometry.planes")
    yield "t_r", _own(file, "array.t_r")
    for key, candidates in BUS_TIMES[times.interface].items():
        yield key, _bus_time(file, times, key, candidates)
    yield "poll_first", _own(file, "polls.read.first")
    yield "poll_period", _own(file, "polls.read.period")
    if has_all:
        for key, candidates in WRITE_TIMES[times.interface].items():
            yield key, _bus_time(file, times, key, candidates)
        for key in ARRAY_TIMES:
            yield key, _own(file, f"array.{key}")
        longest = max(PLANE_TIMES, key=lambda path: int(_constant(file, path).value))
        yield "t_dbsy", _own(file, longest)
        yield "t_rst", _own(file, "array.t_rst_erase")
        for kind in POLLED:
            for key in ("first", "period"):
                yield f"{kind}_poll_{key}", _own(file, f"polls.{kind}.{key}")
        for key in SUSPEND if file.suspend is not None else ():
            yield key, _own(file, f"suspend.{key}")


def _constant(file: NandPartFile, path: str) -> Constant[Any]:
    found: Any = file
    for name in path.split("."):
        found = getattr(found, name)
    constant: Constant[Any] = found
    return constant


def _own(file: NandPartFile, path: str) -> _Origin:
    constant = _constant(file, path)
    return _Origin(constant.source, constant.mark, path)


def _bus_time(file: NandPartFile, times: Any, key: str, candidates: tuple[str, ...]) -> _Origin:
    """Of the longest of ``candidates``: the part file's, or ONFI's of the mode."""
    name = max(candidates, key=lambda one: int(getattr(times, f"{one}_ps")))
    section = times.interface.name.lower()
    is_own = getattr(getattr(file, section), name) is not None
    if not is_own:
        mark: Mark = "inferred" if (times.interface, name) in NOT_STATED else "stated"
        origin = _Origin(f"{ONFI}: t{name[2:].upper()} of {times}", mark)
    else:
        origin = _own(file, f"{section}.{name}")
    reason = REASONS[times.interface].get(key)
    if reason is None:
        return origin
    mark = origin.mark if origin.mark in FREE_MARKS else "inferred"
    return _Origin(f"{origin.source}: {reason}", mark, origin.key)


def _tagged(ssd: YamlSource, part: YamlSource, name: str, origin: _Origin) -> str:
    """The origin's text, its tag explained in the platform's sources, where it is not free."""
    tag, colon, rest = origin.source.partition(":")
    title = part.values["sources"].get(tag, ONFI_TITLE if tag == ONFI else None)
    if title is None or not isinstance(ssd.values.get("sources"), dict):
        return origin.source
    if ssd.values["sources"].setdefault(tag, title) != title:
        tag = f"{tag} of {name}"
        ssd.values["sources"][tag] = title
    return f"{tag}{colon}{rest}"
