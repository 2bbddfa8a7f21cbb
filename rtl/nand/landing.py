# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Landing buffer of a channel: page data waits here, whole, for the kernel; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.correction import data_word
from rtl.nand.slots import SLOT_BITS, slot_memory

__all__ = ["Landing"]


class Landing(wiring.Component):
    """Packs transfers into slots of whole memory words, byte b of a transfer at byte b of its slot.

    The memory is the ``SimMemory`` submodule ``memory`` (``self.storage``; in emitted Verilog
    ``memory.ram.mem`` below this component's instance); slot s begins at word ``s * slot_words``.
    A word is in it from the edge on at which its last byte is handed over, or the transfer's last.

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
    data : In(stream.Signature(data_word(...), always_ready=True))
    take : In(slots)
        Strobe: a transfer will use this slot.
    free : In(slots)
        Toggles: the kernel has taken the slot's data.
    ready : Out(slots)
        Free slots.
    quiet : Out(1)
        No toggle of ``free`` is unseen.
    """

    def __init__(self, *, transfer_bytes, slots, phases=2, memory_bits=SLOT_BITS, emitted=False):
        self._slots = slots
        self._word_bits = 8 * phases
        self._memory_bits = memory_bits
        self.storage, self.slot_words = slot_memory(
            transfer_bytes, slots, memory_bits=memory_bits, emitted=emitted
        )
        super().__init__(
            {
                "data": In(stream.Signature(data_word(phases, slots), always_ready=True)),
                "take": In(slots),
                "free": In(slots),
                "ready": Out(slots, init=(1 << slots) - 1),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = storage = self.storage
        seen = Signal(self._slots)
        freed = Signal(self._slots)
        m.d.comb += [freed.eq(self.free ^ seen), self.quiet.eq(~freed.any())]
        with m.If(freed.any() | self.take.any()):
            m.d.sync += [seen.eq(self.free), self.ready.eq((self.ready | freed) & ~self.take)]

        lanes = self._memory_bits // self._word_bits
        lane = Signal(range(lanes))
        index = Signal(range(max(2, self.slot_words)))
        held = Signal(self._memory_bits - self._word_bits)
        is_last = self.data.payload.last
        filled = Cat(held, self.data.payload.word)
        with m.If(self.data.valid):
            m.d.sync += [held.eq(filled[self._word_bits :]), lane.eq(lane + 1)]
            with m.If(lane == lanes - 1):
                m.d.sync += index.eq(index + 1)
            with m.If(is_last):
                m.d.sync += [lane.eq(0), index.eq(0)]
        m.d.comb += [
            storage.write_enable.eq(self.data.valid & (is_last | (lane == lanes - 1))),
            storage.write_mask.eq(~0),
            storage.write_address.eq(self.data.payload.slot * self.slot_words + index),
        ]
        with m.If(storage.write_enable), m.Switch(lane):
            for number in range(lanes):
                with m.Case(number):
                    unused = (lanes - 1 - number) * self._word_bits
                    m.d.comb += storage.write_data.eq(filled[unused:])
        return m
