"""The plain reference: what every system must return, straight from the graph in memory.

It shares nothing with the sampler that prepares the systems' commands but the published mixer.
"""

import numpy as np

from host.graph import Graph
from host.subgraph import HopResult, Subgraph
from host.trace import MiniBatch
from rtl.contract.mixer import list_key, positions

__all__ = ["sample"]


def sample(graph: Graph, batch: MiniBatch) -> Subgraph:
    """Sample all hops of a mini-batch, with replacement.

    Slot s of hop h (both from 0) takes the positions that the mixer draws for the key
    (seed, batch, h, s); a node without neighbours gives none.
    """
    frontier = [int(node) for node in batch.targets]
    hops = []
    for hop, fan_out in enumerate(batch.fan_outs):
        counts, ids = [], []
        for slot, node in enumerate(frontier):
            neighbours = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
            key = list_key(batch.seed, batch.index, hop, slot)
            taken = neighbours[positions(key, len(neighbours), fan_out)]
            counts.append(len(taken))
            ids += [int(node) for node in taken]
        hops.append(HopResult(np.array(counts, dtype=np.uint32), np.array(ids, dtype=np.uint64)))
        frontier = ids
    return Subgraph(batch.targets, tuple(hops))
