"""A component all of whose inputs are free, and a claim about it."""

from amaranth.hdl import ClockDomain, ClockSignal, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["FreeCheck"]


class FreeCheck(wiring.Component):
    """Any input at any clock, whether its protocol allows it or not.

    Parameters
    ----------
    component : Component
        What is checked.
    claim : callable
        ``claim(m, component)`` adds what must hold.

    Members
    -------
    clk : In(1)
        Clock.
    Inputs of the component, flattened: interfaces and members joined by two underscores.
    """

    def __init__(self, component, claim):
        self._component = component
        self._claim = claim
        self._inner = {
            "__".join(map(str, path)): Value.cast(value)
            for path, member, value in component.signature.flatten(component)
            if member.flow is In and not isinstance(Value.cast(value), Const)
        }
        super().__init__({"clk": In(1)} | {name: In(len(v)) for name, v in self._inner.items()})

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.component = self._component
        m.d.comb += ClockSignal().eq(self.clk)
        m.d.comb += [inner.eq(getattr(self, name)) for name, inner in self._inner.items()]
        self._claim(m, self._component)
        return m
