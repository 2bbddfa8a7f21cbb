"""The counter-based mixer that draws neighbour positions, in Python and NumPy.

The circuit is ``rtl/mixer.py``. The finaliser is the two-round xor-shift-multiply "lowbias32" of
Chris Wellons' hash-prospector (public domain, https://nullprogram.com/blog/2018/07/31/): shifts
16, 15, 16 and multipliers 0x7feb352d, 0x846ca68b. The Weyl increment is 2^32 over the golden
ratio (Knuth, TAOCP vol. 3, section 6.4). Mapping to a position is Lemire's multiply-shift
(ACM TOMACS 29(1), 2019, section 3, without the rejection step; its bias is below degree / 2^32).
"""

import numpy as np

__all__ = [
    "GOLDEN",
    "MULTIPLIERS",
    "SHIFTS",
    "advance",
    "draw",
    "hop_key",
    "list_key",
    "list_keys",
    "mix",
    "position_table",
    "positions",
]

MASK = 0xFFFF_FFFF
GOLDEN = 0x9E37_79B9
SHIFTS = (16, 15, 16)
MULTIPLIERS = (0x7FEB_352D, 0x846C_A68B)


def mix(value):
    """Bijective 32-bit mixer; ``value`` is a 32-bit integer or an array of them (as ``uint32``)."""
    if isinstance(value, np.ndarray):
        word = value.astype(np.uint32)
        word ^= word >> np.uint32(SHIFTS[0])
        word *= np.uint32(MULTIPLIERS[0])
        word ^= word >> np.uint32(SHIFTS[1])
        word *= np.uint32(MULTIPLIERS[1])
        word ^= word >> np.uint32(SHIFTS[2])
        return word
    value = int(value)
    value ^= value >> SHIFTS[0]
    value = value * MULTIPLIERS[0] & MASK
    value ^= value >> SHIFTS[1]
    value = value * MULTIPLIERS[1] & MASK
    return value ^ value >> SHIFTS[2]


def list_key(seed, batch, hop, slot):
    """32-bit key of one list: the order in which lists are served does not matter.

    ``seed`` is 64 bits, the others 32; all of their bits enter. :exc:`ValueError` if one has more.
    """
    return mix(hop_key(seed, batch, hop) ^ _word("slot", slot))


def list_keys(seed, batch, hop, slots):
    """Keys of many slots at once: ``slots`` is an integer array, the result ``uint32[len]``."""
    slots = np.asarray(slots)
    if slots.size:
        _word("slot", slots.min())
        _word("slot", slots.max())
    return mix(np.uint32(hop_key(seed, batch, hop)) ^ slots.astype(np.uint32))


def hop_key(seed, batch, hop):
    """32 bits of one hop, which mixed with a slot (XOR, then :func:`mix`) are its list's key."""
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be in 0 to 2^64 - 1, not {seed!r}")
    key = 0
    for word in (seed & MASK, seed >> 32, _word("batch", batch), _word("hop", hop)):
        key = mix((key + GOLDEN & MASK) ^ word)
    return key + GOLDEN & MASK


def _word(name, value):
    value = int(value)
    if not 0 <= value <= MASK:
        raise ValueError(f"{name} must be in 0 to 2^32 - 1, not {value}")
    return value


def advance(key, draws):
    """The key that goes on after so many draws; ``key`` is an integer or an array of them."""
    if isinstance(key, np.ndarray):
        return key.astype(np.uint32) + np.uint32(GOLDEN * draws & MASK)
    return key + GOLDEN * draws & MASK


def draw(key, index):
    """32 random bits number ``index`` of a list with this key, or of each list of an array."""
    return mix(advance(key, index + 1))


def positions(key, degree, fan_out):
    """Positions to take, with replacement: ``uint32[fan_out]``, or none if degree is 0.

    ``key`` and ``degree`` are 32-bit integers; position = draw * degree / 2^32, rounded down.
    """
    if degree == 0:
        return np.empty(0, dtype=np.uint32)
    index = np.arange(1, fan_out + 1, dtype=np.uint64)
    words = mix((np.uint64(key) + index * np.uint64(GOLDEN)).astype(np.uint32))
    return (words.astype(np.uint64) * np.uint64(degree) >> np.uint64(32)).astype(np.uint32)


def position_table(keys, degrees, fan_out):
    """:func:`positions` of many lists at once: ``uint32[len(keys), fan_out]``.

    Rows of degree 0 are zero and mean nothing.
    """
    index = np.arange(1, fan_out + 1, dtype=np.uint32) * np.uint32(GOLDEN)
    words = mix(np.asarray(keys, dtype=np.uint32)[:, None] + index[None, :])
    wide = words.astype(np.uint64) * np.asarray(degrees, dtype=np.uint64)[:, None]
    return (wide >> np.uint64(32)).astype(np.uint32)
