"""Traces: drawn by seed, kept in a file, refused for another graph."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from host.errors import TraceError
from host.graph import Graph
from host.trace import MiniBatch, Trace, draw_targets
from rtl.contract.mixer import list_key
from rtl.contract.sampling import Sampling


def ring(nodes):
    """Graph in which node n has the one neighbour n + 1."""
    return Graph(np.arange(nodes + 1), np.roll(np.arange(nodes, dtype=np.uint32), -1))


def trace(graph, **change):
    options = {"seed": 9, "batches": 3, "targets": 4, "fan_outs": (3, 2), "workers": 2}
    return Trace.generate(graph, **(options | change))


def test_targets_are_a_permutation_by_key_cut_into_mini_batches():
    keys = sorted((list_key(9, 0, 0xFFFF_FFFF, node), node) for node in range(14))
    order = [node for _, node in keys]
    made = trace(ring(14))
    assert [batch.targets.tolist() for batch in made.batches] == [
        order[0:4],
        order[4:8],
        order[8:12],
    ]
    assert [batch.worker for batch in made.batches] == [0, 1, 0]
    assert [batch.request for batch in made.batches] == [1, 2, 3]
    assert {batch.fan_outs for batch in made.batches} == {(3, 2)}


def test_an_epoch_does_not_repeat_and_the_next_is_another_order():
    drawn = draw_targets(14, seed=9, batches=7, targets=4)
    for epoch in (drawn[0:3], drawn[3:6]):
        assert len(np.unique(np.concatenate(epoch))) == 12
    keys = sorted((list_key(9, 1, 0xFFFF_FFFF, node), node) for node in range(14))
    assert np.concatenate(drawn[3:6]).tolist() == [node for _, node in keys][:12]
    assert len(drawn) == 7


def test_seeds_matter():
    one, two = (draw_targets(1000, seed, 1, 1000)[0] for seed in (1, 1 << 32))
    assert sorted(one) == sorted(two) == list(range(1000))
    assert (one != two).mean() > 0.99


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": 0}, r"targets must be 1 to 14 \(the number of nodes of graph\), not 0"),
        ({"targets": 15}, "targets must be 1 to 14 .*, not 15"),
        ({"batches": 0}, "batches must be at least 1, not 0"),
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"fan_outs": ()}, r"batches\[0\].fan_outs must name at least one hop, not 0"),
        ({"fan_outs": (3, 0)}, r"batches\[0\].fan_outs\[1\] must be 1 to 65535, not 0"),
        ({"fan_outs": (65536,)}, r"fan_outs\[0\] must be 1 to 65535, not 65536"),
        (
            {"fan_outs": (1, 2), "sampling": Sampling.WALK},
            r"fan_outs\[1\] must be 1 for a random walk, not 2",
        ),
        ({"seed": -1}, "seed must fit 64 bits, not -1"),
        ({"seed": 1 << 64}, "seed must fit 64 bits"),
    ],
)
def test_numbers_out_of_range_are_refused(change, message):
    with pytest.raises(TraceError, match=f"^trace: .*{message}"):
        trace(ring(14), **change)


def test_a_trace_survives_its_file(tmp_path):
    made = trace(ring(14))
    made.save(tmp_path / "t.json")
    read = Trace.load(tmp_path / "t.json")
    assert read.sha256 == made.sha256
    read.check(ring(14))
    for one, two in zip(read.batches, made.batches, strict=True):
        assert one.targets.tolist() == two.targets.tolist()
        assert replace(one, targets=two.targets) != one  # identity, not value, decides equality


@pytest.mark.parametrize("sampling", Sampling)
def test_a_file_says_how_neighbours_are_chosen(tmp_path, sampling):
    made = trace(ring(14), fan_outs=(1, 1), sampling=sampling)
    made.save(tmp_path / "t.json")
    read = Trace.load(tmp_path / "t.json")
    assert {batch.sampling for batch in read.batches} == {sampling}
    document = json.loads((tmp_path / "t.json").read_text())
    for batch in document["batches"]:
        del batch["sampling"]
    (tmp_path / "t.json").write_text(json.dumps(document))
    if sampling == Sampling.REPLACEMENT:
        assert Trace.load(tmp_path / "t.json").sha256 == made.sha256
    else:
        with pytest.raises(TraceError, match="sha256 must be"):
            Trace.load(tmp_path / "t.json")


def test_the_hash_covers_everything():
    made = trace(ring(14))
    batch = made.batches[0]
    changes = [
        {"seed": 10},
        {"worker": 5},
        {"fan_outs": (2, 3)},
        {"fan_outs": (3,)},
        {"sampling": Sampling.DISTINCT},
        {"targets": batch.targets[::-1].copy()},
    ]
    others = [Trace(made.graph_sha256, (replace(batch, **change),)) for change in changes]
    others += [Trace("0" * 64, (batch,)), Trace(made.graph_sha256, (batch,)), made]
    assert len({other.sha256 for other in others}) == len(others)


def test_a_trace_for_another_graph_is_refused():
    with pytest.raises(TraceError, match=r"graph_sha256 must be that of graph, .* another graph"):
        trace(ring(14)).check(ring(15))


def test_a_target_beyond_the_graph_is_refused():
    graph = ring(14)
    batch = MiniBatch(0, np.array([3, 14], dtype=np.uint32), (1,), 0)
    with pytest.raises(TraceError, match=r"batches\[0\].targets\[1\] must be below 14 .*, not 14"):
        Trace(graph.sha256, (batch,)).check(graph)


def test_mini_batches_are_numbered_and_not_empty():
    targets = np.array([1], dtype=np.uint32)
    with pytest.raises(TraceError, match=r"batches\[1\].index must be 1, not 0"):
        Trace("", (MiniBatch(0, targets, (1,), 0), MiniBatch(0, targets, (1,), 0)))
    with pytest.raises(TraceError, match="at least one mini-batch, not 0"):
        Trace("", ())
    with pytest.raises(TraceError, match="targets must be at least one uint32, not 0"):
        Trace("", (MiniBatch(0, targets[:0], (1,), 0),))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format="x"), "format must be 'csd-cosim trace', not 'x'"),
        (lambda d: d.update(version=2), "version must be 1, not 2"),
        (lambda d: d.update(batches=3), "batches must be a list, not 3"),
        (lambda d: d.update(graph_sha256=1), "graph_sha256 must be a str, not 1"),
        (lambda d: d["batches"][1].update(seed="a"), r"batches\[1\]: seed must be a int, not 'a'"),
        (lambda d: d["batches"][1].pop("worker"), r"batches\[1\]: worker must be a int, not None"),
        (lambda d: d["batches"][0]["targets"].append(-1), r"targets\[4\] must be 0 to 2\^32 - 1"),
        (
            lambda d: d["batches"][0]["targets"].append(1.5),
            r"targets\[4\] must be 0 to .*, not 1.5",
        ),
        (lambda d: d["batches"][0].update(fan_outs=[0, 1]), r"fan_outs\[0\] must be 1 to 65535"),
        (
            lambda d: d["batches"][0].update(sampling="walk"),
            r"batches\[0\].sampling must be with-replacement or .*, not 'walk'",
        ),
        (lambda d: d["batches"][0].update(fan_outs=["a"]), r"fan_outs\[0\] must be an int"),
        (lambda d: d["batches"].__setitem__(0, 7), r"batches\[0\]: targets must be a list"),
        (lambda d: d["batches"][0]["targets"].reverse(), "sha256 must be .* by its content, not"),
    ],
)
def test_a_changed_file_is_refused(tmp_path, change, message):
    path = tmp_path / "t.json"
    trace(ring(14)).save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(TraceError, match=message) as caught:
        Trace.load(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_file_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(TraceError, match="must be a readable JSON trace"):
        Trace.load(tmp_path / "t.json")
    with pytest.raises(TraceError, match=r"none\.json: must be a readable JSON trace, not missing"):
        Trace.load(tmp_path / "none.json")
    (tmp_path / "t.json").write_text("[" * 100_000)
    with pytest.raises(
        TraceError, match="must be a readable JSON trace, not JSON nested so deeply"
    ):
        Trace.load(tmp_path / "t.json")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TraceError, match="must be a readable JSON trace, not a pipe, device or"):
        Trace.load(tmp_path / "pipe")
    with pytest.raises(TraceError, match="File name too long"):
        Trace.load(tmp_path / ("x" * 300))
    with pytest.raises(TraceError, match=r"^/dev/null/t: must be writable: Not a directory$"):
        trace(ring(14)).save(Path("/dev/null/t"))


def test_a_target_beyond_the_graph_is_said_before_that_the_graph_is_another():
    small, large = ring(14), ring(20)
    made = trace(large)
    beyond = np.array([3, 19], dtype=np.uint32)
    with pytest.raises(
        TraceError, match=r"batches\[0\]\.targets\[1\] must be below 14 .*, not 19$"
    ):
        Trace(made.graph_sha256, (MiniBatch(0, beyond, (1,), 0),)).check(small)
