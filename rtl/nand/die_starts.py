# amaranth: UnusedElaboratable=no
# (The memories are made before what else is.)
"""Array operations between their confirm cycle and their begin; simulation only."""

from amaranth.hdl import Module, Mux
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS
from rtl.nand.earliest import earliest

__all__ = ["DieStarts"]


class DieStarts(wiring.Component):
    """Counts tWB of each LUN's start, and keeps a word with it.

    ::

        edge     n    n+1  ...  n+tWB
        start   _-_____________________
        armed   ___---------------_____
        begin   _____________-_________

    Parameters
    ----------
    luns : int
        LUNs of the die.
    busy_cycles : int
        Clocks from ``start`` to ``begin`` (tWB), at least 1.
    width : int
        Bits of the word.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    start, lun, word : In
        Start ``lun`` with ``word``.
    cancel : In(1)
        Forget the starts that wait, but not that of this clock.
    armed : Out(luns)
        Starts that wait.
    beginning : Out(luns)
        LUN whose operation begins at this edge; at most one, for starts are never in one clock.
    begin, begin_lun, begin_word : Out
        The same as a strobe with its LUN and word; zero while none begins.
    last_word : Out(width)
        Word of the last start of ``lun``.
    deadline : Out(48)
        Edge of the next ``begin``; all ones if there is none.

    Raises
    ------
    ValueError
        If ``busy_cycles`` is not a positive integer.
    """

    def __init__(self, *, luns, busy_cycles, width):
        if not isinstance(busy_cycles, int) or busy_cycles < 1:
            raise ValueError(f"busy_cycles must be a positive integer, not {busy_cycles!r}")
        self._luns = luns
        self._busy_cycles = busy_cycles
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "start": In(1),
                "lun": In(range(max(luns, 2))),
                "word": In(width),
                "cancel": In(1),
                "armed": Out(luns),
                "beginning": Out(luns),
                "begin": Out(1),
                "begin_lun": Out(range(max(luns, 2))),
                "begin_word": Out(width),
                "last_word": Out(width),
                "deadline": Out(STAMP_BITS, init=NEVER),
            }
        )

    def elaborate(self, platform):
        m = Module()
        edges = self._memory(m, "edges", self.now + self._busy_cycles, STAMP_BITS)
        words = self._memory(m, "words", self.word, len(self.word))
        with m.If(self.armed.any()):
            due = [Mux(self.armed[lun], edge, NEVER) for lun, edge in enumerate(edges)]
            m.d.comb += self.deadline.eq(earliest(due))
            for lun, edge in enumerate(edges):
                with m.If(self.armed[lun] & (edge == self.now)):
                    m.d.comb += [
                        self.beginning[lun].eq(1),
                        self.begin.eq(1),
                        self.begin_lun.eq(lun),
                        self.begin_word.eq(words[lun]),
                    ]
        with m.If(self.start | self.begin | self.cancel):
            waiting = self.armed & ~self.beginning & ~self.cancel.replicate(self._luns)
            m.d.sync += self.armed.eq(waiting | Mux(self.start, 1 << self.lun, 0))
        with m.Switch(self.lun):
            for lun, word in enumerate(words):
                with m.Case(lun):
                    m.d.comb += self.last_word.eq(word)
        return m

    def _memory(self, m, name, value, width):
        """A number for each LUN, written when it starts; returns all of them as values."""
        store = memory.Memory(shape=width, depth=max(self._luns, 2), init=[])
        m.submodules[name] = store
        write = store.write_port()
        m.d.comb += [write.en.eq(self.start), write.addr.eq(self.lun), write.data.eq(value)]
        values = []
        for lun in range(self._luns):
            read = store.read_port(domain="comb")
            m.d.comb += read.addr.eq(lun)
            values.append(read.data)
        return values
