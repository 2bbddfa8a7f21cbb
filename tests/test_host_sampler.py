"""The reference against a slow loop, the plan of a hop, and the forms of a subgraph."""

import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest

from host import reference
from host.errors import ResultError
from host.sampler import check_result, group_bounds, plan_hop
from host.subgraph import (
    HopResult,
    Subgraph,
    decode_result,
    encode_result,
    local_edges,
    subgraph_sha256,
)
from rtl.contract.sampling import Sampling
from tests.host_scenarios import make_trace, random_graph, slow_sample

MODES = [
    *(("with-replacement", fan_outs) for fan_outs in [(5,), (4, 3), (3, 2, 4)]),
    *(("without-replacement", fan_outs) for fan_outs in [(5,), (25, 10), (3, 2, 4)]),
    ("random-walk", (1,)),
    ("random-walk", (1,) * 6),
]


@pytest.mark.parametrize(("sampling", "fan_outs"), MODES)
@pytest.mark.parametrize("seed", [0, 77, (1 << 63) + 5])
def test_the_reference_is_the_slow_loop(sampling, fan_outs, seed):
    graph = random_graph()
    for batch in make_trace(graph, fan_outs, seed=seed, sampling=sampling).batches:
        expected = slow_sample(graph, batch)
        found = reference.sample(graph, batch)
        for hop, slots in zip(found.hops, expected, strict=True):
            assert hop.counts.tolist() == [len(ids) for ids in slots]
            assert hop.ids.tolist() == [node for ids in slots for node in ids]


@pytest.mark.parametrize(("sampling", "fan_outs"), MODES)
def test_plans_lead_to_the_reference(sampling, fan_outs):
    graph = random_graph()
    for batch in make_trace(graph, fan_outs, sampling=sampling).batches:
        frontier, roots = batch.targets, np.arange(len(batch.targets))
        for hop, expected in enumerate(reference.sample(graph, batch).hops):
            plan = plan_hop(graph, batch, hop, frontier, roots)
            taken = np.arange(plan.fan_out) < plan.counts[:, None]
            frontier = graph.indices[(plan.starts[:, None] + plan.positions())[taken]]
            roots = np.repeat(roots, plan.counts)
            assert frontier.tolist() == expected.ids.tolist()
            assert plan.counts.tolist() == expected.counts.tolist()
            assert plan.samples == len(expected.ids)


def test_a_part_of_a_plan_keeps_the_keys_of_its_slots():
    graph = random_graph()
    plan = plan_hop(graph, make_trace(graph).batches[0], 0, np.arange(50, dtype=np.uint32))
    part = plan.part(10, 20)
    assert len(part) == 10
    assert replace(plan, sampling=Sampling.DISTINCT).part(1, 2).sampling == Sampling.DISTINCT
    assert part.positions().tolist() == plan.positions()[10:20].tolist()
    assert part.counts.tolist() == plan.counts[10:20].tolist()


def test_groups_follow_the_roots_from_hop_to_hop():
    counts = np.array([2, 0, 2, 2, 0], dtype=np.uint32)
    assert group_bounds(np.array([0, 2, 4, 5]), counts).tolist() == [0, 2, 6, 6]


def test_result_form():
    hop = HopResult(np.array([2, 0, 1], np.uint32), np.array([5, 1 << 40, 7], np.uint64))
    raw = struct.pack("<IQQIIQ", 2, 5, 1 << 40, 0, 1, 7)
    assert encode_result(hop) == raw
    back = decode_result(raw, 3)
    assert back.counts.tolist() == [2, 0, 1]
    assert back.ids.tolist() == [5, 1 << 40, 7]
    subgraph = Subgraph(np.arange(3, dtype=np.uint32), (hop, hop))
    assert subgraph.result_bytes(1) == raw
    assert subgraph.sha256 == hashlib.sha256(raw + raw).hexdigest()
    assert subgraph_sha256([subgraph, subgraph]) == hashlib.sha256(raw * 4).hexdigest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:-8], "by its counts"),
        (lambda raw: raw[:-1], "by its counts"),
        (lambda raw: raw + b"\0", "by its counts"),
        (lambda raw: b"\3" + raw[1:], "by its counts|must hold 3 targets"),
        (lambda raw: raw[:20], "must hold 3 targets, not 1"),
        (lambda raw: b"", "must hold 3 targets, not 0"),
    ],
)
def test_broken_results_are_refused(change, message):
    with pytest.raises(ResultError, match=message):
        decode_result(change(struct.pack("<IQQIIQ", 2, 5, 6, 0, 1, 7)), 3)


def test_counts_and_ids_belong_together():
    with pytest.raises(ResultError, match="counts must add up to the number of ids, 1, not 2"):
        HopResult(np.array([2], np.uint32), np.array([5], np.uint64))


def test_what_was_not_asked_for_is_refused():
    graph = random_graph()
    batch = make_trace(graph).batches[0]
    plan = plan_hop(graph, batch, 0, batch.targets)
    good = reference.sample(graph, batch).hops[0]
    assert check_result(plan, good, graph.nodes) is good
    slot = int(np.flatnonzero(good.counts)[0])
    counts = good.counts.copy()
    counts[slot] -= 1
    with pytest.raises(ResultError, match=rf"slot {slot} \(node \d+\) must have 4 ids, not 3"):
        check_result(plan, HopResult(counts, good.ids[1:]), graph.nodes)
    for wrong in (300, 1 << 63):
        ids = good.ids.copy()
        ids[3] = wrong
        with pytest.raises(ResultError, match=f"ids must be below 300, not {wrong}"):
            check_result(plan, HopResult(good.counts, ids), graph.nodes)


def test_local_edges_number_nodes_by_first_appearance():
    hops = (
        HopResult(np.array([2, 0], np.uint32), np.array([30, 10], np.uint64)),
        HopResult(np.array([1, 2], np.uint32), np.array([40, 30, 20], np.uint64)),
    )
    edges = local_edges(Subgraph(np.array([20, 10], np.uint32), hops))
    assert edges.node.tolist() == [20, 10, 30, 40]
    assert [(row.tolist(), column.tolist()) for row, column in edges.hops] == [
        ([2, 1], [0, 0]),
        ([3, 2, 0], [2, 1, 1]),
    ]
