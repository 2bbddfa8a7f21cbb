"""Descriptor rings of the gather unit: registers, completion entries, errors.

A ring of :class:`GatherDescriptor` entries in the card's DRAM belongs to one worker; there are up
to :data:`MAX_RINGS`, and one ring of :class:`RingCompletion` entries for all of them. Indices count
entries from 0 to size - 1 and come round; a ring is empty where head and tail are equal, so it
holds one entry less than its size (as in NVMe, NVM Express Base Specification 1.4, 4.1).

The worker writes descriptors behind the tail, then the new tail (the doorbell). The unit takes the
descriptors up to the tail that it found when it began as one *batch*, in runs of at most a quantum,
by turns with the other rings. A completion entry comes at the end of a batch, and before it where
the results landed so far must be taken before more can land (``MORE``). Doorbells that come
meanwhile are the next batch.
"""

from amaranth.lib import data, enum

__all__ = [
    "COMPLETION_BYTES",
    "MAX_RINGS",
    "MAX_SIZE_LOG2",
    "MORE",
    "NO_INDEX",
    "RING_BASE",
    "RING_LAUNCH",
    "RING_STRIDE",
    "CardRegister",
    "RingCompletion",
    "RingControl",
    "RingError",
    "RingRegister",
    "RingWrite",
    "ring_offset",
]

MAX_RINGS = 16
MAX_SIZE_LOG2 = 16
"""A descriptor ring or a completion ring has 2 to 65,536 entries."""

COMPLETION_BYTES = 32
NO_INDEX = (1 << 32) - 1
"""``first_bad`` where all targets are OK."""

MORE = 1
"""Bit of ``flags``: the batch goes on once results have been taken."""

RING_LAUNCH = 1 << 15
"""Bit of a launch's tag, and so of its :class:`GatherDone`: it is for the ring in bits 3:0."""

RING_BASE, RING_STRIDE = 0x100, 0x40


class CardRegister(enum.IntEnum, shape=12):
    """Byte offsets of the 32-bit registers for all rings."""

    IDENTITY = 0x000
    """Read: rings in bits 7:0, quantum in bits 31:16."""
    CONTROL = 0x004
    """Bit 0: serve rings. Setting it starts the completion ring: index 0, phase 1."""
    INTERRUPT_ENABLE = 0x008
    """As ``INTERRUPT_CAUSE``: which bits send an interrupt as they are set."""
    INTERRUPT_CAUSE = 0x00C
    """Bit r: an entry for ring r was written. Bit 16 + r: ring r has an error. A one clears."""
    COMPLETION_BASE = 0x010
    COMPLETION_BASE_HIGH = 0x014
    """DRAM address of the completion ring, aligned to an entry; written while not serving."""
    COMPLETION_SIZE = 0x018
    """Binary logarithm of its entries, 1 to 16; likewise."""
    COMPLETION_TAIL = 0x01C
    """Read: index of the next entry that will be written."""
    COMPLETION_HEAD = 0x020
    """Index of the next entry that the host will read: those before it may be overwritten."""
    COMPLETION_STATUS = 0x024
    """Read: the first :class:`RingError` of these registers. A write clears it."""


class RingRegister(enum.IntEnum, shape=6):
    """Byte offsets of the registers of a ring, from ``RING_BASE`` + ring * ``RING_STRIDE`` on."""

    BASE = 0x00
    BASE_HIGH = 0x04
    """DRAM address of the ring, aligned to a descriptor; written while the ring is disabled."""
    SIZE = 0x08
    """Binary logarithm of its entries, 1 to 16; likewise."""
    TAIL = 0x0C
    """The doorbell: index behind the last descriptor."""
    HEAD = 0x10
    """Read: index of the next descriptor that will be launched."""
    CONTROL = 0x14
    """A :class:`RingControl`."""
    STATUS = 0x18
    """Read: the first :class:`RingError` of this ring. A write clears it."""
    TAKEN = 0x1C
    """Result words that the host has taken since the ring was enabled, modulo 2^32."""
    LANDED = 0x20
    """Read: result words that have landed since, likewise."""


class RingControl(enum.IntFlag, shape=2):
    """Bits of a ring's CONTROL."""

    ENABLE = 1
    """Setting it empties the ring: indices and counts of words are 0. Clearing it aborts, too."""
    ABORT = 2
    """Write: give up all descriptors whose doorbell has come; reads as 0.

    An entry with status ABORTED says so; without any such descriptor nothing happens. A batch that
    is over by then ends as it would have.
    """


class RingError(enum.IntEnum, shape=8):
    """What a register write was refused for, or went wrong; the write has no other effect."""

    NONE = 0
    MISALIGNED = 1
    """Enabled with a base that is not a multiple of an entry."""
    SIZE = 2
    """Enabled with a size that is none of 1 to 16."""
    BEYOND = 3
    """A tail or a completion head that is not below the ring's size."""
    DISABLED = 4
    """A doorbell, completion head or count of words for a ring that is not enabled."""
    BUSY = 5
    """Base or size written while enabled, or enabled before all of it was aborted."""
    NOT_LANDED = 6
    """More words taken than have landed."""
    ENTRY_LOST = 7
    """The DRAM refused a completion entry of this ring."""


class RingWrite(data.Struct):
    """A 32-bit write to the register at byte ``offset``; writes to no register do nothing."""

    offset: 16
    reserved: 16
    value: 32


class RingCompletion(data.Struct):
    """What became of ``consumed`` descriptors of ``ring``, since the entry before; 32 bytes.

    words
        Result words: a header a target and its ids, as for a launch.
    first_bad
        Index among the consumed of the first whose target is not OK or, with ABORTED, is left out.
    landed
        The ring's LANDED behind these words.
    head
        Index of the next descriptor.
    status
        A :class:`GatherStatus`: that of ``first_bad``, but ABORTED if some were given up.
    phase
        1 in the first pass through the completion ring, 0 in the second, and so on by turns.
    """

    consumed: 32
    words: 32
    first_bad: 32
    landed: 32
    head: 16
    ring: 8
    status: 8
    flags: 8
    reserved0: 24
    reserved1: 32
    reserved2: 24
    phase: 8


def ring_offset(ring, register):
    """Byte offset of a register of a ring."""
    return RING_BASE + RING_STRIDE * ring + register
