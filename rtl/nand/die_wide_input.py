"""Data input of a die at four transfers a clock; simulation only."""

from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib.wiring import In, Out

from rtl.nand.die_input import DieInput

__all__ = ["WideDieInput"]


class WideDieInput(DieInput):
    """As :class:`DieInput`, with two pairs a clock.

    Pairs are written where they belong, two at a time where the first one is at an even place, so
    that no write reaches from one word of the page register into the next. A pair that is to be
    kept may therefore wait a clock.

    Members
    -------
    is_odd : In(1)
        The place of the next pair, counted in pairs.
    pair : Out(32)
        The pairs to be kept, the first in the low bits; one alone is in both halves.
    takes_two : Out(1)
        With ``take``: there are two.
    """

    def __init__(self, **arguments):
        super().__init__(**arguments, members={"is_odd": In(1), "takes_two": Out(1)}, pairs=2)
        self._commits = Signal(range(3))
        self._commit = [Signal(16, name="commit0"), Signal(16, name="commit1")]
        self._held = Signal(16)

    def _write(self, m):
        waits, waiting = Signal(), Signal(16)
        first, second, third = (
            Mux(waits, one, other)
            for one, other in (
                (waiting, self._commit[0]),
                (self._commit[0], self._commit[1]),
                (self._commit[1], self._commit[1]),
            )
        )
        known = Signal(range(4))
        m.d.comb += [
            known.eq(self._commits + waits),
            self.take.eq(known != 0),
            self.takes_two.eq((known >= 2) & ~self.is_odd),
            self.pair.eq(Cat(first, Mux(self.takes_two, second, first))),
        ]
        m.d.sync += [
            waits.eq(known > Mux(self.takes_two, 2, 1)),
            waiting.eq(Mux(self.takes_two, third, second)),
        ]

    def _take_last(self, m):
        m.d.comb += [self._commits.eq(1), self._commit[0].eq(self._held)]

    def _take_pairs(self, m, state, edges):
        half, pairs = state.half, []
        for phase in range(len(edges)):
            byte, is_rise = self.dq.word_select(phase, 8), self.dqs[phase]
            pairs.append((edges[phase] & ~is_rise, Cat(half, byte)))
            half = Mux(edges[phase] & is_rise, byte, half)
        m.d.sync += state.half.eq(half)
        count, found = Signal(range(3)), [Signal(16, name=f"pair{n}") for n in range(2)]
        so_far = 0
        for is_complete, pair in pairs:
            with m.If(is_complete):
                with m.If(so_far == 0):
                    m.d.comb += found[0].eq(pair)
                with m.Else():
                    m.d.comb += found[1].eq(pair)
            so_far = so_far + is_complete
        m.d.comb += count.eq(so_far)
        with m.If(count != 0):
            m.d.sync += [self._held.eq(Mux(count == 2, found[1], found[0])), state.holds.eq(1)]
            m.d.comb += self._commits.eq(count - 1 + state.holds)
            with m.If(state.holds):
                m.d.comb += [self._commit[0].eq(self._held), self._commit[1].eq(found[0])]
            with m.Else():
                m.d.comb += self._commit[0].eq(found[0])
