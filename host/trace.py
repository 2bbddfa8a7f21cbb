"""The trace: the ordered mini-batches that every system runs, made for one graph."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from host.errors import TraceError
from host.files import read_json
from host.graph import Graph
from rtl.contract.mixer import list_keys
from rtl.contract.sampling import Sampling

__all__ = ["TARGETS_HOP", "MiniBatch", "Trace", "draw_targets"]

FORMAT = "csd-cosim trace"
VERSION = 1
TARGETS_HOP = 0xFFFF_FFFF
"""The hop number under which targets are drawn; no sampled hop has it."""
MAX_FAN_OUT = 0xFFFF
MAX_SEED = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class MiniBatch:
    """Targets to sample for, and how.

    Attributes
    ----------
    index
        Number in the trace, from 0; one of the words from which positions are drawn.
    targets : uint32[n]
        Root targets; the place of a target is its slot in the first hop.
    fan_outs
        Neighbours to take per slot, one number a hop.
    seed
        64-bit seed of all draws.
    worker
        Who prepares it.
    sampling
        How neighbours are chosen. A walk has a hop of fan-out 1 for each of its steps.
    """

    index: int
    targets: npt.NDArray[np.uint32]
    fan_outs: tuple[int, ...]
    seed: int
    worker: int = 0
    sampling: Sampling = Sampling.REPLACEMENT

    @property
    def request(self) -> int:
        """Number of this mini-batch on spans, from 1."""
        return self.index + 1


@dataclass(frozen=True, eq=False)
class Trace:
    """Mini-batches in order, for the graph whose content has hash ``graph_sha256``.

    Raises
    ------
    TraceError
        If there is no mini-batch, they are not numbered from 0, one has no target or no hop, or a
        fan-out, seed or worker is out of range.
    """

    graph_sha256: str
    batches: tuple[MiniBatch, ...]
    name: str = "trace"

    def __post_init__(self) -> None:
        if not self.batches:
            raise TraceError(f"{self.name}: must have at least one mini-batch, not 0")
        for place, batch in enumerate(self.batches):
            where = f"{self.name}: batches[{place}]"
            if batch.index != place:
                raise TraceError(f"{where}.index must be {place}, not {batch.index}")
            if not len(batch.targets) or batch.targets.dtype != np.uint32:
                raise TraceError(
                    f"{where}.targets must be at least one uint32, "
                    f"not {len(batch.targets)} of {batch.targets.dtype}"
                )
            if not batch.fan_outs:
                raise TraceError(f"{where}.fan_outs must name at least one hop, not 0")
            for hop, fan_out in enumerate(batch.fan_outs):
                if not 1 <= fan_out <= MAX_FAN_OUT:
                    raise TraceError(
                        f"{where}.fan_outs[{hop}] must be 1 to {MAX_FAN_OUT}, not {fan_out}"
                    )
                if batch.sampling == Sampling.WALK and fan_out != 1:
                    raise TraceError(
                        f"{where}.fan_outs[{hop}] must be 1 for a random walk, not {fan_out}"
                    )
            if not 0 <= batch.seed <= MAX_SEED or not 0 <= batch.worker < 1 << 32:
                raise TraceError(
                    f"{where}: seed must fit 64 bits and worker 32, "
                    f"not {batch.seed} and {batch.worker}"
                )

    def check(self, graph: Graph) -> None:
        """Refuse a graph that this trace was not made for.

        Raises
        ------
        TraceError
            If the content differs, or a target lies beyond the graph.
        """
        for batch in self.batches:
            wrong = np.flatnonzero(batch.targets >= graph.nodes)
            if wrong.size:
                raise TraceError(
                    f"{self.name}: batches[{batch.index}].targets[{wrong[0]}] must be below "
                    f"{graph.nodes} (the number of nodes of {graph.name}), "
                    f"not {batch.targets[wrong[0]]}"
                )
        if graph.sha256 != self.graph_sha256:
            raise TraceError(
                f"{self.name}: graph_sha256 must be that of {graph.name}, {graph.sha256}, "
                f"not {self.graph_sha256}: the trace was made for another graph"
            )

    @cached_property
    def sha256(self) -> str:
        """Hash over the graph's hash and all batches as little-endian words."""
        digest = hashlib.sha256(f"{FORMAT} {VERSION}\n".encode())
        digest.update(self.graph_sha256.encode())
        digest.update(np.array([len(self.batches)], dtype="<u8").tobytes())
        for batch in self.batches:
            sizes = [len(batch.targets), len(batch.fan_outs)]
            head = [batch.index, batch.worker, batch.seed, *sizes]
            digest.update(np.array(head, dtype="<u8").tobytes())
            digest.update(batch.targets.astype("<u8").tobytes())
            digest.update(np.array(batch.fan_outs, dtype="<u8").tobytes())
            if batch.sampling != Sampling.REPLACEMENT:  # a trace that names none keeps its hash
                digest.update(batch.sampling.encode())
        return digest.hexdigest()

    @classmethod
    def generate(
        cls,
        graph: Graph,
        *,
        seed: int,
        batches: int,
        targets: int,
        fan_outs: Sequence[int],
        workers: int = 1,
        sampling: Sampling = Sampling.REPLACEMENT,
        name: str = "trace",
    ) -> "Trace":
        """Draw ``batches`` mini-batches of ``targets`` nodes each (see :func:`draw_targets`).

        Mini-batch i goes to worker i mod ``workers``.

        Raises
        ------
        TraceError
            If a number is out of range, or the graph has fewer nodes than a mini-batch targets.
        """
        for what, value in (("batches", batches), ("workers", workers)):
            if value < 1:
                raise TraceError(f"{name}: {what} must be at least 1, not {value}")
        if not 1 <= targets <= graph.nodes:
            raise TraceError(
                f"{name}: targets must be 1 to {graph.nodes} (the number of nodes of "
                f"{graph.name}), not {targets}"
            )
        if not 0 <= seed <= MAX_SEED:
            raise TraceError(f"{name}: seed must fit 64 bits, not {seed}")
        drawn = draw_targets(graph.nodes, seed, batches, targets)
        made = tuple(
            MiniBatch(index, chosen, tuple(fan_outs), seed, index % workers, sampling)
            for index, chosen in enumerate(drawn)
        )
        return cls(graph.sha256, made, name)

    def save(self, path: Path) -> None:
        """Write the trace as JSON.

        Raises
        ------
        TraceError
            If the file cannot be written.
        """
        document = {
            "format": FORMAT,
            "version": VERSION,
            "sha256": self.sha256,
            "graph_sha256": self.graph_sha256,
            "batches": [
                {
                    "index": batch.index,
                    "worker": batch.worker,
                    "seed": batch.seed,
                    "fan_outs": list(batch.fan_outs),
                    "sampling": batch.sampling.value,
                    "targets": batch.targets.tolist(),
                }
                for batch in self.batches
            ],
        }
        try:
            path.write_text(json.dumps(document) + "\n", encoding="utf-8")
        except OSError as error:
            raise TraceError(f"{path}: must be writable: {error.strerror}") from error

    @classmethod
    def load(cls, path: Path, *, name: str | None = None) -> "Trace":
        """Read a trace written by :meth:`save`. Batches that name no sampling are with replacement.

        Raises
        ------
        TraceError
            If it is not one, a value is out of range, or the content is not what was saved.
        """
        label = name or str(path)
        document = read_json(path, label, "a readable JSON trace", TraceError)
        if document.get("format") != FORMAT:
            found = document.get("format", "nothing")
            raise TraceError(f"{label}: format must be {FORMAT!r}, not {found!r:.60}")
        if document.get("version") != VERSION:
            raise TraceError(f"{label}: version must be {VERSION}, not {document.get('version')!r}")
        batches = _member(document, "batches", list, label)
        made = tuple(_batch(item, f"{label}: batches[{i}]") for i, item in enumerate(batches))
        trace = cls(_member(document, "graph_sha256", str, label), made, label)
        if trace.sha256 != document.get("sha256"):
            raise TraceError(
                f"{label}: sha256 must be {trace.sha256} by its content, "
                f"not {document.get('sha256')}"
            )
        return trace


def draw_targets(nodes: int, seed: int, batches: int, targets: int) -> list[npt.NDArray[np.uint32]]:
    """Root targets of all mini-batches, without replacement within an epoch.

    Epoch e is all nodes in the order of the key ``list_key(seed, e, 0xFFFFFFFF, node)``, equal
    keys by node; mini-batches are cut from it one after the other. What is too short for one more
    mini-batch at its end is left out, and the next epoch begins.
    """
    whole = nodes // targets
    drawn: list[npt.NDArray[np.uint32]] = []
    for epoch in range(-(-batches // whole)):
        keys = list_keys(seed, epoch, TARGETS_HOP, np.arange(nodes, dtype=np.uint32))
        order = np.argsort(keys, kind="stable").astype(np.uint32)
        count = min(whole, batches - len(drawn))
        drawn += [order[i * targets : (i + 1) * targets] for i in range(count)]
    return drawn


def _member(document: Any, key: str, kind: type, where: str) -> Any:
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TraceError(f"{where}: {key} must be a {kind.__name__}, not {value!r:.60}")
    return value


def _batch(item: Any, where: str) -> MiniBatch:
    targets = _member(item, "targets", list, where)
    for place, value in enumerate(targets):
        if type(value) is not int or not 0 <= value < 1 << 32:
            raise TraceError(f"{where}.targets[{place}] must be 0 to 2^32 - 1, not {value!r:.60}")
    fan_outs = _member(item, "fan_outs", list, where)
    for place, value in enumerate(fan_outs):
        if type(value) is not int:
            raise TraceError(f"{where}.fan_outs[{place}] must be an int, not {value!r:.60}")
    index, worker, seed = (_member(item, key, int, where) for key in ("index", "worker", "seed"))
    name = item.get("sampling", Sampling.REPLACEMENT.value)
    if name not in list(Sampling):
        raise TraceError(f"{where}.sampling must be {' or '.join(Sampling)}, not {name!r:.60}")
    return MiniBatch(
        index,
        np.array(targets, dtype=np.uint32),
        tuple(fan_outs),
        seed,
        worker,
        Sampling(name),
    )
