"""Cases of the gather unit's benchmark, and the RTL that they run on."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.lib.data import Layout

from cosim.config.build import dram_times, period_ps
from cosim.config.load import lasting_name, load_platform
from cosim.config.platform import FpgaPlatform
from cosim.engines.design import Design, Emission
from cosim.engines.device import GatherCard, card_emission
from cosim.errors import UserError
from rtl.contract.dram import DramTimes
from rtl.contract.gather import (
    MAX_DISTINCT,
    MAX_FAN_OUT,
    GatherCounters,
    GatherEvent,
    GatherMode,
)
from rtl.emit_gather import TRACE_MODULE, emit_dram_trace
from rtl.gather.core import LANES
from rtl.gather.trace import TraceDone
from rtl.top import Unit, gather_ports, trace_ports

__all__ = ["FAST", "GATHER", "TRACE", "GatherBuild", "GatherCase", "fpga_platform"]

GATHER, TRACE = "gather", "trace"
FAST = DramTimes(
    banks=2,
    groups=1,
    row_bytes=4096,
    t_beat_ps=1,
    t_ccd_l_ps=1,
    t_cl_ps=1,
    t_cwl_ps=1,
    t_rcd_ps=1,
    t_rp_ps=1,
    t_ras_ps=1,
    t_rtp_ps=1,
    t_wr_ps=1,
    t_rrd_ps=1,
    t_rrd_l_ps=1,
    t_faw_ps=1,
    t_refi_ps=1 << 40,
    t_rfc_ps=1,
    t_wtr_s_ps=1,
    t_wtr_l_ps=1,
    t_rtw_ps=0,
    t_controller_ps=0,
    turn=1,
    reorder=0,
)
"""A memory that never waits: a beat a clock, whatever its address."""


@dataclass(frozen=True, kw_only=True)
class GatherBuild:
    """RTL that several cases share.

    Parameters
    ----------
    platform : str
        FPGA platform: its clock, window and DRAM.
    memory : str
        ``dram``, or ``fast`` for :data:`FAST`.
    lanes : int
        Of the unit.
    outstanding : int
        Id reads in flight, of all lanes together.
    """

    platform: str
    memory: str
    lanes: int
    outstanding: int

    def __post_init__(self) -> None:
        most = 256
        if self.memory not in ("dram", "fast"):
            raise UserError(f"memory must be dram or fast, not {self.memory!r}")
        if self.lanes not in LANES:
            raise UserError(f"lanes must be 1, 2, 4 or 8, not {self.lanes}")
        least = 2 * self.lanes
        if not least <= self.outstanding <= most or self.outstanding & self.outstanding - 1:
            raise UserError(
                f"reads in flight must be a power of two from {least} to {most}, "
                f"not {self.outstanding}"
            )

    @property
    def name(self) -> str:
        """Short and unique."""
        return f"{self.memory}-{self.lanes}-{self.outstanding}"

    @property
    def job(self) -> dict[str, Any]:
        """Its parameters for a process that runs in another folder."""
        return asdict(self) | {"platform": lasting_name(self.platform)}

    @property
    def card(self) -> GatherCard:
        """The unit with its memory."""
        fpga = fpga_platform(self.platform)
        return GatherCard(
            period_ps=period_ps(fpga.clock.value),
            times=FAST if self.memory == "fast" else dram_times(fpga),
            window_bytes=fpga.window.value,
            lanes=self.lanes,
            outstanding=self.outstanding,
            result_words=fpga.result_words.value,
            stage_slots=fpga.stage_slots.value,
            stage_slot_bytes=fpga.stage_slot.value,
        )

    @property
    def design(self) -> Design:
        """The gather unit, and a player of bare traces before a memory of its own."""
        card = self.card
        shared = {
            "times": card.times,
            "period_ps": card.period_ps,
            "window_bytes": card.window_bytes,
        }

        def write_trace(folder: Path) -> None:
            emit_dram_trace(folder / f"{TRACE_MODULE}.v", **shared)

        gather: Any = gather_ports(
            event_bits=_bits(GatherEvent), counter_bits=_bits(GatherCounters)
        )
        trace: Any = trace_ports(event_bits=_bits(TraceDone), counter_bits=32)
        return Design(
            units=[
                Unit(name=GATHER, ports=gather, period_ps=card.period_ps),
                Unit(name=TRACE, ports=trace, period_ps=card.period_ps),
            ],
            emissions=[card_emission(card), Emission(f"trace {shared!r}", write_trace)],
        )


@dataclass(frozen=True, kw_only=True)
class GatherCase:
    """A launch of random descriptors.

    Parameters
    ----------
    build : GatherBuild
        What it runs on.
    mode : str
        A :class:`GatherMode` in small letters.
    fan_out : int
        Of every descriptor.
    id_bytes : int
        4 or 8.
    """

    build: GatherBuild
    mode: str = "draw"
    fan_out: int = 25
    id_bytes: int = 8

    def __post_init__(self) -> None:
        known = [mode.name.lower() for mode in GatherMode]
        if self.mode not in known:
            raise UserError(f"mode must be one of {', '.join(known)}, not {self.mode!r}")
        most = MAX_DISTINCT if self.mode == "draw_distinct" else MAX_FAN_OUT
        if not 1 <= self.fan_out <= most:
            raise UserError(f"fan-out must be from 1 to {most}, not {self.fan_out}")
        if self.id_bytes not in (4, 8):
            raise UserError(f"id width must be 4 or 8 bytes, not {self.id_bytes}")

    @property
    def name(self) -> str:
        """Short and unique; the key of the case in reports."""
        return f"{self.build.name}-{self.mode}-{self.fan_out}-{self.id_bytes}B"


def fpga_platform(name: str) -> FpgaPlatform:
    """The FPGA platform of that name.

    Raises
    ------
    UserError
        If there is none, or it is that of something else.
    """
    platform = load_platform(name)
    if not isinstance(platform, FpgaPlatform):
        raise UserError(f"platform must be that of an FPGA card, not {name!r}")
    return platform


def _bits(shape: Any) -> int:
    return int(Layout.cast(shape).size)
