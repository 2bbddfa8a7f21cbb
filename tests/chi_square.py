"""The chi-square distribution, and Pearson's statistic, with nothing but the standard library.

Tails by the incomplete gamma function: its series below the middle, its continued fraction (Lentz)
above. Ref: NIST Digital Library of Mathematical Functions, 8.11.4 and 8.9.2.
"""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["Fit", "fit", "upper_tail"]

PRECISION = 1e-14
TINY = 1e-300


@dataclass(frozen=True)
class Fit:
    """A statistic with its degrees of freedom; ``upper`` and ``lower`` are its tails."""

    statistic: float
    freedom: int

    @property
    def upper(self):
        """How likely a worse fit is by chance."""
        return upper_tail(self.statistic, self.freedom)

    @property
    def lower(self):
        """How likely a better one is."""
        return 1 - self.upper

    @property
    def p(self):
        """How likely one as far off in either direction is."""
        return min(1.0, 2 * min(self.upper, self.lower))


def fit(counts, expected, *, scale=1.0):
    """Pearson's statistic of ``counts``, which have the sum of ``expected``, times ``scale``.

    Raises
    ------
    ValueError
        If a cell is expected to hold fewer than 10, with which the distribution would not be met.
    """
    counts, expected = np.ravel(counts), np.broadcast_to(expected, np.size(counts))
    if expected.min() < 10:
        raise ValueError(f"Cells must expect at least 10, not {expected.min()}")
    statistic = scale * float(((counts - expected) ** 2 / expected).sum())
    return Fit(statistic, counts.size - 1)


def upper_tail(statistic, freedom):
    """Probability of a value above ``statistic``."""
    shape, at = freedom / 2, statistic / 2
    if at <= 0:
        return 1.0
    weight = math.exp(shape * math.log(at) - at - math.lgamma(shape))
    if at < shape + 1:
        return 1 - weight * _series(shape, at)
    return weight * _fraction(shape, at)


def _series(shape, at):
    term = total = 1 / shape
    while term > total * PRECISION:
        shape += 1
        term *= at / shape
        total += term
    return total


def _fraction(shape, at):
    b = at + 1 - shape
    c, d = 1 / TINY, 1 / b
    value, step = d, 0
    while True:
        step += 1
        a = step * (shape - step)
        b += 2
        d = 1 / (_away(a * d + b))
        c = _away(b + a / c)
        value *= c * d
        if abs(c * d - 1) < PRECISION:
            return value


def _away(value):
    return value if abs(value) > TINY else TINY
