"""Whole systems in an HDL simulator, from a configuration's text; runs are shared by all tests."""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import yaml

from cosim.config.load import load_config
from cosim.engines.build import build
from cosim.engines.run import run_job
from cosim.engines.tools import Simulator
from cosim.results import SystemResult, load_system
from cosim.spans import critical_path, stage_totals
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "examples" / "quickstart-small.yaml"
TIME_LIMIT_S = 600


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one system did."""

    result: SystemResult
    subgraphs: tuple = field(repr=False)
    """Per mini-batch and hop the bytes of the result."""

    @property
    def latencies_ps(self):
        return [batch.latency_ps for batch in self.result.batches]

    def stages_ps(self, batch=0):
        of = self.result.batches[batch]
        return stage_totals(critical_path(self.result.spans, of.end, of.start_ps))

    @property
    def spans(self):
        return list(self.result.spans)


def configuration(**changes):
    """The small example as a nested dictionary, its files made absolute, updated with changes.

    A change's name is a key path with two underscores for the dot.
    """
    document = yaml.safe_load(SMALL.read_text())
    graph = document["run"]["graph"]
    graph["file"] = str(SMALL.parent / graph["file"])
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = document
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return document


def run(system, simulator, document=None, *, flips=(), tmp_path=None):
    """Run ``system`` of a configuration; equal runs are made once a session."""
    text = yaml.safe_dump(configuration() if document is None else document, sort_keys=True)
    return _run(system, Simulator(simulator), text, tuple(flips))


@cache
def _run(system, simulator, text, flips):
    folder = Path(mkdtemp(prefix="csd-cosim-system-"))
    config = folder / "config.yaml"
    config.write_text(text)
    loaded = load_config(config)
    built = build(machine_design(loaded.platforms), simulator)
    job = {"config": str(config), "system": system, "folder": str(folder), "flips": flips}
    run_job(built, "tests.benches.system_job:run", job, folder, time_limit_s=TIME_LIMIT_S)
    raw = json.loads((folder / "subgraphs.json").read_text())
    subgraphs = tuple(tuple(bytes.fromhex(hop) for hop in batch) for batch in raw)
    return Outcome(load_system(folder), subgraphs)


@cache
def _reference(text):
    folder = Path(mkdtemp(prefix="csd-cosim-reference-"))
    (folder / "config.yaml").write_text(text)
    graphs = load_inputs(load_config(folder / "config.yaml")).reference
    return tuple(
        tuple(graph.result_bytes(hop) for hop in range(len(graph.hops))) for graph in graphs
    )


def reference(document=None):
    """What every system must return: per mini-batch and hop the bytes of the result."""
    return _reference(yaml.safe_dump(configuration() if document is None else document))
