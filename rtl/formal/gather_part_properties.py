"""Properties of parts of the gather unit, each part for itself between free neighbours."""

from rtl.formal.gather_abort import ControlCheck, PickerCheck
from rtl.formal.property import Property
from rtl.gather.control import LaunchControl
from rtl.gather.positions import Picker

__all__ = ["GATHER_PART_PROPERTIES"]

PICKER_CLOCKS = 4
"""A longest job of the check, and a clock more."""


def _picker(design=Picker):
    return PickerCheck(design(), settle=PICKER_CLOCKS)


def _control(design=LaunchControl):
    return ControlCheck(design())


GATHER_PART_PROPERTIES = (
    Property(
        "gather-picker-ends",
        "the picker gives each job its words and one end; given up, a job ends with the word on "
        "offer, an explicit one with its last position",
        "bmc",
        12,
        _picker,
    ),
    Property(
        "gather-launch-ends",
        "a launch ends once, in the clock after its last word has left and nothing given up is on "
        "the bus, ABORTED if it was given up before that word",
        "bmc",
        12,
        _control,
    ),
)
