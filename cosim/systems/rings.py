"""The descriptor rings of a system's card."""

from cosim.config.build import dram_times
from cosim.config.platform import FpgaPlatform
from cosim.kernel import Kernel
from cosim.links import PcieLink
from cosim.ring_card import RingCard
from cosim.units.gather import GatherPort
from cosim.units.gather_rings import RingMemory
from host.costs import HostCpu

__all__ = ["RINGS", "RING_MEMORY", "ring_card"]

RINGS = 1
"""A card has one, since there is one worker."""

RING_MEMORY = RingMemory(launch_bytes=1 << 20, ring_bytes=1 << 20)
"""As the gather unit is made."""


def ring_card(
    kernel: Kernel, fpga: FpgaPlatform, link: PcieLink, cpu: HostCpu, gather: GatherPort
) -> RingCard:
    """The host's hold on the rings of ``gather``, a unit with rings."""
    assert gather.rings is not None
    times = dram_times(fpga)
    return RingCard(
        kernel,
        link,
        cpu,
        gather.rings,
        launch_ps=fpga.kernel_launch.value,
        # Another row of the bank is open: what one access alone takes at most.
        entry_read_ps=times.t_controller_ps + times.t_rp_ps + times.access_ps,
    )
