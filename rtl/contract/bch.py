"""Binary BCH code of the flash pages: parameters, generator polynomial, parity.

A codeword is ``chunk_bytes`` of data, then ``parity_bytes`` of parity: a shortened, systematic
code. Read as one bit string, byte 0 first and bit 7 of each byte first, it is a polynomial over
GF(2) from the highest power down to x^0: bit 7 of data byte 0 is the highest power, bit 7 of parity
byte 0 is x^(parity_bits - 1). Where ``parity_bits`` does not fill the last byte, its low bits are
zero and not part of the code. Both bchlib and a shortened ``galois.BCH`` use this order.

Ref: Lin and Costello, Error Control Coding, 2nd ed., section 6.1 (construction). Encoding is
linear, so the parity of a chunk is the XOR of one table entry for each of its bytes.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["PRIMITIVE_POLYNOMIALS", "BchCode"]

PRIMITIVE_POLYNOMIALS = {
    8: 0x11D,
    9: 0x211,
    10: 0x409,
    11: 0x805,
    12: 0x1053,
    13: 0x201B,
    14: 0x402B,
    15: 0x8003,
}
"""Default primitive polynomial of GF(2^m), bit i for x^i (as the Linux kernel's lib/bch.c)."""

_SLICE_CODEWORDS = 256
"""Codewords that one table look-up covers: bounds the memory of its intermediate array."""


@dataclass(frozen=True, kw_only=True)
class BchCode:
    """BCH code over GF(2^``m``) that corrects ``t`` bit errors in a codeword.

    Parameters
    ----------
    m : int
        Degree of the field, 8 to 15.
    t : int
        Correctable bits a codeword.
    chunk_bytes : int
        Data bytes of a codeword.

    Raises
    ------
    ValueError
        If a number is out of range, the codeword does not fit 2^m - 1 bits, or the generator
        polynomial has fewer than m x t bits (t too large for this field).
    """

    m: int
    t: int
    chunk_bytes: int

    def __post_init__(self):
        if not isinstance(self.m, int) or self.m not in PRIMITIVE_POLYNOMIALS:
            raise ValueError(f"m must be in 8 to 15, not {self.m!r}")
        for name in ("t", "chunk_bytes"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        bits = 8 * self.chunk_bytes + self.parity_bits
        if bits > self.length_bits:
            raise ValueError(
                f"chunk_bytes must leave the codeword within {self.length_bits} bits, "
                f"not make it {bits}"
            )
        degree = self.generator.bit_length() - 1
        if degree != self.parity_bits:
            raise ValueError(
                f"t must give a generator polynomial of degree m * t = {self.parity_bits}, "
                f"not {degree}"
            )

    @property
    def length_bits(self):
        """Bits of the code before shortening."""
        return (1 << self.m) - 1

    @property
    def parity_bits(self):
        return self.m * self.t

    @property
    def parity_bytes(self):
        return -(-self.parity_bits // 8)

    @property
    def codeword_bytes(self):
        return self.chunk_bytes + self.parity_bytes

    @cached_property
    def generator(self):
        """Generator polynomial, bit i for x^i.

        The product of the distinct minimal polynomials of alpha^1 to alpha^2t; the even powers
        are conjugates of odd ones.
        """
        powers, logarithms = self._field
        product, covered = 1, set()
        for exponent in range(1, 2 * self.t, 2):
            if exponent in covered:
                continue
            conjugates = self._conjugates(exponent)
            covered.update(conjugates)
            product = _multiply(product, _minimal_polynomial(conjugates, powers, logarithms))
        return product

    def encode(self, chunks):
        """Parity of every chunk: ``uint8[n, chunk_bytes]`` in, ``uint8[n, parity_bytes]`` out."""
        chunks = self._bytes(chunks, "chunks", self.chunk_bytes)
        parity = np.empty((len(chunks), self.parity_bytes), dtype=np.uint8)
        places = np.arange(self.chunk_bytes)
        for start in range(0, len(chunks), _SLICE_CODEWORDS):
            part = slice(start, start + _SLICE_CODEWORDS)
            words = np.bitwise_xor.reduce(self._table[places, chunks[part]], axis=1)
            parity[part] = words.view(np.uint8)[:, : self.parity_bytes]
        return parity

    def check(self, codewords):
        """Whether each of ``uint8[n, codeword_bytes]`` is a codeword: ``bool[n]``."""
        codewords = self._bytes(codewords, "codewords", self.codeword_bytes)
        parity = self.encode(codewords[:, : self.chunk_bytes])
        return (parity == codewords[:, self.chunk_bytes :]).all(axis=1)

    def _bytes(self, values, name, width):
        values = np.asarray(values)
        if values.dtype != np.uint8 or values.ndim != 2 or values.shape[1] != width:
            raise ValueError(
                f"{name} must be uint8[n, {width}], not {values.dtype}{list(values.shape)}"
            )
        return values

    @cached_property
    def _field(self):
        """Powers of alpha (index 0 to 2^m - 2) and their logarithms."""
        powers, logarithms, value = [], {}, 1
        for exponent in range(self.length_bits):
            powers.append(value)
            logarithms[value] = exponent
            value <<= 1
            if value >> self.m:
                value ^= PRIMITIVE_POLYNOMIALS[self.m]
        return powers, logarithms

    def _conjugates(self, exponent):
        """Exponents of the conjugates of alpha^exponent: exponent, 2 exponent, 4 exponent, ..."""
        found = [exponent]
        while (following := found[-1] * 2 % self.length_bits) != exponent:
            found.append(following)
        return found

    @cached_property
    def _table(self):
        """Parity of a chunk that is zero but for value v at byte j: ``uint64[j, v, words]``.

        The bytes of an entry's words, in memory order, are parity bytes, then zeros.
        """
        words = -(-self.parity_bytes // 8)
        shift = 64 * words - self.parity_bits
        singles = np.empty((self.chunk_bytes, 8, words), dtype=np.uint64)
        remainder = self.generator ^ 1 << self.parity_bits
        for place in reversed(range(self.chunk_bytes)):
            for bit in range(8):
                raw = (remainder << shift).to_bytes(8 * words, "big")
                singles[place, bit] = np.frombuffer(raw, dtype=np.uint64)
                remainder <<= 1
                if remainder >> self.parity_bits:
                    remainder ^= self.generator
        table = np.zeros((self.chunk_bytes, 256, words), dtype=np.uint64)
        for bit in range(8):
            half = 1 << bit
            table[:, half : 2 * half] = table[:, :half] ^ singles[:, bit, np.newaxis]
        return table


def _multiply(left, right):
    """Product of two polynomials over GF(2)."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left <<= 1
        right >>= 1
    return product


def _minimal_polynomial(conjugates, powers, logarithms):
    """Product of (x + alpha^c) over ``conjugates``, whose coefficients are all 0 or 1."""
    coefficients = [1]
    for conjugate in conjugates:
        scaled = [
            powers[(logarithms[value] + conjugate) % len(powers)] if value else 0
            for value in coefficients
        ]
        coefficients = [
            scale ^ shift for scale, shift in zip([*scaled, 0], [0, *coefficients], strict=True)
        ]
    if any(value > 1 for value in coefficients):
        raise AssertionError("minimal polynomial must have coefficients in GF(2)")
    return sum(value << power for power, value in enumerate(coefficients))
