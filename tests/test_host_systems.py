"""Both host halves against a device and a card that sample from bytes: equal to the reference."""

from typing import NamedTuple

import numpy as np
import pytest

from cosim.kernel import Kernel
from cosim.spans import critical_path, stage_totals
from host import reference
from host.costs import HostCosts, HostCpu
from host.driver import NvmeDriver
from host.errors import FpgaError, NvmeError, ResultError, TraceError
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.fpga_csd import FpgaCsdHost, FpgaCsdParameters, decode_launch
from host.graph import Graph
from host.ns_config import Placement
from host.sampler import plan_hop
from host.subgraph import subgraph_sha256
from host.trace import MiniBatch
from host.window import WindowLayout
from rtl.contract.mixer import list_key, positions
from rtl.contract.nvme import Status
from tests.host_fakes import FakeCard, FakeMemory, FakePort, FakeSsd
from tests.host_scenarios import make_trace, random_graph
from tests.test_host_driver import COSTS

BASE = 3


class Batches(NamedTuple):
    """As much of a trace as is needed here; targets may repeat."""

    batches: list


class Bench:
    """A worker of either system on stand-ins, the graph's image from block ``BASE`` on."""

    def __init__(
        self, graph, make, *, id_bytes=8, lba_bytes=4096, depth=64, window=1 << 17, costs=COSTS,
        service=None,
    ):  # fmt: skip
        self.graph = graph
        self.kernel = Kernel()
        self.memory = FakeMemory()
        port = FakePort(self.kernel, self.memory)
        self.driver = NvmeDriver(self.kernel, port, HostCpu(self.kernel, costs), depth=depth)
        image = bytes(BASE * lba_bytes) + graph.indices.astype(f"<u{id_bytes}").tobytes()
        self.ssd = FakeSsd(self.kernel, port, image, lba_bytes, service)
        self.ssd.start(self.driver)
        self.card = self.ssd.card = FakeCard(self.kernel, window)
        self.placement = Placement(base_lba=BASE, lba_bytes=lba_bytes, id_bytes=id_bytes)
        self.host = make(self)
        self.at_rest = len(self.memory.blocks)

    def run(self, trace):
        """Sample all mini-batches, one after the other; checks times, returns the subgraphs."""

        def body():
            subgraphs = []
            for batch in trace.batches:
                begin = self.kernel.origin("host", "batch")
                subgraph, end = yield from self.host.sample(batch, begin)
                assert end.at_ps == self.kernel.env.now
                path = critical_path(self.kernel.spans, end, begin.at_ps)
                self.stages = stage_totals(path)
                assert sum(self.stages.values()) == end.at_ps - begin.at_ps
                subgraphs.append(subgraph)
            return subgraphs

        found = self.kernel.env.run(self.kernel.env.process(body()))
        assert len(self.memory.blocks) == self.at_rest, "all buffers were released"
        return found


def firmware(**options):
    return lambda bench: FirmwareCsdHost(
        bench.driver, bench.graph, FirmwareCsdParameters(placement=bench.placement, **options)
    )


def fpga(**options):
    return lambda bench: FpgaCsdHost(
        bench.kernel,
        bench.driver,
        bench.card,
        bench.graph,
        FpgaCsdParameters(placement=bench.placement, **options),
    )


SAMPLING = [
    ("without-replacement", (6,)),
    ("without-replacement", (25, 3)),
    ("random-walk", (1,)),
    ("random-walk", (1,) * 5),
]


def expect_reference(bench, trace):
    found = bench.run(trace)
    expected = [reference.sample(bench.graph, batch) for batch in trace.batches]
    assert subgraph_sha256(found) == subgraph_sha256(expected)
    requests = {span.request for span in bench.kernel.spans if span.stage.startswith("host.")}
    assert requests <= {0, *(batch.request for batch in trace.batches)}
    return found


@pytest.mark.parametrize("positions", ["host", "device"])
@pytest.mark.parametrize("fan_outs", [(6,), (4, 3), (3, 2, 2)])
@pytest.mark.parametrize("group", [1, 7, 1024])
def test_firmware_csd_returns_the_reference(positions, fan_outs, group):
    graph = random_graph()
    make = firmware(positions=positions, targets_per_command=group)
    bench = Bench(graph, make, depth=4 if group == 7 else 64)
    trace = make_trace(graph, fan_outs)
    expect_reference(bench, trace)
    if group == 1024:
        assert len(bench.ssd.entries) == len(fan_outs) * len(trace.batches)
    if group == 7:
        assert len(bench.ssd.configs) == len(fan_outs) * len(trace.batches) * 4
        assert bench.ssd.most_in_flight > 1
    assert {mode for mode, *_ in bench.ssd.configs} == {positions == "device"}


@pytest.mark.parametrize("positions", ["host", "device"])
@pytest.mark.parametrize("fan_outs", [(6,), (4, 3), (3, 2, 2)])
@pytest.mark.parametrize("in_flight", [1, 5, 32])
def test_fpga_csd_returns_the_reference(positions, fan_outs, in_flight):
    graph = random_graph()
    bench = Bench(graph, fpga(positions=positions, reads_in_flight=in_flight))
    trace = make_trace(graph, fan_outs)
    expect_reference(bench, trace)
    assert bench.ssd.most_in_flight <= in_flight
    assert in_flight > 5 or bench.ssd.most_in_flight == in_flight
    assert bench.host.reads == len(bench.ssd.entries)


def test_fpga_csd_reads_whole_lists_where_the_host_draws_too():
    graph, reads = random_graph(), {}
    for keys in ({}, {"whole_lists": True}, {"positions": "device"}):
        bench = Bench(graph, fpga(**keys))
        expect_reference(bench, make_trace(graph, (4, 3)))
        # Of each command, starting block and number of blocks.
        reads[tuple(keys)] = [entry[40:52] for entry in bench.ssd.entries]
    assert reads["whole_lists",] == reads["positions",]
    assert reads["whole_lists",] != reads[()]


@pytest.mark.parametrize(("sampling", "fan_outs"), SAMPLING)
@pytest.mark.parametrize("make", [firmware, fpga])
@pytest.mark.parametrize("positions", ["host", "device"])
def test_other_ways_to_sample_return_the_reference(sampling, fan_outs, make, positions):
    graph = random_graph()
    bench = Bench(graph, make(positions=positions))
    expect_reference(bench, make_trace(graph, fan_outs, sampling=sampling))
    distinct, draws = sampling == "without-replacement", positions == "device"
    modes = {mode for mode, *_ in bench.ssd.configs}
    assert modes == ({draws * (1 + distinct)} if make is firmware else set())


@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("lba_bytes", [512, 4096])
@pytest.mark.parametrize(
    "make",
    [firmware(), firmware(positions="device"), fpga(), fpga(positions="device"),
     fpga(unique_reads=False), fpga(positions="device", unique_reads=False),
     fpga(positions="device", max_transfer_bytes=4096)],
)  # fmt: skip
def test_widths_and_switches_do_not_change_the_result(id_bytes, lba_bytes, make):
    graph = random_graph(hub=3_000)
    bench = Bench(graph, make, id_bytes=id_bytes, lba_bytes=lba_bytes, window=1 << 18)
    expect_reference(bench, make_trace(graph))


def test_hops_go_in_rounds_when_the_window_is_full():
    graph = random_graph(nodes=800, hub=3_000)
    trace = make_trace(graph, targets=60)
    launches = []
    for window in (24_576, 65_536, 1 << 20):  # 4, 14 and 224 blocks of data
        bench = Bench(graph, fpga(), window=window)
        found = expect_reference(bench, trace)
        slots = sum(len(one.targets) + len(one.hops[0].ids) for one in found)
        assert sum(bench.card.launches) == slots
        launches.append(bench.host.rounds)
    assert launches[0] > launches[1] > launches[2] == 2 * 2


@pytest.mark.parametrize("positions", ["host", "device"])
def test_hops_go_in_rounds_when_results_or_descriptors_are_full(positions):
    graph = random_graph()
    bench = Bench(graph, fpga(positions=positions, result_bytes=64))
    expect_reference(bench, make_trace(graph))
    assert max(bench.card.launches) <= 8
    layout = WindowLayout(1 << 18)
    most = layout.area_bytes // 32
    node = int(np.argmax(graph.degrees))
    batch = MiniBatch(0, np.full(1_000, node, dtype=np.uint32), (1,), 1)
    bench = Bench(graph, fpga(positions=positions), window=1 << 18)
    expect_reference(bench, Batches([batch]))
    assert bench.card.launches == [most, 1_000 - most]


def test_a_list_that_does_not_fit_the_window_is_refused():
    graph = random_graph(hub=20_000)
    node = int(np.argmax(graph.degrees))
    batch = MiniBatch(0, np.array([node], dtype=np.uint32), (4,), 1)
    bench = Bench(graph, fpga(positions="device"), window=1 << 17)
    with pytest.raises(FpgaError, match=rf"list of node {node} must fit the window's 114688 bytes"):
        bench.run(Batches([batch]))
    expect_reference(Bench(graph, fpga(), window=1 << 17), make_trace(graph))


def test_a_fan_out_beyond_the_gather_unit_is_refused_before_time_passes():
    graph = random_graph()
    bench = Bench(graph, fpga(max_fan_out=4))
    expect_reference(bench, make_trace(graph, (4, 4)))
    begin = bench.kernel.env.now
    with pytest.raises(TraceError, match=r"batches\[0\].fan_outs\[1\] must be at most 4 .*not 5"):
        bench.run(make_trace(graph, (4, 5)))
    assert bench.kernel.env.now == begin


@pytest.mark.parametrize(("positions", "limit"), [("host", 9), ("device", 5)])
def test_the_device_draws_without_replacement_up_to_a_fan_out_of_its_own(positions, limit):
    graph = random_graph()
    make = fpga(positions=positions, max_fan_out=9, max_distinct=5)
    distinct = "without-replacement"
    expect_reference(Bench(graph, make), make_trace(graph, (limit,), sampling=distinct))
    expect_reference(Bench(graph, make), make_trace(graph, (9,)))
    with pytest.raises(TraceError, match=f"must be at most {limit} .*, not {limit + 1}"):
        Bench(graph, make).run(make_trace(graph, (limit + 1,), sampling=distinct))


def test_blocks_are_read_once_or_every_time():
    graph = random_graph()
    trace = make_trace(graph, (8,), batches=1)
    reads = {}
    for unique in (True, False):
        bench = Bench(graph, fpga(unique_reads=unique), window=1 << 20)
        found = bench.run(trace)[0]
        reads[unique] = bench.host.reads
        assert unique or bench.host.reads == len(found.hops[0].ids)
    places = {
        int(graph.indptr[node] + position) // 512
        for node, positions in zip(*_drawn(graph, trace.batches[0]), strict=True)
        for position in positions
    }
    assert reads[True] == len(places)


def _drawn(graph, batch):
    nodes = batch.targets.tolist()
    drawn = [
        positions(list_key(batch.seed, 0, 0, slot), int(graph.degrees[node]), batch.fan_outs[0])
        for slot, node in enumerate(nodes)
    ]
    return nodes, drawn


def test_whole_lists_take_as_few_commands_as_the_device_allows():
    graph = random_graph(hub=5_000)
    node = int(np.argmax(graph.degrees))
    batch = MiniBatch(0, np.array([node, node], dtype=np.uint32), (4,), 1)
    first, last = (int(graph.indptr[n]) * 8 for n in (node, node + 1))
    blocks = -(-last // 4096) - first // 4096
    for limit in (4096, 12288, 128 << 10):
        bench = Bench(graph, fpga(positions="device", max_transfer_bytes=limit))
        bench.run(Batches([batch]))
        assert bench.host.reads == -(-blocks // (limit // 4096))


@pytest.mark.parametrize("make", [firmware(), fpga(), fpga(positions="device")])
def test_a_frontier_that_dies_out_asks_for_nothing(make):
    graph = Graph(np.array([0, 0, 0, 1]), np.array([0], dtype=np.uint32))
    batch = MiniBatch(0, np.array([2, 1, 0], dtype=np.uint32), (2, 2, 2), 1)
    bench = Bench(graph, make)
    (found,) = bench.run(Batches([batch]))
    assert [hop.counts.tolist() for hop in found.hops] == [[2, 0, 0], [0, 0], []]
    assert found.sha256 == reference.sample(graph, batch).sha256


@pytest.mark.parametrize("make", [firmware(), fpga(), fpga(positions="device")])
def test_data_is_real(make):
    graph = random_graph()
    batch = make_trace(graph, (4,), batches=1, targets=300).batches[0]
    place = int(graph.indptr[np.argmax(graph.degrees)]) + int(
        _drawn(graph, batch)[1][batch.targets.tolist().index(int(np.argmax(graph.degrees)))][0]
    )
    bench = Bench(graph, make, window=1 << 20)
    image = bytearray(bench.ssd.image)
    image[BASE * 4096 + 8 * place] ^= 1
    bench.ssd.image = bytes(image)
    changed = graph.indices.copy()
    changed[place] ^= 1
    (found,) = bench.run(Batches([batch]))
    assert found.sha256 == reference.sample(Graph(graph.indptr, changed), batch).sha256
    assert found.sha256 != reference.sample(graph, batch).sha256


@pytest.mark.parametrize("make", [firmware(), fpga()])
def test_an_id_beyond_the_graph_is_refused(make):
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], dtype=np.uint32))
    bench = Bench(graph, make)
    image = bytearray(bench.ssd.image)
    image[-1] |= 0x80  # bit 63 of the last id
    bench.ssd.image = bytes(image)
    batch = MiniBatch(0, np.array([0, 1], dtype=np.uint32), (2, 2), 1)
    with pytest.raises(ResultError, match=f"ids must be below 2, not {1 << 63}"):
        bench.run(Batches([batch]))


@pytest.mark.parametrize("make", [firmware(), fpga()])
def test_an_error_status_raises_and_the_next_mini_batch_is_served(make):
    graph = random_graph()
    trace = make_trace(graph, (4,))
    bench = Bench(graph, make)
    bench.ssd.statuses = {1: Status.UNRECOVERED_READ_ERROR}
    with pytest.raises(NvmeError, match="UNRECOVERED_READ_ERROR"):
        bench.run(trace)
    bench.kernel.env.run(bench.kernel.env.now + 10_000_000)
    expect_reference(bench, trace)


def test_short_results_and_failed_launches_are_refused():
    graph = random_graph()
    bench = Bench(graph, firmware())
    bench.ssd.corrupt = lambda out: b"\3" + out[1:]
    with pytest.raises(ResultError, match="result must"):
        bench.run(make_trace(graph, targets=1))
    bench = Bench(graph, fpga())
    bench.card.force_status = 2
    with pytest.raises(FpgaError, match="launch must end with OK, not BUS_ERROR"):
        bench.run(make_trace(graph))
    with pytest.raises(FpgaError, match="target 1 must end with OK, not BAD_DESCRIPTOR"):
        decode_launch(bytes(12) + b"\1" + bytes(3), 2)
    with pytest.raises(ResultError, match="must hold 2 targets, not 1"):
        decode_launch(bytes(8), 2)
    with pytest.raises(ResultError, match="must be 3 words long by its counts, not 2"):
        decode_launch(b"\2" + bytes(15), 1)
    with pytest.raises(ResultError, match="whole 64-bit words"):
        decode_launch(bytes(9), 1)


@pytest.mark.parametrize("name", HostCosts.__dataclass_fields__)
def test_every_cost_moves_the_stage_that_it_belongs_to(name):
    graph = random_graph()
    trace = make_trace(graph, (4,), batches=1, sampling="without-replacement")
    make = fpga(reads_in_flight=1)
    stages = []
    for scale in (1, 2):
        costs = HostCosts(
            **{key: value * (scale if key == name else 1) for key, value in vars(COSTS).items()}
        )
        bench = Bench(graph, make, costs=costs, service=lambda entry: 50_000)
        found = bench.run(trace)[0]
        stages.append(bench.stages)
    plan = plan_hop(graph, trace.batches[0], 0, found.targets)
    slots, ids, reads = len(found.targets), len(found.hops[0].ids), bench.host.reads
    times = {
        "submit_ps": ("host.submit", reads),
        "interrupt_ps": ("host.interrupt", reads),
        "complete_ps": ("host.complete", reads),
        "key_ps": ("host.draw", slots),
        "draw_ps": ("host.draw", ids),
        "compare_ps": ("host.draw", plan.comparisons),
        "build_target_ps": ("host.build", slots),
        "map_block_ps": ("host.map", ids),
        "parse_target_ps": ("host.parse", slots),
        "parse_id_ps": ("host.parse", ids),
    }
    stage, count = times[name]
    expected = dict(stages[0])
    expected[stage] += count * vars(COSTS)[name]
    assert stages[1] == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (firmware(targets_per_command=0), "targets_per_command must be at least 1, not 0"),
        (firmware(positions="cpu"), "positions must be host or device, not 'cpu'"),
        (firmware(segment_bytes=100), "segment_bytes must be 4096"),
        (fpga(positions="cpu"), "positions must be host or device, not 'cpu'"),
        (fpga(reads_in_flight=0), "reads_in_flight must be at least 1, not 0"),
        (fpga(max_transfer_bytes=512), "max_transfer_bytes must be at least a block of 4096"),
        (fpga(max_fan_out=0), "max_fan_out must be at least 1, not 0"),
        (fpga(max_distinct=0), "max_distinct must be at least 1, not 0"),
        (fpga(result_bytes=8), "result_bytes must be at least 16, not 8"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        Bench(random_graph(), make)
