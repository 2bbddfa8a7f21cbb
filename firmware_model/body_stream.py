"""The body of an NS_config as one stream of bytes, fetched by DMA ahead of its parsing."""

from collections import deque
from collections.abc import Generator, Sequence
from typing import Any

from firmware_model.dma_orders import DmaOrders
from firmware_model.outcome import CommandError, Outcome, Stop
from rtl.contract.kernel import Cause, latest
from rtl.contract.nvme import Status

__all__ = ["BodyStream"]


class BodyStream:
    """Pieces of host memory, each one DMA descriptor, at most ``ahead`` of them not yet used.

    Parameters
    ----------
    env, dma
        What the fetches run on; ``dma`` is that of the task that parses.
    pieces : sequence of (address, length)
        In the order of the stream.
    ahead : int
    request : int
    stop : Stop
        Looked at with each piece that has come.
    """

    def __init__(
        self,
        env: Any,
        dma: DmaOrders,
        pieces: Sequence[tuple[int, int]],
        ahead: int,
        request: int,
        stop: Stop,
    ) -> None:
        self.left = sum(length for _, length in pieces)
        """Bytes not yet taken."""
        self._env = env
        self._dma = dma
        self._pieces = deque(pieces)
        self._ahead = ahead
        self._request = request
        self._stop = stop
        self._flying: deque[Any] = deque()
        self._rest = b""

    def take(self, length: int, cause: Cause) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Next ``length`` bytes, waiting for their DMA.

        Raises
        ------
        CommandError
            NS_CONFIG_LENGTH if there are not so many left, that of a failed DMA, or of the stop.
        """
        if length > self.left:
            raise CommandError(Status.NS_CONFIG_LENGTH, cause)
        while len(self._rest) < length:
            self._launch(cause)
            data, outcome = yield self._flying.popleft()
            cause = latest([cause, outcome.cause])
            if outcome.status != Status.SUCCESS:
                raise CommandError(outcome.status, cause)
            self._stop.check(cause)
            self._rest += data
            self._launch(cause)
        taken, self._rest = self._rest[:length], self._rest[length:]
        self.left -= length
        return taken, cause

    def drain(self, cause: Cause) -> Generator[Any, Any, Cause]:
        """Let the fetches in flight end; the stream is given up."""
        while self._flying:
            _, outcome = yield self._flying.popleft()
            cause = latest([cause, outcome.cause])
        return cause

    def _launch(self, cause: Cause) -> None:
        while self._pieces and len(self._flying) < self._ahead:
            address, length = self._pieces.popleft()
            self._flying.append(self._env.process(self._fetch(address, length, cause)))

    def _fetch(
        self, address: int, length: int, cause: Cause
    ) -> Generator[Any, Any, tuple[bytes, Outcome]]:
        try:
            data, cause = yield from self._dma.fetch(
                address, length, cause, request=self._request, kind="ns_config"
            )
        except CommandError as error:
            return b"", Outcome(error.cause, error.status)
        return data, Outcome(cause)
