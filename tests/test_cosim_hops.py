"""The hop sequencer on the card: equal to the reference, from the bytes that it has been given."""

from dataclasses import replace

import numpy as np
import pytest

from cosim.results import moved_bytes
from host.errors import FpgaError, NvmeError, ResultError, TraceError
from host.graph import Graph
from host.hop_order import BadOrder, decode_order, encode_order
from host.hop_window import HopWindow
from host.reference import sample
from host.trace import MiniBatch
from rtl.contract.hops import HopStatus
from rtl.contract.sampling import Sampling
from tests.hops_bench import HopBench
from tests.host_scenarios import make_trace, random_graph
from tests.test_firmware_with_host import LINK

WAYS = [
    (Sampling.REPLACEMENT, (6,)),
    (Sampling.REPLACEMENT, (4, 3)),
    (Sampling.REPLACEMENT, (3, 2, 2)),
    (Sampling.DISTINCT, (6,)),
    (Sampling.DISTINCT, (12, 3, 2)),
    (Sampling.WALK, (1,)),
    (Sampling.WALK, (1,) * 5),
]


def expect_reference(bench, batches):
    for batch in batches:
        found, stages = bench.run(batch)
        assert found.sha256 == sample(bench.graph, batch).sha256
    return stages


@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize(("sampling", "fan_outs"), WAYS)
def test_subgraphs_equal_the_reference(sampling, fan_outs, id_bytes):
    graph = random_graph()
    bench = HopBench(graph, id_bytes=id_bytes)
    expect_reference(bench, make_trace(graph, fan_outs, sampling=sampling, batches=1).batches)
    assert bench.sequencer.pointer_launches == len(fan_outs)


@pytest.mark.parametrize(
    "keys",
    [
        {"reads_in_flight": 1},
        {"unique_reads": False},
        {"max_transfer_bytes": 4096},
        {"max_fan_out": 6, "result_bytes": 256},
        {"depth": 2},
        {"window": 1 << 16},
    ],
    ids=lambda keys: next(iter(keys)),
)
def test_switches_change_times_and_no_subgraph(keys):
    graph = random_graph()
    batches = make_trace(graph, (6, 4), batches=1).batches
    before, after = HopBench(graph), HopBench(graph, **keys)
    assert expect_reference(before, batches) != expect_reference(after, batches)


def test_small_areas_cut_hops_into_parts_and_rounds():
    graph = random_graph(nodes=800)
    batches = make_trace(graph, (6, 4), targets=60, batches=1).batches
    found = []
    for window in (36_864, 1 << 20):
        bench = HopBench(graph, window=window, frontier_bytes=1 << 20, result_bytes=4096)
        expect_reference(bench, batches)
        found.append((bench.sequencer.rounds, bench.sequencer.pointer_launches))
    assert found[0][0] > found[1][0] > 2
    assert found[0][1] == found[1][1] > 2  # results are the limit: 128 nodes


def test_one_doorbell_a_mini_batch_and_none_of_the_hosts_time_for_a_read():
    graph = random_graph()
    bench = HopBench(graph)
    (batch,) = make_trace(graph, (4, 3), batches=1).batches
    stages = expect_reference(bench, [batch])
    spans = list(bench.kernel.spans)
    host = [span.stage for span in spans if span.unit == "host-cpu" and span.end_ps > span.start_ps]
    assert host == ["host.build", "host.launch", "host.parse"]
    assert {"hops.pointers", "hops.frontier", "hops.submit"} <= set(stages)
    kinds = [span.kind for span in spans if span.unit in ("pcie.ssd.up", "pcie.ssd.down")]
    assert kinds == []
    reads = bench.sequencer.reads.count
    sent = [span.kind for span in spans if span.unit == "pcie.p2p.to-ssd"]
    assert (sent.count("sqe"), sent.count("doorbell") >= reads) == (reads, True)
    up = [span.kind for span in spans if span.unit == "pcie.fpga.up"]
    assert up.count("interrupt") == up.count("hop_answer") == 1
    assert up.count("result") == bench.sequencer.rounds


def test_bytes_are_counted_by_what_they_are():
    graph = random_graph()
    bench = HopBench(graph)
    (batch,) = make_trace(graph, (4, 3), batches=1).batches
    found, _ = bench.run(batch)
    payload, overheads = moved_bytes(bench.kernel.spans)
    slots = sum(len(hop.counts) for hop in found.hops)
    ids = sum(len(hop.ids) for hop in found.hops)
    assert payload["device_to_host"] == 8 * (slots + ids)
    assert payload["host_to_device"] == 0
    # An order is 24 bytes and two fan-outs, an answer 16 and two sizes.
    assert overheads["hop_orders"] == 24 + 4 + 4 * len(batch.targets) + 16 + 8
    assert overheads["queue_entries"] == (64 + 16) * bench.sequencer.reads.count
    frontier = [span.payload_bytes for span in bench.kernel.spans if span.stage == "hops.frontier"]
    assert sum(frontier) == 8 * len(found.hops[0].ids)


def test_ids_and_row_pointers_are_those_on_flash_and_card():
    graph = random_graph()
    (batch,) = make_trace(graph, (4, 3), batches=1).batches
    bench = HopBench(graph)
    node = int(batch.targets[np.flatnonzero(graph.degrees[batch.targets] > 1)[0]])
    shorter = graph.indptr.copy()
    place = bench.layout.table_base + 8 * (node + 1)
    shorter[node + 1] -= 1
    raw = int(shorter[node + 1]).to_bytes(8, "little")
    bench.gather.card.window[place : place + 8] = raw
    found, _ = bench.run(batch)
    assert found.sha256 == sample(Graph(shorter, graph.indices), batch).sha256
    assert found.sha256 != sample(graph, batch).sha256


def test_results_leave_before_the_next_ones_take_their_place():
    graph = random_graph()
    (batch,) = make_trace(graph, (4, 3), batches=1).batches
    bench = HopBench(graph, card_link=replace(LINK, bytes_per_second=10**8))
    _, stages = bench.run(batch)
    spans = list(bench.kernel.spans)
    sent = [s.end_ps for s in spans if (s.unit, s.kind) == ("pcie.fpga.up", "result")]
    begun = [span.start_ps for span in spans if span.stage == "gather.stream"]
    assert len(begun) == 2 * len(sent) == 4
    # Launches: row pointers, ids, row pointers, ids.
    assert begun[1] < sent[0] <= begun[2]
    assert stages["pcie.fpga.up"] > 2 * 960 * 10_000


def test_the_same_run_gives_the_same_spans():
    graph = random_graph()
    batches = make_trace(graph, (4, 3)).batches
    one, other = HopBench(graph), HopBench(graph)
    for bench in (one, other):
        expect_reference(bench, batches)
    assert list(one.kernel.spans) == list(other.kernel.spans)


def test_a_frontier_that_dies_out_asks_for_nothing():
    graph = Graph(np.array([0, 0, 0, 1]), np.array([0], dtype=np.uint32))
    batch = MiniBatch(0, np.array([2, 1, 0], dtype=np.uint32), (2, 2, 2), 1)
    found, _ = HopBench(graph).run(batch)
    assert [hop.counts.tolist() for hop in found.hops] == [[2, 0, 0], [0, 0], []]


class TestErrors:
    """Each ends the order with its name, nothing of it is a result, and the next one is served."""

    def fail(self, bench, batch, error, match):
        with pytest.raises(error, match=match):
            bench.do(bench.host.sample(batch, bench.start()))
        assert bench.device.counters.commands == bench.sequencer.reads.count
        bench.kernel.env.run(bench.kernel.env.now + 10**9)
        assert bench.queues.memory.allocated_bytes == bench.at_rest

    def test_a_read_that_fails(self):
        graph = random_graph()
        batches = make_trace(graph, (4, 3)).batches
        bench = HopBench(graph)
        places = {bench.medium.striping.physical(page): None for page in (2, 3)}
        bench.flash.uncorrectable = dict.fromkeys(places, 9)
        self.fail(
            bench,
            batches[0],
            NvmeError,
            r"peer-to-peer read in hop \d on the card must end with SUCCESS, not UNRECOVERED_READ",
        )
        bench.flash.uncorrectable = {}
        expect_reference(bench, batches[1:])

    def test_a_list_that_does_not_fit_the_window(self):
        graph = random_graph(hub=40_000)
        node = int(np.argmax(graph.degrees))
        batch = MiniBatch(0, np.array([node], dtype=np.uint32), (4,), 1)
        bench = HopBench(graph)
        match = rf"In hop 0 on the card: list of node {node} must fit the window"
        self.fail(bench, batch, FpgaError, match)
        expect_reference(bench, [MiniBatch(0, np.array([1, 2], dtype=np.uint32), (1,), 1)])

    def test_an_id_that_is_no_node(self):
        graph = random_graph()
        (batch,) = make_trace(graph, (4, 3), batches=1).batches
        bench = HopBench(graph, indices=graph.indices + np.uint32(graph.nodes))
        self.fail(bench, batch, FpgaError, r"In hop 1 on the card: ids must be nodes .*, not \d+")

    def test_an_id_that_is_no_node_in_the_last_hop(self):
        graph = random_graph()
        (batch,) = make_trace(graph, (4,), batches=1).batches
        bench = HopBench(graph, indices=graph.indices + np.uint32(graph.nodes))
        self.fail(bench, batch, ResultError, f"hop 0 must have .* below {graph.nodes}")

    def test_a_frontier_that_does_not_fit(self):
        graph = random_graph()
        (batch,) = make_trace(graph, (4, 3), batches=1).batches
        ids = len(sample(graph, batch).hops[0].ids)
        expect_reference(HopBench(graph, frontier_bytes=8 * ids), [batch])
        bench = HopBench(graph, frontier_bytes=8 * (ids - 1))
        self.fail(bench, batch, FpgaError, f"In hop 0 .*: frontier of {ids} nodes must fit")
        bench = HopBench(graph, frontier_bytes=8 * (len(batch.targets) - 1))
        self.fail(bench, batch, FpgaError, "In hop 0 .*: frontier of 24 nodes must fit")

    @pytest.mark.parametrize("at", [0, 1])
    def test_a_launch_that_fails(self, at):
        graph = random_graph()
        (batch,) = make_trace(graph, (4, 3), batches=1).batches
        bench = HopBench(graph)
        bench.gather.failing = {at: 2}
        self.fail(bench, batch, FpgaError, "launch in hop 0 .* must end with OK, not BUS_ERROR")

    def test_an_order_that_is_none(self):
        graph = random_graph()
        bench = HopBench(graph)
        answer, results, _ = bench.do(bench.hop_port.sample(bytes(28), bench.start(), request=1))
        assert (answer[0], results) == (HopStatus.BAD_ORDER, b"")

    def test_a_fan_out_beyond_the_gather_unit_costs_no_time(self):
        graph = random_graph()
        bench = HopBench(graph, max_fan_out=4)
        (batch,) = make_trace(graph, (4, 5), batches=1).batches
        begin = bench.kernel.env.now
        with pytest.raises(TraceError, match=r"fan_outs\[1\] must be at most 4"):
            bench.do(bench.host.sample(batch, bench.start()))
        assert bench.kernel.env.now == begin


@pytest.mark.parametrize(("sampling", "fan_outs"), WAYS)
def test_orders_are_the_same_after_a_trip(sampling, fan_outs):
    (batch,) = make_trace(random_graph(), fan_outs, sampling=sampling, batches=1).batches
    raw = encode_order(batch)
    again = decode_order(raw)
    assert (again.targets == batch.targets).all()
    for name in ("index", "fan_outs", "seed", "sampling"):
        assert getattr(again, name) == getattr(batch, name)
    for wrong in (raw[:-4], raw + bytes(4), raw[:20], b"\0" + raw[1:], bytes(24)):
        with pytest.raises(BadOrder, match="order must"):
            decode_order(wrong)


def test_an_order_has_the_layout_that_is_written_down():
    batch = MiniBatch(
        3, np.array([7, 258], dtype=np.uint32), (5, 6, 7), 0x0102030405060708,
        sampling=Sampling.DISTINCT,
    )  # fmt: skip
    assert encode_order(batch).hex(" ", 4) == (
        "4f505331 01000300 08070605 04030201 03000000 02000000"  # OPS1, way, hops, seed, ...
        " 05000600 07000000 07000000 02010000"
    )


def test_row_pointers_must_leave_room():
    assert HopWindow(4 * 4096, 511).table_base == 3 * 4096
    with pytest.raises(ValueError, match=r"must hold 8192 bytes of row pointers of 512 nodes"):
        HopWindow(4 * 4096, 512)
