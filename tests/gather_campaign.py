"""``make gather-campaign``: random descriptors for the real gather core, against the reference."""

import argparse
import json
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from cosim.bench.page import markdown_table, rewrite_page
from cosim.engines.build import MAKE_FLAGS
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from rtl.emit import emit_component
from rtl.emit_gather import CORE_MODULE
from rtl.gather.core import GatherUnit
from rtl.gather.own import FlatBlock, core_signature
from tests.hdl_bench import build_module, find_tools, run_module

__all__ = ["CORES", "REDUCED", "Player", "environment", "table"]

CORES = {
    "wide": {
        "data_bits": 512,
        "lanes": 2,
        "outstanding": 64,
        "result_words": 2,
        "max_fan_out": 256,
        "max_distinct": 64,
    },
    "single": {
        "data_bits": 256,
        "lanes": 1,
        "outstanding": 4,
        "result_words": 1,
        "max_fan_out": 64,
        "max_distinct": 16,
    },
    "narrow": {
        "data_bits": 64,
        "lanes": 4,
        "outstanding": 8,
        "result_words": 4,
        "max_fan_out": 64,
        "max_distinct": 16,
    },
}
PIECE = 20_000
RUNS = (("wide", (1, 2, 3)), ("single", (4,)), ("narrow", (5,)))
"""Seeds of each core's runs of :data:`PIECE` descriptors, on both simulators."""
REDUCED = {"verilator": 8_000, "icarus": 2_000}
"""Descriptors of the tests."""


def environment(core, descriptors, seed, folder, result):
    """Environment in which the bench ``gather_campaign`` plays so many descriptors.

    It writes what it found to the file ``result``.
    """
    job = Path(folder) / f"job-{seed}.json"
    fields = {"descriptors": descriptors, "seed": seed, "result": str(result)}
    job.write_text(json.dumps({**CORES[core], **fields}))
    return {
        "GATHER_CAMPAIGN": str(job),
        "COCOTB_RANDOM_SEED": "1",
        "COCOTB_TRUST_INERTIAL_WRITES": "1",
    }


class Player:
    """A core, built for a simulator, that runs any number of campaigns.

    Parameters
    ----------
    core : str
        One of :data:`CORES`.
    simulator : Simulator
    folder : Path
        For the build, the runs and their results.
    make : callable
        Makes the unit from its parameters; a broken one to see it found.
    """

    def __init__(self, core, simulator, folder, make=GatherUnit):
        self._core = core
        self._simulator = simulator.value
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        source = self._folder / f"{CORE_MODULE}.v"
        unit = make(**CORES[core])
        emit_component(source, FlatBlock(core_signature(unit), unit), CORE_MODULE)
        with self._tools():
            self._build = build_module(
                self._simulator, [source], CORE_MODULE, self._folder / "build"
            )

    def play(self, descriptors, seed):
        """What came of so many random descriptors: a dictionary with ``differences`` and counts."""
        result = self._folder / f"result-{seed}.json"
        result.unlink(missing_ok=True)
        with self._tools():
            run_module(
                self._simulator,
                self._build,
                CORE_MODULE,
                "tests.benches.gather_campaign",
                self._folder,
                environment=environment(self._core, descriptors, seed, self._folder, result),
            )
        if not result.exists():
            raise RuntimeError(f"{self._folder / 'test.log'}: the run must end, and did not")
        return json.loads(result.read_text())

    @contextmanager
    def _tools(self):
        """The simulator's tools are in the environment."""
        with pytest.MonkeyPatch.context() as patch:
            find_tools(self._simulator, patch, MAKE_FLAGS)
            yield


def table(results):
    """Markdown of (core, simulator, result) entries, those of a core and a simulator together."""
    columns = (
        ("descriptors", "descriptors"),
        ("launches", "launches"),
        ("ids", "ids"),
        ("`OK`", "targets OK"),
        ("`BAD_DESCRIPTOR`", "targets BAD_DESCRIPTOR"),
        ("`BUS_ERROR`", "targets BUS_ERROR"),
        ("given up", "launches given up"),
        ("clocks", "clocks"),
    )
    rows = []
    for core, simulator in dict.fromkeys(entry[:2] for entry in results):
        own = [found for *key, found in results if key == [core, simulator]]
        counts = [f"{sum(found['counts'].get(key, 0) for found in own):,}" for _, key in columns]
        differences = sum(len(found["differences"]) for found in own)
        rows.append((f"{core}, {simulator}", *counts, str(differences)))
    return markdown_table(("core, simulator", *(head for head, _ in columns), "differences"), rows)


def main():
    """Run all, print what came of each, and fail if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.gather_campaign", description=__doc__)
    parser.add_argument("--page", type=Path, help="page whose table to bring up to date")
    parser.add_argument("--piece", type=int, default=PIECE, help="descriptors of each run")
    parser.add_argument("--simulator", choices=list(Simulator), help="default: one after the other")
    options = parser.parse_args()
    results, stories, is_right = [], {}, True
    chosen = [Simulator(options.simulator)] if options.simulator else list(Simulator)
    for core, simulator, seed, found, seconds in _runs(options.piece, chosen):
        results.append((core, simulator, found))
        print(f"{core} on {simulator}, seed {seed}, {seconds:.0f} s: {found}", flush=True)
        is_same = stories.setdefault((core, seed), found["story"]) == found["story"]
        if not is_same:
            print("  must be the same as on the other simulator, and is not")
        is_right &= is_same and not found["differences"]
    print(table(results))
    try:
        if options.page is not None:
            rewrite_page(options.page, {"campaign": table(results)})
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if is_right else 1


def _runs(descriptors, simulators):
    """Core, simulator, seed, what was found and how many seconds it took, of all runs."""
    for core, seeds in RUNS:
        for simulator in simulators:
            with tempfile.TemporaryDirectory() as folder:
                player = Player(core, simulator, folder)
                for seed in seeds:
                    begin = time.perf_counter()
                    found = player.play(descriptors, seed)
                    yield core, simulator.value, seed, found, time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
