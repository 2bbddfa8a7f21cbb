"""What one hop asks for: a frontier with its lists, keys and positions, for all systems alike."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from host.errors import ResultError
from host.graph import Graph
from host.subgraph import HopResult
from host.trace import MiniBatch
from rtl.contract.mixer import list_keys
from rtl.contract.sampling import Sampling, comparisons, taken, taken_table, walk_key

__all__ = ["MODES", "HopPlan", "check_hop", "check_result", "group_bounds", "hop_keys", "plan_hop"]

MODES = ("host", "device")
"""Who draws the positions."""


@dataclass(frozen=True, eq=False)
class HopPlan:
    """The frontier of one hop, one row a slot; a part of a hop is a plan too.

    Attributes
    ----------
    fan_out
        Neighbours to take of each list that has any.
    nodes : uint32[n]
        The frontier's nodes.
    starts : int64[n]
        Where each list begins in the edge list array, in ids.
    degrees : int64[n]
        Its length in ids.
    keys : uint32[n]
        Its mixer key, for a walk that of its step.
    sampling
        How neighbours are chosen.
    """

    fan_out: int
    nodes: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    degrees: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint32]
    sampling: Sampling = Sampling.REPLACEMENT

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def counts(self) -> npt.NDArray[np.uint32]:
        """Ids that each slot will yield: none where the list is empty."""
        return taken(self.sampling, self.degrees, self.fan_out).astype(np.uint32)

    @property
    def samples(self) -> int:
        """Ids that all slots will yield."""
        return int(self.counts.sum())

    @property
    def comparisons(self) -> int:
        """Comparisons of two positions that drawing all of them takes."""
        if self.sampling != Sampling.DISTINCT:
            return 0
        return int(comparisons(self.keys, self.degrees, self.fan_out)[0].sum())

    def positions(self) -> npt.NDArray[np.uint32]:
        """Positions within each list: ``uint32[n, fan_out]``, the first ``counts`` of each row."""
        return taken_table(self.sampling, self.keys, self.degrees, self.fan_out)

    def part(self, first: int, end: int) -> "HopPlan":
        """Slots ``first`` to ``end`` - 1."""
        cut = slice(first, end)
        return HopPlan(
            self.fan_out,
            self.nodes[cut],
            self.starts[cut],
            self.degrees[cut],
            self.keys[cut],
            self.sampling,
        )


def plan_hop(
    graph: Graph,
    batch: MiniBatch,
    hop: int,
    frontier: npt.NDArray[np.unsignedinteger],
    roots: npt.NDArray[np.unsignedinteger] | None = None,
) -> HopPlan:
    """Plan hop ``hop`` (from 0) for the nodes of ``frontier``; slots count over all of it.

    ``roots`` has the slot of the root target that each of them descends from, which are the slots
    themselves in the first hop; only walks need it.
    """
    nodes = frontier.astype(np.uint32)
    starts = graph.indptr[nodes]
    return HopPlan(
        batch.fan_outs[hop],
        nodes,
        starts,
        graph.indptr[nodes.astype(np.int64) + 1] - starts,
        hop_keys(batch, hop, len(nodes), roots),
        batch.sampling,
    )


def hop_keys(
    batch: MiniBatch,
    hop: int,
    slots: int,
    roots: npt.NDArray[np.unsignedinteger] | None = None,
) -> npt.NDArray[np.uint32]:
    """Keys of all slots of a hop, ``uint32[slots]``; ``roots`` as in :func:`plan_hop`."""
    numbers = np.arange(slots, dtype=np.uint32)
    if batch.sampling == Sampling.WALK:
        of = numbers if roots is None else roots
        keys = walk_key(list_keys(batch.seed, batch.index, 0, of), hop)
    else:
        keys = list_keys(batch.seed, batch.index, hop, numbers)
    return np.asarray(keys)


def group_bounds(
    bounds: npt.NDArray[np.int64], counts: npt.NDArray[np.uint32]
) -> npt.NDArray[np.int64]:
    """Bounds of the groups in the next frontier, given those in this one and its counts.

    Group k has the slots ``bounds[k]`` to ``bounds[k + 1]`` - 1.
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[bounds]


def check_result(plan: HopPlan, result: HopResult, nodes: int) -> HopResult:
    """Return what a device delivered, if it can be what was asked for.

    Raises
    ------
    ResultError
        If a slot has another number of ids than planned, or an id is beyond the graph.
    """
    wrong = np.flatnonzero(result.counts != plan.counts)
    if wrong.size:
        slot = int(wrong[0])
        raise ResultError(
            f"slot {slot} (node {plan.nodes[slot]}) must have {plan.counts[slot]} ids, "
            f"not {result.counts[slot]}"
        )
    beyond = np.flatnonzero(result.ids >= nodes)
    if beyond.size:
        raise ResultError(f"ids must be below {nodes}, not {result.ids[beyond[0]]}")
    return result


def check_hop(result: HopResult, number: int, fan_out: int, nodes: int) -> HopResult:
    """Return hop ``number`` as a device that goes from hop to hop delivered it, if it can be one.

    Raises
    ------
    ResultError
        If a slot has more ids than the fan-out, or an id is beyond the graph.
    """
    if np.any(result.counts > fan_out) or np.any(result.ids >= nodes):
        raise ResultError(f"hop {number} must have at most {fan_out} ids a slot, all below {nodes}")
    return result
