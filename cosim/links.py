"""PCIe links between host, SSD and FPGA card, and the ports that stand on them.

A link has two directions, each a resource that one packet stream holds at a time. Moving n bytes
takes ceil(n / max payload) packets, each with its header, at the link's rate, and as soon as the
receiver has room for each (:mod:`cosim.credits`); then the bytes fly for the link's latency, which
holds nothing. So a transfer is two spans: the direction's own (stage
and unit ``pcie.ssd.up``, ``pcie.ssd.down``, ...) and the flight (stage ``pcie.ssd.latency``, unit
``pcie.ssd.up.flight``, ...). The packets of one transfer are not interleaved with another's.
"""

from collections.abc import Generator
from typing import Any

import simpy

from cosim.credits import PostedCredits, ReadWindow
from cosim.host_memory import HostMemory
from cosim.kernel import CausalResource, Kernel
from cosim.link_parameters import LinkParameters, WireParameters
from cosim.peer import CardMemory, PeerQueues
from rtl.contract.kernel import CARD_QUEUE_BASE, P2P_BASE, BusError, Cause

__all__ = [
    "DOORBELL_BYTES",
    "DevicePort",
    "Direction",
    "HostPort",
    "PcieLink",
]

DOORBELL_BYTES = 4
INTERRUPT_BYTES = 4
"""An MSI-X message is a posted write of one 32-bit word."""


class Direction:
    """One direction of a link: first come, first served, in order.

    Parameters
    ----------
    link : str
        Name of the link, for the flight's stage: ``pcie.ssd``.
    name : str
        Name of this direction: ``pcie.ssd.up``.
    shares : Direction, optional
        Another direction whose packets leave by the same port: they take turns on one wire.
    """

    def __init__(
        self,
        kernel: Kernel,
        parameters: WireParameters,
        link: str,
        name: str,
        *,
        shares: "Direction | None" = None,
    ) -> None:
        self.parameters = parameters
        self.name = name
        self._kernel = kernel
        self._wire: CausalResource = (
            CausalResource(kernel, name) if shares is None else shares._wire
        )
        self._latency_stage = f"{link}.latency"
        self._credits = PostedCredits(
            kernel,
            f"{name}.credits",
            headers=parameters.posted_headers,
            data_bytes=parameters.posted_data_bytes,
            latency_ps=parameters.latency_ps,
        )

    def occupy(
        self, payload_bytes: int, overhead_bytes: int, cause: Cause, *, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Hold the wire for that many bytes; returns as the last one leaves."""
        return self._wire.use(
            self.name,
            self.parameters.duration_ps(payload_bytes + overhead_bytes),
            cause,
            request=request,
            payload_bytes=payload_bytes,
            overhead_bytes=overhead_bytes,
            kind=kind,
            unit=self.name,
        )

    def send(
        self, length: int, cause: Cause, *, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Posted write of ``length`` bytes; returns as the last one leaves.

        The wire is held while a packet waits for credits, too.
        """
        parameters = self.parameters

        def held_ps(start_ps: int) -> int:
            end_ps = self._credits.send(
                start_ps,
                parameters.packets(length),
                parameters.duration_ps,
                parameters.header_bytes,
            )
            return end_ps - start_ps

        return self._wire.use(
            self.name,
            held_ps,
            cause,
            request=request,
            payload_bytes=length,
            overhead_bytes=parameters.write_overhead(length),
            kind=kind,
            unit=self.name,
        )

    def fly(self, cause: Cause, *, request: int, kind: str) -> Generator[Any, Any, Cause]:
        """From the last byte's leaving to its effect at the other end."""
        start_ps = int(self._kernel.env.now)
        yield self._kernel.env.timeout(self.parameters.latency_ps)
        return self._kernel.record(
            f"{self.name}.flight",
            self._latency_stage,
            start_ps,
            int(self._kernel.env.now),
            cause,
            request=request,
            kind=kind,
        )

    def write(
        self, length: int, cause: Cause, *, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Posted write of ``length`` bytes; returns when it has taken effect."""
        cause = yield from self.send(length, cause, request=request, kind=kind)
        return (yield from self.fly(cause, request=request, kind=kind))


class PcieLink:
    """A full-duplex link; ``up`` leads to the host, ``down`` (by default like it) to the device."""

    def __init__(
        self, kernel: Kernel, name: str, up: WireParameters, down: WireParameters | None = None
    ) -> None:
        self.up = Direction(kernel, up, name, f"{name}.up")
        self.down = Direction(kernel, up if down is None else down, name, f"{name}.down")


class DevicePort:
    """The PCIe world as the SSD sees it; see ``rtl.contract.kernel.DevicePort``.

    An address is checked before anything is sent, so that a :exc:`BusError` costs no time. A read
    sends all of its requests, then its completions come down in one piece; one that is larger than
    the device's room for completions is several, one after the other. The SSD knows of a
    posted write only that it has left; that completion entries follow data, and interrupts follow
    entries, is the link's order. Data for the card goes another way, so the SSD waits for the
    card's acknowledgement (a read of no length behind the data) before it completes the command.

    Parameters
    ----------
    link : PcieLink
        Between SSD and host, of :class:`LinkParameters`.
    memory : HostMemory
        Below ``P2P_BASE``.
    peer : Direction, optional
        The way of peer-to-peer writes, from SSD to card.
    card : CardMemory, optional
        At ``P2P_BASE`` and above; given exactly if ``peer`` is.
    queues : PeerQueues, optional
        At ``CARD_QUEUE_BASE`` and above.
    """

    def __init__(
        self,
        kernel: Kernel,
        link: PcieLink,
        memory: HostMemory,
        *,
        peer: Direction | None = None,
        card: CardMemory | None = None,
        queues: PeerQueues | None = None,
    ) -> None:
        if (peer is None) != (card is None):
            raise ValueError("peer and card must be given together, not one of them alone")
        if not isinstance(link.up.parameters, LinkParameters):
            raise ValueError(f"link must have LinkParameters, not {link.up.parameters!r}")
        self.doorbells = simpy.Store(kernel.env)
        """Doorbell writes that have arrived."""
        self._pending: dict[int, simpy.Store] = {}
        self.coalesced = 0
        """Interrupts that came while one was pending."""
        self._kernel = kernel
        self._link = link
        self._reads = link.up.parameters
        self._window = ReadWindow(kernel, "pcie.ssd.read-window", self._reads.read_window_bytes)
        self._memory = memory
        self._peer = peer
        self._card = card
        self._queues = queues

    def _queues_at(self, address: int) -> PeerQueues | None:
        return self._queues if address >= CARD_QUEUE_BASE else None

    def read(
        self, address: int, length: int, cause: Cause, *, request: int = 0, kind: str = "data"
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        _check_length(length)
        queues = self._queues_at(address)
        (self._memory if queues is None else queues).check(address, length)
        most, pieces = self._window.size_bytes, []
        for start in range(0, length, most):
            piece = min(most, length - start)
            cause = yield from self._window.acquire(piece, cause)
            data, cause = yield from self._read(address + start, piece, cause, request, kind)
            self._window.release(piece, cause)
            pieces.append(data)
        return b"".join(pieces), cause

    def _read(
        self, address: int, length: int, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        up, down = self._link.up, self._link.down
        asked = self._reads.request_overhead(length)
        queues = self._queues_at(address)
        if queues is not None:
            return (yield from queues.read(address, length, asked, cause, request, kind))
        cause = yield from up.occupy(0, asked, cause, request=request, kind=kind)
        cause = yield from up.fly(cause, request=request, kind=kind)
        data = self._memory.load(address, length)
        overhead = self._reads.completion_overhead(length)
        cause = yield from down.occupy(length, overhead, cause, request=request, kind=kind)
        cause = yield from down.fly(cause, request=request, kind=kind)
        return data, cause

    def write(
        self, address: int, data: bytes, cause: Cause, *, request: int = 0, kind: str = "data"
    ) -> Generator[Any, Any, Cause]:
        _check_length(len(data))
        queues = self._queues_at(address)
        if queues is not None:
            queues.check(address, len(data))
            return (yield from queues.write(address, data, cause, request, kind))
        if address >= P2P_BASE:
            return (yield from self._write_peer(address, data, cause, request, kind))
        self._memory.check(address, len(data))
        cause = yield from self._link.up.send(len(data), cause, request=request, kind=kind)
        self._kernel.env.process(self._arrive(address, data, cause, request, kind))
        return cause

    def _arrive(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, None]:
        yield from self._link.up.fly(cause, request=request, kind=kind)
        self._memory.store(address, data)

    def _write_peer(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        if self._peer is None or self._card is None:
            raise BusError(
                f"Peer-to-peer write at {address:#x} must reach a card, but there is none"
            )
        offset = address - P2P_BASE
        self._card.check(offset, len(data))
        cause = yield from self._peer.write(len(data), cause, request=request, kind=kind)
        cause = yield from self._card.write(offset, data, cause, request=request)
        return (yield from self._peer.fly(cause, request=request, kind="acknowledgement"))

    def pending(self, vector: int) -> simpy.Store:
        """The interrupt that has reached the host and is pending there: a vector has one bit."""
        if vector not in self._pending:
            self._pending[vector] = simpy.Store(self._kernel.env)
        return self._pending[vector]

    def interrupt(self, cause: Cause, *, request: int = 0, vector: int = 0) -> None:
        self._kernel.env.process(self._interrupt(cause, request, vector))

    def _interrupt(self, cause: Cause, request: int, vector: int) -> Generator[Any, Any, None]:
        up = self._link.up
        cause = yield from up.write(INTERRUPT_BYTES, cause, request=request, kind="interrupt")
        pending = self.pending(vector)
        if pending.items:
            self.coalesced += 1
        else:
            pending.put(cause)

    def next_doorbell(self) -> Any:
        return self.doorbells.get()


class HostPort:
    """The SSD as the host sees it; see ``rtl.contract.kernel.HostPort``.

    The store of a doorbell costs the core nothing here: it retires into a write buffer, and its
    instruction is part of what the driver's submission costs.
    """

    def __init__(
        self, kernel: Kernel, memory: HostMemory, link: PcieLink, device: DevicePort
    ) -> None:
        self.memory = memory
        self._kernel = kernel
        self._link = link
        self._device = device

    def doorbell(
        self, offset: int, value: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        if offset < 0 or offset % 4 or not 0 <= value < 1 << 32:
            raise ValueError(
                f"Doorbell must be a 32-bit value at a multiple of 4, not {value} at {offset}"
            )
        self._kernel.env.process(self._doorbell(offset, value, cause, request))
        yield from ()
        return cause

    def _doorbell(
        self, offset: int, value: int, cause: Cause, request: int
    ) -> Generator[Any, Any, None]:
        down = self._link.down
        cause = yield from down.write(DOORBELL_BYTES, cause, request=request, kind="doorbell")
        self._device.doorbells.put((offset, value, cause))

    def next_interrupt(self, vector: int = 0) -> Any:
        return self._device.pending(vector).get()


def _check_length(length: int) -> None:
    if length < 1:
        raise ValueError(f"A DMA transfer must be of at least one byte, not {length}")
