"""All counters of a system's run in one place."""

from typing import TYPE_CHECKING

from cosim.config.model import FpgaCsd
from cosim.units.counters import unit_counters
from host.fpga_csd import FpgaCsdHost

if TYPE_CHECKING:
    from cosim.systems.machine import Machine

__all__ = ["machine_counters"]


def machine_counters(machine: "Machine") -> dict[str, int]:
    """Every count that host, firmware, kernel and RTL kept, by name."""
    counts = {f"firmware.{name}": count for name, count in machine.device.counts().items()}
    counts["driver.submitted"] = machine.driver.submitted
    counts["driver.interrupts"] = machine.driver.interrupts
    counts["driver.full_waits"] = machine.driver.full_waits
    counts["medium.sensed"] = machine.medium.sensed
    counts["medium.bit_errors"] = machine.medium.bit_errors
    counts["lockstep.rtl_ties"] = machine.lockstep.rtl_ties
    counts["lockstep.kernel_ties"] = machine.lockstep.kernel_ties
    counts["channel.hand_over_waits"] = machine.flash.hand_over_waits
    for resource in machine.kernel.resources:
        counts[f"{resource.name}.waits"] = resource.waits
    if isinstance(machine.host, FpgaCsdHost):
        counts["host.reads"] = machine.host.reads
        counts["host.read_waits"] = machine.host.read_waits
        counts["host.rounds"] = machine.host.rounds
    if machine.hops is not None:
        counts |= machine.hops.counts()
    if machine.gather is not None:
        counts["gather.stage_waits"] = machine.gather.stage_waits
        counts["gather.launch_waits"] = machine.gather.launch_waits
        counts["gather.hand_over_waits"] = machine.gather.hand_over_waits
        if machine.gather.rings is not None:
            counts["gather.ring_runs"] = machine.gather.rings.runs
            counts["gather.ring_writes"] = machine.gather.rings.writes
    if machine.background is not None:
        for name in ("reads", "writes", "read_latency_ps", "write_latency_ps"):
            counts[f"background.{name}"] = getattr(machine.background, name)
    counts |= unit_counters(
        machine.engine,
        own_gather=isinstance(machine.system, FpgaCsd) and machine.system.gather is not None,
        own_channel=machine.system.flash_channel is not None,
    )
    read = {f"gather.{name}": count for name, count in machine.registers.items()}
    return counts | {name: count for name, count in read.items() if name in counts}
