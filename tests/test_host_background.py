"""Reads of another process beside the mini-batches: a closed loop on queues of their own."""

from dataclasses import replace

import pytest

from cosim.host_memory import HostMemory
from cosim.links import DevicePort, HostPort, PcieLink
from cosim.medium import IdArray
from firmware_model.device import Device
from firmware_model.parameters import QueueRegisters
from host.background import BackgroundLoad, BackgroundParameters
from host.costs import HostCpu
from host.driver import NvmeDriver
from host.errors import DeviceError
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.reference import sample
from host.subgraph import subgraph_sha256
from host.trace import Trace
from rtl.contract.kernel import BACKGROUND_REQUEST
from tests.test_firmware_with_host import COSTS, LINK, Setting
from tests.write_bench import CODE, Pattern, WriteBench, parameters_of

PARAMETERS = BackgroundParameters(
    reads_in_flight=3, blocks=2, lba_bytes=4096, extent_blocks=6, seed=4
)


class Loaded(Setting):
    """With a background load on queue pair 2, vector 1, and a worker that samples."""

    def __init__(self, parameters=PARAMETERS, expected=None):
        super().__init__(base_lba=0)
        ids = IdArray(self.graph.indices, 8)
        cpu = HostCpu(self.kernel, COSTS, "host-background")
        driver = NvmeDriver(self.kernel, self.port, cpu, depth=4, queue=2, vector=1)
        self.device.attach_queue(
            QueueRegisters(
                number=2,
                submission_address=driver.sq_address,
                submission_entries=4,
                completion_address=driver.cq_address,
                completion_entries=4,
                vector=1,
            )
        )
        self.load = BackgroundLoad(self.kernel, driver, parameters, expected or ids.read)
        self.trace = Trace.generate(self.graph, seed=5, batches=1, targets=20, fan_outs=(4, 3))

    def sample(self, *, with_load=True):
        """Sample the mini-batch; returns its time and its subgraph."""
        host = FirmwareCsdHost(
            self.driver, self.graph, FirmwareCsdParameters(placement=self.placement)
        )

        def flow():
            if with_load:
                self.load.start()
            found, end = yield from host.sample(
                self.trace.batches[0], self.kernel.origin("host", "host.start")
            )
            if with_load:
                yield from self.load.stop(end)
            return found, end

        start = self.kernel.env.now
        found, end = self.run(flow())
        return end.at_ps - start, found

    def most_at_once(self):
        """Background commands in the device at once."""
        changes = []
        for span in self.kernel.spans:
            if span.request == BACKGROUND_REQUEST and span.stage == "firmware.block_decode":
                changes.append((span.start_ps, 1))
            if span.request == BACKGROUND_REQUEST and span.stage == "firmware.cqe_post":
                changes.append((span.end_ps, -1))
        depth = most = 0
        for _, change in sorted(changes):
            depth += change
            most = max(most, depth)
        return most


def test_mini_batch_is_slower_and_the_same():
    alone, beside = Loaded(), Loaded()
    quiet_ps, found = alone.sample(with_load=False)
    busy_ps, same = beside.sample()
    assert busy_ps > quiet_ps
    expected = subgraph_sha256([sample(alone.graph, alone.trace.batches[0])])
    assert subgraph_sha256([found]) == subgraph_sha256([same]) == expected
    assert beside.load.reads > 10
    assert beside.load.read_latency_ps / beside.load.reads > 1_800_000  # of the host alone
    assert beside.most_at_once() == 3


def test_same_seed_same_reads():
    first, again, other = (Loaded(replace(PARAMETERS, seed=seed)) for seed in (4, 4, 5))
    times = [
        (one.sample()[0], one.load.reads, one.load.read_latency_ps) for one in (first, again, other)
    ]
    assert times[0] == times[1] != times[2]


def test_more_reads_at_once_take_more_of_the_device():
    times = {
        depth: Loaded(replace(PARAMETERS, reads_in_flight=depth)).sample()[0] for depth in (1, 3)
    }
    assert times[3] > times[1]


def test_wrong_data_ends_the_run():
    setting = Loaded(expected=lambda first, length: bytes(length))
    with pytest.raises(DeviceError, match=r"background read of 2 blocks from \d must bring what"):
        setting.sample()


def test_each_vector_has_its_own_interrupts():
    setting = Loaded()
    setting.sample()
    steps = [span for span in setting.kernel.spans if span.stage == "host.interrupt"]
    by_core = {
        unit: {span.request == BACKGROUND_REQUEST for span in steps if span.unit == unit}
        for unit in ("host-cpu", "host-background")
    }
    assert by_core["host-cpu"] == {False}
    assert True in by_core["host-background"]


class Written(WriteBench):
    """A load that also writes, on a device with a translation layer, behind ``loaded`` pages."""

    def __init__(self, expected=None, **changes):
        super().__init__(parameters_of(pages=20), loaded=6)
        lba, lbas = self.layout.lba_bytes, self.layout.lbas
        load = BackgroundParameters(
            reads_in_flight=1,
            writes_in_flight=2,
            blocks=1,
            lba_bytes=lba,
            extent_blocks=6 * lbas,
            area_first=6 * lbas,
            area_blocks=6 * lbas,
            seed=4,
        )
        memory = HostMemory()
        link = PcieLink(self.kernel, "pcie.ssd", LINK)
        port = DevicePort(self.kernel, link, memory)
        cpu = HostCpu(self.kernel, COSTS, "host-background")
        host = HostPort(self.kernel, memory, link, port)
        driver = NvmeDriver(self.kernel, host, cpu, depth=8)
        registers = QueueRegisters(
            number=1,
            submission_address=driver.sq_address,
            submission_entries=8,
            completion_address=driver.cq_address,
            completion_entries=8,
        )
        self.device = Device(
            self.kernel, port, self.flash, self.parameters, queues=[registers], code=CODE
        )
        self.device.load_extent(0, 6)
        image = Pattern(6 * self.layout.page_bytes)
        self.load = BackgroundLoad(
            self.kernel, driver, replace(load, **changes), expected or image.read
        )

    def run_for(self, duration_ps):
        def flow():
            self.load.start()
            yield self.kernel.env.timeout(duration_ps)
            yield from self.load.stop(self.kernel.origin("host", "end"))

        self.kernel.env.run(until=self.kernel.env.process(flow()))
        return self.load


def test_what_was_written_is_read_again_at_the_end():
    written = Written()
    load = written.run_for(20_000_000_000)
    assert load.writes > 10
    assert load.reads > 10
    assert written.device.counts()["ftl_host_pages"] == load.writes
    assert written.device.counts()["block_reads"] > load.reads
    alone = Written(writes_in_flight=0).run_for(20_000_000_000)
    assert alone.reads > load.reads
    assert alone.writes == 0


def test_a_write_that_is_lost_ends_the_run():
    written = Written(reads_in_flight=0)
    load = written.load
    put = load._written.__class__.__setitem__

    class Forgetful(dict):
        def __setitem__(self, place, data):
            put(self, place, bytes(len(data)))

    load._written = Forgetful()
    with pytest.raises(DeviceError, match="must bring what is there"):
        written.run_for(2_000_000_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"reads_in_flight": 0},
            "reads_in_flight or writes_in_flight must be positive, not 0 both",
        ),
        ({"writes_in_flight": -1}, "writes_in_flight must not be negative, not -1"),
        ({"lba_bytes": 0}, "lba_bytes must be positive, not 0"),
        (
            {"writes_in_flight": 3, "area_blocks": 5},
            "area_blocks must hold 3 writes of 2 blocks beside each other, not 5",
        ),
        ({"blocks": 7}, "blocks of a read must be at most the 6 of the extent, not 7"),
        ({"seed": -1}, "seed must not be negative, not -1"),
    ],
)
def test_bad_parameters_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(PARAMETERS, **change)
