"""The plain reference: what every system must return, straight from the graph in memory.

It shares nothing with the sampler that prepares the systems' commands but the published mixer and
the rules of :mod:`rtl.contract.sampling` for a single list.
"""

import numpy as np

from host.graph import Graph
from host.subgraph import HopResult, Subgraph
from host.trace import MiniBatch
from rtl.contract.mixer import draw, list_key
from rtl.contract.sampling import Sampling, taken_positions

__all__ = ["sample", "walks"]


def sample(graph: Graph, batch: MiniBatch) -> Subgraph:
    """Sample all hops of a mini-batch.

    Slot s of hop h (both from 0) takes the positions that the mixer draws for the key
    (seed, batch, h, s); a node without neighbours gives none. For walks see :func:`walks`.
    """
    if batch.sampling == Sampling.WALK:
        return walks(graph, batch)
    frontier = [int(node) for node in batch.targets]
    hops = []
    for hop, fan_out in enumerate(batch.fan_outs):
        counts, ids = [], []
        for slot, node in enumerate(frontier):
            neighbours = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            key = list_key(batch.seed, batch.index, hop, slot)
            taken = neighbours[taken_positions(batch.sampling, key, len(neighbours), fan_out)]
            counts.append(len(taken))
            ids += [int(node) for node in taken]
        hops.append(HopResult(np.array(counts, dtype=np.uint32), np.array(ids, dtype=np.uint64)))
        frontier = ids
    return Subgraph(batch.targets, tuple(hops))


def walks(graph: Graph, batch: MiniBatch) -> Subgraph:
    """Walk from each root target, one walk after the other.

    Step s of the walk from root slot r takes draw s of the key (seed, batch, 0, r). A hop of the
    result has a slot for each walk that has come so far, in the order of their roots.
    """
    steps = len(batch.fan_outs)
    counts: list[list[int]] = [[] for _ in range(steps)]
    ids: list[list[int]] = [[] for _ in range(steps)]
    for root, target in enumerate(batch.targets):
        key, node = list_key(batch.seed, batch.index, 0, root), int(target)
        for step in range(steps):
            neighbours = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            counts[step].append(int(len(neighbours) > 0))
            if not len(neighbours):
                break
            node = int(neighbours[draw(key, step) * len(neighbours) >> 32])
            ids[step].append(node)
    hops = tuple(
        HopResult(np.array(count, dtype=np.uint32), np.array(node, dtype=np.uint64))
        for count, node in zip(counts, ids, strict=True)
    )
    return Subgraph(batch.targets, hops)
