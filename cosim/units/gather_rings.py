"""Descriptor rings of the gather unit on its kernel side: register writes in, interrupts out."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cosim.lockstep import LockStep
from cosim.units.channel_state import UnitEngine
from cosim.units.gather_spans import RESULT_WORD_BYTES, UNIT, record_launch
from cosim.units.handover import HandOver
from rtl.contract.codec import pack
from rtl.contract.gather_rings import (
    MAX_RINGS,
    RING_BASE,
    RING_STRIDE,
    RingWrite,
)
from rtl.contract.kernel import Cause, latest
from rtl.emit_gather import DRAM_MEMORY, RESULT_MEMORY

__all__ = ["RingMemory", "RingPort"]


class RingMemory(NamedTuple):
    """Where results of rings lie: ``ring_bytes`` for each, behind ``launch_bytes``."""

    launch_bytes: int
    ring_bytes: int


class _Write(NamedTuple):
    """A register write to a ring that has arrived at the card."""

    cause: Cause
    request: int


class RingPort:
    """The rings of a gather unit; see ``cosim.ring_card.RingPort``.

    A run of descriptors is a launch, with its spans. Its ``gather.start`` begins with what came
    last of: the ring's own register writes (doorbell, results taken), the run before it of the
    ring, and the launch before it in the unit. ``gather.post``, from the end of the last run of
    the batches that an interrupt tells of to the interrupt, is the writing of completion entries,
    with its wait for a place in their ring.

    Parameters
    ----------
    lockstep : LockStep
        The loop; reports come by way of the unit's ``GatherPort``.
    engine : UnitEngine
        Where the unit runs, as unit number ``unit``.
    period_ps : int
        Of the unit's clock.
    memory : RingMemory
        The unit's result memory.
    """

    def __init__(
        self,
        lockstep: LockStep,
        engine: UnitEngine,
        *,
        unit: int,
        period_ps: int,
        memory: RingMemory,
    ) -> None:
        self.writes = 0
        """Register writes so far."""
        self.runs = 0
        """Runs of descriptors that have ended."""
        self.on_interrupt: Callable[[int, Cause, int], None] = lambda bits, cause, request: None
        """Told of each interrupt: INTERRUPT_CAUSE, its cause, and the mini-batch."""
        self._kernel = lockstep.kernel
        self._period_ps = period_ps
        self._memory = memory
        self._box = engine.mailbox(unit, "ring_write")
        self._toggle = engine.mailbox(unit, "ring_write_toggle")
        self._dram = engine.memory(unit, DRAM_MEMORY)
        self._results = engine.memory(unit, RESULT_MEMORY)
        self._over = HandOver(lockstep, period_ps)
        self._written: list[deque[_Write]] = [deque() for _ in range(MAX_RINGS)]
        self._ends: dict[int, _Write] = {}
        """End of the last run of each ring that no interrupt has told of."""
        self._last_ends: dict[int, Cause] = {}
        self._last_write: _Write | None = None
        self._free: Cause | None = None
        """End of the last launch in the unit."""

    @property
    def hand_over_waits(self) -> int:
        """Register writes that came in the same clock period as another one."""
        return self._over.delayed

    def write(self, offset: int, value: int, cause: Cause, *, request: int = 0) -> None:
        """Hand over a register write that has arrived; ``cause`` is of now."""
        self.writes += 1
        word = int.from_bytes(pack(RingWrite, offset=offset, value=value), "little")
        self._last_write = _Write(cause, request)
        if offset >= RING_BASE:
            self._written[(offset - RING_BASE) // RING_STRIDE].append(self._last_write)

        def put() -> None:
            self._box.set(word)
            self._toggle.flip()

        self._over.put(put)

    def read(self, address: int, length: int) -> bytes:
        """Bytes of the card's DRAM as they are now; they lie within one word of its port."""
        width = self._dram.word_bytes
        skip = address % width
        if skip + length > width:
            raise ValueError(f"{length} bytes at {address} must lie within a word of {width}")
        # What lies behind may never have been written.
        found: bytes = self._dram.read(address // width, skip + length)
        return found[skip:]

    def words(self, ring: int, first: int, count: int) -> bytes:
        """Result words ``first`` to ``first + count - 1`` of a ring, counted since it was enabled.

        They come round in the ring's part of the result memory.
        """
        size = self._memory.ring_bytes
        base = self._memory.launch_bytes + ring * size
        start, left = first * RESULT_WORD_BYTES % size, count * RESULT_WORD_BYTES
        data = b""
        while left:
            length = min(left, size - start)
            data += self._load(base + start, length)
            start, left = 0, left - length
        return data

    def _load(self, start: int, length: int) -> bytes:
        skip = start % self._results.word_bytes
        row = start // self._results.word_bytes
        found: bytes = self._results.read(row, skip + length)
        return found[skip:]

    def released(self, cause: Cause) -> None:
        """A launch that is none of these has left the unit."""
        self._free = cause

    def end_run(self, ring: int, fields: dict[str, int], edge_ps: int) -> None:
        """A run of ``ring`` has ended: an event with a ``GatherDone``."""
        started_ps = fields["done.started"] * self._period_ps
        written = self._written[ring]
        while len(written) > 1 and written[1].cause.at_ps < started_ps:
            written.popleft()
        asked = written[0]
        known = [self._last_ends.get(ring), self._free]
        causes = [cause for cause in (asked.cause, *known) if cause is not None]
        end = record_launch(
            self._kernel,
            self._period_ps,
            fields,
            edge_ps,
            latest(causes),
            request=asked.request,
            ready_ps=asked.cause.at_ps,
        )
        self.runs += 1
        self._ends[ring] = _Write(end, asked.request)
        self._last_ends[ring] = self._free = end

    def interrupt(self, bits: int, edge_ps: int) -> None:
        """The unit has sent an interrupt with INTERRUPT_CAUSE ``bits``."""
        told = [self._ends.pop(ring) for ring in range(MAX_RINGS) if self._is_told(bits, ring)]
        if not told and self._last_write is not None:
            told = [self._last_write]
        source = max(told, key=lambda write: write.cause)
        cause = self._kernel.record(
            UNIT,
            "gather.post",
            source.cause.at_ps,
            edge_ps,
            source.cause,
            request=source.request,
        )
        self.on_interrupt(bits, cause, source.request)

    def _is_told(self, bits: int, ring: int) -> bool:
        return bool(bits >> ring & 1) and ring in self._ends
