"""Floyd's method after the draw: a position that a list has taken already gives way to another."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DistinctFilter"]


class DistinctFilter(wiring.Component):
    """Lets positions pass, those of lists drawn without replacement once; one a clock, in order.

    A drawn position that is one of those before it in its list is replaced by the last one that it
    could have been, as ``rtl.contract.sampling`` says. Latency is 2 clocks; a stalled output holds
    the whole pipeline.

    Parameters
    ----------
    tag : StructLayout or Struct
        What travels beside each position, with the bits ``distinct`` (drawn without replacement)
        and ``last`` (of its list).
    places : int
        Positions of one such list at most.

    Members
    -------
    drawn : In(stream of position, degree, tag)
        Positions as from the mixer, and the number of positions among which each was drawn.
    positions : Out(stream of position, tag)
        The positions to take.
    """

    def __init__(self, tag, places):
        if not isinstance(places, int) or places < 1:
            raise TypeError(f"Places must be a positive integer, not {places!r}")
        self._places = places
        self._entry = data.StructLayout({"position": 32, "degree": 32, "tag": tag})
        taken = data.StructLayout({"position": 32, "tag": tag})
        super().__init__(
            {
                "drawn": In(stream.Signature(self._entry)),
                "positions": Out(stream.Signature(taken)),
            }
        )

    @property
    def places(self):
        return self._places

    def elaborate(self, platform):
        m = Module()
        drawn, out = self.drawn, self.positions
        advance, first = Signal(), Signal(init=1)
        # The newest position is not in the table yet when the next one is compared with it, and
        # may still become its own substitute: the next is compared with both.
        tag = self._entry["tag"].shape
        newest = Signal(data.StructLayout({"position": 32, "other": 32, "tag": tag}))
        newest_valid, newest_first = Signal(), Signal()
        same_position, same_other, replaced = Signal(), Signal(), Signal()
        table = [Signal(32, name=f"place{n}") for n in range(self._places)]
        filled, hits = Signal(self._places), Signal(self._places)
        compares, again, chosen = Signal(), Signal(), Signal(32)
        m.d.comb += [
            advance.eq(~out.valid | out.ready),
            drawn.ready.eq(advance),
            compares.eq(drawn.payload.tag.distinct & ~first),
            again.eq(hits.any() | Mux(replaced, same_other, same_position)),
            chosen.eq(Mux(again, newest.other, newest.position)),
        ]
        with m.If(advance):
            m.d.sync += [
                newest.position.eq(drawn.payload.position),
                newest.other.eq(drawn.payload.degree - 1),
                newest.tag.eq(drawn.payload.tag),
                newest_valid.eq(drawn.valid),
                newest_first.eq(first),
                out.payload.position.eq(chosen),
                out.payload.tag.eq(newest.tag),
                out.valid.eq(newest_valid),
            ]
            self._compare(m, table, filled, hits, compares, newest_valid, newest_first)
            m.d.sync += [
                same_position.eq(
                    compares & newest_valid & (newest.position == drawn.payload.position)
                ),
                same_other.eq(compares & newest_valid & (newest.other == drawn.payload.position)),
                replaced.eq(again),
            ]
            with m.If(drawn.valid):
                m.d.sync += first.eq(drawn.payload.tag.last)
        with m.If(advance & newest_valid & newest.tag.distinct):
            m.d.sync += [
                filled.eq(Mux(newest_first, 1, Cat(1, filled))),
                *(now.eq(before) for now, before in zip(table, [chosen, *table], strict=False)),
            ]
        return m

    def _compare(self, m, table, filled, hits, compares, newest_valid, newest_first):
        """Compare a position with those of its list that are in the table."""
        # While the first of a list is the newest, the table still holds the list before.
        fresh = compares & ~(newest_valid & newest_first)
        for number, place in enumerate(table):
            m.d.sync += hits[number].eq(
                fresh & filled[number] & (place == self.drawn.payload.position)
            )
