"""The designs of devices: flash channels, and the gather unit beside them."""

from dataclasses import dataclass
from pathlib import Path

from amaranth.lib.data import Layout

from cosim.engines.design import Design
from rtl.contract.channel import ChannelCounters, ChannelEvent
from rtl.contract.nand_part import NandPart
from rtl.emit import emit_channel
from rtl.top import Unit, channel_ports

__all__ = ["FlashArray", "device_design"]


@dataclass(frozen=True, kw_only=True)
class FlashArray:
    """Shape of a device's flash. ``phases``: transfers of the bus in one clock."""

    part: NandPart
    channels: int
    ways: int
    slots: int
    period_ps: int
    phases: int = 2


def device_design(flash: FlashArray) -> Design:
    """``flash.channels`` channels, units ``ch0``, ``ch1``..."""

    def emit(folder: Path) -> None:
        emit_channel(
            folder,
            flash.part,
            period_ps=flash.period_ps,
            ways=flash.ways,
            phases=flash.phases,
            slots=flash.slots,
        )

    ports = channel_ports(
        ways=flash.ways,
        luns=flash.part.luns,
        slots=flash.slots,
        event_bits=Layout.cast(ChannelEvent).size,
        counter_bits=Layout.cast(ChannelCounters).size,
    )
    units = [
        Unit(name=f"ch{channel}", ports=ports, period_ps=flash.period_ps)
        for channel in range(flash.channels)
    ]
    return Design(units=units, parameters=repr(flash), emit=emit, shared=("nand_die",))
