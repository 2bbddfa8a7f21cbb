"""Host DRAM as bytes: what driver and device share."""

from bisect import bisect_right

from rtl.contract.kernel import P2P_BASE, BusError

__all__ = ["HostMemory"]

FIRST_ADDRESS = 1 << 20
GUARD_BYTES = 4096


class HostMemory:
    """Allocations from ``first`` to below ``end``; see ``rtl.contract.kernel.HostMemory``.

    Every access must lie within one live allocation. Neighbours are at least a guard of 4,096 bytes
    apart and addresses are never given twice, so that a stray or late access is always seen.
    """

    def __init__(self, first: int = FIRST_ADDRESS, end: int = P2P_BASE) -> None:
        self._end = end
        self._bases: list[int] = []
        self._contents: dict[int, bytearray] = {}
        self._next = first

    @property
    def allocated_bytes(self) -> int:
        """Bytes of all live allocations."""
        return sum(map(len, self._contents.values()))

    def allocate(self, length: int, alignment: int = 4096) -> int:
        if length < 1:
            raise ValueError(f"length must be positive, not {length!r}")
        if alignment < 1 or alignment & alignment - 1:
            raise ValueError(f"alignment must be a power of two, not {alignment!r}")
        address = -(-self._next // alignment) * alignment
        if address + length + GUARD_BYTES > self._end:
            raise MemoryError(f"Host memory must end below {self._end:#x}, not hold {length} more")
        self._next = address + length + GUARD_BYTES
        self._bases.append(address)
        self._contents[address] = bytearray(length)
        return address

    def release(self, address: int) -> None:
        if address not in self._contents:
            raise ValueError(f"{address:#x} must be the address of a live allocation")
        del self._contents[address]
        self._bases.remove(address)

    def check(self, address: int, length: int) -> None:
        """Raise :exc:`BusError` unless one live allocation holds the whole range."""
        self._find(address, length)

    def load(self, address: int, length: int) -> bytes:
        content, offset = self._find(address, length)
        return bytes(content[offset : offset + length])

    def store(self, address: int, data: bytes) -> None:
        content, offset = self._find(address, len(data))
        content[offset : offset + len(data)] = data

    def _find(self, address: int, length: int) -> tuple[bytearray, int]:
        index = bisect_right(self._bases, address) - 1
        if index >= 0:
            base = self._bases[index]
            content = self._contents[base]
            if address + length <= base + len(content) and length >= 0:
                return content, address - base
        raise BusError(
            f"Host access of {length} bytes at {address:#x} must lie within one live allocation"
        )
