"""The units that are synthesised. A new one is one entry of :func:`units`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cosim.config.build import bch_code, bus_phases, nand_part, period_ps
from cosim.config.load import default_platforms
from cosim.config.model import Platforms
from rtl.bch.decoder import BchDecoder
from rtl.bch.encoder import BchEncoder
from rtl.gather.core import GatherUnit
from rtl.mixer import PositionMixer
from rtl.nand.controller import FlashChannelController

__all__ = ["SynthesisUnit", "units"]


@dataclass(frozen=True)
class SynthesisUnit:
    """A component, made anew at each call of ``make``, and the clock that it should reach."""

    name: str
    parameters: str
    """As the table tells them."""
    goal_mhz: int
    make: Callable[[], Any]


def units(platforms: Platforms | None = None) -> tuple[SynthesisUnit, ...]:
    """All units as ``platforms`` (by default those of a configuration that names none) want them.

    Parts for simulation only (dies, checkers, DRAM, staging, landing buffers) are not among them.
    """
    chosen = platforms if platforms is not None else default_platforms()
    ssd, fpga = chosen.ssd, chosen.fpga
    part, ways, slots = nand_part(ssd), ssd.flash.ways.value, ssd.flash.landing_slots.value
    outstanding = fpga.outstanding_reads.value
    channel = {"period_ps": period_ps(ssd.flash.clock.value), "phases": bus_phases(ssd)}
    code, phases = bch_code(ssd), bus_phases(ssd)
    bch = f"t = {code.t}, {code.chunk_bytes} + {code.parity_bytes} bytes, {phases} bytes a clock"
    return (
        SynthesisUnit(
            "mixer",
            "8 bits beside each word",
            150,
            lambda: PositionMixer(8),
        ),
        SynthesisUnit(
            "controller-1",
            f"1 way of {part.luns} LUNs, 1 landing slot",
            100,
            lambda: FlashChannelController(part, ways=1, slots=1, **channel),
        ),
        SynthesisUnit(
            "controller",
            f"{ways} ways of {part.luns} LUNs, {slots} landing slots",
            100,
            lambda: FlashChannelController(part, ways=ways, slots=slots, **channel),
        ),
        SynthesisUnit(
            "bch-encoder",
            bch,
            100,
            lambda: BchEncoder(code, phases, tables=False),
        ),
        SynthesisUnit(
            "bch-decoder",
            bch,
            100,
            lambda: BchDecoder(code, phases, tables=False),
        ),
        SynthesisUnit(
            "gather",
            f"1 lane, 512 bits, {outstanding} reads in flight",
            150,
            lambda: GatherUnit(data_bits=512, outstanding=outstanding),
        ),
    )
