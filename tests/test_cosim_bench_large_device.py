"""A device that holds far more than memory: lists computed on demand, and what that takes."""

from collections import Counter

import numpy as np
import pytest

from cosim.bench.firmware import Ssd
from cosim.bench.firmware_text import large_table
from cosim.bench.large_device import large_device
from cosim.bench.page_stream import EqualPages, read_pages
from cosim.bench.procedural_graph import ProceduralGraph
from cosim.medium import IdArray

GIB = 1 << 30


def test_lists_are_the_same_however_they_are_cut():
    graph = ProceduralGraph(1000, 7)
    assert (graph.edges, len(graph.indptr), graph.edge_bytes(4)) == (7000, 1001, 28_000)
    whole = graph.indices[0:7000]
    assert whole.dtype == np.uint32
    assert whole.max() < 1000
    parts = [graph.indices[at : at + 13] for at in range(0, 7000, 13)]
    assert (np.concatenate(parts) == whole).all()
    assert len(graph.indices[6990:9000]) == 10
    # All nodes are neighbours, none much more often than seven times.
    often = np.bincount(whole, minlength=1000)
    assert (often > 0).mean() > 0.99
    assert often.max() < 30
    raw = IdArray(graph.indices, 8).read(80, 24)
    assert np.frombuffer(raw, "<u8").tolist() == whole[10:13].tolist()


def test_ids_beyond_four_billion_entries_differ_from_the_first():
    graph = ProceduralGraph(1 << 24, 4000)
    first, later = graph.indices[5:25], graph.indices[(1 << 32) + 5 : (1 << 32) + 25]
    assert (first != later).sum() >= 19


def test_row_pointers_by_node_or_nodes():
    graph = ProceduralGraph(1 << 24, 4000)
    assert int(graph.indptr[3]) == 12_000
    last = (1 << 24) - 1
    assert graph.indptr[np.array([0, last + 1])].tolist() == [0, graph.edges]
    with pytest.raises(IndexError, match="node must be at most 16777216"):
        graph.indptr[np.array([0, last + 2])]


@pytest.mark.parametrize("size", [(0, 1), (1 << 33, 1), (5, 0)])
def test_sizes_out_of_range_are_refused(size):
    with pytest.raises(ValueError, match=r"nodes must be 1 to 2\^32 and degree positive"):
        ProceduralGraph(*size)


def test_memory_does_not_grow_with_the_graph():
    found = large_device(targets=8, fan_outs=(5, 3), stream_pages=50)
    assert 0 <= 474 * 10**9 - found["edge_bytes"] < 10**9
    assert found["lists"] == 48
    assert found["flash_reads"] >= 48
    assert found["chained_flash_reads"] >= 48
    assert found["peak_bytes"] < GIB
    small = large_device(targets=8, fan_outs=(5, 3), stream_pages=50, edge_bytes=10**9)
    assert abs(found["peak_bytes"] - small["peak_bytes"]) < 32 << 20
    assert found["timeouts_a_read"] > found["of_image"] + found["of_reference"] > 0
    assert found["stream_pages"] == 50
    assert found["timeouts_a_page"] > 0
    table = large_table(found)
    assert "| edge list array | 473.9" in table
    assert f"alone reads (goal: 40) | {found['timeouts_a_page']:,.0f} |" in table


def test_a_stream_of_pages_is_read_whole_and_by_the_firmware_alone():
    graph = ProceduralGraph(1000, 4096)
    ssd = Ssd("cosmos_plus", graph, flash=EqualPages)
    read_pages(ssd, 30)
    counts, steps = ssd.device.counts(), Counter(span.stage for span in ssd.kernel.spans)
    assert (counts["page_jobs"], counts["misses"], counts["commands"]) == (30, 30, 0)
    assert steps["firmware.translate"] == steps["firmware.buffer_release"] == 30
    frame = ssd.device.page_buffer.frame(29)
    assert frame.data == ssd.layout.strip(ssd.flash.page(0))
    assert frame.data == IdArray(graph.indices, 8).read(0, ssd.layout.page_bytes)
    with pytest.raises(
        AssertionError, match="Each of 31 pages must be read from flash, not 1 of them"
    ):
        read_pages(ssd, 31)  # thirty are in the page buffer
