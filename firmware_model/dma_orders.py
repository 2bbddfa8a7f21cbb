"""DMA as a task of the firmware orders it: a step before, and one that finds its end."""

from collections.abc import Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.dma import DmaEngine
from firmware_model.outcome import CommandError, Outcome
from firmware_model.parameters import Task
from rtl.contract.kernel import Cause
from rtl.contract.nvme import Status

__all__ = ["DmaOrders"]


class DmaOrders:
    """Descriptors that one task gives to the DMA engine and waits for.

    The engine says in a register that a descriptor has ended, well or not. The task's core finds
    that by a step ``dma_complete``; nothing that depends on the transfer goes on before its end.

    Parameters
    ----------
    env, cores, dma
        What the transfers run on.
    task : Task
    """

    def __init__(self, env: Any, cores: Cores, dma: DmaEngine, task: Task) -> None:
        self.descriptor_bytes = dma.descriptor_bytes
        self._env = env
        self._cores = cores
        self._dma = dma
        self._task = task

    def fetch(
        self,
        address: int,
        length: int,
        cause: Cause,
        *,
        request: int = 0,
        kind: str,
        routine: str = "dma_setup",
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Order a read by a step ``routine``, and wait until the core knows of its end.

        Raises
        ------
        CommandError
            DATA_TRANSFER_ERROR where the address leads nowhere.
        """
        cause = yield from self._cores.run(self._task, routine, cause, request=request)
        try:
            data, cause = yield from self._dma.read(
                address, length, cause, request=request, kind=kind
            )
        except CommandError as error:
            cause = yield from self._complete(error.cause, request)
            raise CommandError(error.status, cause) from error
        cause = yield from self._complete(cause, request)
        return data, cause

    def start_read(
        self,
        address: int,
        into: bytearray,
        first: int,
        length: int,
        cause: Cause,
        *,
        request: int = 0,
        kind: str,
    ) -> Any:
        """Begin a read whose descriptor is set up; a process whose value is an Outcome.

        The bytes are in ``into`` from ``first`` on, once it has ended well.
        """
        return self._env.process(self._read(address, into, first, length, cause, request, kind))

    def _read(
        self,
        address: int,
        into: bytearray,
        first: int,
        length: int,
        cause: Cause,
        request: int,
        kind: str,
    ) -> Generator[Any, Any, Outcome]:
        status = Status.SUCCESS
        try:
            data, cause = yield from self._dma.read(
                address, length, cause, request=request, kind=kind
            )
            into[first : first + length] = data
        except CommandError as error:
            status, cause = error.status, error.cause
        cause = yield from self._complete(cause, request)
        return Outcome(cause, status)

    def start_write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str
    ) -> Any:
        """Begin a write whose descriptor is set up; a process whose value is an Outcome."""
        return self._env.process(self._write(address, data, cause, request, kind))

    def _write(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Outcome]:
        try:
            outcome = Outcome(
                (yield from self._dma.write(address, data, cause, request=request, kind=kind))
            )
        except CommandError as error:
            outcome = Outcome(error.cause, error.status)
        cause = yield from self._complete(outcome.cause, request)
        return Outcome(cause, outcome.status)

    def _complete(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        return self._cores.run(self._task, "dma_complete", cause, request=request)
