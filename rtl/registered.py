"""Registers at every port, so that a unit can be synthesised and timed out of context."""

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["RegisteredPorts"]


class RegisteredPorts(wiring.Component):
    """A unit all of whose ports come from, or go to, a flip-flop of the domain ``sync``.

    Every path of the unit is then one between registers, and its clock is all that limits it. The
    handshakes of streams no longer hold across the registers: this is for tools that look at the
    circuit, not for use.

    Parameters
    ----------
    unit : Component

    Members
    -------
    Those of the unit's signature, flattened: interfaces and members joined by two underscores, each
    a plain vector. A member that the unit holds constant (the ready of a sink that is always ready)
    is none.
    """

    def __init__(self, unit):
        self._unit = unit
        self._pairs = {}
        ports = {}
        for path, member, inner in unit.signature.flatten(unit):
            inner = Value.cast(inner)
            if not isinstance(inner, Const):
                name = "__".join(map(str, path))
                self._pairs[name] = inner
                ports[name] = member.flow(len(inner))
        super().__init__(ports)

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = self._unit
        for name, inner in self._pairs.items():
            port = getattr(self, name)
            if self.signature.members[name].flow is In:
                m.d.sync += inner.eq(port)
            else:
                m.d.sync += port.eq(inner)
        return m
