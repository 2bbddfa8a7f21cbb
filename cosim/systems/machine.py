"""One system as objects on one kernel: RTL units, links, device and host."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from cosim.bit_errors import BitErrors
from cosim.card_registers import CardRegisters
from cosim.config.build import (
    bch_code,
    card_wires,
    cell_state,
    decoder_code,
    encoder_code,
    firmware_parameters,
    host_costs,
    link_parameters,
    nand_part,
    page_layout,
    period_ps,
    queue_registers,
    striping,
    wire_parameters,
)
from cosim.config.model import FirmwareCsd, FpgaCsd, Platforms, System
from cosim.engines.hdl import HdlEngine
from cosim.fpga_card import CardWindow, FpgaPort
from cosim.host_memory import HostMemory
from cosim.kernel import BOOT_PS, Kernel
from cosim.links import DevicePort, Direction, HostPort, PcieLink
from cosim.lockstep import LockStep
from cosim.medium import FlashMedium, IdArray
from cosim.results import BatchResult, SystemResult
from cosim.systems.background import background_load
from cosim.systems.counters import machine_counters
from cosim.systems.design import unit_names
from cosim.systems.firmware_hops import firmware_hops
from cosim.systems.hops import (
    CardHops,
    card_hops,
    card_queues,
    has_hops,
    hypothetical,
    load_table,
)
from cosim.systems.inputs import Inputs
from cosim.systems.rings import RING_MEMORY, ring_card
from cosim.units.channel import ChannelPort
from cosim.units.counters import gather_counters
from cosim.units.gather import GatherPort
from firmware_model.device import Device
from host.background import Load
from host.costs import HostCpu
from host.driver import NvmeDriver
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.firmware_hops import FirmwareHopsHost
from host.fpga_csd import FpgaCsdHost, FpgaCsdParameters
from host.fpga_hops import FpgaHopsHost
from host.ns_config import Placement
from host.subgraph import Subgraph, subgraph_sha256
from rtl.contract.kernel import Cause

__all__ = ["Machine"]

QUEUE = 1


@dataclass(eq=False)
class Machine:
    """A whole system, ready to run; see :meth:`start`.

    Attributes
    ----------
    kernel : Kernel
        Simulated time, spans, resources.
    lockstep : LockStep
        Steps the kernel and the RTL.
    medium : FlashMedium
        What the flash cells hold.
    flash : ChannelPort
        The flash channels, as the firmware sees them.
    device : Device
        The firmware.
    driver : NvmeDriver
        The host's queue pair.
    host : FirmwareCsdHost, FirmwareHopsHost, FpgaCsdHost or FpgaHopsHost
        Samples mini-batches.
    gather : GatherPort, optional
        The gather unit, where the system has an FPGA card.
    hops : CardHops, optional
        The hop sequencer, where that card has one.
    background : Load, optional
        Reads and writes of another process, where the system has them.
    """

    platforms: Platforms
    system: System
    inputs: Inputs
    kernel: Kernel
    engine: HdlEngine
    lockstep: LockStep
    medium: FlashMedium
    flash: ChannelPort
    device: Device
    driver: NvmeDriver
    host: FirmwareCsdHost | FirmwareHopsHost | FpgaCsdHost | FpgaHopsHost
    gather: GatherPort | None
    hops: CardHops | None
    background: Load | None = None
    card_registers: CardRegisters | None = None
    registers: dict[str, int] = field(default_factory=dict)
    """What the host has read of them."""
    subgraphs: list[Subgraph] = field(default_factory=list)
    batches: list[BatchResult] = field(default_factory=list)

    @classmethod
    async def start(
        cls,
        dut: Any,
        platforms: Platforms,
        system: System,
        inputs: Inputs,
        *,
        stop_clocks: bool = True,
    ) -> "Machine":
        """Put a system together around ``csd_top`` and bring it to the end of reset."""
        ssd = platforms.ssd
        part, layout, places = nand_part(ssd), page_layout(ssd), striping(ssd)
        kernel = Kernel()
        engine = HdlEngine(dut, unit_names(ssd), stop_clocks=stop_clocks)
        await engine.start(BOOT_PS)
        lockstep = LockStep(kernel, engine)
        errors = BitErrors(cell_state(ssd), part.raw_page_bytes)
        medium = FlashMedium(
            part,
            layout,
            bch_code(ssd),
            places,
            errors=errors,
            is_formatted=ssd.firmware.ftl is not None,
        )
        flash = ChannelPort(
            lockstep,
            engine,
            medium,
            part,
            layout,
            units=range(ssd.flash.channels.value),
            ways=ssd.flash.ways.value,
            slots=ssd.flash.landing_slots.value,
            period_ps=period_ps(ssd.flash.clock.value),
            has_decoder=decoder_code(ssd) is not None,
            encoder=encoder_code(ssd) if system.flash_channel is None else None,
        )
        memory = HostMemory()
        cpu = HostCpu(kernel, host_costs(platforms.host))
        link = PcieLink(kernel, "pcie.ssd", link_parameters(ssd.pcie))
        card = (
            _Card(kernel, lockstep, engine, platforms, link, cpu, has_hops(system))
            if system.kind == "fpga-csd"
            else None
        )
        port = DevicePort(
            kernel,
            link,
            memory,
            peer=None if card is None else card.peer,
            card=None if card is None else card.window,
            queues=None if card is None else card.queues,
        )
        depth = ssd.nvme.queue_entries.value
        host_port = HostPort(kernel, memory, link, port)
        driver = NvmeDriver(kernel, host_port, cpu, depth=depth, queue=QUEUE)
        queues = [
            queue_registers(
                ssd, number=QUEUE, submission=driver.sq_address, completion=driver.cq_address
            )
        ]
        ids = IdArray(inputs.graph.indices, inputs.id_bytes)
        background = None
        if system.background is not None:
            background, registers = background_load(
                kernel, host_port, platforms, system, ids, inputs.requests
            )
            queues.append(registers)
        parameters = firmware_parameters(ssd, system, inputs.edge_bytes)
        placement = Placement(lba_bytes=layout.lba_bytes, id_bytes=inputs.id_bytes)
        hops = None
        if card is not None and card.queues is not None:
            fpga = _fpga_parameters(system, platforms, placement)
            hops = card.with_hops(kernel, platforms, inputs, port, cpu, fpga)
            load_table(engine, card.window.window_bytes, inputs)
            queues.append(hops.registers)
        device = Device(kernel, port, flash, parameters, queues=queues, code=bch_code(ssd))
        pages = medium.load_extent(0, ids)
        for first, content in device.load_extent(0, pages):
            medium.load_extent(first, content)
        host = firmware_hops(system, inputs, layout, device, medium, driver, placement) or _host(
            system, platforms, kernel, driver, card, hops, inputs, placement
        )
        return cls(
            platforms=platforms,
            system=system,
            inputs=inputs,
            kernel=kernel,
            engine=engine,
            lockstep=lockstep,
            medium=medium,
            flash=flash,
            device=device,
            driver=driver,
            host=host,
            gather=None if card is None else card.gather,
            card_registers=None if card is None else card.registers,
            background=background,
            hops=hops,
        )

    async def do(self, process: Generator[Any, Any, Any]) -> Any:
        """Run one process of the kernel to its end; returns its value."""
        return await self.lockstep.run(self.kernel.env.process(process))

    async def run(self, on_step: Callable[[], None] | None = None) -> SystemResult:
        """Run the whole trace, one mini-batch after the other, and return what came of it.

        ``on_step`` is called after every step of the lock-step; it may look, but touch nothing.
        """
        self.lockstep.on_step = on_step
        await self.do(self._work())
        return self.result()

    def result(self) -> SystemResult:
        """What has been sampled so far, with its spans and counters."""
        return SystemResult(
            name=self.system.name,
            spans=self.kernel.spans,
            batches=tuple(self.batches),
            subgraph_sha256=subgraph_sha256(self.subgraphs),
            counters=self.counters(),
            hypothetical=hypothetical(self.system, self.inputs),
            assumed_costs=self.device.cores.assumed,
            depths={name: log.changes() for name, log in self.device.depths().items()},
        )

    def counters(self) -> dict[str, int]:
        """Every count that host, firmware, kernel and RTL kept, by name."""
        return machine_counters(self)

    def _work(self) -> Generator[Any, Any, None]:
        cause: Cause = self.kernel.origin("host-cpu", "host.start")
        if self.background is not None:
            self.background.start()
        for batch in self.inputs.trace.batches:
            start_ps = int(self.kernel.env.now)
            subgraph, cause = yield from self.host.sample(batch, cause)
            self.subgraphs.append(subgraph)
            self.batches.append(BatchResult(request=batch.request, start_ps=start_ps, end=cause))
        if isinstance(self.system, FpgaCsd) and self.system.read_counters:
            assert self.card_registers is not None
            self.registers, cause = yield from self.card_registers.read_all(cause)
        if self.background is not None:
            yield from self.background.stop(cause)


class _Card:
    """The FPGA card: its window, its links, and the host's hold on it."""

    def __init__(
        self,
        kernel: Kernel,
        lockstep: LockStep,
        engine: HdlEngine,
        platforms: Platforms,
        ssd: PcieLink,
        cpu: HostCpu,
        has_queues: bool,
    ) -> None:
        fpga = platforms.fpga
        self.gather = gather = GatherPort(
            lockstep,
            engine,
            unit=len(engine.units) - 1,
            period_ps=period_ps(fpga.clock.value),
            stage_slots=fpga.stage_slots.value,
            stage_slot_bytes=fpga.stage_slot.value,
            rings=RING_MEMORY,
        )
        self.window = CardWindow(
            kernel,
            gather,
            window_bytes=fpga.window.value,
            piece_bytes=fpga.stage_slot.value,
        )
        # Blocks for the card leave the SSD by the port by which completions leave for the host.
        self.peer = Direction(
            kernel, wire_parameters(fpga.p2p), "pcie.p2p", "pcie.p2p", shares=ssd.up
        )
        self.queues = card_queues(kernel, platforms, self.peer, ssd) if has_queues else None
        up, down = card_wires(fpga.pcie)
        self.link = link = PcieLink(kernel, "pcie.fpga", up, down)
        self.registers = CardRegisters(kernel, link, lambda: gather_counters(engine))
        self.port = FpgaPort(
            kernel,
            link,
            gather,
            self.window,
            cpu,
            launch_ps=fpga.kernel_launch.value,
            copy_ps=fpga.card_copy.value,
            rings=ring_card(kernel, fpga, link, cpu, gather),
        )

    def with_hops(
        self,
        kernel: Kernel,
        platforms: Platforms,
        inputs: Inputs,
        device: DevicePort,
        cpu: HostCpu,
        parameters: FpgaCsdParameters,
    ) -> CardHops:
        assert self.queues is not None
        return card_hops(
            kernel,
            platforms,
            inputs,
            queues=self.queues,
            device=device,
            link=self.link,
            gather=self.gather,
            window=self.window,
            cpu=cpu,
            parameters=parameters,
        )


def _fpga_parameters(
    system: System, platforms: Platforms, placement: Placement
) -> FpgaCsdParameters:
    assert isinstance(system, FpgaCsd)
    return FpgaCsdParameters(
        placement=placement,
        positions=system.positions,
        launch=system.launch,
        reads_in_flight=system.reads_in_flight,
        unique_reads=system.unique_blocks,
        whole_lists=system.whole_lists,
        max_transfer_bytes=platforms.ssd.nvme.transfer_limit.value,
    )


def _host(
    system: System,
    platforms: Platforms,
    kernel: Kernel,
    driver: NvmeDriver,
    card: _Card | None,
    hops: CardHops | None,
    inputs: Inputs,
    placement: Placement,
) -> FirmwareCsdHost | FpgaCsdHost | FpgaHopsHost:
    if isinstance(system, FirmwareCsd):
        firmware = FirmwareCsdParameters(
            placement=placement, targets_per_command=system.coalescing, positions=system.positions
        )
        return FirmwareCsdHost(driver, inputs.graph, firmware)
    assert card is not None
    fpga = _fpga_parameters(system, platforms, placement)
    if hops is not None:
        return FpgaHopsHost(driver, hops.port, inputs.graph.nodes, fpga)
    return FpgaCsdHost(kernel, driver, card.port, inputs.graph, fpga)
