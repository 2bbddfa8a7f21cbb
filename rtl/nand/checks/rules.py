"""What the parts of the bus checker share: one bit a rule, and ages of edges."""

from amaranth.hdl import Signal
from amaranth.lib import data

from rtl.contract.channel import STAMP_BITS
from rtl.contract.onfi import BusRule

__all__ = ["BROKEN", "age", "stamp"]

BROKEN = data.StructLayout({"none": 1} | {rule.name.lower(): 1 for rule in BusRule})
"""The rules broken in this clock; the bit of a rule is its number."""

LONG_AGO = 1 << STAMP_BITS - 1


def stamp(name):
    """Register of an edge number that is far in the past until it is first set."""
    return Signal(STAMP_BITS, name=name, init=LONG_AGO)


def age(now, edge):
    """Clocks from ``edge`` to ``now``."""
    return (now - edge)[:STAMP_BITS]
