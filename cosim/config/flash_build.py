"""The flash channels of a platform: their clock, bus and part, as hardware takes them."""

from dataclasses import fields, replace
from typing import Any

from cosim.config.explain import naming
from cosim.config.platform import SsdPlatform
from cosim.config.quantities import FREQUENCY, format_quantity
from cosim.config.yaml_source import YamlSource
from rtl.contract.bus_times import Interface
from rtl.contract.channel import MOST_SLOTS, MOST_SUSPENDS
from rtl.contract.interface_timing import interface_timing
from rtl.contract.nand_array import Poll, SuspendOpcodes, array_times
from rtl.contract.nand_part import ExtendedTimes, NandPart, SdrReadTimes
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, row_bits
from rtl.contract.onfi_modes import onfi_mode

__all__ = [
    "bus_phases",
    "bus_rate",
    "channel_options",
    "check_flash",
    "nand_part",
    "period_ps",
]

WINDOW = ("t_rc", "t_rp", "t_reh", "t_ck", "t_ck_max")
"""Constants that say how fast transfers may be."""


def period_ps(clock: int) -> int:
    """Period of a clock of ``clock`` hertz.

    Raises
    ------
    ValueError
        If it is not an even number of picoseconds: clock edges lie on even times.
    """
    period, rest = divmod(10**12, clock)
    if rest or period % 2:
        raise ValueError(
            "clock must have a period of an even number of ps, not that of "
            f"{format_quantity(FREQUENCY, clock)} ({10**12 / clock:.3f} ps)"
        )
    return period


def bus_phases(ssd: SsdPlatform) -> int:
    """Transfers of the flash bus in one clock of its controller; see :func:`bus_rate`."""
    return int(_bus_timing(ssd).phases)


def bus_rate(ssd: SsdPlatform) -> int:
    """Transfers of the flash bus in a second: the most that its mode and its clock allow.

    Raises
    ------
    ValueError
        If the mode cannot be made from the clock.
    """
    return int(_bus_timing(ssd).transfers_per_second)


def _bus_timing(ssd: SsdPlatform) -> Any:
    times = onfi_mode(Interface(ssd.flash.interface.value), ssd.flash.mode.value)
    window = {
        f"{key}_ps": constant.value
        for key in WINDOW
        if (constant := getattr(ssd.nand, key)) is not None and hasattr(times, f"{key}_ps")
    }
    return interface_timing(replace(times, **window), period_ps(ssd.flash.clock.value))


def nand_part(ssd: SsdPlatform, name: str = "nand") -> NandPart:
    """Geometry and times of the SSD's flash."""
    nand = ssd.nand

    def times(kind: type, prefix: str = "") -> dict[str, int | None]:
        names = (one.name for one in fields(kind) if one.name.endswith("_ps"))
        found = {name: getattr(nand, prefix + name.removesuffix("_ps")) for name in names}
        return {name: None if time is None else time.value for name, time in found.items()}

    more: dict[str, Any] = {}
    if nand.t_rea is not None:
        more["sdr"] = SdrReadTimes(**times(SdrReadTimes))
    if nand.planes is not None:
        more |= {"planes": nand.planes.value, "extended": ExtendedTimes(**times(ExtendedTimes))}
        for kind in ("program_poll", "erase_poll"):
            more[kind] = _poll(kind, **times(Poll, f"{kind}_"))
        if nand.program_suspend is not None:
            names = (one.name for one in fields(SuspendOpcodes))
            opcodes = {name: getattr(nand, name.removesuffix("_ps")).value for name in names}
            more["suspend"] = SuspendOpcodes(**opcodes)
    return NandPart(
        name=name,
        page_bytes=nand.page.value,
        spare_bytes=nand.spare.value,
        pages_per_block=nand.pages_per_block.value,
        blocks_per_lun=nand.blocks_per_lun.value,
        luns=nand.luns.value,
        **times(NandPart),
        **more,
    )


def _poll(kind: str, **times: Any) -> Poll:
    try:
        return Poll(**times)
    except ValueError as error:
        raise ValueError(f"{kind}_{error}") from None


def channel_options(ssd: SsdPlatform) -> dict[str, Any]:
    """How the controllers of the flash channels behave: arguments of their units."""
    has_all = ssd.flash.operations.value == "all"
    return {
        "policy": ssd.flash.policy.value,
        "suspends": ssd.flash.suspends.value,
        "watchdog_ps": ssd.flash.watchdog.value if has_all else None,
    }


def check_flash(ssd: SsdPlatform, source: YamlSource | None = None) -> None:
    """Refuse flash channels that contradict themselves.

    Raises
    ------
    UserError
        Saying what must hold, and where: with ``source`` by file and line, else by platform.
    """
    with naming("ssd", source, "flash.clock"):
        period_ps(ssd.flash.clock.value)
    with naming("ssd", source, "flash", "nand"):
        bus_phases(ssd)
    with naming("ssd", source, "nand"):
        _check_addresses(nand_part(ssd))
    with naming("ssd", source, "flash", "nand"):
        _check_ways(ssd)
        _check_counts(ssd)
        _check_watchdog(ssd)
    with naming("ssd", source, "nand"):
        if ssd.nand.planes is not None:
            array_times(nand_part(ssd))


def _check_ways(ssd: SsdPlatform) -> None:
    """Refuse more ways than the module brings out chip enables to a channel."""
    ways, enables = ssd.flash.ways.value, ssd.nand.chip_enables.value
    if ways > enables:
        raise ValueError(f"ways must be at most chip_enables, not {ways} > {enables}")


def _check_counts(ssd: SsdPlatform) -> None:
    """Refuse numbers that a channel's controller cannot have."""
    slots, suspends = ssd.flash.landing_slots.value, ssd.flash.suspends.value
    if slots > MOST_SLOTS:
        raise ValueError(f"landing_slots must be at most {MOST_SLOTS}, not {slots}")
    if suspends > MOST_SUSPENDS:
        raise ValueError(f"suspends must be at most {MOST_SUSPENDS}, not {suspends}")


def _check_watchdog(ssd: SsdPlatform) -> None:
    """Refuse a watchdog that gives up a LUN which does what it was asked to do."""
    limit_ps = channel_options(ssd)["watchdog_ps"]
    if limit_ps is None:
        return
    names = ("t_r", "t_prog", "t_bers", "t_rst")
    times = {name: getattr(ssd.nand, name) for name in names}
    busy_ps = {name: time.value for name, time in times.items() if time is not None}
    longest = max(busy_ps, key=busy_ps.__getitem__)
    if limit_ps <= busy_ps[longest]:
        raise ValueError(
            f"watchdog must be above {longest}, not {limit_ps} ps <= {busy_ps[longest]} ps"
        )


def _check_addresses(part: NandPart) -> None:
    """Refuse a part whose pages or columns the address cycles of its bus do not reach."""
    bits = row_bits(part) + (part.luns - 1).bit_length()
    if bits > 8 * ROW_CYCLES:
        raise ValueError(
            "blocks_per_lun, pages_per_block and luns must need at most "
            f"{8 * ROW_CYCLES} bits of a row address, not {bits}"
        )
    if part.raw_page_bytes > 1 << 8 * COLUMN_CYCLES:
        raise ValueError(
            f"page and spare must be at most {1 << 8 * COLUMN_CYCLES} bytes together, "
            f"not {part.raw_page_bytes}"
        )
