"""A component that does something wrong at its ports."""

from amaranth.hdl import Const, Module, Value
from amaranth.lib import wiring

__all__ = ["Meddled"]


class Meddled(wiring.Component):
    """A component whose outputs ``meddle(m, inner, ours)`` may override before they leave."""

    def __init__(self, inner, meddle):
        self._inner = inner
        self._meddle = meddle
        super().__init__(inner.signature)

    @property
    def agree(self):
        return self._inner.agree

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = self._inner
        theirs = [value for _, _, value in self._inner.signature.flatten(self._inner)]
        for (_, member, ours), inner in zip(self.signature.flatten(self), theirs, strict=True):
            target, source = (inner, ours) if member.flow is wiring.In else (ours, inner)
            if not isinstance(Value.cast(target), Const):
                m.d.comb += Value.cast(target).eq(source)
        self._meddle(m, self._inner, self)
        return m
