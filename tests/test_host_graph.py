"""The graph store: what it refuses, what it keeps on disk, and its bytes on flash."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from host.errors import GraphError
from host.graph import Graph


def graph(indptr=(0, 2, 2, 5), indices=(1, 2, 0, 1, 2), **more):
    return Graph(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.uint32), **more)


def test_sizes_and_degrees():
    made = graph()
    assert (made.nodes, made.edges) == (3, 5)
    assert made.degrees.tolist() == [2, 0, 3]
    assert (made.edge_bytes(), made.edge_bytes(4)) == (40, 20)


def test_hash_is_over_sizes_row_pointers_and_ids_as_64_bit_words():
    words = [3, 5, 0, 2, 2, 5, 1, 2, 0, 1, 2]
    raw = b"csd-cosim graph 1\n" + b"".join(word.to_bytes(8, "little") for word in words)
    assert graph().sha256 == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": (0,), "indices": ()}, "1 to 4294967296 nodes and at least one edge, not 0"),
        ({"indptr": (0, 0), "indices": ()}, "at least one edge, not 1 nodes and 0 edges"),
        ({"indptr": (0, 2, 2, 4)}, "indptr must run from 0 to 5 .*, not from 0 to 4"),
        ({"indptr": (1, 2, 2, 5)}, "indptr must run from 0 to 5 .*, not from 1 to 5"),
        ({"indptr": (0, 3, 2, 5)}, "node 1: row pointers must not fall, not from 3 to 2"),
        ({"indices": (1, 2, 0, 3, 2)}, "entry 3: ids must be below 3 .*, not 3"),
        ({"direction": "up"}, "direction must be one of out, in, both, not 'up'"),
    ],
)
def test_refuses_what_is_no_graph(change, message):
    with pytest.raises(GraphError, match=f"^graph: .*{message}"):
        graph(**change)


def test_refuses_other_types():
    with pytest.raises(GraphError, match="indptr must be int64 and indices uint32, not int64 and"):
        Graph(np.array([0, 1]), np.array([0], dtype=np.uint8))
    with pytest.raises(GraphError, match="one dimension each"):
        Graph(np.array([[0, 1]]), np.array([0], dtype=np.uint32))


def test_a_saved_graph_opens_as_a_map_of_the_disk(tmp_path):
    made = graph(direction="both", meta={"seed": 3})
    made.save(tmp_path / "g")
    opened = Graph.open(tmp_path / "g")
    assert isinstance(opened.indices, np.memmap)
    assert isinstance(opened.indptr, np.memmap)
    assert opened.sha256 == made.sha256
    assert (opened.direction, opened.meta) == ("both", {"seed": 3})
    with pytest.raises(GraphError, match="must not exist yet"):
        made.save(tmp_path / "g")


def test_a_damaged_folder_is_refused(tmp_path):
    graph().save(tmp_path / "g")
    raw = bytearray((tmp_path / "g" / "indices.npy").read_bytes())
    raw[-4] ^= 3  # the last id
    (tmp_path / "g" / "indices.npy").write_bytes(raw)
    with pytest.raises(GraphError, match="sha256 of the content must be"):
        Graph.open(tmp_path / "g")
    assert Graph.open(tmp_path / "g", verify=False).edges == 5
    (tmp_path / "g" / "indices.npy").write_bytes(raw[:-6])
    with pytest.raises(GraphError, match=r"indices\.npy: must be an array of a saved graph"):
        Graph.open(tmp_path / "g")
    (tmp_path / "g" / "indices.npy").unlink()
    with pytest.raises(GraphError, match=r"must be an array of a saved graph, not missing"):
        Graph.open(tmp_path / "g")
    (tmp_path / "g" / "meta.json").unlink()
    with pytest.raises(GraphError, match="g: must hold a saved graph, and has no meta"):
        Graph.open(tmp_path / "g")


def test_a_current_folder_that_is_no_graph_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraphError, match=f"^{re.escape(str(tmp_path))}: must hold a saved graph"):
        Graph.open(Path())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must be that of a saved graph, not a JSON list"),
        ("[" * 100_000, "must be that of a saved graph, not JSON nested so deeply"),
        ("{", "must be that of a saved graph: Expecting"),
        ('{"format": "csd-cosim graph", "version": 1}', "with nodes, edges, direction, sha256$"),
        ('{"format": {"a": [1]}}', "with version, nodes, edges, direction, sha256$"),
    ],
)
def test_a_damaged_description_is_refused_in_one_line(tmp_path, text, message):
    graph().save(tmp_path / "g")
    (tmp_path / "g" / "meta.json").write_text(text)
    with pytest.raises(GraphError, match=rf"^{re.escape(str(tmp_path))}/g/meta\.json: .*{message}"):
        Graph.open(tmp_path / "g")


@pytest.mark.parametrize("key", ["direction", "sha256"])
def test_a_description_without_a_key_is_refused(tmp_path, key):
    graph().save(tmp_path / "g")
    path = tmp_path / "g" / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in meta.items() if k != key}))
    with pytest.raises(GraphError, match=f"must be that of a saved graph, with {key}"):
        Graph.open(tmp_path / "g")


def test_an_archive_or_pickle_is_no_array_of_a_graph(tmp_path):
    graph().save(tmp_path / "g")
    for content in (b"PK\x03\x04", b"\x80\x04N.", b""):
        (tmp_path / "g" / "indices.npy").write_bytes(content)
        with pytest.raises(GraphError, match=r"indices\.npy: must be an array") as caught:
            Graph.open(tmp_path / "g")
        assert "allow_pickle" not in str(caught.value)


def test_a_graph_that_cannot_be_written_is_one_line():
    with pytest.raises(GraphError, match=r"^/dev/null/g: must be writable: Not a directory$"):
        graph().save(Path("/dev/null/g"))


def test_a_folder_of_another_version_or_size_is_refused(tmp_path):
    graph().save(tmp_path / "g")
    path = tmp_path / "g" / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps(meta | {"version": 2}))
    with pytest.raises(GraphError, match="format must be csd-cosim graph 1, not csd-cosim graph 2"):
        Graph.open(tmp_path / "g")
    path.write_text(json.dumps(meta | {"nodes": 4}))
    with pytest.raises(GraphError, match="nodes and edges must be those of the arrays, 3 and 5"):
        Graph.open(tmp_path / "g")
