"""What a property is."""

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.lib.wiring import Component

__all__ = ["Property"]


@dataclass(frozen=True)
class Property:
    """A statement, and the circuit in which it is an assertion.

    ``make`` builds the circuit around ``design(...)``, which makes what is checked: the unmodified
    component by default, a broken one to see the property fail. ``mode`` is ``prove`` (induction:
    for all time), ``bmc`` (all behaviours of ``depth`` clocks from reset) or ``cover`` (some
    behaviour reaches the goal).
    """

    name: str
    statement: str
    mode: str
    depth: int
    make: Callable[..., Component]
    is_quick: bool = False
    """Part of the reduced form, which every run of the tests checks."""
