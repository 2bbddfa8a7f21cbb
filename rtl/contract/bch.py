"""Binary BCH code of the flash pages: parameters, generator polynomial, parity, correction.

A codeword is ``chunk_bytes`` of data, then ``parity_bytes`` of parity: a shortened, systematic
code. Read as one bit string, byte 0 first and bit 7 of each byte first, it is a polynomial over
GF(2) from the highest power down to x^0: bit 7 of data byte 0 is the highest power, bit 7 of parity
byte 0 is x^(parity_bits - 1). Where ``parity_bits`` does not fill the last byte, its low bits are
zero and not part of the code. Both bchlib and a shortened ``galois.BCH`` use this order.

Ref: Lin and Costello, Error Control Coding, 2nd ed., section 6.1 (construction), 6.2 and 6.3
(decoding). Encoding is linear, so the parity of a chunk is the XOR of one table entry for each of
its bytes.
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

__all__ = ["PRIMITIVE_POLYNOMIALS", "BchCode", "field_tables"]

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

_SLICE_CORRECTIONS = 64
"""Codewords whose errors are searched at once, for the same reason."""


@cache
def field_tables(m):
    """GF(2^``m``): powers of alpha (index 0 to 2^m - 2), and the logarithm of each of them."""
    powers, logarithms, value = [], {}, 1
    for exponent in range((1 << m) - 1):
        powers.append(value)
        logarithms[value] = exponent
        value <<= 1
        if value >> m:
            value ^= PRIMITIVE_POLYNOMIALS[m]
    return powers, logarithms


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
                f"not make it {bits}, with m = {self.m} and t = {self.t}"
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
        powers, logarithms = field_tables(self.m)
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
        entries = self._table.reshape(-1, self._table.shape[-1])
        first = 256 * np.arange(self.chunk_bytes)[:, np.newaxis]
        for start in range(0, len(chunks), _SLICE_CODEWORDS):
            part = slice(start, start + _SLICE_CODEWORDS)
            # Bytes before codewords: the reduction then runs over long rows, many times faster.
            words = np.bitwise_xor.reduce(entries.take(first + chunks[part].T, axis=0), axis=0)
            parity[part] = words.view(np.uint8)[:, : self.parity_bytes]
        return parity

    def check(self, codewords):
        """Whether each of ``uint8[n, codeword_bytes]`` is a codeword: ``bool[n]``."""
        codewords = self._bytes(codewords, "codewords", self.codeword_bytes)
        parity = self.encode(codewords[:, : self.chunk_bytes])
        return (parity == codewords[:, self.chunk_bytes :]).all(axis=1)

    def decode(self, codewords):
        """Correct up to ``t`` flipped bits in each of ``uint8[n, codeword_bytes]``.

        A codeword that is not ok has errors that were found to be more than ``t``. Its bits at the
        roots of its error locator, at most t - 1, are flipped nevertheless, since a circuit that
        corrects as it searches does so; its data is of no use in either state. Beyond ``t`` errors
        some words lie within ``t`` bits of another codeword and become that one, ok.

        Pad bits are cleared, and neither counted nor held against ``t``.

        Returns
        -------
        corrected : uint8[n, codeword_bytes]
        counts : int64[n]
            Bits that were corrected; 0 where not ok.
        ok : bool[n]
            Whether the word is a codeword now.
        """
        corrected = self._bytes(codewords, "codewords", self.codeword_bytes).copy()
        corrected[:, -1] &= 0xFF << (8 * self.parity_bytes - self.parity_bits) & 0xFF
        chunks, parity = np.split(corrected, [self.chunk_bytes], axis=1)
        difference = self.encode(chunks) ^ parity
        counts = np.zeros(len(corrected), dtype=np.int64)
        ok = np.ones(len(corrected), dtype=bool)
        wrong = np.flatnonzero(difference.any(axis=1))
        for start in range(0, len(wrong), _SLICE_CORRECTIONS):
            rows = wrong[start : start + _SLICE_CORRECTIONS]
            locators, errors = self._locators(self._syndromes(difference[rows]))
            roots = self._roots(locators) & (errors <= self.t)[:, np.newaxis]
            corrected[rows] ^= np.packbits(roots, axis=1)
            ok[rows] = roots.sum(axis=1) == errors
            counts[rows] = np.where(ok[rows], errors, 0)
        return corrected, counts, ok

    def _syndromes(self, difference):
        """S_0 to S_2t of received minus computed parities: ``int64[n, 2 t + 1]``, S_0 as 0.

        S_j is the received polynomial at alpha^j; modulo the generator it is ``difference``.
        """
        exponents = np.arange(self.parity_bits)[::-1]
        bits = np.unpackbits(difference, axis=1, count=self.parity_bits).astype(bool)
        syndromes = np.zeros((len(difference), 2 * self.t + 1), dtype=np.int64)
        for power in range(1, 2 * self.t + 1):
            values = self._antilogs[power * exponents % self.length_bits]
            syndromes[:, power] = np.bitwise_xor.reduce(bits * values, axis=1)
        return syndromes

    def _locators(self, syndromes):
        """Error locators ``int64[n, t + 1]``, lowest power first, and how many errors they claim.

        The Berlekamp-Massey iteration without inversion, of which a binary code needs every second
        step only. A claim above ``t`` means failure; its locator has been cut off.
        """
        count, width = len(syndromes), self.t + 1
        locators = np.zeros((count, width), dtype=np.int64)
        locators[:, 0] = 1
        # The locator before the last change of length, times a power of x that says how long ago
        # that was; and the discrepancy that caused it.
        shifted = np.roll(locators, 1, axis=1)
        divisor = np.ones(count, dtype=np.int64)
        errors = np.zeros(count, dtype=np.int64)
        for step in range(self.t):
            terms = min(2 * step + 1, width)
            window = syndromes[:, 2 * step + 1 - np.arange(terms)]
            products = self._product(locators[:, :terms], window)
            discrepancy = np.bitwise_xor.reduce(products, axis=1)
            longer = (discrepancy != 0) & (errors <= step)
            kept = np.where(longer[:, np.newaxis], locators, shifted)
            locators = self._product(divisor[:, np.newaxis], locators) ^ self._product(
                discrepancy[:, np.newaxis], shifted
            )
            shifted = np.pad(kept, ((0, 0), (2, 0)))[:, :width]
            divisor = np.where(longer, discrepancy, divisor)
            errors = np.where(longer, 2 * step + 1 - errors, errors)
        return locators, errors

    def _roots(self, locators):
        """Bits of the codewords at whose places the locators vanish: ``bool[n, 8 bytes]``."""
        exponents = np.arange(8 * self.chunk_bytes + self.parity_bits)[::-1]
        sums = np.zeros((len(locators), len(exponents)), dtype=np.int64)
        for power in range(self.t + 1):
            steps = -power * exponents % self.length_bits
            sums ^= self._antilogs[self._logs[locators[:, power, np.newaxis]] + steps]
        roots = np.zeros((len(locators), 8 * self.codeword_bytes), dtype=bool)
        roots[:, : len(exponents)] = sums == 0
        return roots

    def _product(self, left, right):
        """Element-wise product in the field."""
        return self._antilogs[self._logs[left] + self._logs[right]]

    @cached_property
    def _logs(self):
        """Logarithms by element, that of 0 so large that its sums reach the zeros of antilogs."""
        logs = np.empty(1 << self.m, dtype=np.int64)
        logs[0] = 2 * self.length_bits
        logs[field_tables(self.m)[0]] = np.arange(self.length_bits)
        return logs

    @cached_property
    def _antilogs(self):
        """Powers of alpha by exponent, twice, so that a sum of two logarithms need not wrap."""
        powers = np.array(field_tables(self.m)[0], dtype=np.int64)
        return np.concatenate([powers, powers, np.zeros(2 * self.length_bits + 1, dtype=np.int64)])

    def _bytes(self, values, name, width):
        values = np.asarray(values)
        if values.dtype != np.uint8 or values.ndim != 2 or values.shape[1] != width:
            raise ValueError(
                f"{name} must be uint8[n, {width}], not {values.dtype}{list(values.shape)}"
            )
        return values

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
