"""The card's DRAM as times alone, for measurements of the way to it without any RTL."""

from collections.abc import Generator
from typing import Any

from cosim.fpga_card import CardWindow
from cosim.kernel import Kernel
from rtl.contract.dram import ACCESS_BYTES, DramTimes
from rtl.contract.kernel import Cause

__all__ = ["TimedCard"]


class TimedCard(CardWindow):
    """A window of DRAM whose data bus takes one piece after the other, each with the row opened.

    Refresh, and a row that another one must leave first, are not there; gathers are not, either.

    Parameters
    ----------
    kernel : Kernel
    times : DramTimes
        The DRAM.
    window_bytes : int
        A multiple of 4 KiB.

    Attributes
    ----------
    memory
        What has arrived.
    """

    def __init__(self, kernel: Kernel, times: DramTimes, window_bytes: int) -> None:
        self.memory = bytearray(window_bytes)
        self._env = kernel.env
        self._bus = kernel.resource("card.dram")
        self._times = times
        super().__init__(kernel, self, window_bytes=window_bytes)

    def stage(self, address: int, data: bytes, cause: Cause, *, request: int = 0) -> Any:
        """As :meth:`cosim.fpga_card.GatherPort.stage`."""
        return self._env.process(self._stage(address, data, cause, request))

    def _stage(
        self, address: int, data: bytes, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        times = self._times
        accesses = len(data) // ACCESS_BYTES
        cause = yield from self._bus.use(
            "card.stage",
            times.t_rcd_ps + times.t_cwl_ps + accesses * times.t_beat_ps,
            cause,
            request=request,
            payload_bytes=len(data),
            kind="data",
        )
        self.memory[address : address + len(data)] = data
        return cause

    def launch(self, descriptor_address: int, count: int, cause: Cause, *, request: int = 0) -> Any:
        """There is no gather unit here."""
        raise NotImplementedError

    def abort(self) -> None:
        """There is no gather unit here."""
        raise NotImplementedError
