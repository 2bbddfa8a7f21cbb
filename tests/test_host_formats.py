"""Graph files: SNAP edge lists and NumPy archives, good and broken."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from host.errors import GraphError
from host.formats import snap
from host.formats.load import load_graph
from host.formats.npz import read_npz, write_npz
from host.formats.snap import read_snap

ROOT = Path(__file__).parent.parent
GRAPHS = Path(os.environ.get("CSD_COSIM_GRAPHS", "none"))
"""Folder of real graphs, not part of the repository."""

TEXT = b"""# a comment
# FromNodeId\tToNodeId
7\t3
3 \t 9

9\t3
7\t7
7\t3\r
1000000\t7
"""


def rows(graph):
    return [
        graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist()
        for node in range(graph.nodes)
    ]


def write(path, text):
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["g.txt", "g.txt.gz"])
def test_ids_are_made_dense_and_the_mapping_is_returned(tmp_path, name):
    read = load_graph(write(tmp_path / name, TEXT), direction="out")
    assert read.ids.tolist() == [3, 7, 9, 1_000_000]
    assert rows(read.graph) == [[2], [0], [0], [1]]
    assert (read.pairs, read.loops, read.duplicates, read.merged) == (6, 1, 1, 0)


@pytest.mark.parametrize(
    ("direction", "expected", "merged"),
    [
        ("out", [[2], [0], [0], [1]], 0),
        ("in", [[1, 2], [3], [0], []], 0),
        ("both", [[1, 2], [0, 3], [0], [1]], 2),
    ],
)
def test_direction(tmp_path, direction, expected, merged):
    read = read_snap(write(tmp_path / "g.txt", TEXT), direction=direction)
    assert rows(read.graph) == expected
    assert read.merged == merged
    assert read.graph.direction == direction


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize(
    "bad", [b"7", b"7\t3\t1", b"7,3", b"7\t-3", b"a\tb", b"7\t3.0", b"1234567890123456789\t1"]
)
def test_a_broken_line_is_named(tmp_path, monkeypatch, chunk, bad):
    monkeypatch.setattr(snap, "CHUNK_LINES", chunk)
    path = write(tmp_path / "g.txt", TEXT + b"1\t2\n" + bad + b"\n5\t6\n")
    with pytest.raises(GraphError) as caught:
        read_snap(path, direction="out")
    assert str(caught.value) == (
        f"{path}:11: must hold two integers of 0 to 10^18 - 1, not {bad.decode()!r}"
    )


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_pieces_do_not_matter(tmp_path, monkeypatch, chunk):
    whole = read_snap(write(tmp_path / "g.txt", TEXT), direction="both").graph.sha256
    monkeypatch.setattr(snap, "CHUNK_LINES", chunk)
    assert read_snap(tmp_path / "g.txt", direction="both").graph.sha256 == whole


def test_the_header_s_number_of_edges_must_hold(tmp_path):
    path = write(tmp_path / "g.txt", b"# Nodes: 4 Edges: 6\n" + TEXT)
    assert read_snap(path, direction="out").pairs == 6
    write(path, b"# Nodes: 4 Edges: 7\n" + TEXT)
    with pytest.raises(GraphError, match=r"g\.txt: must hold the 7 edges .* declares, not 6"):
        read_snap(path, direction="out")


@pytest.mark.parametrize("text", [b"", b"# nothing\n", b"4\t4\n"])
def test_an_empty_graph_is_refused(tmp_path, text):
    with pytest.raises(GraphError, match=r"g\.txt: the graph must have at least one edge"):
        read_snap(write(tmp_path / "g.txt", text), direction="out")


@pytest.mark.parametrize("cut", [5, 30, -4])
def test_a_truncated_gzip_is_refused_in_one_line(tmp_path, cut):
    path = tmp_path / "g.txt.gz"
    path.write_bytes(gzip.compress(TEXT * 100)[:cut])
    with pytest.raises(GraphError, match=r"g\.txt\.gz: must be a readable edge list") as caught:
        read_snap(path, direction="out")
    assert "\n" not in str(caught.value)


def test_unknown_files_and_directions_are_refused(tmp_path):
    with pytest.raises(GraphError, match="must be a graph file or folder, not missing"):
        load_graph(tmp_path / "none.txt", direction="out")
    with pytest.raises(GraphError, match=r"must be a folder, .npz, .txt or .txt.gz, not .csv"):
        load_graph(write(tmp_path / "g.csv", TEXT), direction="out")
    with pytest.raises(GraphError, match="direction must be one of out, in, both, not 'down'"):
        load_graph(write(tmp_path / "g.txt", TEXT), direction="down")


def test_a_saved_folder_keeps_its_direction(tmp_path):
    read_snap(write(tmp_path / "g.txt", TEXT), direction="both").graph.save(tmp_path / "g")
    assert rows(load_graph(tmp_path / "g", direction="both").graph) == [[1, 2], [0, 3], [0], [1]]
    with pytest.raises(GraphError, match="direction must be 'both', as saved, not 'out'"):
        load_graph(tmp_path / "g", direction="out")


def test_the_ids_of_the_file_are_saved_with_the_graph(tmp_path):
    read = read_snap(write(tmp_path / "g.txt", TEXT), direction="both")
    read.save(tmp_path / "g")
    assert np.load(tmp_path / "g" / "ids.npy").tolist() == [3, 7, 9, 1_000_000]
    assert load_graph(tmp_path / "g", direction="both").graph.sha256 == read.graph.sha256
    assert read.dropped == (
        "6 pairs read; dropped 1 loops and 1 repeats, merged 2 pairs with their reverse"
    )


@pytest.mark.parametrize("prefix", ["", "adj_"])
def test_archives_keep_node_numbers_and_isolated_nodes(tmp_path, prefix):
    arrays = {"indptr": [0, 2, 2, 5, 5], "indices": [2, 1, 1, 2, 1]}
    np.savez(tmp_path / "g.npz", **{prefix + key: np.array(value) for key, value in arrays.items()})
    read = load_graph(tmp_path / "g.npz", direction="out")
    assert rows(read.graph) == [[1, 2], [], [1], []]
    assert (read.loops, read.duplicates) == (1, 1)
    assert read.ids.tolist() == [0, 1, 2, 3]
    assert rows(load_graph(tmp_path / "g.npz", direction="in").graph) == [[], [0, 2], [0], []]


def test_archives_are_written_the_same_twice_and_read_back(tmp_path):
    graph = read_snap(write(tmp_path / "g.txt", TEXT), direction="both").graph
    write_npz(tmp_path / "a.npz", graph)
    write_npz(tmp_path / "b.npz", graph)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as archive:
        assert archive["indices"].dtype == np.uint16
    assert read_npz(tmp_path / "a.npz", direction="both").graph.sha256 == graph.sha256


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [1]}, "must hold indptr and indices, or adj_indptr and adj_indices, not x"),
        ({"indptr": [0, 1], "indices": [0.5]}, "indices: must be integers in one dimension"),
        ({"indptr": [[0, 1]], "indices": [0]}, "indptr: must be integers in one dimension"),
        ({"indptr": [0, 1], "indices": [-1]}, r"indices: ids must be 0 to 2\^32 - 1"),
        ({"indptr": [0, 1], "indices": [1]}, "entry 0: ids must be below 1 .*, not 1"),
        ({"indptr": [0, 2, 1], "indices": [0]}, "row pointers must not fall"),
        ({"indptr": [0, 0], "indices": np.empty(0, int)}, "at least one edge"),
    ],
)
def test_archives_that_are_no_graph_are_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "g.npz", **{key: np.array(value) for key, value in arrays.items()})
    with pytest.raises(GraphError, match=rf"g\.npz: .*{message}"):
        read_npz(tmp_path / "g.npz", direction="out")


def test_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "g.npz", indptr=np.array([0, {}], dtype=object), indices=np.array([0]))
    with pytest.raises(GraphError, match=r"plain arrays: an array of Python objects is refused$"):
        read_npz(tmp_path / "g.npz", direction="out")


@pytest.mark.parametrize("content", [b"", b"\x80\x04N.", b"\x93NUMPY", bytes(range(256))])
def test_bytes_that_are_no_archive_are_refused(tmp_path, content):
    with pytest.raises(GraphError, match=r"must be a readable \.npz, a zip archive of arrays$"):
        read_npz(write(tmp_path / "g.npz", content), direction="out")


@pytest.mark.parametrize("name", ["g.txt", "g.npz"])
def test_a_pipe_is_no_graph(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(GraphError, match="must be a graph file or folder, not a pipe, device or"):
        load_graph(tmp_path / name, direction="out")
    with pytest.raises(GraphError, match="must be a graph file or folder, not File name too long"):
        load_graph(tmp_path / ("x" * 300), direction="out")


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_truncated_archives_are_refused_in_one_line(tmp_path, kept):
    path = tmp_path / "g.npz"
    np.savez_compressed(path, indptr=np.arange(1001), indices=np.arange(1000))
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(GraphError, match=r"g\.npz: must be a readable \.npz") as caught:
        read_npz(path, direction="out")
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not GRAPHS.is_dir(), reason="CSD_COSIM_GRAPHS names no folder of graphs")
@pytest.mark.parametrize(
    ("file", "direction", "nodes", "entries", "longest"),
    [
        ("wiki-vote/wiki-Vote.txt.gz", "out", 7_115, 103_689, 893),
        ("wiki-vote/wiki-Vote.txt.gz", "both", 7_115, 201_524, 1_065),
        ("ppi-homo-sapiens/PPI.ungraph.txt.gz", "both", 3_890, 75_690, 593),
        ("amazon-computers/amazon_computers.npz", "both", 13_752, 491_722, 2_992),
    ],
)
def test_counts_of_real_graphs(file, direction, nodes, entries, longest):
    graph = load_graph(GRAPHS / file, direction=direction).graph
    assert (graph.nodes, graph.edges, graph.degrees.max()) == (nodes, entries, longest)


def test_the_graph_that_ships_is_what_its_readme_says():
    graph = load_graph(ROOT / "examples" / "data" / "setmm.npz", direction="both").graph
    assert (graph.nodes, graph.edges) == (40_426, 2_426_170)
    assert graph.degrees.max() == 28_554
    assert np.count_nonzero(graph.degrees == 0) == 225
    readme = (ROOT / "examples" / "data" / "README.md").read_text()
    assert graph.sha256 in readme
