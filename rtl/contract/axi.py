"""Encodings of AXI4, and the rules that the bus checker watches.

Ref: Arm IHI 0022H, AMBA AXI and ACE Protocol Specification: A3.4.1 (address structure, bursts),
A3.4.4 (responses), A3.2.1 (handshake), A5.3 (ordering by ID).
"""

from amaranth.lib import enum

__all__ = ["BOUNDARY_BYTES", "MAX_BEATS", "AxiRule", "Burst", "Response"]

BOUNDARY_BYTES = 4096
"""No burst crosses an address that is a multiple of this."""
MAX_BEATS = 256
"""Longest INCR burst."""


class Burst(enum.IntEnum, shape=2):
    """AxBURST."""

    FIXED = 0
    INCR = 1
    WRAP = 2


class Response(enum.IntEnum, shape=2):
    """RRESP and BRESP; bit 1 marks the errors."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class AxiRule(enum.IntEnum, shape=4):
    """What the checker found broken; 0 is nothing."""

    NONE = 0
    ADDRESS_UNSTABLE = 1
    """AxVALID fell, or its payload changed, before AxREADY."""
    DATA_UNSTABLE = 2
    """RVALID or WVALID fell, or its payload changed, before it was taken."""
    RESPONSE_UNSTABLE = 3
    """BVALID fell, or its payload changed, before BREADY."""
    CROSSES_BOUNDARY = 4
    LAST_WRONG = 5
    """RLAST or WLAST is not at the burst's last beat, or only there."""
    UNREQUESTED = 6
    """A response, or write data, that no address asked for."""
    TOO_MANY = 7
    """More bursts in flight than the checker can follow."""
    REORDERED = 8
    """Beats of one ID in another order than they were asked for."""
