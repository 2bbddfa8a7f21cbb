"""Edges of a strobe within one clock."""

from amaranth.hdl import Const, Mux

__all__ = ["is_half", "transfers"]


def is_half(edges):
    """Whether a clock of four transfers has the first two only, as the last one of a burst may."""
    return edges == 0b0011 if len(edges) == 4 else Const(0, 1)


def transfers(edges):
    """Transfers in a clock that has any."""
    return Mux(is_half(edges), 2, len(edges))
