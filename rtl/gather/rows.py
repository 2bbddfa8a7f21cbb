"""How the ids of a target lie in the rows of a lane's ring."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RowCount", "ring_rows"]


def ring_rows(max_fan_out, result_words):
    """Rows of a ring that keeps two targets of ``max_fan_out``, up to a power of two."""
    places = max_fan_out + (result_words > 1)
    return 1 << (2 * -(-places // result_words) - 1).bit_length()


class RowCount(wiring.Component):
    """Where the ids of a target go in rows of the ring, the header's place left out.

    Parameters
    ----------
    result_words : int
        Places of a row.

    Members
    -------
    step, read, end : In(1)
        In this clock a request goes by; it has an id; it is its target's last.
    needs_row : Out(1)
        An id that went by now would begin a row.
    place : Out
        And where in its row it would be.
    """

    def __init__(self, result_words):
        self._result_words = result_words
        flags = dict.fromkeys(("step", "read", "end"), In(1))
        super().__init__({**flags, "needs_row": Out(1), "place": Out(range(result_words))})

    def elaborate(self, platform):
        m = Module()
        begin = min(1, self._result_words - 1)
        place, needs_row = Signal(range(self._result_words), init=begin), Signal(init=1)
        m.d.comb += [self.place.eq(place), self.needs_row.eq(needs_row)]
        with m.If(self.step & self.end):
            m.d.sync += [place.eq(begin), needs_row.eq(1)]
        with m.Elif(self.step & self.read):
            m.d.sync += [
                place.eq(place + 1),
                needs_row.eq(place == self._result_words - 1),
            ]
        return m
