"""The unit's end of a kernel-side mailbox. Simulation only."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.gather.queue import Queue

__all__ = ["Mailbox"]


class Mailbox(wiring.Component):
    """Takes the word each time that the toggle has changed, and queues it.

    Parameters
    ----------
    shape : ShapeLike
        The word.
    depth : int
        Words that can wait; a power of two.

    Members
    -------
    word, toggle : In
        From the kernel.
    messages : Out(stream of shape)
        Words in order.
    unread : Out(1)
        The next clock edge takes a word.
    overflow : Out(1)
        It finds no place.
    """

    def __init__(self, shape, depth):
        self._shape = shape
        self._depth = depth
        super().__init__(
            {
                "word": In(shape),
                "toggle": In(1),
                "messages": Out(stream.Signature(shape)),
                "unread": Out(1),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self._shape, self._depth)
        connect(m, queue.head, flipped(self.messages))
        seen = Signal()
        m.d.sync += seen.eq(self.toggle)
        m.d.comb += [
            self.unread.eq(seen != self.toggle),
            self.overflow.eq(self.unread & ~queue.entries.ready),
            queue.entries.valid.eq(self.unread),
            queue.entries.payload.eq(self.word),
        ]
        return m
