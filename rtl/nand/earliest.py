"""Merging of wake-up deadlines."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS

__all__ = ["EarliestEdge", "earliest"]


def earliest(edges):
    """The least of a list of edge numbers, as a balanced tree; all ones means never."""
    if len(edges) == 1:
        return edges[0]
    left, right = earliest(edges[: len(edges) // 2]), earliest(edges[len(edges) // 2 :])
    return Mux(left < right, left, right)


class EarliestEdge(wiring.Component):
    """Finds the least of several edge numbers; each level of the tree takes a clock.

    Parameters
    ----------
    count : int
        Edge numbers, at least 1.

    Members
    -------
    edges : In(48).array(count)
        All ones means never.
    calm : In(1)
        They stay as they are in this clock. While they may change nothing is compared, which costs
        a simulator nothing.
    edge : Out(48)
    known : Out(1)
        ``edge`` is the least: it has been calm for long enough.
    """

    def __init__(self, count):
        self._count = count
        super().__init__(
            {
                "edges": In(STAMP_BITS).array(count),
                "calm": In(1),
                "edge": Out(STAMP_BITS, init=-1),
                "known": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        edges, depth = list(self.edges), 0
        # Clocks for which it has been calm, as ones from bit 0 on.
        settled = Signal((len(edges) - 1).bit_length() + 1)
        m.d.sync += settled.eq(Mux(self.calm, Cat(1, settled[:-1]), 0))
        while len(edges) > 1:
            pairs = list(zip(edges[::2], edges[1::2], strict=False))
            odd = edges[2 * len(pairs) :]
            edges = [
                Signal(STAMP_BITS, name=f"least{depth}_{n}", init=-1) for n in range(len(pairs))
            ]
            with m.If(settled[0]):
                for least, (left, right) in zip(edges, pairs, strict=True):
                    m.d.sync += least.eq(Mux(left < right, left, right))
            edges += odd
            depth += 1
        m.d.comb += self.edge.eq(edges[0])
        m.d.comb += self.known.eq(self.calm & settled[-1])
        return m
