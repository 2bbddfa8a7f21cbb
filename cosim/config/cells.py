"""State of a platform's flash cells."""

from typing import Annotated

from pydantic import Field

from cosim.config.constant import Constant, NotNegative, Text
from cosim.config.part import Part
from cosim.config.quantities import Age, ErrorRate, Ratio, Share

__all__ = ["Cells"]

Word64 = Annotated[int, Field(ge=0, lt=2**64)]


class Cells(Part):
    """State of the flash cells, and what it does to their bits; see ``cosim.bit_errors``."""

    cycles: Constant[NotNegative]
    """Program and erase cycles of each block."""
    age: Constant[Age]
    """Since the pages were programmed."""
    fresh_rate: Constant[ErrorRate]
    """Wrong bits of cells without wear."""
    worn_rate: Constant[ErrorRate]
    """What 1000 cycles add at once."""
    aged_rate: Constant[ErrorRate]
    """What they add after 1000 hours, at read level 0."""
    cycles_exponent: Constant[Ratio]
    age_exponent: Constant[Ratio]
    level_shares: Constant[Text]
    """By read level, which part of the errors of age is left: shares, with commas between them."""
    die_spread: Constant[Share]
    """How far the rate of a die may be from that of the others."""
    seed: Constant[Word64]
