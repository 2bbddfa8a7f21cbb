"""Ports of a block as fields of two words: what goes in, and what was seen to come out."""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["PERIOD_PS", "Broken", "Driver", "Wires"]

PERIOD_PS = 4000
"""Of the clock that blocks are judged with."""


class Broken(Exception):
    """A block did what it must not do, or did not do what it must; the message says what."""


class Driver(Protocol):
    """A block in some simulator."""

    async def step(self, inputs: int) -> tuple[int, int]:
        """Pass a clock edge, apply ``inputs``, and tell the outputs and which of them are X."""
        ...


class Wires:
    """Inputs as they are now, and outputs in the same clock cycle.

    Parameters
    ----------
    ports : mapping
        Name -> (whether it is an input, width), without the clock. Inputs are one word and outputs
        another, in this order, the first lowest.
    """

    def __init__(self, ports: Mapping[str, tuple[bool, int]]) -> None:
        self.inputs = 0
        """All inputs as one word, as they will be after the next edge."""
        self._places: dict[str, tuple[bool, int, int]] = {}
        self._widths = {True: 0, False: 0}
        for name, (is_input, bits) in ports.items():
            self._places[name] = (is_input, self._widths[is_input], (1 << bits) - 1)
            self._widths[is_input] += bits
        self._applied = self._outputs = self._unknown = 0

    @property
    def input_bits(self) -> int:
        return self._widths[True]

    @property
    def output_bits(self) -> int:
        return self._widths[False]

    def put(self, name: str, value: int) -> None:
        """Set an input, from the next edge on."""
        _, shift, mask = self._places[name]
        if not 0 <= value <= mask:
            raise ValueError(f"{name} must hold its value, not {value:#x}")
        self.inputs = self.inputs & ~(mask << shift) | value << shift

    def __getitem__(self, name: str) -> int:
        """A port in this cycle; bits that are X are 0."""
        is_input, shift, mask = self._places[name]
        return (self._applied if is_input else self._outputs) >> shift & mask

    def is_known(self, name: str) -> bool:
        """Whether no bit of an output is X."""
        _, shift, mask = self._places[name]
        return not self._unknown >> shift & mask

    async def step(self, driver: Driver) -> None:
        """Go on to the next cycle."""
        self._applied = self.inputs
        self._outputs, self._unknown = await driver.step(self.inputs)
