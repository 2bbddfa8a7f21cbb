"""The SSD: its firmware on modelled cores, put together on one kernel."""

from collections.abc import Generator, Iterable
from typing import Any

from firmware_model.admin import AdminCommands
from firmware_model.block_io import BlockIo
from firmware_model.block_write import BlockWrite
from firmware_model.core import Cores
from firmware_model.cost_table import CostTable
from firmware_model.counters import Counters
from firmware_model.depths import DepthLog
from firmware_model.dma import DmaEngine, Dram
from firmware_model.dma_orders import DmaOrders
from firmware_model.flash_scheduler import FlashScheduler
from firmware_model.ftl.images import MapImage
from firmware_model.ftl.layer import TranslationLayer
from firmware_model.hop_chain import HopChain
from firmware_model.isp_control import IspControl
from firmware_model.nvme_controller import Handler, NvmeController
from firmware_model.page_buffer import PageBuffer
from firmware_model.page_reader import PageReader
from firmware_model.parameters import FirmwareParameters, QueueRegisters, Task
from firmware_model.row_pointers import RowPointerReader, RowTable
from firmware_model.slots import Slots
from firmware_model.subgraph_generator import SubgraphGenerator
from firmware_model.translation import ExtentMap
from rtl.contract.bch import BchCode
from rtl.contract.kernel import Cause, DevicePort, FlashPort, Kernel

__all__ = ["Device"]

POINTER_COUNTS = ("page_jobs", "hits", "merges", "misses", "refills")
"""Of pages of row pointers, counted apart from those of edge lists."""


class Device:
    """One SSD with in-storage sampling, between a PCIe port and its flash channels.

    Parameters
    ----------
    kernel : Kernel
        Simulated time and spans.
    device_port : DevicePort
        The PCIe link to the host.
    flash_port : FlashPort
        The flash channels; its geometry must be the striping's.
    parameters : FirmwareParameters
    queues : iterable of QueueRegisters
        Queue pairs that exist from the start; more with :meth:`attach_queue`.
    costs : CostTable, optional
        Costs of the firmware's routines on all cores; those of each core's kind if absent.
    code : BchCode, optional
        Of the codewords of pages that are written; needed where the parameters have an ``ftl``.

    Raises
    ------
    ValueError
        If the geometries differ, or the namespace leaves no spare blocks to a translation layer.
    """

    def __init__(
        self,
        kernel: Kernel,
        device_port: DevicePort,
        flash_port: FlashPort,
        parameters: FirmwareParameters,
        *,
        queues: Iterable[QueueRegisters] = (),
        costs: CostTable | None = None,
        code: BchCode | None = None,
    ) -> None:
        for unit in ("channels", "ways", "luns"):
            found, needed = getattr(flash_port, unit), getattr(parameters.striping, unit)
            if found != needed:
                raise ValueError(f"flash_port.{unit} must be the striping's {needed}, not {found}")
        env = kernel.env
        self.parameters = parameters
        self.counters = Counters()
        self.cores = Cores(kernel, parameters, costs)
        self.extents = ExtentMap(parameters.layout, parameters.striping)
        self.page_buffer = PageBuffer(
            env, parameters.layout, parameters.page_buffer_pages, parameters.page_buffer_policy
        )
        dram = Dram(kernel, parameters.dram_bytes_per_second)
        self._dma = DmaEngine(kernel, device_port, dram, parameters.dma)
        self._scheduler = scheduler = FlashScheduler(
            kernel,
            flash_port,
            parameters.layout,
            self.cores,
            dram,
            self.counters,
            read_retries=parameters.read_retries,
            order=parameters.flash_order,
        )
        self.layer: TranslationLayer | None = None
        if parameters.ftl is not None:
            if code is None:
                raise ValueError("code must be given for a device that can be written")
            self.layer = TranslationLayer(env, parameters, self.cores, scheduler, dram, code)
        jobs = Slots(env, "page jobs", parameters.page_jobs)
        places = None if self.layer is None else self.layer.places
        reading = self.cores, self.extents, places
        self.reader = PageReader(*reading, self.page_buffer, scheduler, jobs, self.counters)
        self.pointer_buffer = PageBuffer(
            env, parameters.layout, parameters.row_pointer_pages, parameters.page_buffer_policy
        )
        self._pointer_counters = Counters()
        pointers = PageReader(
            *reading, self.pointer_buffer, scheduler, jobs, self._pointer_counters
        )
        control_dma, result_dma, block_dma = (
            DmaOrders(env, self.cores, self._dma, task)
            for task in (Task.ISP_CONTROL, Task.WRITE_BACK, Task.BLOCK_IO)
        )
        common = parameters, self.cores
        self._generator = SubgraphGenerator(
            env, *common, control_dma, result_dma, self.reader, self.counters
        )
        self._rows = RowPointerReader(*common, pointers, self.counters)
        self._hops = HopChain(env, *common, control_dma, self._generator, self._rows)
        control = IspControl(*common, control_dma, self._generator, self._hops, self.counters)
        blocks = BlockIo(env, *common, block_dma, self.reader, self.counters)
        self._controller = NvmeController(
            env,
            self.cores,
            self._dma,
            device_port,
            parameters.nvme,
            self.counters,
            sampling=control.serve,
            reading=blocks.serve,
            writing=None if self.layer is None else self._writes(env, block_dma, blocks),
        )
        self._admin = AdminCommands(env, self.cores, self._dma, parameters, self._controller)
        self._controller.administer = self._admin.serve
        for registers in queues:
            self.attach_queue(registers)

    def _writes(self, env: Any, dma: DmaOrders, blocks: BlockIo) -> Handler:
        layer = self.layer
        assert layer is not None, "it is there"
        layout, places = self.parameters.layout, layer.places
        writes = BlockWrite(env, layout, self.cores, dma, blocks, self.reader, places, layer.store)
        return writes.serve

    def attach_queue(self, registers: QueueRegisters) -> None:
        """Serve one more queue pair from now on, as if made by admin commands; 0 is the admin's."""
        self._controller.attach(registers)

    def load_extent(self, first_page: int, pages: int) -> list[tuple[int, MapImage]]:
        """Tell the firmware of bulk-loaded logical pages, in no simulated time.

        Returns what must lie on flash beside them, by the first logical page: pages of the map,
        where the device has a translation layer.
        """
        if self.layer is not None:
            return self.layer.load(first_page, pages)
        self.extents.load(first_page, pages)
        return []

    def load_row_pointers(self, table: RowTable) -> None:
        """Put row pointers into the SSD's DRAM, in no simulated time; kept by reference."""
        self._rows.table = table

    def recover(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Find the map on flash again after a loss of power, before any command or extent."""
        if self.layer is None:
            raise ValueError("A device must have a translation layer to recover its map")
        return self.layer.recover(cause)

    def depths(self) -> dict[str, DepthLog]:
        """Depth of each queue over time, by name; of the subgraph buffer its bytes."""
        found = self._controller.depths()
        found |= {"commands": self._controller.slots.used} | self._scheduler.depths()
        for name, slots in (
            ("DMA descriptors", self._dma.slots),
            ("page jobs", self.reader.jobs),
            ("subgraph buffer", self._generator.room),
        ):
            found |= {name: slots.used, f"waiting for {name}": slots.waiting}
        return found

    def counts(self) -> dict[str, int]:
        """All counters by name, those of tables, cores and the page buffer included."""
        counts = dict(vars(self.counters))
        counts |= {
            "evictions": self.page_buffer.evictions,
            "hand_overs": self.page_buffer.hand_overs,
            "buffer_full_waits": self.page_buffer.full_waits,
            "page_job_waits": self.reader.jobs.waits,
            "subgraph_buffer_waits": self._generator.room.waits,
            "hop_target_waits": self._hops.room.waits,
            "command_slot_waits": self._controller.slots.waits,
            "completion_queue_waits": self._controller.completion_waits,
            "dma_slot_waits": self._dma.slots.waits,
        }
        found = vars(self._pointer_counters)
        counts |= {f"pointer_{name}": found[name] for name in POINTER_COUNTS}
        counts["pointer_evictions"] = self.pointer_buffer.evictions
        if self.layer is not None:
            counts |= self.layer.counts()
        for core in self.cores.cores:
            for name in ("steps", "polls", "waits", "ties", "busy_ps"):
                counts[f"{core.name}_{name}"] = getattr(core, name)
        return counts
