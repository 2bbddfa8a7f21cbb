"""Saturated page reads on channels of the real RTL, in simulated time, against the bus's bound."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cosim.bench.flash_channel_case import FlashChannelCase, has_free_rate, ssd_platform
from cosim.bench.measurement import measure_in_simulator
from cosim.config.build import bus_rate, page_layout
from cosim.engines.build import build
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from rtl.contract.bus_causes import IDLE, BusCause

__all__ = ["TARGETS", "Target", "bench_flash_channel", "cases", "figures", "report"]

PS_PER_S = 10**12
SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Target:
    """What ``key`` of the figures of a case must be at least."""

    channels: int
    length_bytes: int
    key: str
    at_least: float

    def applies(self, case: Mapping[str, Any]) -> bool:
        """Whether it is about ``case``: one LUN a way at 200 MT/s, eight ways of Cosmos+."""
        shape: dict[str, Any] = {"platform": "cosmos_plus", "ways": 8, "luns": 1}
        shape["transfer_rate"] = 200_000_000
        shape |= {"channels": self.channels, "length_bytes": self.length_bytes}
        return all(case[name] == value for name, value in shape.items())


TARGETS = (
    Target(channels=1, length_bytes=17_728, key="of_bound", at_least=0.98),
    Target(channels=8, length_bytes=17_728, key="pages_per_s", at_least=88_500),
    Target(channels=8, length_bytes=18_048, key="pages_per_s", at_least=86_500),
)


def cases(
    platform: str = "cosmos_plus",
    *,
    channels: Sequence[int] | None = None,
    ways: int | None = None,
    luns: Sequence[int] = (1, 2),
    lengths: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
) -> list[FlashChannelCase]:
    """All combinations: channels outermost, then rate (transfers a second), LUNs and length.

    Without them: one channel and all of the platform's, with all its ways; its rate and, on
    NV-DDR2, twice that; its pages up to the last data codeword, and whole.

    Raises
    ------
    UserError
        If one of them cannot be, or the platform is none of an SSD.
    """
    ssd = ssd_platform(platform)
    rate, layout = bus_rate(ssd), page_layout(ssd)
    own_rates = (rate, 2 * rate) if has_free_rate(ssd) else (rate,)
    return [
        FlashChannelCase(
            platform=platform,
            channels=channel_count,
            ways=ssd.flash.ways.value if ways is None else ways,
            luns=lun_count,
            length_bytes=length,
            transfer_rate=transfer_rate,
        )
        for channel_count in channels or (1, ssd.flash.channels.value)
        for transfer_rate in rates or own_rates
        for lun_count in luns
        for length in lengths or (layout.data_bytes, layout.raw_bytes)
    ]


def bench_flash_channel(
    chosen: Sequence[FlashChannelCase],
    *,
    engine: str = "verilator",
    pages: int = 128,
    warm_up_pages: int = 32,
    drain_ps: int = 0,
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure ``chosen``, one simulation each; ``docs/flash-channel.md`` describes the report.

    Builds the RTL where that was not done before. The same arguments give the same report.

    Parameters
    ----------
    chosen : sequence of FlashChannelCase
        At least one.
    engine : str
        ``verilator`` or ``icarus``.
    pages, warm_up_pages : int
        Completions of each channel within its window, and before it.
    drain_ps : int
        From a page's completion until its landing slot is given back.
    seed : int
        Of rows and contents.
    tell : callable
        Told the name of each case before it is run.

    Raises
    ------
    UserError
        If a number is out of range, or a simulator is missing.
    SimulationFailed
        If a rule of the bus was broken, or a page came back wrong.
    """
    for name, value, least in (
        ("pages", pages, 1),
        ("warm-up", warm_up_pages, 1),
        ("drain", drain_ps, 0),
        ("seed", seed, 0),
    ):
        if value < least:
            raise UserError(f"{name} must be at least {least}, not {value}")
    measured = []
    for case in chosen:
        tell(case.name)
        program = build(case.design, Simulator(engine))
        job = {
            "case": case.job,
            "pages": pages,
            "warm_up_pages": warm_up_pages,
            "drain_ps": drain_ps,
            "seed": seed,
        }
        windows = measure_in_simulator(program, "cosim.bench.flash_channel_job:measure", job)
        measured.append(figures(case, windows))
    return report(
        measured,
        engine=engine,
        pages=pages,
        warm_up_pages=warm_up_pages,
        drain_ps=drain_ps,
        seed=seed,
    )


def figures(case: FlashChannelCase, windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Figures of one case from the window of each of its channels."""
    period_ps = case.array.period_ps
    pages = sum(window["pages"] for window in windows)
    clocks = {
        cause.name.lower(): sum(window["clocks"][cause.name.lower()] for window in windows)
        for cause in BusCause
    }
    total = sum(clocks.values())
    bound = case.bound.page(case.length_bytes)
    return {
        "name": case.name,
        **asdict(case),
        "period_ps": period_ps,
        "pages": pages,
        "pages_per_s": round(sum(w["pages"] * PS_PER_S / w["window_ps"] for w in windows), 1),
        "bus_utilisation": round(clocks["data"] / total, 6),
        "of_bound": round(sum(bound.values()) * pages / total, 6),
        "clocks_per_page": {name: round(count / pages, 3) for name, count in clocks.items()},
        "bound_clocks_per_page": {c.name.lower(): bound.get(c, 0) for c in BusCause},
        "idle_share": round(sum(clocks[cause.name.lower()] for cause in IDLE) / total, 6),
    }


def report(measured: Sequence[Mapping[str, Any]], **conditions: Any) -> dict[str, Any]:
    """All figures, the targets that they meet or miss, and the first case's in front."""
    most = max(case["channels"] for case in measured)
    head = next(case for case in measured if case["channels"] == most)
    return {
        "schema": SCHEMA,
        **conditions,
        "case": head["name"],
        "bus_utilisation": head["bus_utilisation"],
        "of_bound": head["of_bound"],
        "pages_per_s": head["pages_per_s"],
        "cases": list(measured),
        "targets": list(_targets(measured)),
    }


def _targets(measured: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for target in TARGETS:
        for case in filter(target.applies, measured):
            found = case[target.key]
            yield {
                "case": case["name"],
                "key": target.key,
                "at_least": target.at_least,
                "found": found,
                "met": found >= target.at_least,
            }
