"""Rounds of any hop through any window: what is read and ordered yields the reference's ids."""

import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host import reference
from host.ns_config import Placement
from host.sampler import plan_hop
from host.trace import MiniBatch
from host.window import WindowLayout, rounds
from rtl.contract.sampling import Sampling
from tests.host_fakes import FakeCard
from tests.host_scenarios import random_graph

GRAPH = random_graph(nodes=200, hub=1_500)


@settings(max_examples=60, deadline=None)
@given(
    nodes=st.lists(st.integers(0, GRAPH.nodes - 1), min_size=1, max_size=60),
    fan_out=st.integers(1, 9),
    explicit=st.booleans(),
    whole_lists=st.booleans(),
    sampling=st.sampled_from(Sampling),
    id_bytes=st.sampled_from([4, 8]),
    lba_bytes=st.sampled_from([512, 4096]),
    window_pages=st.integers(12, 40),
    unique=st.booleans(),
    max_blocks=st.integers(1, 5),
    result_bytes=st.integers(80, 2_000),
    seed=st.integers(0, (1 << 64) - 1),
)
def test_any_hop_through_any_window(
    nodes,
    fan_out,
    explicit,
    whole_lists,
    sampling,
    id_bytes,
    lba_bytes,
    window_pages,
    unique,
    max_blocks,
    result_bytes,
    seed,
):
    fan_outs = (1 if sampling == Sampling.WALK else fan_out,)
    batch = MiniBatch(0, np.array(nodes, dtype=np.uint32), fan_outs, seed, 0, sampling)
    plan = plan_hop(GRAPH, batch, 0, batch.targets)
    layout = WindowLayout(4096 * window_pages)
    placement = Placement(base_lba=2, lba_bytes=lba_bytes, id_bytes=id_bytes)
    flash = bytes(2 * lba_bytes) + GRAPH.indices.astype(f"<u{id_bytes}").tobytes() + bytes(8192)
    card = FakeCard(None, layout.window_bytes)
    counts, ids, places, slots = [], [], [], 0
    single = explicit and not whole_lists
    for part in rounds(
        plan,
        explicit,
        placement,
        layout,
        unique=unique,
        max_blocks=max_blocks,
        result_bytes=result_bytes,
        whole_lists=whole_lists,
    ):
        assert part.first == slots < part.end
        slots = part.end
        card.window = bytearray(b"\xa5" * layout.window_bytes)  # what was not read is not there
        written = []
        for read in part.reads:
            assert read.blocks <= (1 if single else max_blocks)
            end = read.offset + read.blocks * lba_bytes
            assert end <= layout.data_bytes
            written.append((read.offset, end))
            card.window[read.offset : end] = flash[
                read.lba * lba_bytes : (read.lba + read.blocks) * lba_bytes
            ].ljust(end - read.offset, b"\0")
        written.sort()
        assert all(one[1] <= two[0] for one, two in pairwise(written))
        if unique and single:
            assert len({read.lba for read in part.reads}) == len(part.reads)
        for base, data in (
            (layout.descriptor_base, part.descriptors),
            (layout.position_base, part.positions),
        ):
            assert len(data) <= layout.area_bytes
            card.window[base : base + len(data)] = data
        size = 0
        for slot in range(part.end - part.first):
            raw = card._target(layout.descriptor_base + 32 * slot)
            count, status, *found = struct.unpack(f"<II{len(raw) // 8 - 1}Q", raw)
            assert status == 0
            size += len(raw)
            counts.append(count)
            ids += found
        assert size <= result_bytes
        places.append(part)
    expected = reference.sample(GRAPH, batch).hops[0]
    assert slots == len(nodes)
    assert counts == expected.counts.tolist()
    assert ids == expected.ids.tolist()


def test_an_empty_frontier_has_no_round():
    batch = MiniBatch(0, np.array([1], dtype=np.uint32), (3,), 1)
    plan = plan_hop(GRAPH, batch, 0, np.empty(0, dtype=np.uint64))
    layout = WindowLayout(1 << 16)
    for explicit in (True, False):
        made = rounds(
            plan, explicit, Placement(), layout, unique=True, max_blocks=1, result_bytes=1_000
        )
        assert list(made) == []


@pytest.mark.parametrize("whole_lists", [False, True])
def test_a_round_ends_when_its_positions_are_full(whole_lists):
    node = int(np.argmax(GRAPH.degrees))
    batch = MiniBatch(0, np.full(100, node, dtype=np.uint32), (20,), 1)
    plan = plan_hop(GRAPH, batch, 0, batch.targets)
    layout = WindowLayout(1 << 16)
    most = layout.area_bytes // (4 * 20)
    made = rounds(
        plan,
        True,
        Placement(),
        layout,
        unique=True,
        max_blocks=1,
        result_bytes=1 << 20,
        whole_lists=whole_lists,
    )
    found = [(part.first, part.end, len(part.positions)) for part in made]
    assert found == [(0, most, 80 * most), (most, 100, 80 * (100 - most))]


def test_bad_windows_are_refused():
    for size in (8192, 12_289):
        with pytest.raises(ValueError, match=f"window_bytes must be at least 12288 .*, not {size}"):
            WindowLayout(size)
    layout = WindowLayout(16 << 20)
    assert (layout.data_bytes, layout.descriptor_base, layout.position_base) == (
        14 << 20,
        14 << 20,
        15 << 20,
    )
