"""A background load beside a system: another process of the host on a queue pair of its own."""

from collections.abc import Mapping, Sequence

from cosim.config.background import area_first, trace_commands
from cosim.config.build import host_costs, page_layout, queue_registers
from cosim.config.model import Platforms, System
from cosim.kernel import Kernel
from cosim.links import HostPort
from cosim.medium import IdArray
from firmware_model.parameters import QueueRegisters
from host.background import BackgroundLoad, BackgroundParameters, Load
from host.background_trace import TraceLoad
from host.costs import HostCpu
from host.driver import NvmeDriver
from host.formats.mqsim import BlockRequest

__all__ = ["background_load"]

QUEUE, VECTOR = 2, 1
CPU = "host-background"


def background_load(
    kernel: Kernel,
    port: HostPort,
    platforms: Platforms,
    system: System,
    ids: IdArray,
    requests: Mapping[str, Sequence[BlockRequest]],
) -> tuple[Load, QueueRegisters]:
    """The load of ``system``, which has not begun, and its queues for the device.

    ``ids`` are on flash from 0, ``requests`` those of traces by the names of systems.
    """
    ssd, load = platforms.ssd, system.background
    assert load is not None, "there is one"
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
    if load.trace is not None:
        commands = trace_commands(ssd, load, ids.length_bytes, requests[system.name])
        replay = TraceLoad(kernel, driver, commands, lba_bytes, ids.read, seed=load.seed)
        return replay, registers
    parameters = BackgroundParameters(
        reads_in_flight=load.reads_in_flight,
        writes_in_flight=load.writes_in_flight,
        blocks=(load.size or 0) // lba_bytes,
        lba_bytes=lba_bytes,
        extent_blocks=ids.length_bytes // lba_bytes,
        area_first=area_first(layout, ids.length_bytes),
        area_blocks=(load.write_area or 0) // lba_bytes,
        seed=load.seed,
    )
    return BackgroundLoad(kernel, driver, parameters, ids.read), registers
