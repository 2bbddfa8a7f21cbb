"""Whole systems in an HDL simulator, from a configuration's text; runs are shared by all tests."""

import atexit
import json
import shutil
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np
import yaml

from cosim.config.load import load_config
from cosim.engines.build import build
from cosim.engines.run import run_job
from cosim.engines.tools import Simulator
from cosim.results import SystemResult, load_system
from cosim.spans import critical_path, stage_totals
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs
from host.formats.load import load_graph
from host.formats.npz import write_npz
from host.trace import MiniBatch, Trace
from rtl.contract.sampling import Sampling
from tests.host_scenarios import random_graph

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "examples" / "quickstart-small.yaml"
HUB = 1_250
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


def hub_configuration(*, fan_outs=(3, 2), sampling=Sampling.REPLACEMENT, **changes):
    """The small example on other lists: a hub (twice), those beside it on flash, an empty one."""
    folder = _hub_folder()
    graph = hub_graph()
    targets = np.array([HUB, *range(HUB - 2, HUB + 3), 0, 1], dtype=np.uint32)
    batch = MiniBatch(0, targets, tuple(fan_outs), seed=4, sampling=sampling)
    trace = Trace(graph.sha256, (batch,))
    file = folder / f"{trace.sha256}.json"
    trace.save(file)
    fixed = {"run__graph__file": graph.name, "run__trace": {"file": str(file)}}
    return configuration(**{**fixed, **changes})


@cache
def _hub_folder():
    folder = Path(mkdtemp(prefix="csd-cosim-graph-"))
    atexit.register(shutil.rmtree, folder)
    return folder


@cache
def hub_graph():
    """Graph of 2,500 nodes; the list of node HUB fills several pages."""
    path = _hub_folder() / "hub.npz"
    write_npz(path, random_graph(nodes=2 * HUB, hub=3_000))
    return load_graph(path, direction="out").graph


def systems(firmware=None, fpga=None):
    """The two systems of the small example, with keys of each changed."""
    one, other = configuration()["systems"]
    return [{**one, **(firmware or {})}, {**other, **(fpga or {})}]


def run(system, simulator, document=None, *, flips=(), blind=False):
    """Run ``system`` of a configuration; equal runs are made once a session.

    ``flips`` are (logical page, bit) of cells that read wrong; ``blind`` takes the neighbour ids
    away from the host once the flash is loaded.
    """
    text = as_text(document)
    return _run(system, Simulator(simulator), text, tuple(flips), blind)


def run_function(name, system, simulator, text, **more):
    """Call a function of ``tests.benches.system_job`` in the simulator; returns its folder."""
    folder = Path(mkdtemp(prefix="csd-cosim-system-"))
    config = folder / "config.yaml"
    config.write_text(text)
    built = build(machine_design(load_config(config).platforms), Simulator(simulator))
    job = {"config": str(config), "system": system, "folder": str(folder), **more}
    function = f"tests.benches.system_job:{name}"
    run_job(built, function, job, folder, time_limit_s=TIME_LIMIT_S)
    return folder


def as_text(document=None):
    return yaml.safe_dump(configuration() if document is None else document, sort_keys=True)


@cache
def _run(system, simulator, text, flips, blind):
    folder = run_function("run", system, simulator, text, flips=flips, blind=blind)
    raw = json.loads((folder / "subgraphs.json").read_text())
    subgraphs = tuple(tuple(bytes.fromhex(hop) for hop in batch) for batch in raw)
    outcome = Outcome(load_system(folder), subgraphs)
    shutil.rmtree(folder)  # a run that failed leaves its log
    return outcome


@cache
def _reference(text):
    with TemporaryDirectory(prefix="csd-cosim-reference-") as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(text)
        return result_bytes(load_inputs(load_config(config)).reference)


def result_bytes(subgraphs):
    """Per mini-batch and hop the bytes of the result."""
    return tuple(
        tuple(graph.result_bytes(hop) for hop in range(len(graph.hops))) for graph in subgraphs
    )


def reference(document=None):
    """What every system must return: per mini-batch and hop the bytes of the result."""
    return _reference(as_text(document))
