"""A first-in first-out queue of typed entries."""

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """Holds up to ``depth`` entries; an entry comes out at the earliest one clock after it went in.

    Parameters
    ----------
    shape : ShapeLike
        Entry.
    depth : int
        Places, a power of two from 2 up.

    Members
    -------
    entries : In(stream of shape)
        Entries in.
    head : Out(stream of shape)
        Entries out.
    level : Out
        Entries inside.
    """

    def __init__(self, shape, depth):
        if not isinstance(depth, int) or depth < 2 or depth & depth - 1:
            raise ValueError(f"Queue depth must be a power of two from 2 up, not {depth!r}")
        self._shape = shape
        self._depth = depth
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

    def elaborate(self, platform):
        m = Module()
        m.submodules.places = places = memory.Memory(shape=self._shape, depth=self._depth, init=[])
        write = places.write_port()
        read = places.read_port(domain="comb")
        first, after = Signal(range(self._depth)), Signal(range(self._depth))
        put, take = Signal(), Signal()
        m.d.comb += [
            self.entries.ready.eq(self.level != self._depth),
            self.head.valid.eq(self.level != 0),
            put.eq(self.entries.valid & self.entries.ready),
            take.eq(self.head.valid & self.head.ready),
            write.addr.eq(after),
            write.data.eq(self.entries.payload),
            write.en.eq(put),
            read.addr.eq(first),
            self.head.payload.eq(read.data),
        ]
        with m.If(put):
            m.d.sync += after.eq(after + 1)
        with m.If(take):
            m.d.sync += first.eq(first + 1)
        m.d.sync += self.level.eq(self.level + put - take)
        return m
