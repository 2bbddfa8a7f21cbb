"""One case of the flash-channel benchmark: the device it runs on, and its RTL with monitors."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cosim.bench.flash_channel_bound import BusBound, bus_bound
from cosim.config.build import bus_phases, bus_rate, nand_part, page_layout, period_ps
from cosim.config.flash_build import channel_options
from cosim.config.load import lasting_name, load_platform
from cosim.config.platform import MAX_CHANNELS, MAX_LUNS, MAX_WAYS, Constant, SsdPlatform
from cosim.engines.design import Design, Emission
from cosim.engines.device import FlashArray, device_design
from cosim.errors import UserError
from rtl.contract.bus_times import Interface
from rtl.contract.onfi_modes import MODES
from rtl.nand.monitored_unit import MONITOR_MODULE, emit_monitored_channel

__all__ = ["FlashChannelCase", "has_free_rate", "ssd_platform"]

MOST_RATE = 2 * 10**12 // min(mode.t_rc_ps for mode in MODES[Interface.NV_DDR2])
"""Transfers a second of the fastest mode: two in a period of RE#."""


@dataclass(frozen=True, kw_only=True)
class FlashChannelCase:
    """What is read, from what.

    Parameters
    ----------
    platform : str
        SSD platform. The other parameters take the place of its own.
    channels, ways, luns : int
        Channels, ways of each, LUNs of each way.
    length_bytes : int
        Of a page, from its first column on.
    transfer_rate : int
        Bytes a second of a channel's bus. On NV-DDR2 its clock follows, with as many transfers a
        clock as the platform has; on other buses it must be the platform's own.
    operations : str, optional
        As ``flash.operations`` of a platform, in its place.

    Raises
    ------
    UserError
        If the RTL or the part cannot be as asked.
    """

    platform: str
    channels: int
    ways: int
    luns: int
    length_bytes: int
    transfer_rate: int
    operations: str | None = None

    def __post_init__(self) -> None:
        for name, most in (("channels", MAX_CHANNELS), ("ways", MAX_WAYS), ("luns", MAX_LUNS)):
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise UserError(f"{name} must be from 1 to {most}, not {value}")
        if not 1 <= self.transfer_rate <= MOST_RATE:
            raise UserError(
                f"rate must be from 1 to {MOST_RATE} transfers a second, as the modes of NV-DDR2 "
                f"make them, not {self.transfer_rate}"
            )
        self._check_rate()
        raw_bytes = page_layout(self.ssd).raw_bytes
        if self.length_bytes % 2 or not 2 <= self.length_bytes <= raw_bytes:
            raise UserError(
                f"length must be an even number of bytes up to {raw_bytes}, not {self.length_bytes}"
            )
        try:
            _ = self.array
        except ValueError as error:
            raise UserError(f"rate of {self.transfer_rate // 10**6} MT/s: {error}") from None

    def _check_rate(self) -> None:
        ssd = ssd_platform(self.platform)
        if not has_free_rate(ssd) and self.transfer_rate != bus_rate(ssd):
            raise UserError(
                f"rate must be {bus_rate(ssd)} transfers a second, as clock and mode "
                f"{ssd.flash.mode.value} of {ssd.flash.interface.value} make it on the platform "
                f"{self.platform}, not {self.transfer_rate}"
            )

    @property
    def name(self) -> str:
        """Short and unique; the key of the case in reports."""
        return (
            f"{self.channels}ch-{self.luns}lun-{self.length_bytes}B-"
            f"{self.transfer_rate // 10**6}MTs"
        )

    @property
    def ssd(self) -> SsdPlatform:
        """The platform with the case's values in it."""
        ssd: SsdPlatform = load_platform(self.platform, operations=self.operations)
        flash = {"channels": self.channels, "ways": self.ways}
        chip_enables = max(self.ways, ssd.nand.chip_enables.value)
        nand = {"luns": self.luns, "chip_enables": chip_enables}
        if has_free_rate(ssd):
            # A part that has a transfer in each phase of this clock, and no more.
            flash["clock"] = self.transfer_rate // bus_phases(ssd)
            nand["t_rc"] = 2 * 10**12 // self.transfer_rate
        return ssd.model_copy(
            update={"nand": _with(ssd.nand, **nand), "flash": _with(ssd.flash, **flash)}
        )

    @property
    def array(self) -> FlashArray:
        """Shape of its flash."""
        ssd = self.ssd
        return FlashArray(
            part=nand_part(ssd),
            channels=self.channels,
            ways=self.ways,
            slots=ssd.flash.landing_slots.value,
            period_ps=period_ps(ssd.flash.clock.value),
            phases=bus_phases(ssd),
            **channel_options(ssd),
        )

    @property
    def bound(self) -> BusBound:
        """The shortest bus time of its pages."""
        array = self.array
        return bus_bound(array.part, period_ps=array.period_ps, phases=array.phases)

    @property
    def job(self) -> dict[str, Any]:
        """Its parameters for a process that runs in another folder."""
        return asdict(self) | {"platform": lasting_name(self.platform)}

    @property
    def design(self) -> Design:
        """Its channels, each with a monitor on its bus."""
        array, bound = self.array, self.bound

        def write(folder: Path) -> None:
            emit_monitored_channel(
                folder,
                array.part,
                period_ps=array.period_ps,
                ways=array.ways,
                phases=array.phases,
                slots=array.slots,
                turn=bound.turn,
                transfer=bound.transfer,
            )

        plain = device_design(array)
        return replace(
            plain,
            emissions=[Emission(f"{array!r} monitored, turn {bound.turn}", write)],
            public=(*plain.public, (MONITOR_MODULE, "counts")),
        )


def has_free_rate(ssd: SsdPlatform) -> bool:
    """Whether its bus is that of NV-DDR2, which has a rate for every clock."""
    return Interface(ssd.flash.interface.value) is Interface.NV_DDR2


def ssd_platform(name: str) -> SsdPlatform:
    """The SSD platform of that name.

    Raises
    ------
    UserError
        If there is none, or it is that of something else.
    """
    ssd = load_platform(name)
    if not isinstance(ssd, SsdPlatform):
        raise UserError(f"platform must be that of an SSD, not {name!r}")
    return ssd


def _with(part: Any, **values: int) -> Any:
    """``part`` with other values of some of its constants."""
    constants: dict[str, Constant[int]] = {
        name: getattr(part, name).model_copy(
            update={"value": value, "source": "case of the benchmark", "mark": "configured"}
        )
        for name, value in values.items()
    }
    return part.model_copy(update=constants)
