"""The designs of devices: flash channels, and the gather unit beside them."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

from amaranth.lib.data import Layout

from cosim.engines.design import Design, Emission
from cosim.own.block import Own
from rtl.contract.bch import BchCode
from rtl.contract.channel import ChannelCounters, ChannelEvent
from rtl.contract.dram import DramTimes
from rtl.contract.gather import GatherCounters, GatherEvent
from rtl.contract.nand_part import NandPart
from rtl.emit import emit_channel
from rtl.emit_gather import GATHER_MODULE, emit_gather
from rtl.top import Unit, channel_ports, gather_ports

__all__ = ["FlashArray", "GatherCard", "card_emission", "device_design"]


@dataclass(frozen=True, kw_only=True)
class FlashArray:
    """Shape of a device's flash.

    ``phases``: transfers of the bus in one clock. ``code``: that of the channels' ECC decoders, if
    they have any; ``encodes``: they have encoders, too. ``identity``: what the dies answer to Read
    ID. ``policy``, ``suspends`` and ``watchdog_ps``: as for :class:`FlashChannelController`.
    ``are_erased``: pages that no erase was seen of may be programmed, as what the cells hold did
    not come over the bus. ``own``: a block in place of the controllers.
    """

    part: NandPart
    channels: int
    ways: int
    slots: int
    period_ps: int
    phases: int = 2
    code: BchCode | None = None
    encodes: bool = False
    identity: bytes = b""
    policy: str = "round-robin"
    suspends: int = 0
    watchdog_ps: int | None = None
    are_erased: bool = False
    own: Own | None = None


@dataclass(frozen=True, kw_only=True)
class GatherCard:
    """Shape of the FPGA card: gather unit and DRAM. ``own``: a block in place of the core."""

    period_ps: int
    times: DramTimes
    window_bytes: int
    lanes: int
    outstanding: int
    result_words: int
    stage_slots: int
    stage_slot_bytes: int
    own: Own | None = None
    rings: int = 0


def device_design(flash: FlashArray, card: GatherCard | None = None) -> Design:
    """``flash.channels`` channels, units ``ch0``, ``ch1``..., then the unit ``gather``."""

    def write_channel(folder: Path) -> None:
        emit_channel(
            folder,
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
    # All channels are one module.
    emissions = [Emission(repr(replace(flash, channels=1)), write_channel)]
    if card is not None:
        emissions.append(card_emission(card))
        gather = gather_ports(
            event_bits=Layout.cast(GatherEvent).size,
            counter_bits=Layout.cast(GatherCounters).size,
            has_rings=card.rings > 0,
        )
        units.append(Unit(name="gather", ports=gather, period_ps=card.period_ps))
    return Design(
        units=units,
        emissions=emissions,
        inlined=("flash_channel_unit", "nand_die", "unit_clock"),
        sources=_sources(flash.own, None if card is None else card.own),
    )


def card_emission(card: GatherCard) -> Emission:
    """The module of unit ``gather``."""

    def write(folder: Path) -> None:
        parameters = {field.name: getattr(card, field.name) for field in fields(card)}
        emit_gather(folder / f"{GATHER_MODULE}.v", **parameters)

    return Emission(repr(card), write)


def _sources(*blocks: Own | None) -> tuple[Path, ...]:
    """Files of users' blocks, each once, in order."""
    return tuple(dict.fromkeys(path for own in blocks if own is not None for path in own.files))
