"""Bytes in and out of the word memories of the simulated RTL, through cached VPI handles."""

from typing import Any

__all__ = ["WordMemory"]

_NO_DELAY = 3  # cocotb's code for a write that takes effect at once


class WordMemory:
    """A memory of ``width``-bit words; byte b is byte b of the little-endian concatenation.

    Handles are looked up at first use and kept. A word moves as one binary string, which both
    simulators take without a detour, and all words of a page are parts of one long string.

    Parameters
    ----------
    memory : cocotb handle
        The memory (an unpacked array).

    Raises
    ------
    ValueError
        If a word is not whole bytes.
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory._handle
        self._words: list[Any] = [None] * len(memory)
        self.width = len(memory[0])
        if self.width % 8:
            raise ValueError(f"Words of {memory._path} must be whole bytes, not {self.width} bits")
        self.word_bytes = self.width // 8

    def __len__(self) -> int:
        return len(self._words)

    def read(self, first: int, length: int) -> bytes:
        """``length`` bytes from word ``first`` on.

        Raises
        ------
        ValueError
            If a bit of them is not driven (X), or they lie beyond the memory.
        """
        count = -(-length // self.word_bytes)
        words = [word.get_signal_val_binstr() for word in self._handles(first, count)]
        words.reverse()
        bits = "".join(words)[-8 * length :]
        try:
            return int(bits, 2).to_bytes(length, "little")
        except ValueError:
            raise ValueError(
                f"{length} bytes from word {first} on must be driven, but have undefined bits"
            ) from None

    def write(self, first: int, data: bytes) -> None:
        """Put ``data`` into whole words from ``first`` on; the last one is filled up with zeros."""
        count = -(-len(data) // self.word_bytes)
        width = self.width
        bits = format(int.from_bytes(data, "little"), f"0{count * width}b")
        end = len(bits)
        for word in self._handles(first, count):
            word.set_signal_val_binstr(_NO_DELAY, bits[end - width : end])
            end -= width

    def _handles(self, first: int, count: int) -> list[Any]:
        if not 0 <= first <= first + count <= len(self._words):
            raise ValueError(
                f"Words must lie in 0 to {len(self._words) - 1}, not {first} to {first + count - 1}"
            )
        for index in range(first, first + count):
            if self._words[index] is None:
                self._words[index] = self._memory.get_handle_by_index(index)
        return self._words[first : first + count]
