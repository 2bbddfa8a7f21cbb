"""Properties of parts of the gather unit, each part for itself between free neighbours."""

from rtl.formal.gather_abort import PickerCheck
from rtl.formal.property import Property
from rtl.gather.positions import Picker

__all__ = ["GATHER_PART_PROPERTIES"]

PICKER_CLOCKS = 4
"""A longest job of the check, and a clock more."""


def _picker(design=Picker):
    return PickerCheck(design(), settle=PICKER_CLOCKS)


GATHER_PART_PROPERTIES = (
    Property(
        "gather-picker-ends",
        "the picker gives each job its words and one end; given up, a job ends with the word on "
        "offer, an explicit one with its last position",
        "bmc",
        12,
        _picker,
    ),
)
