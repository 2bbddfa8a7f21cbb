"""The card's registers as the host reads them: one after the other, over PCIe."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from cosim.kernel import Kernel
from cosim.links import PcieLink
from rtl.contract.kernel import Cause

__all__ = ["REGISTER_BYTES", "CardRegisters"]

REGISTER_BYTES = 4
KIND = "card_registers"


class CardRegisters:
    """Registers of 32 bits behind a link.

    A read is not posted: its request goes down, a header alone, and the host waits until the
    completion with the value has come up.

    Parameters
    ----------
    kernel : Kernel
    link : PcieLink
        Between host and card.
    values : callable
        What the registers hold now, by name; always the same names.
    """

    def __init__(
        self, kernel: Kernel, link: PcieLink, values: Callable[[], Mapping[str, int]]
    ) -> None:
        self._kernel = kernel
        self._link = link
        self._values = values

    def read_all(self, cause: Cause) -> Generator[Any, Any, tuple[dict[str, int], Cause]]:
        """Read each register; a value is that of the moment at which its request arrives."""
        up, down = self._link.up, self._link.down
        found = {}
        for name in self._values():
            header = down.parameters.header_bytes
            cause = yield from down.occupy(0, header, cause, request=0, kind=KIND)
            cause = yield from down.fly(cause, request=0, kind=KIND)
            found[name] = self._values()[name]
            header = up.parameters.header_bytes
            cause = yield from up.occupy(REGISTER_BYTES, header, cause, request=0, kind=KIND)
            cause = yield from up.fly(cause, request=0, kind=KIND)
        return found, cause
