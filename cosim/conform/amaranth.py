"""A block in Amaranth's simulator, for conformance runs without an HDL simulator."""

from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.hdl import ResetInserter, Signal, Value
from amaranth.sim import Simulator

from cosim.conform.wires import PERIOD_PS
from rtl.block import ports

__all__ = ["simulate"]


class AmaranthDriver:
    """The ports of a component, whose reset is not one of them but is obeyed all the same."""

    def __init__(self, context: Any, component: Any, reset: Any) -> None:
        self._context = context
        shapes = ports(component.signature)
        del shapes["clk"], shapes["rst"]
        self._inputs = [(reset, 1)]
        self._outputs: list[tuple[Any, int]] = []
        for path, _, value in component.signature.flatten(component):
            is_input, bits = shapes["__".join(path)]
            (self._inputs if is_input else self._outputs).append((Value.cast(value), bits))
        self._applied: int | None = None
        self._steps = 0

    def now_ps(self) -> int:
        """Simulated time."""
        return self._steps * PERIOD_PS

    async def step(self, inputs: int) -> tuple[int, int]:
        """As in the protocol; nothing is ever X here."""
        await self._context.tick()
        self._steps += 1
        self._apply(inputs)
        word = shift = 0
        for value, bits in self._outputs:
            word |= (int(self._context.get(value)) & (1 << bits) - 1) << shift
            shift += bits
        return word, 0

    def _apply(self, inputs: int) -> None:
        changed = -1 if self._applied is None else inputs ^ self._applied
        self._applied = inputs
        shift = 0
        for value, bits in self._inputs:
            if changed >> shift & (1 << bits) - 1:
                self._context.set(value, inputs >> shift & (1 << bits) - 1)
            shift += bits


def simulate(component: Any, job: Callable[[AmaranthDriver], Awaitable[None]]) -> None:
    """Run ``job`` with a driver of ``component``, one with flat ports, to its end."""
    reset = Signal()
    simulator = Simulator(ResetInserter(reset)(component))
    simulator.add_clock(PERIOD_PS * 1e-12)

    async def bench(context: Any) -> None:
        await job(AmaranthDriver(context, component, reset))

    simulator.add_testbench(bench)
    simulator.run()
