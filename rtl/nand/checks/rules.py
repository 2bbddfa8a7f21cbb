"""What the parts of the bus checker share: one bit a rule, and ages of edges."""

from amaranth.hdl import Signal
from amaranth.lib import data

from rtl.contract.channel import STAMP_BITS
from rtl.contract.onfi import BusRule

__all__ = ["ALL_RULES", "age", "rule_bits", "rules_of", "stamp"]

ALL_RULES = tuple(BusRule)


def rules_of(part):
    """Rules that are watched on a channel of ``part``."""
    if part.suspend is not None or part.sdr is not None:
        return ALL_RULES
    beyond = BusRule.T_ADL if part.extended is None else BusRule.SUSPEND_ORDER
    return tuple(rule for rule in BusRule if rule < beyond)


def rule_bits(rules=ALL_RULES):
    """Layout of the rules that are broken in this clock; the bit of a rule is its number."""
    return data.StructLayout({"none": 1} | {rule.name.lower(): 1 for rule in rules})


LONG_AGO = 1 << STAMP_BITS - 1


def stamp(name):
    """Register of an edge number that is far in the past until it is first set."""
    return Signal(STAMP_BITS, name=name, init=LONG_AGO)


def age(now, edge):
    """Clocks from ``edge`` to ``now``."""
    return (now - edge)[:STAMP_BITS]
