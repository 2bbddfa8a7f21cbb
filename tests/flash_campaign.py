"""``make flash-campaign``: random operations over the bus of the real RTL, and a plain model."""

import json
import sys
import tempfile
import time
from pathlib import Path

from cosim.engines.build import build
from cosim.engines.run import run_job
from cosim.engines.tools import Simulator
from tests.benches.flash_campaign import CASES

__all__ = ["campaign"]

TIME_LIMIT_S = 4 * 3600
RUNS = (
    ("tiny", Simulator.VERILATOR, 10_000),
    ("tiny", Simulator.ICARUS, 10_000),
    ("suspends", Simulator.VERILATOR, 2_000),
    ("single", Simulator.VERILATOR, 2_000),
    ("cosmos", Simulator.VERILATOR, 1_000),
)
SEED = 1
STORY = ("log", "spans", "counters", "end_ps")
"""What both simulators must tell alike."""


def campaign(case, simulator, operations, seed, folder, *, time_limit_s=TIME_LIMIT_S):
    """What came of ``operations`` random operations on one of the cases."""
    program = build(CASES[case].design, simulator)
    result = Path(folder) / "result.json"
    job = {"case": case, "operations": operations, "seed": seed, "result": str(result)}
    run_job(
        program, "tests.benches.flash_campaign:run", job, Path(folder), time_limit_s=time_limit_s
    )
    return json.loads(result.read_text())


def describe(case, simulator, found, seconds):
    """A few lines about one run."""
    total, counters = sum(found["kinds"].values()), found["counters"]
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(found["kinds"].items()))
    reached = ", ".join(
        f"{name} {counters[f'channel.{name}']}"
        for name in (
            "ties",
            "pending_full",
            "landing_full",
            "polls_busy",
            "failed",
            "suspends",
            "clock_stops",
        )
    )
    return (
        f"{case} on {simulator}: {total} operations in {found['end_ps'] / 1e9:.3f} ms of simulated "
        f"time, {seconds:.0f} s\n  {kinds}\n  {reached}, launch_full {found['launch_waits']}\n"
        f"  {len(found['differences'])} differences"
    )


def main():
    """Run all, print what came of each, and fail if anything differs."""
    stories, is_right = {}, True
    for case, simulator, operations in RUNS:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = campaign(case, simulator, operations, SEED, folder)
        print(describe(case, simulator, found, time.perf_counter() - begin), flush=True)
        for difference in found["differences"][:10]:
            print(f"    {difference}")
        is_right &= not found["differences"]
        story = {name: found[name] for name in STORY}
        is_same = stories.setdefault(case, story) == story
        if not is_same:
            print("  must be the same as on the other simulator, and is not")
        is_right &= is_same
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
