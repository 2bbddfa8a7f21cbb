# amaranth: UnusedElaboratable=no
# (Units are made to see whether they refuse their parameters.)
"""The RTL of a system's device, from its platforms."""

from collections.abc import Mapping
from dataclasses import fields

from cosim.config.build import (
    bus_phases,
    decoder_code,
    dram_times,
    encoder_code,
    nand_part,
    period_ps,
)
from cosim.config.explain import naming
from cosim.config.flash_build import channel_options
from cosim.config.model import Platforms
from cosim.config.platform import FpgaPlatform, SsdPlatform
from cosim.config.yaml_source import YamlSource
from cosim.engines.design import Design
from cosim.engines.device import FlashArray, GatherCard, device_design
from cosim.own.block import Own
from cosim.own.find import OwnRtl
from cosim.systems.rings import RINGS
from rtl.bch.decoder import BchDecoder
from rtl.bch.encoder import BchEncoder
from rtl.gather.unit import GatherSimUnit
from rtl.nand.unit import FlashChannelUnit

__all__ = ["channel_unit", "flash_array", "gather_card", "machine_design", "unit_names"]


def unit_names(ssd: SsdPlatform) -> list[str]:
    """Names of the units in the order of the top: the channels, then the gather unit."""
    return [*(f"ch{channel}" for channel in range(ssd.flash.channels.value)), "gather"]


def machine_design(
    platforms: Platforms,
    sources: Mapping[str, YamlSource] | None = None,
    own: OwnRtl | None = None,
) -> Design:
    """All flash channels and the gather unit, with ``own`` blocks in place of ours.

    Every system of a run uses the same design, but for its own blocks.

    Raises
    ------
    UserError
        If the hardware cannot be made as a platform says, before anything is built: with
        ``sources`` by file and line, else by platform. If a block does not have the ports.
    """
    sources, own = sources or {}, own or OwnRtl()
    with naming("ssd", sources.get("ssd"), "page_format"):
        _check_decoder(platforms.ssd)
    with naming("ssd", sources.get("ssd"), "nand", "flash"):
        flash = flash_array(platforms.ssd, own.flash_channel)
    with naming("fpga", sources.get("fpga"), "", "dram"):
        card = gather_card(platforms.fpga, own.gather)
    with naming("ssd"):
        return device_design(flash, card)


def _check_decoder(ssd: SsdPlatform) -> None:
    """Refuse a code for which decoder or encoder is not made, as one of the page format."""
    if (code := decoder_code(ssd)) is not None:
        BchDecoder(code, bus_phases(ssd))
    if (code := encoder_code(ssd)) is not None:
        BchEncoder(code, bus_phases(ssd))


def flash_array(ssd: SsdPlatform, own: Own | None, *, channels: int | None = None) -> FlashArray:
    """The flash of a platform, or some channels of it, with a block of the user's as controller.

    Raises
    ------
    ValueError, UserError
        If it cannot be made, or the block does not have the ports.
    """
    options = channel_options(ssd)
    flash = FlashArray(
        part=nand_part(ssd),
        channels=channels or ssd.flash.channels.value,
        ways=ssd.flash.ways.value,
        slots=ssd.flash.landing_slots.value,
        period_ps=period_ps(ssd.flash.clock.value),
        phases=bus_phases(ssd),
        code=decoder_code(ssd),
        encodes=own is None and encoder_code(ssd) is not None,
        are_erased=True,
        own=own,
        **options,
    )
    channel_unit(flash)
    return flash


def channel_unit(flash: FlashArray) -> FlashChannelUnit:
    """The unit of one channel, as it is emitted; :exc:`ValueError` if it cannot be made."""
    return FlashChannelUnit(
        flash.part,
        period_ps=flash.period_ps,
        ways=flash.ways,
        phases=flash.phases,
        slots=flash.slots,
        code=flash.code,
        encodes=flash.encodes,
        identity=flash.identity,
        policy=flash.policy,
        suspends=flash.suspends,
        watchdog_ps=flash.watchdog_ps,
        are_erased=flash.are_erased,
        own=flash.own,
        emitted=True,
    )


def gather_card(fpga: FpgaPlatform, own: Own | None) -> GatherCard:
    """The FPGA card of a platform, with a block of the user's in place of the core.

    Raises
    ------
    ValueError, UserError
        If it cannot be made, or the block does not have the ports.
    """
    card = GatherCard(
        period_ps=period_ps(fpga.clock.value),
        times=dram_times(fpga),
        window_bytes=fpga.window.value,
        lanes=fpga.lanes.value,
        outstanding=fpga.outstanding_reads.value,
        result_words=fpga.result_words.value,
        stage_slots=fpga.stage_slots.value,
        stage_slot_bytes=fpga.stage_slot.value,
        own=own,
        rings=RINGS,
    )
    GatherSimUnit(**{field.name: getattr(card, field.name) for field in fields(card)}, emitted=True)
    return card
