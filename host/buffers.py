"""Host memory as a program has it: pieces that lie anywhere, each contiguous in itself."""

from rtl.contract.kernel import HostMemory
from rtl.contract.nvme import PAGE_BYTES

__all__ = ["MAX_SEGMENT_BYTES", "ScatteredBuffer", "check_segment_bytes"]

MAX_SEGMENT_BYTES = 2 << 20
"""The largest page that a host pins in one piece."""


def check_segment_bytes(value: int) -> None:
    """Refuse a segment size that is not 4 KiB to 2 MiB in whole pages; :exc:`ValueError`."""
    if not PAGE_BYTES <= value <= MAX_SEGMENT_BYTES or value % PAGE_BYTES:
        raise ValueError(
            f"segment_bytes must be {PAGE_BYTES} to {MAX_SEGMENT_BYTES} in whole pages of "
            f"{PAGE_BYTES}, not {value!r}"
        )


class ScatteredBuffer:
    """``length`` bytes in segments of ``segment_bytes`` (the last may be shorter).

    Attributes
    ----------
    segments
        (address, length) of each piece, in order; addresses are page-aligned.
    """

    def __init__(self, memory: HostMemory, length: int, segment_bytes: int = PAGE_BYTES) -> None:
        check_segment_bytes(segment_bytes)
        self.length = length
        self.segments: list[tuple[int, int]] = []
        self._memory = memory
        for start in range(0, length, segment_bytes):
            size = min(segment_bytes, length - start)
            self.segments.append((memory.allocate(size, PAGE_BYTES), size))

    def store(self, data: bytes) -> None:
        """Fill the buffer; :exc:`ValueError` unless ``data`` has its length."""
        if len(data) != self.length:
            raise ValueError(f"data must be {self.length} bytes long, not {len(data)}")
        place = 0
        for address, size in self.segments:
            self._memory.store(address, data[place : place + size])
            place += size

    def load(self) -> bytes:
        return b"".join(self._memory.load(address, size) for address, size in self.segments)

    def pages(self) -> list[int]:
        """Page addresses, as PRP entries of an ordinary command."""
        return [
            address + offset
            for address, size in self.segments
            for offset in range(0, size, PAGE_BYTES)
        ]

    def release(self) -> None:
        """Give all pieces back; the buffer must not be used any more."""
        for address, _ in self.segments:
            self._memory.release(address)
        self.segments = []
