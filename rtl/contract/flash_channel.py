"""One flash channel as it is set up: a part, its data interface, its clock, its ways, its pages."""

from dataclasses import dataclass

from rtl.contract.bus_times import Interface
from rtl.contract.page import PageLayout
from rtl.contract.part_description import PartDescription

__all__ = ["FlashChannel"]


@dataclass(frozen=True, kw_only=True)
class FlashChannel:
    """What the hardware of one channel is built from.

    Parameters
    ----------
    part : PartDescription
        Behind every way.
    ways : int
        Chip enables in use.
    layout : PageLayout
        Codewords of a page.
    interface, mode : Interface, int
        Data interface and timing mode of the bus.
    period_ps : int
        Of the controller's clock.
    phases : int, optional
        Transfers a clock of the PHY; else the most that the mode and the clock allow.

    Raises
    ------
    TypeError
        If the period is not a positive, even integer.
    ValueError
        If there are more ways than chip enables, the layout is of another page, the part does not
        run in the mode, or the clock cannot make it.
    """

    part: PartDescription
    ways: int
    layout: PageLayout
    interface: Interface
    mode: int
    period_ps: int
    phases: int | None = None

    def __post_init__(self):
        geometry = self.part.geometry
        if self.ways not in range(1, geometry.chip_enables + 1):
            raise ValueError(
                f"ways must be 1 to {geometry.chip_enables}, the chip enables of {self.part.name}, "
                f"not {self.ways!r}"
            )
        page = geometry.page_bytes, geometry.spare_bytes
        if (self.layout.page_bytes, self.layout.spare_bytes) != page:
            raise ValueError(
                f"page_bytes and spare_bytes must be the {page[0]} and {page[1]} of "
                f"{self.part.name}, not {self.layout.page_bytes} and {self.layout.spare_bytes}"
            )
        object.__setattr__(self, "phases", self.timing.phases)

    @property
    def timing(self):
        """Bus times in clocks."""
        return self.part.timing(self.interface, self.mode, self.period_ps, self.phases)
