"""Beats of reads that may be answered in another order, given out in that of the reads."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BeatPlaces"]

BANK = 16
"""Beats of a memory: distributed RAM of an ECP5 is as deep, and needs no decoder in its way."""


class BeatPlaces(wiring.Component):
    """Keeps one beat a read; reads take the IDs by turns, so read n has ID n mod ``ids``.

    Beats of an ID come in the order of its reads, those of different IDs in any. There are never
    more than ``places`` reads whose beats have not been taken.

    It is a queue for each ID, all of them in one memory, which are read by turns. Whether there is
    a beat is a register of its own, since many things wait for it, and what it is comes from
    registers and the memory alone. What arrives has a register, too, with its place beside it.

    Parameters
    ----------
    shape : ShapeLike
        Beat.
    places : int
        Reads on their way at most; a power of two.
    ids : int
        A power of two, at most ``places``.

    Members
    -------
    arrives, id, beat : In
        A beat comes in this clock; the lowest bits of ``id`` tell its ID.
    head : Out(stream of shape)
        The beat of the oldest read, at the earliest two clocks after it came.
    """

    def __init__(self, shape, places, ids):
        for name, value, most in (("Places", places, None), ("IDs", ids, places)):
            if not isinstance(value, int) or value < 1 or value & value - 1:
                raise ValueError(f"{name} must be a power of two, not {value!r}")
            if most is not None and value > most:
                raise ValueError(f"{name} must be at most {most}, one a place, not {value}")
        self._shape = shape
        self._places = places
        self._ids = ids
        super().__init__(
            {
                "arrives": In(1),
                "id": In(8),
                "beat": In(shape),
                "head": Out(stream.Signature(shape)),
            }
        )

    @property
    def places(self):
        return self._places

    @property
    def ids(self):
        return self._ids

    def elaborate(self, platform):
        m = Module()
        id_bits, each = (self._ids - 1).bit_length(), self._places // self._ids
        rounds = Array([Signal(range(each), name=f"round{n}") for n in range(self._ids)])
        new, came = self.id[:id_bits], Signal()
        place, beat = Signal(range(self._places)), Signal(self._shape)
        m.d.sync += [
            came.eq(self.arrives),
            place.eq(Cat(new, rounds[new])),
            beat.eq(self.beat),
        ]
        with m.If(self.arrives):
            m.d.sync += rounds[new].eq(rounds[new] + 1)
        # The ID whose turn it is and the next one, beside the place whose lowest bits the first of
        # them is: that has all of the memory to reach.
        first, taken = Signal(range(self._places)), Signal()
        turn, following = Signal(id_bits), Signal(id_bits, init=1 % self._ids)
        self._keep(m, Cat(new, rounds[new]), place, beat, first)
        m.d.comb += taken.eq(self.head.valid & self.head.ready)
        id = place[:id_bits]
        levels = [Signal(range(each + 1), name=f"level{n}") for n in range(self._ids)]
        # One bit an ID: that of the beat that came, and that whose turn it is.
        comes_to, is_turn = Signal(self._ids), Signal(self._ids, init=1)
        with m.If(taken):
            m.d.sync += is_turn.eq(is_turn.rotate_left(1))
        for number, level in enumerate(levels):
            comes, goes = comes_to[number], taken & is_turn[number]
            m.d.sync += comes_to[number].eq(self.arrives & (new == number))
            with m.If(comes & ~goes):
                m.d.sync += level.eq(level + 1)
            with m.Elif(goes & ~comes):
                m.d.sync += level.eq(level - 1)
        # With one ID the beat that is taken is of the queue whose turn is next.
        there = Array([level > 1 if self._ids == 1 else level.any() for level in levels])
        with m.If(taken):
            m.d.sync += [
                first.eq(first + 1),
                turn.eq(following),
                following.eq(following + 1),
                self.head.valid.eq(there[following] | (came & (id == following))),
            ]
        with m.Elif(came & (id == turn)):
            m.d.sync += self.head.valid.eq(1)
        return m

    def _keep(self, m, next_place, place, beat, first):
        """Keep the beats in memories of few each, whose write ports are driven by registers alone.

        The wires from there to all bits of a beat take most of a clock.
        """
        deep = min(BANK, self._places)
        heads = []
        for number in range(self._places // deep):
            m.submodules[f"bank{number}"] = bank = memory.Memory(
                shape=self._shape, depth=deep, init=[]
            )
            write, read = bank.write_port(), bank.read_port(domain="comb")
            mine = self.arrives & (next_place >> (deep - 1).bit_length() == number)
            m.d.sync += write.en.eq(mine)
            m.d.comb += [write.addr.eq(place), write.data.eq(beat), read.addr.eq(first)]
            heads.append(read.data)
        m.d.comb += self.head.payload.eq(Array(heads)[first >> (deep - 1).bit_length()])
