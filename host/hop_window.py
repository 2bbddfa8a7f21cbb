"""The card's DRAM window where it holds the row pointers, too."""

from dataclasses import dataclass

from host.window import GRAIN, WindowLayout

__all__ = ["POINTER_BYTES", "HopWindow"]

POINTER_BYTES = 8
"""Of a row pointer: an unsigned little-endian word."""
LEAST_BYTES = 3 * GRAIN


@dataclass(frozen=True)
class HopWindow:
    """Areas of the window: those of :class:`WindowLayout` in front, then the row pointers.

    Raises
    ------
    ValueError
        If row pointers leave no room for the other areas.
    """

    window_bytes: int
    nodes: int

    def __post_init__(self) -> None:
        if self.window_bytes - self.table_bytes < LEAST_BYTES:
            raise ValueError(
                f"window must hold {self.table_bytes} bytes of row pointers of {self.nodes} nodes "
                f"and {LEAST_BYTES} bytes beside them, not {self.window_bytes}"
            )

    @property
    def table_bytes(self) -> int:
        """Of all row pointers, in whole pages."""
        return -(-POINTER_BYTES * (self.nodes + 1) // GRAIN) * GRAIN

    @property
    def table_base(self) -> int:
        return self.window_bytes - self.table_bytes

    @property
    def rounds(self) -> WindowLayout:
        """The areas in front."""
        return WindowLayout(self.table_base)
