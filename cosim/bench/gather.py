"""The gather unit of the real RTL on random descriptors, against what its memory gives at most."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cosim.bench.gather_case import GatherBuild, GatherCase, fpga_platform
from cosim.bench.measurement import measure_in_simulator
from cosim.engines.build import build
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from rtl.contract.gather import BUSY_PARTS
from rtl.gather.core import LANES

__all__ = ["TARGETS", "Target", "bench_gather", "cases", "figures", "report", "sweep_cases"]

PS_PER_S = 10**12
SCHEMA = 1
SWEPT_LANES = (1, 2, 4)
SWEPT_READS = (4, 8, 16, 32, 64, 128)
MOST_WORDS = 1 << 16
"""Ids of a launch at most: the result memory and that of the trace hold as many with headers."""
USUAL_FAN_OUT = 25
"""A launch of a smaller one has more descriptors, and as many ids."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What ``key`` must be at least, of all cases on ``memory`` with so many lanes or more."""

    memory: str
    key: str
    at_least: float
    lanes: int = 1

    def is_met(self, found: float) -> bool:
        return found >= self.at_least


TARGETS = (
    # Of a port that gives a beat in each clock. It leaves no clock between descriptors, either.
    Target(memory="fast", key="beats_per_clock", at_least=0.99, lanes=2),
    Target(memory="dram", key="share_of_dram_bound", at_least=0.9),
)


def cases(
    platform: str = "smartssd", *, outstanding: Sequence[int] | None = None
) -> list[GatherCase]:
    """The cases of ``docs/gather.md``; ``outstanding`` are the reads in flight before DRAM.

    Without it: the platform's, and a half and a quarter of them. Before fast memory the unit has
    one lane, the platform's lanes, and twice as many.

    Raises
    ------
    UserError
        If one of them cannot be, or the platform is none of an FPGA card.
    """
    fpga = fpga_platform(platform)
    own, lanes = fpga.outstanding_reads.value, fpga.lanes.value
    shapes: list[dict[str, Any]] = [
        {"fan_out": 25},
        {"fan_out": 10},
        {"fan_out": 1},
        {"fan_out": 64},
        {"fan_out": 25, "id_bytes": 4},
        {"fan_out": 25, "mode": "explicit"},
        {"fan_out": 25, "mode": "draw_distinct"},
    ]
    builds = [
        GatherBuild(platform=platform, memory="dram", lanes=lanes, outstanding=count)
        for count in outstanding or (own, own // 2, own // 4)
    ]
    builds += [
        GatherBuild(platform=platform, memory="fast", lanes=count, outstanding=own)
        for count in sorted({1, lanes, min(2 * lanes, LANES[-1])})
    ]
    return [GatherCase(build=build, **shape) for build in builds for shape in shapes]


def sweep_cases(
    platform: str = "smartssd", *, outstanding: Sequence[int] | None = None
) -> list[GatherCase]:
    """Both sizes of ids before DRAM, with ``outstanding`` reads in flight: what the plot shows.

    Raises
    ------
    UserError
        If one of them cannot be.
    """
    return [
        GatherCase(
            build=GatherBuild(platform=platform, memory="dram", lanes=lanes, outstanding=count),
            id_bytes=id_bytes,
        )
        for lanes in SWEPT_LANES
        for count in outstanding or SWEPT_READS
        if count >= 2 * lanes
        for id_bytes in (8, 4)
    ]


def bench_gather(
    chosen: Sequence[GatherCase],
    *,
    engine: str = "verilator",
    descriptors: int = 512,
    seed: int = 1,
    tell: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Measure ``chosen``, one simulation for those of a build; ``docs/gather.md`` has the report.

    Builds the RTL where that was not done before. The same arguments give the same report.

    Parameters
    ----------
    chosen : sequence of GatherCase
        At least one.
    engine : str
        ``verilator`` or ``icarus``.
    descriptors : int
        Of each launch; more where the fan-out is small, for as many ids as with 25.
    seed : int
        Of lists, keys, positions and contents.
    tell : callable
        Told the name of each build before it is run.

    Raises
    ------
    UserError
        If a number is out of range, or a simulator is missing.
    SimulationFailed
        If a rule of the bus was broken, or an id came back wrong.
    """
    most = min(
        MOST_WORDS * case.fan_out // (max(case.fan_out, USUAL_FAN_OUT) * (case.fan_out + 1))
        for case in chosen
    )
    if not 2 <= descriptors <= most:
        raise UserError(f"descriptors must be from 2 to {most}, not {descriptors}")
    if seed < 0:
        raise UserError(f"seed must be at least 0, not {seed}")
    measured = []
    for one in dict.fromkeys(case.build for case in chosen):
        tell(one.name)
        own = [case for case in chosen if case.build == one]
        job = {
            "build": one.job,
            "cases": [_fields(case) for case in own],
            "descriptors": [
                descriptors * max(case.fan_out, USUAL_FAN_OUT) // case.fan_out for case in own
            ],
            "seed": seed,
        }
        program = build(one.design, Simulator(engine))
        counted = measure_in_simulator(program, "cosim.bench.gather_job:measure", job)
        measured += [figures(case, each) for case, each in zip(own, counted, strict=True)]
    return report(measured, engine=engine, descriptors=descriptors, seed=seed)


def _fields(case: GatherCase) -> dict[str, Any]:
    return {name: value for name, value in asdict(case).items() if name != "build"}


def figures(case: GatherCase, counted: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of one case from what its two launches counted."""
    one, many = counted["one"], counted["many"]
    counters, clocks = many["counters"], many["last_clocks"]
    busy = counters["busy"]
    if busy != sum(counters[part] for part in BUSY_PARTS):
        raise AssertionError(f"{case.name}: clocks by part must add up to {busy}")
    streamed = clocks - many["first_clocks"] + 1
    return {
        "name": case.name,
        **asdict(case.build),
        **_fields(case),
        "period_ps": case.build.card.period_ps,
        "descriptors": many["descriptors"],
        "clocks": clocks,
        "ids": counters["ids"],
        "id_reads": counters["id_reads"],
        "merges": counters["merges"],
        "ids_per_s": round(counters["ids"] * PS_PER_S / (clocks * case.build.card.period_ps), 1),
        "ids_per_clock": round(counters["ids"] / streamed, 6),
        "words_per_clock": round(counters["words"] / streamed, 6),
        "beats_per_clock": round(counters["beats"] / clocks, 6),
        "trace_clocks": many["trace_clocks"],
        "share_of_dram_bound": round(many["trace_clocks"] / clocks, 6),
        "first_word_clocks": one["first_clocks"],
        "last_word_clocks": one["last_clocks"],
        "busy_shares": {part: round(counters[part] / busy, 6) for part in BUSY_PARTS},
    }


def report(measured: Sequence[Mapping[str, Any]], **conditions: Any) -> dict[str, Any]:
    """All figures, the targets that they meet or miss, and the first case before DRAM in front."""
    head = next((case for case in measured if case["memory"] == "dram"), measured[0])
    return {
        "schema": SCHEMA,
        **conditions,
        "case": head["name"],
        "share_of_dram_bound": head["share_of_dram_bound"],
        "ids_per_s": head["ids_per_s"],
        "cases": list(measured),
        "targets": list(_targets(measured)),
    }


def _targets(measured: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for target in TARGETS:
        for case in measured:
            if case["memory"] != target.memory or case["lanes"] < target.lanes:
                continue
            yield {
                "case": case["name"],
                "key": target.key,
                "at_least": target.at_least,
                "found": case[target.key],
                "met": target.is_met(case[target.key]),
            }
