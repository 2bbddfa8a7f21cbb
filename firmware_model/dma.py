"""The DMA engine, and the DRAM whose bandwidth it shares with the flash channels."""

from collections.abc import Generator, Iterable
from typing import Any

from firmware_model.outcome import CommandError
from firmware_model.parameters import DmaParameters
from firmware_model.slots import Slots
from rtl.contract.kernel import BusError, Cause, DevicePort, Kernel
from rtl.contract.nvme import Status

__all__ = ["DmaEngine", "Dram", "split"]

PS_PER_SECOND = 10**12


def split(pieces: Iterable[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Cut (address, length) pieces so that none is longer than ``limit``."""
    return [
        (address + done, min(limit, length - done))
        for address, length in pieces
        for done in range(0, length, limit)
    ]


class Dram:
    """The SSD's DRAM: one transfer at a time, at its bandwidth.

    Transfers of flash data and of DMA data use it; loads of the cores are part of their steps.
    """

    def __init__(self, kernel: Kernel, bytes_per_second: int) -> None:
        self._resource = kernel.resource("ssd-dram")
        self._rate = bytes_per_second

    def move(
        self, stage: str, length: int, cause: Cause, *, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Write or read ``length`` bytes; ``stage`` says for whom."""
        duration_ps = -(-length * PS_PER_SECOND // self._rate)
        return self._resource.use(
            stage, duration_ps, cause, request=request, payload_bytes=length, kind=kind
        )


class DmaEngine:
    """Moves data between host memory (or a PCIe peer) and the SSD.

    A descriptor takes one of ``slots`` places for its whole life and the engine's sequencer for
    ``setup_ps``. Data goes through the SSD's DRAM; queue entries (``kind`` "sqe" and "cqe") go to
    and from the controller's own memory. Descriptors start in the order in which they are given.

    Its methods raise :class:`CommandError` with DATA_TRANSFER_ERROR where an address leads
    nowhere; the engine goes on.
    """

    def __init__(
        self, kernel: Kernel, port: DevicePort, dram: Dram, parameters: DmaParameters
    ) -> None:
        self.slots = Slots(kernel.env, "dma slots", parameters.slots)
        self.descriptor_bytes = parameters.descriptor_bytes
        self._env = kernel.env
        self._port = port
        self._dram = dram
        self._setup_ps = parameters.setup_ps
        self._sequencer = kernel.resource("dma")

    def read(
        self, address: int, length: int, cause: Cause, *, request: int = 0, kind: str
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Fetch ``length`` bytes with one descriptor."""
        cause = yield from self._begin(cause, request, kind)
        try:
            data, cause = yield from self._port.read(
                address, length, cause, request=request, kind=kind
            )
        except BusError as error:
            raise self._failed(cause) from error
        if kind != "sqe":
            cause = yield from self._dram.move(
                "dram.dma-in", length, cause, request=request, kind=kind
            )
        self.slots.release(cause)
        return data, cause

    def write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Send ``data`` with one descriptor; ends when the port has no more to do with it."""
        cause = yield from self._begin(cause, request, kind)
        if kind != "cqe":
            cause = yield from self._dram.move(
                "dram.dma-out", len(data), cause, request=request, kind=kind
            )
        try:
            cause = yield from self._port.write(address, data, cause, request=request, kind=kind)
        except BusError as error:
            raise self._failed(cause) from error
        self.slots.release(cause)
        return cause

    def _begin(self, cause: Cause, request: int, kind: str) -> Generator[Any, Any, Cause]:
        cause = yield from self.slots.acquire(cause)
        return (
            yield from self._sequencer.use(
                "dma.setup", self._setup_ps, cause, request=request, kind=kind
            )
        )

    def _failed(self, cause: Cause) -> CommandError:
        if cause.at_ps != self._env.now:
            raise RuntimeError(
                f"A bus error must be raised at once, at {cause.at_ps} ps, not at {self._env.now}"
            )
        self.slots.release(cause)
        return CommandError(Status.DATA_TRANSFER_ERROR, cause)
