"""The units that are synthesised. A new one is one entry of :func:`units`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cosim.config.build import bch_code, bus_phases, nand_part, period_ps
from cosim.config.load import default_platforms
from cosim.config.model import Platforms
from cosim.config.nand_file import load_part
from cosim.config.platform import FpgaPlatform, SsdPlatform
from rtl.bch.decoder import BchDecoder
from rtl.bch.encoder import BchEncoder
from rtl.contract.bch import BchCode
from rtl.contract.bus_times import Interface
from rtl.contract.nand_part import NandPart
from rtl.gather.core import LANES, GatherUnit
from rtl.mixer import PositionMixer
from rtl.nand.controller import FlashChannelController

__all__ = ["SynthesisUnit", "units"]

PART = "hynix-mlc-slc-mode"
"""Part file whose times a platform of plain reads lacks."""


@dataclass(frozen=True)
class SynthesisUnit:
    """A component, made anew at each call of ``make``, and the clock that it should reach."""

    name: str
    parameters: str
    """As the table tells them."""
    goal_mhz: int
    make: Callable[[], Any]
    both_grades: bool = False
    """Placed on the fast grade even if the slow one meets the goal."""


def units(platforms: Platforms | None = None) -> tuple[SynthesisUnit, ...]:
    """All units as ``platforms`` (by default those of a configuration that names none) want them.

    Parts for simulation only (dies, checkers, DRAM, staging, landing buffers) are not among them.
    """
    chosen = platforms if platforms is not None else default_platforms()
    return (
        SynthesisUnit(
            "mixer",
            "8 bits beside each word",
            150,
            lambda: PositionMixer(8),
        ),
        *_channels(chosen.ssd),
        *_codecs(chosen.ssd),
        *_gather_units(chosen.fpga),
    )


def _channels(ssd: SsdPlatform) -> Iterator[SynthesisUnit]:
    """Controllers of plain reads and of all operations, by LUNs a way; and whole channels."""
    ways, slots = ssd.flash.ways.value, ssd.flash.landing_slots.value
    plain, full = _parts(ssd)
    sizes = {
        "period_ps": period_ps(ssd.flash.clock.value),
        "phases": bus_phases(ssd),
        "ways": ways,
        "slots": slots,
    }
    for name, part, does in (("controller", plain, "reads"), ("controller-full", full, "all")):
        for luns in (1, 2):
            yield SynthesisUnit(
                f"{name}-{luns}",
                f"{does}, {ways} ways x {_luns(luns)}, {slots} slots",
                100,
                partial(FlashChannelController, replace(part, luns=luns), **sizes),
            )
    for name, part, does in (("channel", plain, "reads"), ("channel-full", full, "all")):
        codecs = "decoder" if part.extended is None else "decoder, encoder"
        yield SynthesisUnit(
            name,
            f"{does}, {ways} ways x {_luns(part.luns)}, {slots} slots, {codecs}",
            100,
            partial(_channel, part, bch_code(ssd), sizes),
        )


def _luns(count: int) -> str:
    return f"{count} LUN" if count == 1 else f"{count} LUNs"


def _parts(ssd: SsdPlatform) -> tuple[NandPart, NandPart]:
    """The platform's part with plain reads only, and with all operations.

    If the platform uses it for reads only, the times of the other operations are those of
    :data:`PART` in the platform's mode.
    """
    part, plain = nand_part(ssd), replace(nand_part(ssd), extended=None, suspend=None)
    if part.extended is None:
        description = load_part(PART)
        interface = Interface(ssd.flash.interface.value)
        timing = description.timing(
            interface, ssd.flash.mode.value, period_ps(ssd.flash.clock.value)
        )
        part = replace(plain, extended=description.nand_part(timing).extended)
    return plain, part


def _channel(part: NandPart, code: BchCode, sizes: dict[str, int]) -> FlashChannelController:
    """A controller as a system's, with the form for synthesis of its decoder and encoder."""
    encodes = part.extended is not None
    return FlashChannelController(part, code=code, encodes=encodes, tables=False, **sizes)


def _codecs(ssd: SsdPlatform) -> Iterator[SynthesisUnit]:
    code, phases = bch_code(ssd), bus_phases(ssd)
    what = f"t = {code.t}, {code.chunk_bytes} + {code.parity_bytes} bytes, {phases} bytes a clock"
    for name, kind in (("bch-encoder", BchEncoder), ("bch-decoder", BchDecoder)):
        yield SynthesisUnit(name, what, 100, partial(kind, code, phases, tables=False))


def _gather_units(fpga: FpgaPlatform) -> Iterator[SynthesisUnit]:
    """The gather unit by lanes; each has as many reads in flight as one of the platform's."""
    each = fpga.outstanding_reads.value // fpga.lanes.value
    for lanes in LANES:
        yield SynthesisUnit(
            f"gather-{lanes}",
            f"{lanes} {'lane' if lanes == 1 else 'lanes'}, 512 bits, {each} reads a lane",
            150,
            partial(
                GatherUnit,
                data_bits=512,
                lanes=lanes,
                outstanding=each * lanes,
                result_words=fpga.result_words.value,
            ),
            both_grades=True,
        )
