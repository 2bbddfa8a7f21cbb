"""Bytes in equal bytes out: what left one part of a system must have entered the next."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cosim.spans import Span

__all__ = ["BOUNDARIES", "Boundary", "BytesLost", "check_bytes"]


class BytesLost(Exception):
    """Bytes left one side of a boundary and did not arrive at the other, or came from nowhere."""


@dataclass(frozen=True)
class Boundary:
    """Payload of the spans that ``leaves`` picks must equal that of those that ``enters`` picks."""

    name: str
    leaves: Callable[[Span], bool]
    enters: Callable[[Span], bool]


BY_CONTROLLER = frozenset({"sqe", "cqe", "doorbell", "interrupt"})
"""Kinds that the NVMe controller sends and takes by itself, past the SSD's DRAM."""
TO_SSD = frozenset({"pcie.ssd.down", "pcie.p2p.to-ssd"})
TO_WINDOW = frozenset({"data", "descriptor", "positions"})
"""Kinds that end in the card's DRAM."""

BOUNDARIES = (
    Boundary(
        "flash buses to SSD DRAM",
        lambda span: span.stage == "flash.transfer",
        lambda span: span.stage == "dram.flash-in",
    ),
    Boundary(
        "host and card to SSD DRAM",
        lambda span: span.unit in TO_SSD and span.kind not in BY_CONTROLLER,
        lambda span: span.stage == "dram.dma-in",
    ),
    Boundary(
        "SSD DRAM to host and card",
        lambda span: span.stage == "dram.dma-out",
        lambda span: span.unit in ("pcie.ssd.up", "pcie.p2p") and span.kind not in BY_CONTROLLER,
    ),
    Boundary(
        "links and hop sequencer to card DRAM",
        lambda span: span.unit in ("pcie.p2p", "pcie.fpga.down", "hops") and span.kind in TO_WINDOW,
        lambda span: span.stage == "gather.stage",
    ),
    Boundary(
        "gather unit to host and hop sequencer",
        lambda span: span.stage == "gather.stream",
        lambda span: (
            (span.unit == "pcie.fpga.up" and span.kind == "result") or span.stage == "hops.pointers"
        ),
    ),
    Boundary(
        "host to hop sequencer",
        lambda span: span.unit == "pcie.fpga.down" and span.kind == "hop_order",
        lambda span: span.stage == "hops.order",
    ),
)


def check_bytes(spans: Iterable[Span]) -> None:
    """Compare both sides of every boundary.

    Raises
    ------
    BytesLost
        Naming the boundary and both counts.
    """
    everything = list(spans)
    for boundary in BOUNDARIES:
        left = sum(span.payload_bytes for span in everything if boundary.leaves(span))
        entered = sum(span.payload_bytes for span in everything if boundary.enters(span))
        if left != entered:
            raise BytesLost(
                f"From {boundary.name}, {left} bytes left and as many must arrive, not {entered}"
            )
