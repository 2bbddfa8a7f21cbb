"""The hypothetical half of an FPGA card: hop sequencer, queue pair of its own, row pointers."""

from dataclasses import dataclass
from typing import Any

from cosim.card_hops import HopSequencer, SequencerParameters
from cosim.card_queue import CardQueueMemory, CardQueuePort
from cosim.config.build import queue_registers, sequencer_costs, wire_parameters
from cosim.config.model import Platforms, System
from cosim.engines.hdl import HdlEngine
from cosim.fpga_card import CardWindow, GatherPort
from cosim.hop_port import HopPort
from cosim.kernel import Kernel
from cosim.links import DevicePort, Direction, PcieLink
from cosim.systems.inputs import Inputs
from firmware_model.parameters import QueueRegisters
from host.costs import HostCpu
from host.driver import NvmeDriver
from host.fpga_csd import FpgaCsdParameters
from host.hop_window import POINTER_BYTES, HopWindow
from host.peer_reads import PeerReads
from rtl.contract.kernel import P2P_BASE
from rtl.emit_gather import DRAM_MEMORY

__all__ = [
    "CARD_QUEUE",
    "CardHops",
    "card_hops",
    "card_queues",
    "has_hops",
    "hypothetical",
    "load_table",
]

CARD_QUEUE = 3
"""Number of the queue pair; those of the host are 1 and 2."""
UNIT = "hops"


@dataclass(frozen=True, eq=False)
class CardHops:
    """What :func:`card_hops` has put together."""

    port: HopPort
    sequencer: HopSequencer
    driver: NvmeDriver
    registers: QueueRegisters
    """The queue pair, as the SSD is told of it."""

    def counts(self) -> dict[str, int]:
        """What it counted, by name."""
        sequencer = self.sequencer
        return {
            "hops.reads": sequencer.reads.count,
            "hops.read_waits": sequencer.reads.waits,
            "hops.rounds": sequencer.rounds,
            "hops.pointer_launches": sequencer.pointer_launches,
            "hops.submitted": self.driver.submitted,
            "hops.full_waits": self.driver.full_waits,
        }


def has_hops(system: System) -> bool:
    """Whether a system's card goes from hop to hop by itself."""
    return system.kind == "fpga-csd" and system.hops == "device"


def hypothetical(system: System, inputs: Inputs) -> str:
    """What of a system no real one has, and what it starts with; empty for those that may be."""
    if not has_hops(system):
        return ""
    table = POINTER_BYTES * (inputs.graph.nodes + 1)
    return (
        "The FPGA owns an NVMe queue pair of the SSD, which today's SmartSSD cannot, and goes from "
        f"hop to hop by itself. Its DRAM holds the row pointers at the start ({table} bytes)."
    )


def card_queues(
    kernel: Kernel, platforms: Platforms, to_card: Direction, ssd: PcieLink
) -> CardQueueMemory:
    """The card's memory for queues; doorbells and entries enter the SSD by its one port."""
    wire = wire_parameters(platforms.fpga.p2p)
    to_ssd = Direction(kernel, wire, "pcie.p2p", "pcie.p2p.to-ssd", shares=ssd.down)
    return CardQueueMemory(kernel, to_card, to_ssd)


def card_hops(
    kernel: Kernel,
    platforms: Platforms,
    inputs: Inputs,
    *,
    queues: CardQueueMemory,
    device: DevicePort,
    link: PcieLink,
    gather: GatherPort,
    window: CardWindow,
    cpu: HostCpu,
    parameters: FpgaCsdParameters,
) -> CardHops:
    """Put sequencer and queue pair together."""
    fpga, ssd = platforms.fpga, platforms.ssd
    core = HostCpu(kernel, sequencer_costs(fpga), UNIT, UNIT)
    port = CardQueuePort(kernel, queues, device)
    entries = ssd.nvme.queue_entries.value
    driver = NvmeDriver(kernel, port, core, depth=entries, queue=CARD_QUEUE)
    reads = PeerReads(kernel, driver, P2P_BASE, parameters.placement, parameters.reads_in_flight)
    sequencer = HopSequencer(
        core,
        gather,
        window,
        reads,
        HopWindow(window.window_bytes, inputs.graph.nodes),
        SequencerParameters(
            gather=parameters,
            launch_ps=fpga.hops.launch.value,
            frontier_bytes=fpga.hops.frontier.value,
        ),
    )
    return CardHops(
        HopPort(kernel, link, sequencer, cpu, launch_ps=fpga.kernel_launch.value),
        sequencer,
        driver,
        queue_registers(
            ssd,
            number=CARD_QUEUE,
            submission=driver.sq_address,
            completion=driver.cq_address,
            vector=None,
        ),
    )


def load_table(engine: HdlEngine, window_bytes: int, inputs: Inputs) -> None:
    """Put the row pointers into the card's DRAM, in no simulated time."""
    layout = HopWindow(window_bytes, inputs.graph.nodes)
    memory: Any = engine.memory(len(engine.units) - 1, DRAM_MEMORY)
    table = inputs.graph.indptr.astype("<u8").tobytes()
    memory.write(layout.table_base // memory.word_bytes, table)
