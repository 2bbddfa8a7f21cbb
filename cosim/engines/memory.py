"""Bytes in and out of the word memories of the simulated RTL, by the simulator's own VPI.

cocotb moves a wide value as text, a character a bit, which for whole pages costs more than anything
else in Python does. The VPI has a binary form, so words go past cocotb: its functions are called in
the simulator, which is this very process.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np

__all__ = ["WordMemory"]

# IEEE 1800-2017, annex K (vpi_user.h).
_VECTOR_VALUE = 9  # vpiVectorVal
_NO_DELAY = 1  # vpiNoDelay: a write takes effect at once
_ELEMENT_BITS = 32  # of an element of a vector
_ELEMENT = np.dtype([("a", "<u4"), ("b", "<u4")])  # s_vpi_vecval; a bit of b: neither 0 nor 1


class _Value(ctypes.Structure):
    """``s_vpi_value`` with its union as a pointer, all that a vector needs."""

    _fields_ = (("format", ctypes.c_int32), ("vector", ctypes.c_void_p))


class WordMemory:
    """A memory of ``width``-bit words; byte b is byte b of the little-endian concatenation.

    Handles are looked up at first use and kept.

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
        self._path = memory._path
        self._memory: int | None = None
        self._words: list[int | None] = [None] * len(memory)
        self.width = len(memory[0])
        if self.width % 8:
            raise ValueError(f"Words of {self._path} must be whole bytes, not {self.width} bits")
        self.word_bytes = self.width // 8
        self._elements = -(-self.width // _ELEMENT_BITS)
        self._is_padded = self.width % _ELEMENT_BITS != 0

    def __len__(self) -> int:
        return len(self._words)

    def read(self, first: int, length: int) -> bytes:
        """``length`` bytes from word ``first`` on.

        Raises
        ------
        ValueError
            If a bit of them is not driven (X), or they lie beyond the memory.
        """
        get = _vpi().vpi_get_value
        size = self._elements * _ELEMENT.itemsize
        value = _Value(_VECTOR_VALUE)
        at = ctypes.byref(value)
        words = []
        for word in self._handles(first, -(-length // self.word_bytes)):
            get(word, at)
            words.append(ctypes.string_at(value.vector, size))
        elements = np.frombuffer(b"".join(words), _ELEMENT)
        if any(self._bytes(elements["b"])[:length]):
            raise ValueError(
                f"{length} bytes from word {first} on must be driven, but have undefined bits"
            )
        return self._bytes(elements["a"])[:length]

    def write(self, first: int, data: bytes) -> None:
        """Put ``data`` into whole words from ``first`` on; the last one is filled up with zeros."""
        put = _vpi().vpi_put_value
        count = -(-len(data) // self.word_bytes)
        elements = np.zeros((count, self._elements), _ELEMENT)
        elements["a"] = self._numbers(data.ljust(count * self.word_bytes, b"\0"))
        value = _Value(_VECTOR_VALUE, elements.ctypes.data)
        at = ctypes.byref(value)
        for word in self._handles(first, count):
            put(word, at, None, _NO_DELAY)
            value.vector += elements.strides[0]

    def _bytes(self, numbers: Any) -> bytes:
        """Bytes of whole words, from one number an element."""
        raw = numbers.tobytes()
        if self._is_padded:
            lines = np.frombuffer(raw, np.uint8).reshape(-1, self._elements * 4)
            raw = lines[:, : self.word_bytes].tobytes()
        return bytes(raw)

    def _numbers(self, data: bytes) -> Any:
        """The reverse of :meth:`_bytes`, a row a word."""
        lines = np.frombuffer(data, np.uint8).reshape(-1, self.word_bytes)
        if self._is_padded:
            lines = np.pad(lines, ((0, 0), (0, self._elements * 4 - self.word_bytes)))
        return lines.view("<u4")

    def _handles(self, first: int, count: int) -> list[Any]:
        if not 0 <= first <= first + count <= len(self._words):
            raise ValueError(
                f"Words must lie in 0 to {len(self._words) - 1}, not {first} to {first + count - 1}"
            )
        if self._memory is None:
            self._memory = _vpi().vpi_handle_by_name(self._path.encode(), None)
        for index in range(first, first + count):
            if self._words[index] is None:
                self._words[index] = _vpi().vpi_handle_by_index(self._memory, index)
        return self._words[first : first + count]


@cache
def _vpi() -> ctypes.CDLL:
    """The VPI's functions, which every simulator offers to what it has loaded."""
    library = ctypes.CDLL(None)
    handle, value = ctypes.c_void_p, ctypes.POINTER(_Value)
    library.vpi_handle_by_name.argtypes = (ctypes.c_char_p, handle)
    library.vpi_handle_by_name.restype = handle
    library.vpi_handle_by_index.argtypes = (handle, ctypes.c_int32)
    library.vpi_handle_by_index.restype = handle
    library.vpi_get_value.argtypes = (handle, value)
    library.vpi_get_value.restype = None
    library.vpi_put_value.argtypes = (handle, value, ctypes.c_void_p, ctypes.c_int32)
    library.vpi_put_value.restype = handle
    return library
