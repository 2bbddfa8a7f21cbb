"""Merging of wake-up deadlines."""

from amaranth.hdl import Mux

__all__ = ["earliest"]


def earliest(edges):
    """The least of a list of edge numbers, as a balanced tree; all ones means never."""
    if len(edges) == 1:
        return edges[0]
    left, right = earliest(edges[: len(edges) // 2]), earliest(edges[len(edges) // 2 :])
    return Mux(left < right, left, right)
