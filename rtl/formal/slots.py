"""Landing and launch buffers between a controller, or a kernel, that do what they may do."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from rtl.formal.monitors import transfers

__all__ = ["LandingCheck", "LaunchCheck"]


class SlotCheck(wiring.Component):
    """What both have: a memory of slots, and one word of a slot that is followed.

    The model checker chooses ``slot`` and ``place``, the number of a stream word in it.

    Parameters
    ----------
    buffer : Component
        What is checked.
    words, slots : int
        Stream words of the longest transfer, and slots.
    phases : int
        Bytes of a stream word.
    """

    def __init__(self, buffer, ports, *, words, slots, phases):
        self._buffer = buffer
        self._words = words
        self._slots = slots
        self._lanes = buffer.storage.width // (8 * phases)
        self._bits = 8 * phases
        super().__init__({"clk": In(1)} | ports)

    def _begin(self, m):
        m.domains.sync = ClockDomain(reset_less=True)
        m.submodules.buffer = self._buffer
        m.d.comb += ClockSignal().eq(self.clk)
        slot = AnyConst(max(1, (self._slots - 1).bit_length()))
        place = AnyConst(self._words.bit_length())
        m.d.comb += Assume((slot < self._slots) & (place < self._words))
        return slot, place

    def _address(self, slot, place):
        return slot * self._buffer.slot_words + place // self._lanes

    def _lane(self, word, place):
        """The stream word at ``place`` in a word of the memory."""
        lanes = Array(word.word_select(lane, self._bits) for lane in range(self._lanes))
        return lanes[place % self._lanes]


class LandingCheck(SlotCheck):
    """A landing buffer whose slots are filled and given back in any order, in any clock.

    A slot is taken while it is free, and given back while it is not. Transfers come one after the
    other, each into one slot, word by word, with any pauses, and are of any length up to the
    longest.

    Claims: a transfer's words lie in its slot from the edge of its last one on until other data
    comes for that slot; a slot is free, from two clocks after it was given back, until it is taken.

    Members
    -------
    clk, word, valid, last, slot, take, give : In
        Clock, and the model checker's choices.
    """

    def __init__(self, landing, *, words, slots, phases):
        ports = {
            "word": In(8 * phases),
            "valid": In(1),
            "last": In(1),
            "slot": In(range(max(2, slots))),
            "take": In(slots),
            "give": In(slots),
        }
        super().__init__(landing, ports, words=words, slots=slots, phases=phases)

    def elaborate(self, platform):
        m = Module()
        slot, place = self._begin(m)
        landing = self._buffer
        count, is_last, target = Signal(range(self._words)), Signal(), Signal.like(self.slot)
        held = Signal.like(self.slot)
        m.d.comb += [
            target.eq(self.slot),
            is_last.eq(self.last | (count == self._words - 1)),
            Assume(self.slot < self._slots),
            landing.data.valid.eq(self.valid),
            landing.data.payload.word.eq(self.word),
            landing.data.payload.slot.eq(target),
            landing.data.payload.last.eq(is_last),
        ]
        with m.If(count != 0):
            m.d.comb += target.eq(held)
        with m.If(self.valid):
            m.d.sync += [count.eq(count + 1), held.eq(target)]
            with m.If(is_last):
                m.d.sync += count.eq(0)
        self._claim_data(m, slot, place, count, target, is_last)
        self._claim_free(m)
        return m

    def _claim_data(self, m, slot, place, count, target, is_last):
        storage = self._buffer.storage
        kept, has_come, is_whole, was_whole = Signal(self._bits), Signal(), Signal(), Signal()
        comes = self.valid & (target == slot)
        m.d.comb += [storage.read_enable.eq(1), storage.read_address.eq(self._address(slot, place))]
        m.d.sync += was_whole.eq(is_whole & ~comes)
        with m.If(comes):
            m.d.sync += [has_come.eq((count != 0) & has_come | (count == place)), is_whole.eq(0)]
            with m.If(count == place):
                m.d.sync += kept.eq(self.word)
            with m.If(is_last):
                m.d.sync += is_whole.eq((count == place) | (count != 0) & has_come)
        with m.If(was_whole):
            m.d.comb += Assert(self._lane(storage.read_data, place) == kept)

    def _claim_free(self, m):
        landing = self._buffer
        owned, before, toggles = Signal(self._slots), Signal(self._slots), Signal(self._slots)
        takes, gives = Signal(self._slots), Signal(self._slots)
        m.d.comb += [
            takes.eq(self.take & landing.ready),
            gives.eq(self.give & owned),
            landing.take.eq(takes),
            landing.free.eq(toggles),
            Assert(landing.ready == ~(owned | before)),
        ]
        m.d.sync += [
            owned.eq((owned | takes) & ~gives),
            before.eq(owned),
            toggles.eq(toggles ^ gives),
        ]


class LaunchCheck(SlotCheck):
    """A launch buffer whose slots are written, started and taken from in any clock.

    A slot is written word by word of the memory, before it is started.

    Claims: the words of a slot come in order, each once, from the first on; a word on offer stays,
    unchanged, until it is taken; none is on offer before the first start, or in the two clocks
    after one; from then on one is on offer in each clock until all have been taken.

    Members
    -------
    clk, write, address, content, start, slot, taken : In
        Clock, and the model checker's choices.
    """

    def __init__(self, launch, *, words, slots, phases):
        ports = {
            "write": In(1),
            "address": In(len(launch.storage.write_address)),
            "content": In(launch.storage.width),
            "start": In(1),
            "slot": In(range(max(2, slots))),
            "taken": In(1),
        }
        super().__init__(launch, ports, words=words, slots=slots, phases=phases)

    def elaborate(self, platform):
        m = Module()
        slot, place = self._begin(m)
        launch = self._buffer
        storage, total = launch.storage, launch.slot_words * self._lanes
        kept, has_begun, writes = Signal(self._bits), Signal(), Signal()
        current, count = Signal.like(self.slot), Signal(range(total + 1))
        age, held, before = Signal(range(4), init=3), Signal(), Signal(self._bits)
        m.d.comb += [
            Assume(self.slot < self._slots),
            writes.eq(self.write & ~has_begun & ~self.start),
            storage.write_enable.eq(writes),
            storage.write_mask.eq(~0),
            storage.write_address.eq(self.address),
            storage.write_data.eq(self.content),
            launch.start.eq(self.start),
            launch.slot.eq(self.slot),
            launch.data.ready.eq(self.taken),
        ]
        with m.If(writes & (self.address == self._address(slot, place))):
            m.d.sync += kept.eq(self._lane(self.content, place))
        m.d.sync += [
            count.eq(count + transfers(launch.data)),
            held.eq(launch.data.valid & ~launch.data.ready & ~self.start),
            before.eq(launch.data.payload),
        ]
        with m.If(age != 3):
            m.d.sync += age.eq(age + 1)
        with m.If(self.start):
            m.d.sync += [has_begun.eq(1), current.eq(self.slot), count.eq(0), age.eq(1)]
        with m.If(launch.data.valid & (current == slot) & (count == place)):
            m.d.comb += Assert(launch.data.payload == kept)
        with m.If(held):
            m.d.comb += Assert(launch.data.payload == before)
        m.d.comb += Assert(launch.data.valid == (has_begun & (age == 3) & (count != total)))
        return m
