"""Host, links and firmware together, on fake dies and a fake gather unit: bytes meet bytes."""

import numpy as np
import pytest

from cosim.fpga_card import CardWindow, FpgaPort
from cosim.host_memory import HostMemory
from cosim.kernel import Kernel
from cosim.link_parameters import LinkParameters
from cosim.links import DevicePort, Direction, HostPort, PcieLink
from cosim.medium import FlashMedium, IdArray
from cosim.spans import critical_path
from firmware_model.device import Device
from firmware_model.parameters import QueueRegisters
from host import reference
from host.block_read import read_blocks
from host.costs import HostCpu
from host.driver import Command, NvmeDriver
from host.errors import NvmeError
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.fpga_csd import FpgaCsdHost, FpgaCsdParameters
from host.ns_config import Placement
from host.subgraph import subgraph_sha256
from rtl.contract.bch import BchCode
from rtl.contract.nvme import SAMPLING_BIT, Opcode
from tests.fakes import FakeFlash
from tests.firmware_bench import LAYOUT, PARAMETERS, PART, STRIPING
from tests.host_fakes import FakeGather
from tests.host_scenarios import make_trace, random_graph
from tests.test_host_driver import COSTS

LINK = LinkParameters(
    bytes_per_second=4_000_000_000,
    latency_ps=300_000,
    max_payload_bytes=256,
    header_bytes=24,
    posted_headers=64,
    posted_data_bytes=1 << 16,
    read_request_bytes=512,
    read_completion_bytes=64,
    read_window_bytes=1 << 16,
)
FIRST_PAGE = 5


class Bench:
    """A worker, an SSD with the graph on its flash, and a card."""

    def __init__(self, graph, id_bytes=8, depth=32):
        self.graph = graph
        self.kernel = kernel = Kernel()
        self.memory = HostMemory()
        link = PcieLink(kernel, "pcie.ssd", LINK)
        gather = FakeGather(kernel, 1 << 18)
        window = CardWindow(kernel, gather, window_bytes=1 << 18)
        peer = Direction(kernel, LINK, "pcie.p2p", "pcie.p2p")
        port = DevicePort(kernel, link, self.memory, peer=peer, card=window)
        host_port = HostPort(kernel, self.memory, link, port)
        self.card = FpgaPort(
            kernel,
            PcieLink(kernel, "pcie.fpga", LINK),
            gather,
            window,
            cpu := HostCpu(kernel, COSTS),
            launch_ps=10_000_000,
            copy_ps=3_000_000,
        )
        self.driver = NvmeDriver(kernel, host_port, cpu, depth=depth)
        medium = FlashMedium(PART, LAYOUT, BchCode(m=12, t=14, chunk_bytes=256), STRIPING)
        pages = medium.load_extent(FIRST_PAGE, IdArray(graph.indices, id_bytes))
        registers = QueueRegisters(
            number=self.driver.queue,
            submission_address=self.driver.sq_address,
            submission_entries=depth,
            completion_address=self.driver.cq_address,
            completion_entries=depth,
        )
        flash = FakeFlash(kernel, medium)
        self.device = Device(kernel, port, flash, PARAMETERS, queues=[registers])
        self.device.load_extent(FIRST_PAGE, pages)
        self.placement = Placement(base_lba=FIRST_PAGE * LAYOUT.lbas, id_bytes=id_bytes)

    def firmware(self, **options):
        parameters = FirmwareCsdParameters(placement=self.placement, **options)
        return FirmwareCsdHost(self.driver, self.graph, parameters)

    def fpga(self, **options):
        parameters = FpgaCsdParameters(placement=self.placement, **options)
        return FpgaCsdHost(self.kernel, self.driver, self.card, self.graph, parameters)

    def run(self, body):
        return self.kernel.env.run(self.kernel.env.process(body))

    def sample(self, host, trace):
        def body():
            subgraphs = []
            for batch in trace.batches:
                begin = self.kernel.origin("host", "batch")
                subgraph, end = yield from host.sample(batch, begin)
                path = critical_path(self.kernel.spans, end, begin.at_ps)
                owned = sum(piece.end_ps - piece.start_ps for piece in path)
                assert owned == end.at_ps - begin.at_ps
                # The last mini-batch's final doorbell may still be on the wire.
                others = {p.span.kind for p in path if p.span.request not in (0, batch.request)}
                assert others <= {"doorbell"}
                subgraphs.append(subgraph)
            return subgraphs

        return self.run(body())


@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize(
    ("system", "options"),
    [
        ("firmware", {}),
        ("firmware", {"positions": "device"}),
        ("firmware", {"targets_per_command": 5, "segment_bytes": 12288}),
        ("fpga", {}),
        ("fpga", {"positions": "device"}),
        ("fpga", {"reads_in_flight": 1, "unique_reads": False}),
    ],
)
def test_both_systems_return_the_reference(system, options, id_bytes):
    graph = random_graph(nodes=500, hub=5_000)
    trace = make_trace(graph, targets=20)
    bench = Bench(graph, id_bytes)
    found = bench.sample(getattr(bench, system)(**options), trace)
    expected = [reference.sample(graph, batch) for batch in trace.batches]
    assert subgraph_sha256(found) == subgraph_sha256(expected)


@pytest.mark.slow
def test_chained_lists_reach_the_device():
    graph = random_graph(nodes=4_000, hub=5_000)
    trace = make_trace(graph, (60,), batches=1, targets=1_900)
    bench = Bench(graph)
    (found,) = bench.sample(bench.firmware(targets_per_command=2_000), trace)
    assert bench.device.counts()["list_pages"] > 0
    assert found.sha256 == reference.sample(graph, trace.batches[0]).sha256


def test_a_refused_structure_raises_and_the_device_goes_on():
    graph = random_graph()
    bench = Bench(graph)
    page = bench.memory.allocate(4096)

    def body():
        cause = bench.kernel.origin("host", "batch")
        for command, name in (
            (Command(opcode=Opcode.WRITE, prp1=page, cdw12=1 << SAMPLING_BIT), "NS_CONFIG_MAGIC"),
            (Command(opcode=Opcode.READ, prp1=page, lba=1 << 40, blocks=1), "LBA_OUT_OF_RANGE"),
            (Command(opcode=0x7F, prp1=page), "INVALID_OPCODE"),
        ):
            with pytest.raises(NvmeError, match=name):
                yield from bench.driver.execute(command, cause)
            cause = bench.kernel.origin("host", "again")

    bench.run(body())
    trace = make_trace(graph)
    found = bench.sample(bench.firmware(), trace)
    assert found[1].sha256 == reference.sample(graph, trace.batches[1]).sha256


@pytest.mark.parametrize("blocks", [1, 2, 3, 7])
def test_ordinary_reads_return_the_image(blocks):
    graph = random_graph(hub=20_000)
    bench = Bench(graph)
    raw = graph.indices.astype(np.uint64).tobytes()

    def body():
        cause = bench.kernel.origin("host", "batch")
        return (
            yield from read_blocks(
                bench.driver, bench.placement.base_lba + 1, blocks, 4096, cause, request=1
            )
        )

    data, _ = bench.run(body())
    assert data == raw[4096 : 4096 * (1 + blocks)]
