"""Mailbox of a flash-channel unit: words handed over by a toggle become a stream."""

from amaranth.hdl import Module, Signal
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Mailbox"]


class Mailbox(wiring.Component):
    """Takes one word at each edge at which the toggle has changed, and queues it.

    A word handed over at edge n is on the stream from then on, at the earliest.

    Parameters
    ----------
    shape
        Payload.
    depth : int
        Words that may be waiting; the writer must not exceed it.

    Members
    -------
    word, toggle : In
        The kernel's registers.
    output : Out(stream.Signature(shape))
    quiet : Out(1)
        Nothing unseen; words on the stream are the reader's business.
    """

    def __init__(self, shape, *, depth):
        if not isinstance(depth, int) or depth < 1:
            raise TypeError(f"Depth must be a positive integer, not {depth!r}")
        self._depth = depth
        super().__init__(
            {
                "word": In(shape),
                "toggle": In(1),
                "output": Out(stream.Signature(shape)),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = self.word.as_value()
        m.submodules.queue = queue = fifo.SyncFIFO(width=len(bits), depth=self._depth)
        seen = Signal()
        m.d.sync += seen.eq(self.toggle)
        m.d.comb += [
            self.quiet.eq(self.toggle == seen),
            queue.w_en.eq(~self.quiet),
            queue.w_data.eq(bits),
            queue.r_en.eq(self.output.ready),
            self.output.valid.eq(queue.r_rdy),
            self.output.payload.eq(queue.r_data),
        ]
        return m
