"""The RTL of a system's device, from its platforms."""

from cosim.config.build import bus_phases, dram_times, nand_part, period_ps
from cosim.config.model import Platforms
from cosim.config.platform import SsdPlatform
from cosim.engines.design import Design
from cosim.engines.device import FlashArray, GatherCard, device_design

__all__ = ["machine_design", "unit_names"]


def unit_names(ssd: SsdPlatform) -> list[str]:
    """Names of the units in the order of the top: the channels, then the gather unit."""
    return [*(f"ch{channel}" for channel in range(ssd.flash.channels.value)), "gather"]


def machine_design(platforms: Platforms) -> Design:
    """All flash channels and the gather unit; every system of a run uses the same design."""
    ssd, fpga = platforms.ssd, platforms.fpga
    flash = FlashArray(
        part=nand_part(ssd),
        channels=ssd.flash.channels.value,
        ways=ssd.flash.ways.value,
        slots=ssd.flash.landing_slots.value,
        period_ps=period_ps(ssd.flash.clock.value),
        phases=bus_phases(ssd),
    )
    card = GatherCard(
        period_ps=period_ps(fpga.clock.value),
        times=dram_times(fpga),
        window_bytes=fpga.window.value,
        outstanding=fpga.outstanding_reads.value,
        stage_slots=fpga.stage_slots.value,
        stage_slot_bytes=fpga.stage_slot.value,
    )
    return device_design(flash, card)
