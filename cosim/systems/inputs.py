"""The graph and the trace of a run, checked against each other before anything is simulated."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cosim.config.load import LoadedConfig, check_backgrounds, check_page_buffers
from cosim.errors import UserError
from host import reference
from host.formats.load import load_graph
from host.formats.mqsim import BlockRequest, BlockTrace, read_mqsim
from host.graph import Graph
from host.subgraph import Subgraph, subgraph_sha256
from host.trace import Trace
from rtl.contract.sampling import Sampling

__all__ = ["Inputs", "load_inputs", "load_same_inputs"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """What every system of a run works on."""

    graph: Graph
    trace: Trace
    id_bytes: int
    backgrounds: Mapping[str, BlockTrace] = field(default_factory=dict)
    """Background traces, by the name of the system."""

    @property
    def requests(self) -> dict[str, tuple[BlockRequest, ...]]:
        """Of background traces, by the name of the system."""
        return {name: trace.requests for name, trace in self.backgrounds.items()}

    @property
    def background_sha256(self) -> dict[str, str]:
        """Of the files of background traces, by the name of the system."""
        return {name: trace.sha256 for name, trace in self.backgrounds.items()}

    @property
    def sha256(self) -> str:
        """Of all that was read: the trace names its graph by that's hash."""
        read = json.dumps([self.trace.sha256, self.background_sha256], sort_keys=True)
        return hashlib.sha256(read.encode()).hexdigest()

    @cached_property
    def reference(self) -> tuple[Subgraph, ...]:
        """What every system must return, by plain NumPy."""
        return tuple(reference.sample(self.graph, batch) for batch in self.trace.batches)

    @property
    def reference_sha256(self) -> str:
        return subgraph_sha256(self.reference)

    @property
    def edge_bytes(self) -> int:
        """Size of the edge list array on flash."""
        return self.graph.edge_bytes(self.id_bytes)


def load_inputs(loaded: LoadedConfig) -> Inputs:
    """Read the graph, and read or draw the trace.

    Raises
    ------
    UserError, InputError
        If a file cannot be used, an id does not fit its width on flash, or the trace is not one of
        this graph.
    """
    run = loaded.config.run
    graph = load_graph(loaded.file(run.graph.file), direction=run.graph.direction).graph
    if graph.nodes > 1 << 8 * run.graph.id_bytes:
        raise UserError(
            f"{run.graph.file}: id_bytes must hold the ids of {graph.nodes} nodes, "
            f"not {run.graph.id_bytes}"
        )
    chosen = run.trace
    if chosen.file is not None:
        trace = Trace.load(loaded.file(chosen.file))
    else:
        assert chosen.seed is not None
        assert chosen.batches is not None
        assert chosen.targets is not None
        steps = chosen.walk_length or 0
        trace = Trace.generate(
            graph,
            seed=chosen.seed,
            batches=chosen.batches,
            targets=chosen.targets,
            fan_outs=chosen.fan_outs or (1,) * steps,
            sampling=Sampling(chosen.sampling or Sampling.REPLACEMENT),
            name=f"{loaded.source.file}: run.trace",
        )
    trace.check(graph)
    backgrounds = {
        system.name: read_mqsim(loaded.file(system.background.trace), system.background.trace)
        for system in loaded.config.systems
        if system.background is not None and system.background.trace is not None
    }
    inputs = Inputs(graph, trace, run.graph.id_bytes, backgrounds)
    check_page_buffers(loaded, inputs.edge_bytes)
    check_backgrounds(loaded, inputs.edge_bytes, inputs.requests)
    return inputs


def load_same_inputs(loaded: LoadedConfig, sha256: str) -> Inputs:
    """Read graph and traces once more, in another process.

    Raises
    ------
    UserError
        If they are not those of ``sha256``, an :attr:`Inputs.sha256`, any more.
    """
    inputs = load_inputs(loaded)
    if inputs.sha256 != sha256:
        raise UserError(
            f"{loaded.source.file}: files of graph, trace and background traces must stay as they "
            "are while the run goes on, and have changed"
        )
    return inputs
