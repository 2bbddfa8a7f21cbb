"""A background load beside a system: another process of the host on a queue pair of its own."""

from cosim.config.build import host_costs, page_layout, queue_registers
from cosim.config.model import Background, Platforms
from cosim.kernel import Kernel
from cosim.links import HostPort
from cosim.medium import IdArray
from firmware_model.parameters import QueueRegisters
from host.background import BackgroundLoad, BackgroundParameters
from host.costs import HostCpu
from host.driver import NvmeDriver

__all__ = ["background_load"]

QUEUE, VECTOR = 2, 1
CPU = "host-background"


def background_load(
    kernel: Kernel, port: HostPort, platforms: Platforms, load: Background, ids: IdArray
) -> tuple[BackgroundLoad, QueueRegisters]:
    """The load, which has not begun, and its queues for the device; ``ids`` are on flash from 0."""
    ssd = platforms.ssd
    driver = NvmeDriver(
        kernel,
        port,
        HostCpu(kernel, host_costs(platforms.host), CPU),
        depth=ssd.nvme.queue_entries.value,
        queue=QUEUE,
        vector=VECTOR,
    )
    registers = queue_registers(
        ssd,
        number=QUEUE,
        submission=driver.sq_address,
        completion=driver.cq_address,
        vector=VECTOR,
    )
    layout = page_layout(ssd)
    lba_bytes = layout.lba_bytes
    parameters = BackgroundParameters(
        reads_in_flight=load.reads_in_flight,
        writes_in_flight=load.writes_in_flight,
        blocks=load.size // lba_bytes,
        lba_bytes=lba_bytes,
        extent_blocks=ids.length_bytes // lba_bytes,
        area_first=-(-ids.length_bytes // layout.page_bytes) * layout.lbas,
        area_blocks=(load.write_area or 0) // lba_bytes,
        seed=load.seed,
    )
    return BackgroundLoad(kernel, driver, parameters, ids.read), registers
