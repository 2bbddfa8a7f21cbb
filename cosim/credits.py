"""Flow control of PCIe: what may be on its way before the other end has taken what came before.

Ref: PCI Express Base Specification 3.1, 2.6.1 (flow control: a credit for each header, and one for
each 16 bytes of data, both given back as the receiver takes packets).
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from cosim.kernel import Kernel
from rtl.contract.kernel import Cause

__all__ = ["CREDIT_BYTES", "PostedCredits", "ReadWindow"]

CREDIT_BYTES = 16


class PostedCredits:
    """Credits for posted writes in one direction of a link.

    A packet takes a header's credit and its data's, and gives them back a round trip after its last
    byte has left: it flies, is taken, and word of that flies back.

    Parameters
    ----------
    kernel : Kernel
    name : str
        What statistics call it.
    headers, data_bytes : int
        What the receiver has room for.
    latency_ps : int
        Of the link, one way.

    Attributes
    ----------
    waits
        Packets that had to wait.
    """

    def __init__(
        self, kernel: Kernel, name: str, *, headers: int, data_bytes: int, latency_ps: int
    ) -> None:
        self.name = name
        self.waits = 0
        self._free_headers = headers
        self._free_data = data_bytes // CREDIT_BYTES
        self._round_trip_ps = 2 * latency_ps
        self._returns: deque[tuple[int, int]] = deque()
        kernel.resources.append(self)

    def send(
        self, start_ps: int, packets: Iterable[int], sent_ps: Callable[[int], int], header: int
    ) -> int:
        """Send packets one after the other from ``start_ps`` on; returns when the last has left.

        Parameters
        ----------
        start_ps : int
            When the wire is free for them; not before that of an earlier call.
        packets : iterable of int
            Bytes of data of each.
        sent_ps : callable
            Time on the wire of so many bytes.
        header : int
            Bytes of a packet beside its data.
        """
        sent, stalled_ps = 0, 0
        for size in packets:
            need = -(-size // CREDIT_BYTES)
            now_ps = start_ps + stalled_ps + sent_ps(sent)
            ready_ps = self._take(now_ps, need)
            stalled_ps += ready_ps - now_ps
            self.waits += ready_ps > now_ps
            sent += size + header
            left_ps = start_ps + stalled_ps + sent_ps(sent)
            self._returns.append((left_ps + self._round_trip_ps, need))
        return start_ps + stalled_ps + sent_ps(sent)

    def _take(self, now_ps: int, need: int) -> int:
        """Take the credits of a packet; returns when they are there, ``now_ps`` or later."""
        while self._returns and self._returns[0][0] <= now_ps:
            self._give_back()
        while not self._free_headers or self._free_data < need:
            now_ps = self._returns[0][0]
            self._give_back()
        self._free_headers -= 1
        self._free_data -= need
        return now_ps

    def _give_back(self) -> None:
        _, data = self._returns.popleft()
        self._free_headers += 1
        self._free_data += data


class ReadWindow:
    """Bytes that a device may have asked for and not received: its room for completions.

    First come, first served. An endpoint gives no credits for completions: it asks for no more than
    it has room for (2.6.1).

    Attributes
    ----------
    size_bytes
        The room.
    waits
        Reads that had to wait.
    """

    def __init__(self, kernel: Kernel, name: str, size_bytes: int) -> None:
        self.name = name
        self.size_bytes = size_bytes
        self.waits = 0
        self._env = kernel.env
        self._free = size_bytes
        self._waiting: deque[tuple[int, Any]] = deque()
        kernel.resources.append(self)

    def acquire(self, length: int, cause: Cause) -> Generator[Any, Any, Cause]:
        """Take room for ``length`` bytes, at most all; returns ``cause``, or what gave it back."""
        if not self._waiting and self._free >= length:
            self._free -= length
            return cause
        self.waits += 1
        event = self._env.event()
        self._waiting.append((length, event))
        released: Cause = yield event
        return released

    def release(self, length: int, cause: Cause) -> None:
        """Give room back; ``cause`` (now) is what did it."""
        self._free += length
        while self._waiting and self._waiting[0][0] <= self._free:
            wanted, event = self._waiting.popleft()
            self._free -= wanted
            event.succeed(cause)
