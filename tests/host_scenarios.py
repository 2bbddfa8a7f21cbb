"""Graphs and slow, plain sampling for the tests of the host side."""

import numpy as np

from host.graph import Graph
from host.trace import Trace

MASK = 0xFFFF_FFFF


def random_graph(nodes=300, seed=1, hub=2_000):
    """Random lists: a third empty, most short, one of ``hub`` entries (repeats allowed)."""
    random = np.random.default_rng(seed)
    degrees = random.integers(0, 40, nodes) * (random.random(nodes) < 0.67)
    degrees[nodes // 2] = hub
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    indices = random.integers(0, nodes, indptr[-1]).astype(np.uint32)
    return Graph(indptr, indices)


def make_trace(graph, fan_outs=(4, 3), batches=2, targets=24, seed=77):
    return Trace.generate(graph, seed=seed, batches=batches, targets=targets, fan_outs=fan_outs)


def lowbias32(word):
    word ^= word >> 16
    word = word * 0x7FEB352D & MASK
    word ^= word >> 15
    word = word * 0x846CA68B & MASK
    return word ^ word >> 16


def slow_sample(graph, batch):
    """All hops with plain integers, written from the published rule alone.

    Returns per hop a list with the ids of each slot.
    """
    frontier = batch.targets.tolist()
    hops = []
    for hop, fan_out in enumerate(batch.fan_outs):
        slots = []
        for slot, node in enumerate(frontier):
            key = 0
            for word in (batch.seed & MASK, batch.seed >> 32, batch.index, hop, slot):
                key = lowbias32((key + 0x9E3779B9 & MASK) ^ word)
            begin, end = int(graph.indptr[node]), int(graph.indptr[node + 1])
            ids = []
            for draw in range(fan_out if end > begin else 0):
                word = lowbias32(key + 0x9E3779B9 * (draw + 1) & MASK)
                ids.append(int(graph.indices[begin + (word * (end - begin) >> 32)]))
            slots.append(ids)
        hops.append(slots)
        frontier = [node for ids in slots for node in ids]
    return hops
