"""Host, SSD and FPGA card on links with round figures, without firmware and RTL."""

from dataclasses import fields

import numpy as np

from cosim.fpga_card import CardWindow, FpgaPort
from cosim.host_memory import HostMemory
from cosim.kernel import BOOT_PS, Kernel
from cosim.link_parameters import LinkParameters
from cosim.links import DevicePort, Direction, HostPort, PcieLink
from cosim.spans import critical_path, stage_totals
from host.costs import HostCosts, HostCpu

LINK = LinkParameters(
    bytes_per_second=10**9,  # 1,000 ps a byte
    latency_ps=300_000,
    max_payload_bytes=256,
    header_bytes=24,
    posted_headers=64,
    posted_data_bytes=1 << 16,
    read_request_bytes=512,
    read_completion_bytes=128,
    read_window_bytes=1 << 16,
)
STAGE_PS = 50_000
RUN_PS = 700_000
LAUNCH_PS = 6_600_000
COPY_PS = 3_600_000
COSTS = HostCosts(**{field.name: 0 for field in fields(HostCosts)})


class ScriptedGather:
    """A gather unit that stages one piece at a time and answers every launch with its own words."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.memory = bytearray(1 << 16)
        self.staged = []
        self._writer = kernel.resource("gather.stage")

    def stage(self, address, data, cause, *, request=0):
        self.staged.append((address, len(data)))
        return self.kernel.env.process(self._stage(address, data, cause, request))

    def _stage(self, address, data, cause, request):
        done = yield from self._writer.use(
            "gather.stage", STAGE_PS, cause, request=request, payload_bytes=len(data)
        )
        self.memory[address : address + len(data)] = data
        return done

    def launch(self, descriptor_address, count, cause, *, request=0):
        return self.kernel.env.process(self._run(descriptor_address, count, cause, request))

    def _run(self, descriptor_address, count, cause, request):
        start_ps = self.kernel.env.now
        yield self.kernel.env.timeout(RUN_PS)
        done = self.kernel.record(
            "gather", "gather.run", start_ps, self.kernel.env.now, cause, request=request
        )
        return ScriptedResult(np.arange(count, dtype="<u8"), status=3, cause=done)


class ScriptedResult:
    def __init__(self, words, status, cause):
        self.words, self.status, self.cause = words, status, cause


class World:
    def __init__(self, link=LINK, *, with_card=True):
        self.kernel = Kernel()
        self.env = self.kernel.env
        self.memory = HostMemory()
        self.ssd = PcieLink(self.kernel, "pcie.ssd", link)
        self.gather = ScriptedGather(self.kernel)
        self.window = CardWindow(self.kernel, self.gather, window_bytes=1 << 16)
        peer = Direction(self.kernel, link, "pcie.p2p", "pcie.p2p")
        self.device = DevicePort(
            self.kernel,
            self.ssd,
            self.memory,
            peer=peer if with_card else None,
            card=self.window if with_card else None,
        )
        self.host = HostPort(self.kernel, self.memory, self.ssd, self.device)
        self.fpga = FpgaPort(
            self.kernel,
            PcieLink(self.kernel, "pcie.fpga", link),
            self.gather,
            self.window,
            HostCpu(self.kernel, COSTS),
            launch_ps=LAUNCH_PS,
            copy_ps=COPY_PS,
        )
        self.start = self.kernel.origin("test", "start")

    def run(self, steps):
        return self.env.run(self.env.process(steps))

    def spans(self):
        """(unit, stage, from BOOT_PS to, payload, overhead, kind), without the origin."""
        return [
            (
                span.unit,
                span.stage,
                span.start_ps - BOOT_PS,
                span.end_ps - BOOT_PS,
                span.payload_bytes,
                span.overhead_bytes,
                span.kind,
            )
            for span in self.kernel.spans
        ][1:]

    def stages(self, end):
        """Exclusive stages from the beginning to ``end``; fails where they leave a gap."""
        totals = stage_totals(critical_path(self.kernel.spans, end, BOOT_PS))
        assert sum(totals.values()) == end.at_ps - BOOT_PS
        return totals
