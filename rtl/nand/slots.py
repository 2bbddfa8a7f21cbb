# amaranth: UnusedElaboratable=no
# (A memory is made in constructors, which must refuse what they refuse.)
"""The memory of transfers between a channel and the kernel; simulation only."""

from rtl.sim_memory import SimMemory

__all__ = ["SLOT_BITS", "slot_memory"]

SLOT_BITS = 1024
"""Width of a memory word: few, wide words move fast between simulator and kernel."""


def slot_memory(transfer_bytes, slots, *, memory_bits, emitted):
    """A memory for ``slots`` transfers, and the words that each of them has.

    Parameters
    ----------
    transfer_bytes : int
        Longest transfer.
    slots : int
        Transfers that fit.
    memory_bits : int
        Width of a memory word.
    emitted : bool
        As in :class:`SimMemory`.

    Raises
    ------
    TypeError
        If a transfer is no positive integer.
    ValueError
        If there are no slots, or more than 256.
    """
    if not isinstance(transfer_bytes, int) or transfer_bytes < 1:
        raise TypeError(f"Transfer must be a positive integer of bytes, not {transfer_bytes!r}")
    if not isinstance(slots, int) or not 1 <= slots <= 256:
        raise ValueError(f"Slots must be an integer from 1 to 256, not {slots!r}")
    words = -(-8 * transfer_bytes // memory_bits)
    return SimMemory(depth=max(2, slots * words), width=memory_bits, emitted=emitted), words
