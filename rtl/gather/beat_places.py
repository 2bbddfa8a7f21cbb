"""Beats of reads that may be answered in another order, given out in that of the reads."""

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["BeatPlaces"]


class BeatPlaces(wiring.Component):
    """Keeps one beat a read; reads take the IDs by turns, so read n has ID n mod ``ids``.

    Beats of an ID come in the order of its reads, those of different IDs in any. There are never
    more than ``places`` reads whose beats have not been taken.

    It is a queue for each ID, all of them in one memory, which are read by turns. Whether there is
    a beat, and what it is, comes from registers and the memory alone.

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
        The beat of the oldest read, at the earliest one clock after it came.
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
        m.submodules.kept = kept = memory.Memory(shape=self._shape, depth=self._places, init=[])
        write, read = kept.write_port(), kept.read_port(domain="comb")
        id_bits, each = (self._ids - 1).bit_length(), self._places // self._ids
        first, taken = Signal(range(self._places)), Signal()
        id, turn = self.id[:id_bits], first[:id_bits]
        rounds = Array([Signal(range(each), name=f"round{n}") for n in range(self._ids)])
        levels = Array([Signal(range(each + 1), name=f"level{n}") for n in range(self._ids)])
        m.d.comb += [
            write.addr.eq(Cat(id, rounds[id])),
            write.data.eq(self.beat),
            write.en.eq(self.arrives),
            read.addr.eq(first),
            self.head.payload.eq(read.data),
            self.head.valid.eq(levels[turn].any()),
            taken.eq(self.head.valid & self.head.ready),
        ]
        with m.If(self.arrives):
            m.d.sync += rounds[id].eq(rounds[id] + 1)
        with m.If(taken):
            m.d.sync += first.eq(first + 1)
        for number, level in enumerate(levels):
            comes, goes = self.arrives & (id == number), taken & (turn == number)
            with m.If(comes & ~goes):
                m.d.sync += level.eq(level + 1)
            with m.Elif(goes & ~comes):
                m.d.sync += level.eq(level - 1)
        return m
