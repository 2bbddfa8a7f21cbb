"""Real driver and host half, real links and device, fake flash: both sides meet in bytes alone."""

from dataclasses import replace

import numpy as np
import pytest

from cosim.host_memory import HostMemory
from cosim.kernel import Kernel
from cosim.link_parameters import LinkParameters
from cosim.links import DevicePort, HostPort, PcieLink
from cosim.medium import FlashMedium, IdArray
from cosim.spans import critical_path, stage_totals
from firmware_model.device import Device
from firmware_model.ftl.geometry import FtlParameters
from firmware_model.parameters import QueueRegisters
from host.block_read import read_blocks
from host.block_write import write_blocks
from host.costs import HostCosts, HostCpu
from host.driver import Command, NvmeDriver
from host.errors import NvmeError
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.ns_config import Placement
from host.reference import sample
from host.trace import Trace
from rtl.contract.bch import BchCode
from rtl.contract.nvme import Opcode
from rtl.contract.sampling import Sampling
from tests.fakes import FakeFlash
from tests.firmware_bench import LAYOUT, PARAMETERS, PART, STRIPING
from tests.host_scenarios import random_graph

LINK = LinkParameters(
    bytes_per_second=4 * 10**9,
    latency_ps=300_000,
    max_payload_bytes=256,
    header_bytes=24,
    posted_headers=64,
    posted_data_bytes=1 << 16,
    read_request_bytes=512,
    read_completion_bytes=64,
    read_window_bytes=1 << 16,
)
COSTS = HostCosts(
    submit_ps=1_000_000,
    interrupt_ps=500_000,
    complete_ps=300_000,
    key_ps=10_000,
    draw_ps=5_000,
    compare_ps=1_000,
    build_target_ps=20_000,
    map_block_ps=10_000,
    parse_target_ps=10_000,
    parse_id_ps=2_000,
)


class Setting:
    """One host with a driver, one SSD with a graph on it from block ``base_lba`` on."""

    def __init__(self, *, id_bytes=8, base_lba=6, parameters=PARAMETERS, depth=8):
        self.kernel = Kernel()
        self.graph = random_graph(hub=5000)
        memory = HostMemory()
        link = PcieLink(self.kernel, "pcie.ssd", LINK)
        device_port = DevicePort(self.kernel, link, memory)
        self.port = HostPort(self.kernel, memory, link, device_port)
        self.driver = NvmeDriver(self.kernel, self.port, HostCpu(self.kernel, COSTS), depth=depth)
        code = BchCode(m=12, t=14, chunk_bytes=256)
        self.medium = medium = FlashMedium(PART, LAYOUT, code, STRIPING)
        first = base_lba // LAYOUT.lbas
        pages = medium.load_extent(first, IdArray(self.graph.indices, id_bytes))
        self.placement = Placement(base_lba=base_lba, id_bytes=id_bytes)
        registers = QueueRegisters(
            number=1,
            submission_address=self.driver.sq_address,
            submission_entries=depth,
            completion_address=self.driver.cq_address,
            completion_entries=depth,
        )
        flash = FakeFlash(self.kernel, medium)
        self.device = Device(
            self.kernel, device_port, flash, parameters, queues=[registers], code=code
        )
        for page, content in self.device.load_extent(first, pages):
            medium.load_extent(page, content)

    def run(self, flow):
        """Run a host flow to its end; returns its value."""
        return self.kernel.env.run(until=self.kernel.env.process(flow))


def test_a_write_has_every_instant_accounted_for():
    nvme = replace(PARAMETERS.nvme, namespace_blocks=800)
    ftl = FtlParameters(pages_per_block=8)
    setting = Setting(parameters=replace(PARAMETERS, ftl=ftl, nvme=nvme))
    size = LAYOUT.lba_bytes
    cause = setting.kernel.origin("host", "host.start")
    for first, blocks in ((20, 6), (21, 1), (300, 2), (21, 3)):
        data = np.random.default_rng(first).bytes(blocks * size)
        start_ps = int(setting.kernel.env.now)
        cause = setting.run(write_blocks(setting.driver, first, data, size, cause))
        stages = stage_totals(critical_path(setting.kernel.spans, cause, start_ps))
        assert sum(stages.values()) == cause.at_ps - start_ps
        for stage in ("flash.program", "firmware.write_place", "firmware.write_commit"):
            assert stages[stage] > 0
        # Of several pages, what the core does for one hides how the data of another moves.
        pages = (first + blocks - 1) // LAYOUT.lbas - first // LAYOUT.lbas + 1
        assert pages > 1 or stages["dram.flash-out"] > 0
        found, cause = setting.run(read_blocks(setting.driver, first, blocks, size, cause))
        assert found == data
    with pytest.raises(ValueError, match="must be whole blocks of 4096 bytes, not 100 bytes"):
        setting.run(write_blocks(setting.driver, 0, bytes(100), size, cause))


@pytest.mark.parametrize("positions", ["host", "device"])
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize("targets_per_command", [1024, 7])
@pytest.mark.parametrize("sampling", Sampling)
def test_subgraphs_equal_the_reference_over_three_hops(
    positions, id_bytes, targets_per_command, sampling
):
    setting = Setting(id_bytes=id_bytes)
    fan_outs = (1, 1, 1) if sampling == Sampling.WALK else (4, 3, 2)
    trace = Trace.generate(
        setting.graph, seed=5, batches=2, targets=20, fan_outs=fan_outs, sampling=sampling
    )
    host = FirmwareCsdHost(
        setting.driver,
        setting.graph,
        FirmwareCsdParameters(
            placement=setting.placement,
            positions=positions,
            targets_per_command=targets_per_command,
        ),
    )
    for batch in trace.batches:
        origin = setting.kernel.origin("host", "host.start")
        found, end = setting.run(host.sample(batch, origin))
        expected = sample(setting.graph, batch)
        for hop, (one, other) in enumerate(zip(found.hops, expected.hops, strict=True)):
            assert (one.counts == other.counts).all(), hop
            assert (one.ids == other.ids).all(), hop
        path = critical_path(setting.kernel.spans, end, origin.at_ps)
        assert sum(stage_totals(path).values()) == end.at_ps - origin.at_ps


def test_ordinary_reads_with_prp_lists():
    setting = Setting()
    image = setting.graph.indices.astype("<u8").tobytes()
    flow = read_blocks(setting.driver, 6, 5, 4096, setting.kernel.origin("host", "host.start"))
    data, _ = setting.run(flow)
    assert bytes(data) == image[: 5 * 4096]


def test_errors_reach_the_driver_by_name_and_the_device_serves_on():
    setting = Setting()
    command = Command(opcode=Opcode.READ, prp1=0x1000, lba=1 << 40, blocks=1)
    start = setting.kernel.origin("host", "host.start")
    with pytest.raises(NvmeError, match="LBA_OUT_OF_RANGE"):
        setting.run(setting.driver.execute(command, start))
    data, _ = setting.run(
        read_blocks(setting.driver, 6, 1, 4096, setting.kernel.origin("host", "host.again"))
    )
    assert len(data) == 4096


def test_page_buffer_share_changes_reads_and_nothing_else():
    def run(pages):
        setting = Setting(parameters=replace(PARAMETERS, page_buffer_pages=pages))
        trace = Trace.generate(setting.graph, seed=5, batches=1, targets=40, fan_outs=(5, 5))
        host = FirmwareCsdHost(
            setting.driver, setting.graph, FirmwareCsdParameters(placement=setting.placement)
        )
        origin = setting.kernel.origin("host", "host.start")
        found, end = setting.run(host.sample(trace.batches[0], origin))
        return found.hops[-1].ids, setting.device.counters.flash_reads, end.at_ps

    small, large = run(2), run(64)
    assert np.array_equal(small[0], large[0])
    assert small[1] > large[1]
    assert small[2] > large[2]
