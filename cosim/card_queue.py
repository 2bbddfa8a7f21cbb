"""NVMe queues that the FPGA card owns: entries in its own memory, doorbells peer to peer.

Hypothetical: today's SmartSSD has no such queue, since its host alone drives the SSD.
"""

from collections.abc import Generator
from typing import Any

import simpy

from cosim.host_memory import HostMemory
from cosim.links import DOORBELL_BYTES, DevicePort, Direction
from rtl.contract.kernel import CARD_QUEUE_BASE, Cause, Kernel

__all__ = ["CardQueueMemory", "CardQueuePort"]


class CardQueueMemory:
    """Queue entries and PRP lists in on-chip memory of the card, and the SSD's way to them.

    That memory is no part of the DRAM window, and takes no time of its own. A read of the SSD is
    requests on the way to the card, and completions back; a write is posted, as one to host memory.

    Parameters
    ----------
    to_card, to_ssd : Direction
        The two directions of the peer-to-peer path.

    Attributes
    ----------
    memory : HostMemory
        The bytes, from ``CARD_QUEUE_BASE`` on.
    arrivals : simpy.Store
        Cause of a completion entry's being there, one at a time as an interrupt would be pending.
    """

    def __init__(self, kernel: Kernel, to_card: Direction, to_ssd: Direction) -> None:
        self.memory = HostMemory(CARD_QUEUE_BASE, 2 * CARD_QUEUE_BASE)
        self.arrivals = simpy.Store(kernel.env)
        self._kernel = kernel
        self._to_card = to_card
        self._to_ssd = to_ssd

    def check(self, address: int, length: int) -> None:
        """As of the protocol ``cosim.peer.PeerQueues``."""
        self.memory.check(address, length)

    def read(
        self, address: int, length: int, request_bytes: int, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """DMA read of the SSD, whose requests are ``request_bytes``, headers all of them."""
        cause = yield from self._to_card.occupy(0, request_bytes, cause, request=request, kind=kind)
        cause = yield from self._to_card.fly(cause, request=request, kind=kind)
        data = self.memory.load(address, length)
        headers = self._to_ssd.parameters.write_overhead(length)
        cause = yield from self._to_ssd.occupy(length, headers, cause, request=request, kind=kind)
        cause = yield from self._to_ssd.fly(cause, request=request, kind=kind)
        return data, cause

    def write(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """DMA write of the SSD; returns when the last byte has left."""
        cause = yield from self._to_card.send(len(data), cause, request=request, kind=kind)
        self._kernel.env.process(self._arrive(address, data, cause, request, kind))
        return cause

    def _arrive(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, None]:
        cause = yield from self._to_card.fly(cause, request=request, kind=kind)
        self.memory.store(address, data)
        if not self.arrivals.items:
            self.arrivals.put(cause)

    def ring(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        """Bring a doorbell of the card to the SSD."""
        return self._to_ssd.write(DOORBELL_BYTES, cause, request=request, kind="doorbell")


class CardQueuePort:
    """The SSD as the card sees it, for a driver; see ``rtl.contract.kernel.HostPort``.

    In place of an interrupt is the arrival of an entry, which the card's logic sees at once.
    """

    def __init__(self, kernel: Kernel, queues: CardQueueMemory, device: DevicePort) -> None:
        self.memory = queues.memory
        self._kernel = kernel
        self._queues = queues
        self._device = device

    def doorbell(
        self, offset: int, value: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        self._kernel.env.process(self._doorbell(offset, value, cause, request))
        yield from ()
        return cause

    def _doorbell(
        self, offset: int, value: int, cause: Cause, request: int
    ) -> Generator[Any, Any, None]:
        cause = yield from self._queues.ring(cause, request)
        self._device.doorbells.put((offset, value, cause))

    def next_interrupt(self, vector: int = 0) -> Any:
        return self._queues.arrivals.get()
