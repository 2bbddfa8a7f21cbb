"""How the host has descriptors in the card's DRAM sampled: by a launch of its own, or by a ring."""

from collections.abc import Generator
from typing import Any

from host.errors import FpgaError
from host.window import DESCRIPTOR_BYTES, WindowLayout
from rtl.contract.codec import unpack
from rtl.contract.gather import GatherStatus
from rtl.contract.gather_rings import (
    COMPLETION_BYTES,
    CardRegister,
    RingCompletion,
    RingControl,
    RingRegister,
    ring_offset,
)
from rtl.contract.kernel import CardRings, Cause, FpgaPort

__all__ = ["LAUNCHES", "RingOrders", "SingleOrders", "status_name"]

LAUNCHES = ("single", "ring")
GRAIN = 64
"""Copies to the card are whole words of its DRAM port."""


class SingleOrders:
    """Descriptors from the start of their area on, and a launch a round."""

    def __init__(self, card: FpgaPort, layout: WindowLayout) -> None:
        self._card = card
        self._layout = layout

    def place(self, descriptors: bytes) -> list[tuple[int, bytes]]:
        """Copies (address, data) that bring a round's descriptors to the card."""
        return [(self._layout.descriptor_base, padded(descriptors))]

    def run(
        self, count: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Have the ``count`` descriptors sampled that are there; returns their result words.

        Raises
        ------
        FpgaError
            If one of them ends with another status than OK.
        """
        status, handle, cause = yield from self._card.launch(
            self._layout.descriptor_base, count, cause, request=request
        )
        check(status, "launch")
        return (yield from self._card.fetch(handle, cause, request=request))


class RingOrders:
    """Descriptors behind each other in a ring, a doorbell a round, completion entries.

    The ring and its completion ring share the descriptor area. A copy of the ring's bytes is kept,
    since what is copied to the card is whole words of its DRAM.

    Parameters
    ----------
    card : FpgaPort
        One with rings.
    layout : WindowLayout
        Of the window.
    ring : int
        Number of this worker's ring.

    Raises
    ------
    ValueError
        If the card has no rings.
    """

    def __init__(self, card: FpgaPort, layout: WindowLayout, *, ring: int = 0) -> None:
        if card.rings is None:
            raise ValueError("card must have rings, not None")
        self._card = card
        self._rings: CardRings = card.rings
        self._layout = layout
        self._ring = ring
        self._size = layout.ring_entries
        self._image = bytearray(self._size * DESCRIPTOR_BYTES)
        self._tail = 0
        self._taken = 0
        self._read = 0
        """Completion entries read."""
        self._is_set_up = False

    def place(self, descriptors: bytes) -> list[tuple[int, bytes]]:
        """As of :class:`SingleOrders`: behind those before, round the end of the ring."""
        count = len(descriptors) // DESCRIPTOR_BYTES
        if count >= self._size:
            raise FpgaError(f"round must have fewer than {self._size} descriptors, not {count}")
        start = self._tail * DESCRIPTOR_BYTES
        room = len(self._image) - start
        copies = []
        for at, part in ((start, descriptors[:room]), (0, descriptors[room:])):
            if not part:
                continue
            self._image[at : at + len(part)] = part
            first, last = at // GRAIN * GRAIN, -(-(at + len(part)) // GRAIN) * GRAIN
            copies.append((self._layout.descriptor_base + first, bytes(self._image[first:last])))
        self._tail = (self._tail + count) % self._size
        return copies

    def run(
        self, count: int, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """As of :class:`SingleOrders`."""
        if not self._is_set_up:
            cause = yield from self._set_up(cause, request)
        cause = yield from self._rings.doorbell(self._ring, self._tail, cause, request=request)
        raw, done = b"", 0
        while done < count:
            entry, cause = yield from self._next_entry(cause, request)
            check(entry.status, f"descriptor {done + entry.first_bad}")
            done += entry.consumed
            handle = self._rings.results(self._ring, entry.landed - entry.words, entry.words)
            words, cause = yield from self._card.fetch(handle, cause, request=request)
            raw += words
            cause = yield from self._give_back(entry.landed, cause, request)
        return raw, cause

    def _set_up(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        layout, ring = self._layout, self._ring
        for offset, value in (
            (CardRegister.COMPLETION_BASE, layout.completion_base & 0xFFFF_FFFF),
            (CardRegister.COMPLETION_BASE_HIGH, layout.completion_base >> 32),
            (CardRegister.COMPLETION_SIZE, layout.completion_entries.bit_length() - 1),
            (CardRegister.INTERRUPT_ENABLE, 1 << ring),
            (CardRegister.CONTROL, 1),
            (ring_offset(ring, RingRegister.BASE), layout.descriptor_base & 0xFFFF_FFFF),
            (ring_offset(ring, RingRegister.BASE_HIGH), layout.descriptor_base >> 32),
            (ring_offset(ring, RingRegister.SIZE), self._size.bit_length() - 1),
            (ring_offset(ring, RingRegister.CONTROL), RingControl.ENABLE),
        ):
            cause = yield from self._rings.write(offset, value, cause, request=request)
        self._is_set_up = True
        return cause

    def _next_entry(self, cause: Cause, request: int) -> Generator[Any, Any, tuple[Any, Cause]]:
        """Wait for the interrupt, clear its cause, then read the entry that it tells of."""
        bits, cause = yield self._rings.next_interrupt()
        cause = yield from self._rings.write(
            CardRegister.INTERRUPT_CAUSE, bits, cause, request=request
        )
        entries = self._layout.completion_entries
        address = self._layout.completion_base + COMPLETION_BYTES * (self._read % entries)
        raw, cause = yield from self._rings.read_entry(address, cause, request=request)
        entry = unpack(RingCompletion, raw)
        phase = (self._read // entries + 1) % 2
        if (entry.phase, entry.ring) != (phase, self._ring):
            raise FpgaError(
                f"completion entry {self._read} must have phase {phase} and ring {self._ring}, "
                f"not {entry.phase} and {entry.ring}"
            )
        self._read += 1
        return entry, cause

    def _give_back(self, landed: int, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        """Tell the card that the words and the entry were taken."""
        for offset, value in (
            (ring_offset(self._ring, RingRegister.TAKEN), landed),
            (CardRegister.COMPLETION_HEAD, self._read % self._layout.completion_entries),
        ):
            cause = yield from self._rings.write(offset, value, cause, request=request)
        return cause


def padded(data: bytes) -> bytes:
    """``data`` with zeros up to whole words of the card's DRAM port."""
    return data.ljust(-(-len(data) // GRAIN) * GRAIN, b"\0")


def check(status: int, what: str) -> None:
    """Raise :exc:`FpgaError` unless ``status`` is OK."""
    if status != GatherStatus.OK:
        raise FpgaError(f"{what} must end with OK, not {status_name(status)}")


def status_name(status: int) -> str:
    """Name of a ``GatherStatus``, or its number."""
    try:
        return str(GatherStatus(status).name)
    except ValueError:
        return f"status {status}"
