"""Words of a decoder wait here until the locator of their codeword is known."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WordQueue"]


class WordQueue(wiring.Component):
    """First in, first out; a word that opens a codeword waits until that is resolved.

    Words follow each other in single clocks, as far as they are there. What ``resolves`` says is
    heeded ``delay`` clocks later, or one more where it is ``late``; there are as many resolutions
    as words that open a codeword, in the same order.

    Parameters
    ----------
    entry : ShapeLike
        Of a word, with ``frame.opens``.
    delay : int
        Clocks from the edge that takes a codeword's last word to the edge that gives out its
        first.
    depth : int
        Words that may wait.

    Members
    -------
    write : In(1), word : In(entry)
        A word comes in.
    resolves, late : In(1)
        The codeword that was opened first of those not resolved ended, or will not end.
    valid : Out(1), passing : Out(entry)
        A word goes out.
    empty : Out(1)
        No word waits.
    """

    def __init__(self, entry, *, delay, depth):
        self._entry = entry
        self._delay = delay
        self._depth = 1 << depth.bit_length()
        super().__init__(
            {
                "write": In(1),
                "word": In(entry),
                "resolves": In(1),
                "late": In(1),
                "valid": Out(1),
                "passing": Out(entry),
                "empty": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.words = words = memory.Memory(shape=self._entry, depth=self._depth, init=[])
        write, read = words.write_port(), words.read_port()
        # Whether a word opens a codeword decides what is read next, so it is not for block RAM.
        m.submodules.marks = marks = memory.Memory(shape=1, depth=self._depth, init=[])
        write_mark = marks.write_port()
        read_mark, following_mark = (marks.read_port(domain="comb") for _ in range(2))
        write_place, read_place, next_place = (
            Signal(range(self._depth), name=name) for name in ("write", "read", "next")
        )
        passes, is_head, is_more, opens = (Signal() for _ in range(4))
        # The place behind ``read_place``; as ``opens``, the head's mark, there in good time.
        following = Signal(range(self._depth), init=1)
        resolved = Signal(range(4))
        m.d.comb += [
            write_mark.en.eq(self.write),
            write_mark.addr.eq(write_place),
            write_mark.data.eq(self.word.frame.opens),
            read_mark.addr.eq(read_place),
            following_mark.addr.eq(following),
            write.en.eq(self.write),
            write.addr.eq(write_place),
            write.data.eq(self.word),
            passes.eq(is_head & (~opens | (resolved != 0))),
            next_place.eq(Mux(passes, following, read_place)),
            is_more.eq(Mux(passes, write_place != following, write_place != read_place)),
            read.addr.eq(next_place),
            read.en.eq(is_more),
            self.empty.eq(write_place == read_place),
        ]
        pending = Signal(self._delay)
        m.d.sync += [
            write_place.eq(write_place + self.write),
            read_place.eq(next_place),
            following.eq(following + passes),
            opens.eq(Mux(passes, following_mark.data, read_mark.data)),
            is_head.eq(is_more),
            pending.eq(Cat(self.resolves & self.late, pending[:-1])),
            pending[1].eq(pending[0] | (self.resolves & ~self.late)),
            resolved.eq(resolved + pending[-1] - (passes & opens)),
            self.valid.eq(passes),
        ]
        with m.If(passes):
            m.d.sync += self.passing.eq(read.data)
        return m
