"""Saturated page programs on a channel of the real RTL, in simulated time, and its bus's bound."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from cosim.bench.flash_channel_bound import ProgramTerm
from cosim.bench.flash_channel_case import FlashChannelCase, ssd_platform
from cosim.bench.measurement import measure_in_simulator
from cosim.bench.page import markdown_table
from cosim.config.build import bus_rate, page_layout
from cosim.engines.build import build
from cosim.engines.device import device_design
from cosim.engines.tools import Simulator
from cosim.errors import UserError

__all__ = ["FlashProgramCase", "ProgramKind", "bench_programs", "program_cases", "program_tables"]

PS_PER_S = 10**12


class ProgramKind(Enum):
    """How the pages are programmed."""

    PLAIN = "plain"
    """80h-10h."""
    CACHED = "cached"
    """80h-15h without end."""
    PLANES = "planes"
    """80h-11h for all planes but the last one, then 80h-10h."""


@dataclass(frozen=True, kw_only=True)
class FlashProgramCase:
    """Programs of whole pages, of one kind, on the channel of ``base``."""

    base: FlashChannelCase
    kind: ProgramKind

    @property
    def name(self) -> str:
        """Short and unique; the key of the case in reports."""
        return f"{self.base.name}-{self.kind.value}"

    @property
    def pages_at_once(self) -> int:
        """Pages that one confirm cycle has programmed."""
        planes: int = self.base.array.part.planes
        return planes if self.kind is ProgramKind.PLANES else 1

    @property
    def bound(self) -> dict[ProgramTerm, Fraction]:
        """Terms of the shortest bus time of a page, in clocks."""
        return self.base.bound.program(self.base.length_bytes, pages_at_once=self.pages_at_once)


def program_cases(
    platform: str = "cosmos_plus",
    *,
    kinds: Sequence[str] | None = None,
    ways: int | None = None,
    rates: Sequence[int] | None = None,
) -> list[FlashProgramCase]:
    """Each of ``kinds`` at each of ``rates`` (transfers a second): one channel, one LUN a way.

    Without them: all kinds, the platform's ways, and its rate.

    Raises
    ------
    UserError
        If one of them cannot be, or the platform is none of an SSD.
    """
    ssd = ssd_platform(platform)
    known = [kind.value for kind in ProgramKind]
    kinds = known if kinds is None else kinds
    for kind in kinds:
        if kind not in known:
            raise UserError(f"programs must be of {', '.join(known)}, not {kind!r}")
    return [
        FlashProgramCase(
            base=FlashChannelCase(
                platform=platform,
                channels=1,
                ways=ssd.flash.ways.value if ways is None else ways,
                luns=1,
                length_bytes=page_layout(ssd).raw_bytes,
                transfer_rate=rate,
                operations="all",
            ),
            kind=ProgramKind(kind),
        )
        for rate in rates or (bus_rate(ssd),)
        for kind in kinds
    ]


def bench_programs(
    chosen: Sequence[FlashProgramCase],
    *,
    engine: str = "verilator",
    pages: int = 128,
    warm_up_pages: int = 32,
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """Measure ``chosen``, one simulation each; the same arguments give the same figures.

    Parameters
    ----------
    chosen : sequence of FlashProgramCase
    engine, pages, warm_up_pages, seed, tell
        As of :func:`cosim.bench.flash_channel.bench_flash_channel`.

    Raises
    ------
    UserError
        If a simulator is missing.
    SimulationFailed
        If a rule of the bus was broken, or a page is not in the cells as it was sent.
    """
    measured = []
    for case in chosen:
        tell(case.name)
        program = build(device_design(case.base.array), Simulator(engine))
        job = {
            "case": case.base.job,
            "kind": case.kind.value,
            "pages": pages,
            "warm_up_pages": warm_up_pages,
            "seed": seed,
        }
        window = measure_in_simulator(program, "cosim.bench.flash_program_job:measure", job)
        measured.append(program_figures(case, **window))
    return measured


def program_figures(case: FlashProgramCase, *, pages: int, window_ps: int) -> dict[str, Any]:
    """Figures of one case from its window."""
    array, bound = case.base.array, case.bound
    clocks = window_ps / array.period_ps
    return {
        "name": case.name,
        **asdict(case.base),
        "kind": case.kind.value,
        "period_ps": array.period_ps,
        "pages": pages,
        "pages_per_s": round(pages * PS_PER_S / window_ps, 1),
        "bus_utilisation": round(float(bound[ProgramTerm.DATA]) * pages / clocks, 6),
        "of_bound": round(float(sum(bound.values())) * pages / clocks, 6),
        "clocks_per_page": round(clocks / pages, 3),
        "bound_clocks_per_page": {term.value: float(n) for term, n in bound.items()},
    }


def program_tables(measured: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The tables of ``docs/flash-channel.md`` about programs, by name; none without any."""
    if not measured:
        return {}
    head = (
        "case",
        "bound, clocks a page",
        "measured",
        "of the bound",
        "data on the bus",
        "pages/s",
    )
    rows = [
        (
            f"`{case['name']}`",
            f"{sum(case['bound_clocks_per_page'].values()):,.1f}",
            f"{case['clocks_per_page']:,.1f}",
            f"{100 * case['of_bound']:.2f} %",
            f"{100 * case['bus_utilisation']:.2f} %",
            f"{case['pages_per_s']:,.0f}",
        )
        for case in measured
    ]
    terms = [
        (
            f"`{term.value}`",
            *(f"{case['bound_clocks_per_page'][term.value]:,.1f}" for case in measured),
        )
        for term in ProgramTerm
    ]
    names = (f"`{case['name']}`" for case in measured)
    return {
        "programs": markdown_table(head, rows),
        "program-bound": markdown_table(("clocks", *names), terms),
    }
