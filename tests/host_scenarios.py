"""Graphs and slow, plain sampling for the tests of the host side."""

import numpy as np

from host.graph import Graph
from host.trace import Trace
from rtl.contract.sampling import Sampling

MASK = 0xFFFF_FFFF


def random_graph(nodes=300, seed=1, hub=2_000):
    """Random lists: a third empty, most short, one of ``hub`` entries (repeats allowed)."""
    random = np.random.default_rng(seed)
    degrees = random.integers(0, 40, nodes) * (random.random(nodes) < 0.67)
    degrees[nodes // 2] = hub
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    indices = random.integers(0, nodes, indptr[-1]).astype(np.uint32)
    return Graph(indptr, indices)


def make_trace(graph, fan_outs=(4, 3), batches=2, targets=24, seed=77, sampling="with-replacement"):
    return Trace.generate(
        graph,
        seed=seed,
        batches=batches,
        targets=targets,
        fan_outs=fan_outs,
        sampling=Sampling(sampling),
    )


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
    frontier = [(node, root) for root, node in enumerate(batch.targets.tolist())]
    walks = batch.sampling == "random-walk"
    hops = []
    for hop, fan_out in enumerate(batch.fan_outs):
        slots, after = [], []
        for slot, (node, root) in enumerate(frontier):
            key = 0
            place = (0, root) if walks else (hop, slot)
            for word in (batch.seed & MASK, batch.seed >> 32, batch.index, *place):
                key = lowbias32((key + 0x9E3779B9 & MASK) ^ word)
            begin, end = int(graph.indptr[node]), int(graph.indptr[node + 1])
            taken = slow_places(batch.sampling, key, end - begin, fan_out, hop if walks else 0)
            slots.append([int(graph.indices[begin + place]) for place in taken])
            after += [(one, root) for one in slots[-1]]
        hops.append(slots)
        frontier = after
    return hops


def slow_places(sampling, key, degree, fan_out, first_draw=0):
    """Positions of one list, by the words of the rules."""
    if sampling == "without-replacement" and degree <= fan_out:
        return list(range(degree))
    places = []
    for i in range(fan_out if degree else 0):
        word = lowbias32(key + 0x9E3779B9 * (first_draw + i + 1) & MASK)
        if sampling == "without-replacement":
            last = degree - fan_out + i
            place = word * (last + 1) // 2**32
            places.append(place if place not in places else last)
        else:
            places.append(word * degree // 2**32)
    return places
