"""What the hypothetical hop sequencer on an FPGA card costs, and what it holds."""

from cosim.config.constant import Constant
from cosim.config.part import Part
from cosim.config.quantities import Size, Time

__all__ = ["HopLogic"]


class HopLogic(Part):
    """Hypothetical: a sequencer on the card that goes from hop to hop, of systems that have it."""

    command: Constant[Time]
    """One NVMe command: its entry, PRP list and doorbell."""
    completion: Constant[Time]
    """One completion entry."""
    target: Constant[Time]
    """One descriptor: key, list address and degree."""
    id: Constant[Time]
    """One node into the frontier, or out of it to its row pointers, or these back."""
    launch: Constant[Time]
    """One launch of the gather unit."""
    frontier: Constant[Size]
    """On-chip memory for the nodes of a hop, 8 bytes each."""
