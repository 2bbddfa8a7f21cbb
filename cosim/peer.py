"""What of an FPGA card the SSD reaches, peer to peer."""

from collections.abc import Generator
from typing import Any, Protocol

from rtl.contract.kernel import Cause

__all__ = ["CardMemory", "PeerQueues"]


class CardMemory(Protocol):
    """What peer-to-peer writes reach; see ``cosim.fpga_card``."""

    def check(self, offset: int, length: int) -> None:
        """Raise :exc:`BusError` unless the window holds the whole range."""

    def write(
        self, offset: int, data: bytes, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Bring bytes that have arrived at the card into its DRAM."""


class PeerQueues(Protocol):
    """Queues that the card owns, and the SSD's way to them; see ``cosim.card_queue``."""

    def check(self, address: int, length: int) -> None:
        """Raise :exc:`BusError` unless they hold the whole range."""

    def read(
        self, address: int, length: int, request_bytes: int, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Fetch from them by requests of ``request_bytes``, all of them headers."""

    def write(
        self, address: int, data: bytes, cause: Cause, request: int, kind: str
    ) -> Generator[Any, Any, Cause]:
        """Post to them."""
