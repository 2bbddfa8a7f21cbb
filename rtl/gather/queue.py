# amaranth: UnusedElaboratable=no
"""First-in first-out queues of typed entries, and one behind a pipeline that does not stop."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

__all__ = ["QUEUED", "Pair", "Queue", "RunUp"]

QUEUED = 2
"""Clocks of a :class:`RunUp` behind its pipeline, if its reader does not wait."""


class Queue(wiring.Component):
    """Holds up to ``depth`` entries; an entry comes out at the earliest one clock after it went in.

    Whether there is room, and what the head is, comes from registers alone.

    Parameters
    ----------
    shape : ShapeLike
        Entry.
    depth : int
        Places, a power of two from 2 up.
    can_fill : bool
        Else there is always room, since who writes counts the places; ``entries.ready`` is not
        looked at then, and ``entries.valid`` has a short way to the memory.

    Members
    -------
    entries : In(stream of shape)
        Entries in.
    head : Out(stream of shape)
        Entries out.
    level : Out
        Entries inside.
    """

    def __init__(self, shape, depth, *, can_fill=True):
        if not isinstance(depth, int) or depth < 2 or depth & depth - 1:
            raise ValueError(f"Queue depth must be a power of two from 2 up, not {depth!r}")
        self._shape = shape
        self._depth = depth
        self._can_fill = can_fill
        self._first, self._next = Signal(range(depth)), Signal(range(depth))
        super().__init__(
            {
                "entries": In(stream.Signature(shape)),
                "head": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    @property
    def depth(self):
        return self._depth

    @property
    def agree(self):
        """Value: the registers agree on what is inside. It always holds, for model checking."""
        level = (self._next - self._first)[: len(self._first)]
        return (
            (level == self.level[:-1])
            & (self.level <= self._depth)
            & (self.head.valid == (self.level != 0))
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.places = places = memory.Memory(shape=self._shape, depth=self._depth, init=[])
        write = places.write_port()
        read = places.read_port(domain="comb")
        # Places to read and to write next: each from a register, so that it is there early.
        first, next_place = self._first, self._next
        put, take = Signal(), Signal()
        m.d.comb += [
            # The highest bit is that of ``depth`` alone.
            self.entries.ready.eq(~self.level[-1]),
            put.eq(self.entries.valid & (self.entries.ready | (not self._can_fill))),
            take.eq(self.head.valid & self.head.ready),
            write.addr.eq(next_place),
            write.data.eq(self.entries.payload),
            write.en.eq(put),
            read.addr.eq(first),
            self.head.payload.eq(read.data),
        ]
        with m.If(take):
            m.d.sync += first.eq(first + 1)
        with m.If(put):
            m.d.sync += next_place.eq(next_place + 1)
        # ``head.valid`` is a register of its own: many things wait for it.
        with m.If(put & ~take):
            m.d.sync += [self.level.eq(self.level + 1), self.head.valid.eq(1)]
        with m.Elif(take & ~put):
            m.d.sync += [self.level.eq(self.level - 1), self.head.valid.eq(self.level != 1)]
        return m


class Pair(wiring.Component):
    """Two registers that entries take by turns; one comes out at the earliest a clock later.

    Whether its head is taken goes to single bits alone, and not to what the registers hold.

    Parameters
    ----------
    shape : ShapeLike
        Entry.

    Members
    -------
    entries : In(stream of shape)
        Entries in.
    head : Out(stream of shape)
        Entries out.
    """

    def __init__(self, shape):
        self._shape = shape
        self._next, self._first = Signal(), Signal()
        self._is_full, self._is_free = Signal(), Signal(2, init=0b11)
        super().__init__(
            {"entries": In(stream.Signature(shape)), "head": Out(stream.Signature(shape))}
        )

    @property
    def agree(self):
        """Value: the registers agree on what is inside. It always holds, for model checking."""
        one = self.head.valid & ~self._is_full
        return (
            (self.head.valid == ~self._is_free.all())
            & (self._is_full == ~self._is_free.any())
            & (self._next ^ self._first == one)
            & ~(one & self._is_free.bit_select(self._first, 1))
        )

    def elaborate(self, platform):
        m = Module()
        places = [Signal(self._shape, name=f"place{number}") for number in range(2)]
        next_place, first = self._next, self._first
        is_full, is_free = self._is_full, self._is_free
        comes, goes = Signal(), Signal()
        m.d.comb += [
            self.entries.ready.eq(~is_full),
            comes.eq(self.entries.valid & ~is_full),
            goes.eq(self.head.valid & self.head.ready),
            self.head.payload.eq(Mux(first, places[1], places[0])),
        ]
        for number, place in enumerate(places):
            # Whatever is on offer: it counts only once it is put there.
            with m.If(is_free[number]):
                m.d.sync += place.eq(self.entries.payload)
            with m.If(comes & (next_place == number)):
                m.d.sync += is_free[number].eq(0)
            with m.Elif(goes & (first == number)):
                m.d.sync += is_free[number].eq(1)
        m.d.sync += [next_place.eq(next_place ^ comes), first.eq(first ^ goes)]
        with m.If(comes & ~goes):
            m.d.sync += [self.head.valid.eq(1), is_full.eq(self.head.valid)]
        with m.Elif(goes & ~comes):
            m.d.sync += [self.head.valid.eq(is_full), is_full.eq(0)]
        return m


class RunUp(wiring.Component):
    """The end of a pipeline of a fixed number of registers that never stops.

    What is taken at its beginning has a place in a queue at its end: no stall goes from one end to
    the other in a clock. From the last register of the pipeline to that of the head an entry takes
    :data:`QUEUED` clocks.

    Parameters
    ----------
    shape : ShapeLike
        What comes out.
    steps : int
        Registers of the pipeline, at least one.
    held : bool
        The head is that of a :class:`Pair`. Else it is that of the queue, a clock earlier: for a
        reader that has more to do before it knows whether it takes it than with what it is.

    Members
    -------
    asked : In(1)
        Something is on offer at the beginning.
    ready : Out(1)
        It can be taken, since there is a place for it.
    arrived : In(shape)
        The end of the pipeline: what was taken ``steps`` clocks ago.
    head : Out(stream of shape)
        What has arrived.
    """

    def __init__(self, shape, steps, *, held=True):
        self._steps = steps
        # One a clock: a place is owed for all registers, a clock in the queue and two to come back.
        self._depth = 1 << (steps + 3).bit_length()
        self._shape = shape
        self.pair = Pair(shape) if held else None
        super().__init__(
            {
                "asked": In(1),
                "ready": Out(1),
                "arrived": In(shape),
                "head": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.kept = kept = Queue(self._shape, self._depth, can_fill=False)
        owed = Signal(range(self._depth + 1))
        taken, left, under_way = Signal(), Signal(), Signal(self._steps)
        m.d.comb += [
            self.ready.eq(~owed[-1]),
            taken.eq(self.asked & self.ready),
            kept.entries.valid.eq(under_way[-1]),
            kept.entries.payload.eq(self.arrived),
        ]
        if self.pair is not None:
            m.submodules.pair = self.pair
            connect(m, kept.head, self.pair.entries)
            connect(m, self.pair.head, flipped(self.head))
        else:
            connect(m, kept.head, flipped(self.head))
        m.d.sync += [
            left.eq(self.head.valid & self.head.ready),
            under_way.eq(Cat(taken, under_way)),
        ]
        with m.If(taken & ~left):
            m.d.sync += owed.eq(owed + 1)
        with m.Elif(left & ~taken):
            m.d.sync += owed.eq(owed - 1)
        return m
