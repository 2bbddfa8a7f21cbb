"""From pairs of ids to rows: direction, compaction of ids, loops and duplicates."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from host.errors import GraphError
from host.graph import DIRECTIONS, MAX_NODES, Graph

__all__ = ["Imported", "compact", "from_edges"]


@dataclass(frozen=True, eq=False)
class Imported:
    """A graph made from a file, and what became of the file's content.

    Attributes
    ----------
    graph
        Rows sorted by id, without loops and repeats.
    ids : int64[nodes]
        The file's own id of each node.
    pairs
        Pairs read.
    loops
        Pairs (u, u), dropped.
    duplicates
        Repeats of a pair, dropped.
    merged
        With direction ``both``: entries that were there already because the file has both (u, v)
        and (v, u).
    """

    graph: Graph
    ids: npt.NDArray[np.int64]
    pairs: int
    loops: int
    duplicates: int
    merged: int

    @property
    def dropped(self) -> str:
        """What was read and what was left out, in words."""
        return (
            f"{self.pairs} pairs read; dropped {self.loops} loops and {self.duplicates} "
            f"repeats, merged {self.merged} pairs with their reverse"
        )

    def save(self, folder: Path) -> None:
        """Save the graph (see :meth:`Graph.save`) with the file's own ids as ``ids.npy``."""
        self.graph.save(folder, ids=self.ids)


def compact(
    source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number the ids that occur from 0, in their order; returns (source, target, original ids)."""
    ids, places = np.unique(np.concatenate([source, target]), return_inverse=True)
    return places[: len(source)], places[len(source) :], ids


def from_edges(
    source: npt.NDArray[np.int64],
    target: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int64],
    direction: str,
    name: str,
) -> Imported:
    """Build a graph of ``len(ids)`` nodes from pairs of node numbers.

    Raises
    ------
    GraphError
        If the direction is unknown, or no pair is left once loops are dropped.
    """
    if direction not in DIRECTIONS:
        raise GraphError(
            f"{name}: direction must be one of {', '.join(DIRECTIONS)}, not {direction!r}"
        )
    nodes = len(ids)
    if nodes > MAX_NODES >> 1:  # a pair must fit one signed 64-bit number
        raise GraphError(f"{name}: must have at most {MAX_NODES >> 1} nodes, not {nodes}")
    straight = source != target
    row, column = source[straight], target[straight]
    if direction == "in":
        row, column = column, row
    pairs = _once(row * nodes + column)
    duplicates = len(row) - len(pairs)
    merged = 0
    if direction == "both":
        row, column = np.divmod(pairs, nodes)
        directed = len(pairs)
        pairs = _once(np.concatenate([pairs, column * nodes + row]))
        merged = 2 * directed - len(pairs)
    if not len(pairs):
        raise GraphError(f"{name}: the graph must have at least one edge between two nodes, not 0")
    row, column = np.divmod(pairs, nodes)
    indptr = np.zeros(nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=nodes), out=indptr[1:])
    graph = Graph(indptr, column.astype(np.uint32), direction, name)
    loops = len(source) - int(straight.sum())
    return Imported(graph, ids, len(source), loops, duplicates, merged)


def _once(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Values in order, once each; several times faster than ``np.unique`` on millions."""
    values = np.sort(values)
    keep = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values[keep]
