"""Host, links, SSD and hop sequencer as they are; flash and gather unit are stand-ins of bytes."""

from cosim.card_hops import HopSequencer, SequencerParameters
from cosim.card_queue import CardQueueMemory, CardQueuePort
from cosim.conservation import check_bytes
from cosim.fpga_card import CardWindow
from cosim.hop_port import HopPort
from cosim.host_memory import HostMemory
from cosim.kernel import Kernel
from cosim.links import DevicePort, Direction, PcieLink
from cosim.medium import FlashMedium, IdArray
from cosim.spans import critical_path, stage_totals
from firmware_model.device import Device
from firmware_model.parameters import QueueRegisters
from host.costs import HostCosts, HostCpu
from host.driver import NvmeDriver
from host.fpga_csd import FpgaCsdParameters
from host.fpga_hops import FpgaHopsHost
from host.hop_window import HopWindow
from host.ns_config import Placement
from host.peer_reads import PeerReads
from rtl.contract.bch import BchCode
from rtl.contract.kernel import P2P_BASE
from tests.fakes import FakeFlash
from tests.firmware_bench import LAYOUT, PARAMETERS, PART, STRIPING
from tests.host_fakes import FakeCard, GatherResult
from tests.test_firmware_with_host import COSTS, LINK

BASE = 6
QUEUE = 3
FLASH = ("flash.transfer", "dram.flash-in")
LOGIC = HostCosts(
    submit_ps=80_000,
    interrupt_ps=0,
    complete_ps=40_000,
    key_ps=0,
    draw_ps=0,
    compare_ps=0,
    build_target_ps=32_000,
    map_block_ps=0,
    parse_target_ps=0,
    parse_id_ps=4_000,
)


class HopBench:
    """One worker, one SSD with a graph from block ``BASE`` on, one card with its row pointers.

    ``gather`` are keys of ``FpgaCsdParameters``, ``costs`` those of the sequencer. ``indices``,
    where given, are on flash in place of the graph's.
    """

    def __init__(
        self, graph, *, id_bytes=8, window=1 << 18, depth=8, frontier_bytes=1 << 16,
        launch_ps=40_000, costs=LOGIC, indices=None,
        card_link=LINK, **gather,
    ):  # fmt: skip
        self.graph = graph
        self.kernel = kernel = Kernel()
        ssd, card = PcieLink(kernel, "pcie.ssd", LINK), PcieLink(kernel, "pcie.fpga", card_link)
        to_card = Direction(kernel, LINK, "pcie.p2p", "pcie.p2p", shares=ssd.up)
        to_ssd = Direction(kernel, LINK, "pcie.p2p", "pcie.p2p.to-ssd", shares=ssd.down)
        self.queues = CardQueueMemory(kernel, to_card, to_ssd)
        self.gather = Gather(kernel, window)
        card_window = CardWindow(kernel, self.gather, window_bytes=window)
        port = DevicePort(
            kernel, ssd, HostMemory(), peer=to_card, card=card_window, queues=self.queues
        )
        self.medium = FlashMedium(PART, LAYOUT, BchCode(m=12, t=14, chunk_bytes=256), STRIPING)
        first = BASE // LAYOUT.lbas
        ids = graph.indices if indices is None else indices
        pages = self.medium.load_extent(first, IdArray(ids, id_bytes))
        placement = Placement(base_lba=BASE, lba_bytes=LAYOUT.lba_bytes, id_bytes=id_bytes)
        core = HostCpu(kernel, costs, "hops", "hops")
        queue_port = CardQueuePort(kernel, self.queues, port)
        self.driver = NvmeDriver(kernel, queue_port, core, depth=depth, queue=QUEUE)
        self.parameters = FpgaCsdParameters(placement=placement, positions="device", **gather)
        in_flight = self.parameters.reads_in_flight
        reads = PeerReads(kernel, self.driver, P2P_BASE, placement, in_flight)
        self.layout = HopWindow(window, graph.nodes)
        self.table = graph.indptr.astype("<u8").tobytes()
        place = self.layout.table_base
        self.gather.card.window[place : place + len(self.table)] = self.table
        self.sequencer = HopSequencer(
            core,
            self.gather,
            card_window,
            reads,
            self.layout,
            SequencerParameters(
                gather=self.parameters, launch_ps=launch_ps, frontier_bytes=frontier_bytes
            ),
        )
        registers = QueueRegisters(
            number=QUEUE,
            submission_address=self.driver.sq_address,
            submission_entries=depth,
            completion_address=self.driver.cq_address,
            completion_entries=depth,
            vector=None,
        )
        self.flash = FakeFlash(kernel, self.medium)
        self.device = Device(kernel, port, self.flash, PARAMETERS, queues=[registers])
        self.device.load_extent(first, pages)
        self.port = port
        cpu = HostCpu(kernel, COSTS)
        self.hop_port = HopPort(kernel, card, self.sequencer, cpu, launch_ps=6_000_000)
        self.host = FpgaHopsHost(_Worker(cpu), self.hop_port, graph.nodes, self.parameters)
        self.at_rest = self.queues.memory.allocated_bytes

    def start(self):
        """What begins a mini-batch."""
        return self.kernel.origin("host-cpu", "host.start")

    def run(self, batch):
        """Sample a mini-batch; returns it, with its time by stages. Checks spans and bytes."""
        begin = self.start()
        subgraph, end = self.do(self.host.sample(batch, begin))
        assert end.at_ps == self.kernel.env.now
        stages = stage_totals(critical_path(self.kernel.spans, end, begin.at_ps))
        assert sum(stages.values()) == end.at_ps - begin.at_ps
        self.kernel.env.run(self.kernel.env.now + 10**9)  # what is posted arrives
        # The stand-in of the flash has parity in its pages.
        check_bytes(span for span in self.kernel.spans if span.stage not in FLASH)
        assert self.queues.memory.allocated_bytes == self.at_rest, "all PRP lists were released"
        return subgraph, stages

    def do(self, flow):
        return self.kernel.env.run(until=self.kernel.env.process(flow))


class Gather:
    """The gather unit on its kernel side, with the spans that the real one records."""

    def __init__(self, kernel, window_bytes):
        self.kernel = kernel
        self.card = FakeCard(kernel, window_bytes)
        self.failing = {}
        """Statuses by the number of the launch, from 0."""
        self.launches = 0

    def stage(self, address, data, cause, *, request=0):
        def run():
            start = self.kernel.env.now
            yield self.kernel.env.timeout(5_000)
            self.card.window[address : address + len(data)] = data
            return self.kernel.record(
                "gather", "gather.stage", start, self.kernel.env.now, cause, request=request,
                payload_bytes=len(data), kind="stage",
            )  # fmt: skip

        return self.kernel.env.process(run())

    def launch(self, descriptor_address, count, cause, *, request=0):
        def run():
            start = self.kernel.env.now
            status, raw, _ = yield from self.card.launch(descriptor_address, count, cause)
            status = self.failing.get(self.launches, status)
            self.launches += 1
            end = self.kernel.record(
                "gather", "gather.stream", start, self.kernel.env.now, cause, request=request,
                payload_bytes=len(raw), kind="result",
            )  # fmt: skip
            return GatherResult(raw, status, end)

        return self.kernel.env.process(run())


class _Worker:
    """A worker's core; no queue of its own is needed."""

    def __init__(self, cpu):
        self.cpu = cpu
