# amaranth: UnusedElaboratable=no
# (The storage is made in the constructor, which must refuse what it refuses.)
"""Launch buffer of a channel: data that goes to the dies waits here, whole; simulation only."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.slots import SLOT_BITS, slot_memory

__all__ = ["Launch"]


class Launch(wiring.Component):
    """Hands out the bytes of a slot, from its first on, as fast as they are taken.

    The memory is the ``SimMemory`` submodule ``memory`` (``self.storage``; in emitted Verilog
    ``memory.ram.mem`` below this component's instance); slot s begins at word ``s * slot_words``,
    byte b of a slot is byte b of its little-endian words. While a word is handed out the next one
    is fetched, so that the stream, once valid, pauses only at the end of the slot.

    Parameters
    ----------
    transfer_bytes : int
        Longest transfer.
    slots : int
        Transfers that fit.
    phases : int
        Bytes of a stream word.
    memory_bits : int
        Width of a memory word, a multiple of that of a stream word.
    emitted : bool
        As in ``rtl.sim_memory.SimMemory``.

    Members
    -------
    start, slot : In
        Strobe: ``data`` is that of ``slot`` from three clocks later on; what is left of another is
        given up.
    data : Out(stream.Signature(8 * phases))
    """

    def __init__(self, *, transfer_bytes, slots, phases=2, memory_bits=SLOT_BITS, emitted=False):
        self._word_bits = 8 * phases
        self._memory_bits = memory_bits
        self.storage, self.slot_words = slot_memory(
            transfer_bytes, slots, memory_bits=memory_bits, emitted=emitted
        )
        super().__init__(
            {
                "start": In(1),
                "slot": In(range(max(2, slots))),
                "data": Out(stream.Signature(8 * phases)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = self.storage
        lanes = self._memory_bits // self._word_bits
        lane = Signal(range(lanes))
        held = Signal(self._memory_bits)
        address = Signal.like(storage.read_address)
        # Words of the slot that are not fetched yet, and whether one is fetched and not yet held.
        left = Signal(range(self.slot_words + 1))
        is_fetched = Signal()
        is_spent, takes = Signal(), Signal()
        m.d.comb += [
            self.data.payload.eq(held[: self._word_bits]),
            is_spent.eq(self.data.valid & self.data.ready & (lane == lanes - 1)),
            takes.eq(is_fetched & (is_spent | ~self.data.valid)),
            storage.read_address.eq(address),
            storage.read_enable.eq((left != 0) & (takes | ~is_fetched)),
        ]
        with m.If(takes):
            m.d.sync += [held.eq(storage.read_data), lane.eq(0), self.data.valid.eq(1)]
            m.d.sync += is_fetched.eq(0)
        with m.Elif(is_spent):
            m.d.sync += self.data.valid.eq(0)
        with m.Elif(self.data.valid & self.data.ready):
            m.d.sync += [held.eq(held >> self._word_bits), lane.eq(lane + 1)]
        with m.If(storage.read_enable):
            m.d.sync += [is_fetched.eq(1), address.eq(address + 1), left.eq(left - 1)]
        with m.If(self.start):
            m.d.sync += [
                address.eq(self.slot * self.slot_words),
                left.eq(self.slot_words),
                is_fetched.eq(0),
                self.data.valid.eq(0),
            ]
        return m
