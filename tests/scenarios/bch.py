"""Codewords with flipped bits, and the codes that the tests use."""

import math

import numpy as np

from rtl.contract.bch import BchCode

__all__ = ["COSMOS", "DOUBLE", "PADDED", "WIDE", "codewords", "decodable_share", "flip", "weights"]

COSMOS = BchCode(m=12, t=14, chunk_bytes=256)
WIDE = BchCode(m=13, t=8, chunk_bytes=512)
PADDED = BchCode(m=13, t=9, chunk_bytes=512)
"""Three pad bits in the last byte of parity."""
DOUBLE = BchCode(m=8, t=2, chunk_bytes=16)


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


def decodable_share(code):
    """Share of all words that lie within t bits of a codeword, hence that of random words.

    The spheres of radius t about the codewords do not meet. Ref: Lin and Costello, section 3.4.
    """
    bits = 8 * code.chunk_bytes + code.parity_bits
    sphere = sum(math.comb(bits, weight) for weight in range(code.t + 1))
    return sphere / 2**code.parity_bits
