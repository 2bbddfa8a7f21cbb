"""Codewords with flipped bits, and the codes that the tests use."""

import math

import bchlib
import numpy as np

from rtl.contract.bch import BchCode, field_tables
from rtl.contract.page import FILL

__all__ = [
    "COSMOS",
    "DOUBLE",
    "PADDED",
    "SHORT",
    "TRIPLE",
    "WIDE",
    "by_bchlib",
    "coded_page",
    "codewords",
    "decodable_share",
    "flip",
    "remainder_of_power",
    "weights",
    "zero_sum",
]

COSMOS = BchCode(m=12, t=14, chunk_bytes=256)
WIDE = BchCode(m=13, t=8, chunk_bytes=512)
PADDED = BchCode(m=13, t=9, chunk_bytes=512)
"""Three pad bits in the last byte of parity."""
DOUBLE = BchCode(m=8, t=2, chunk_bytes=16)
TRIPLE = BchCode(m=8, t=3, chunk_bytes=18)
"""Small enough for claims of more than t errors to have t false roots now and then."""
SHORT = BchCode(m=9, t=4, chunk_bytes=44)
"""Codewords of an odd number of bytes, several of which fit into a small page."""


def coded_page(code, chunks, length):
    """``length`` bytes: codewords of as many ``chunks`` as fit, one after the other, then FILL."""
    count = length // code.codeword_bytes
    whole = np.frombuffer(chunks[: count * code.chunk_bytes], np.uint8)
    whole = whole.reshape(count, code.chunk_bytes)
    words = np.hstack([whole, code.encode(whole)]).astype(np.uint8)
    return words.tobytes().ljust(length, bytes([FILL]))


def codewords(code, count, seed):
    """Random codewords: ``uint8[count, codeword_bytes]``."""
    draws = np.random.default_rng(seed)
    chunks = draws.integers(0, 256, (count, code.chunk_bytes), dtype=np.uint8)
    return np.hstack([chunks, code.encode(chunks)])


def flip(words, places):
    """``words`` with the bits at ``places[i]`` (0 is bit 7 of byte 0) of word i flipped."""
    bits = np.unpackbits(words, axis=1)
    for row, flipped in zip(bits, places, strict=True):
        row[np.asarray(flipped, dtype=int)] ^= 1
    return np.packbits(bits, axis=1)


def weights(code, words, chosen, seed, *, first=0):
    """``words`` with ``chosen[i]`` random bits from bit ``first`` on flipped in word i."""
    draws = np.random.default_rng(seed)
    bits = 8 * code.chunk_bytes + code.parity_bits
    places = [draws.choice(np.arange(first, bits), weight, replace=False) for weight in chosen]
    return flip(words, places)


def by_bchlib(code, words):
    """What bchlib makes of each word: the words, and corrected bits (-1 where it gives up)."""
    library = bchlib.BCH(code.t, m=code.m)
    counts, corrected = [], []
    for word in words:
        chunk, parity = bytearray(word[: code.chunk_bytes]), bytearray(word[code.chunk_bytes :])
        counts.append(library.decode(chunk, parity))
        if counts[-1] >= 0:
            library.correct(chunk, parity)
        corrected.append([*chunk, *parity])
    return np.array(corrected, dtype=np.uint8), np.array(counts)


def decodable_share(code):
    """Share of all words that lie within t bits of a codeword, hence that of random words.

    The spheres of radius t about the codewords do not meet. Ref: Lin and Costello, section 3.4.
    """
    bits = 8 * code.chunk_bytes + code.parity_bits
    sphere = sum(math.comb(bits, weight) for weight in range(code.t + 1))
    return sphere / 2**code.parity_bits


def zero_sum(code, draws):
    """Three places whose powers of alpha add up to nothing: the first syndrome is zero.

    Then the locator's length jumps by two steps at once, and is ahead of its iteration.
    """
    powers, logarithms = field_tables(code.m)
    bits = 8 * code.chunk_bytes + code.parity_bits
    while True:
        one, other = (int(place) for place in draws.choice(bits, 2, replace=False))
        third = logarithms[powers[one] ^ powers[other]]
        if third < bits:
            # The first bit of a codeword is its highest power.
            return [bits - 1 - power for power in (one, other, third)]


def remainder_of_power(code, exponent):
    """x^``exponent`` modulo the generator polynomial, as parity bytes.

    Parity with these bits flipped has the syndromes of one error at that power of the code before
    shortening; x^-1 is the power that would follow the last bit.
    """
    remainder = 1
    for _ in range(exponent % code.length_bits):
        remainder <<= 1
        if remainder >> code.parity_bits:
            remainder ^= code.generator
    pad = 8 * code.parity_bytes - code.parity_bits
    return (remainder << pad).to_bytes(code.parity_bytes, "big")
