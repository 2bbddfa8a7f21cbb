"""What a PCIe link is made of; the values, with their sources, are in platform files."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from cosim.credits import CREDIT_BYTES

__all__ = ["LinkParameters", "WireParameters"]

PS_PER_SECOND = 10**12


@dataclass(frozen=True, kw_only=True)
class WireParameters:
    """A PCIe link for posted writes; the values, with sources, are in platform files.

    Raises
    ------
    ValueError
        If a number is not a positive integer (``header_bytes`` may be 0).
    """

    bytes_per_second: int
    """On the wire after line coding, headers included."""
    latency_ps: int
    """Last byte sent to last byte acted upon, one way."""
    max_payload_bytes: int
    """Of a write packet."""
    header_bytes: int
    """Framing, sequence number, header and CRC of any packet."""
    posted_headers: int
    """Write packets for which the receiver has room."""
    posted_data_bytes: int
    """Their data for which it has room; at least a packet's, in whole credits of 16 bytes."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "header_bytes" else 1
            if not isinstance(value, int) or value < least:
                raise ValueError(
                    f"{field.name} must be an integer of at least {least}, not {value!r}"
                )

        least = -(-self.max_payload_bytes // CREDIT_BYTES) * CREDIT_BYTES
        if self.posted_data_bytes < least or self.posted_data_bytes % CREDIT_BYTES:
            raise ValueError(
                f"posted_data_bytes must be a multiple of {CREDIT_BYTES} from {least} up, "
                f"not {self.posted_data_bytes}"
            )

    def packets(self, length: int) -> Iterator[int]:
        """Data of each packet of a write of ``length`` bytes."""
        for start in range(0, length, self.max_payload_bytes):
            yield min(self.max_payload_bytes, length - start)

    def duration_ps(self, length: int) -> int:
        """Time of ``length`` bytes, headers included, on the wire; rounded up."""
        return -(-length * PS_PER_SECOND // self.bytes_per_second)

    def write_overhead(self, length: int) -> int:
        """Header bytes of a write of ``length`` bytes."""
        return -(-length // self.max_payload_bytes) * self.header_bytes


@dataclass(frozen=True, kw_only=True)
class LinkParameters(WireParameters):
    """A PCIe link across which a device also reads."""

    read_request_bytes: int
    """Most bytes that one read request asks for."""
    read_completion_bytes: int
    """Payload of one completion packet of a read."""
    read_window_bytes: int
    """Bytes that a device may have asked for and not received yet."""

    def request_overhead(self, length: int) -> int:
        """Bytes of the read requests for ``length`` bytes, all of them headers."""
        return -(-length // self.read_request_bytes) * self.header_bytes

    def completion_overhead(self, length: int) -> int:
        """Header bytes of the completions of a read of ``length`` bytes."""
        return -(-length // self.read_completion_bytes) * self.header_bytes
