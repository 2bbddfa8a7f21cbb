"""Exact linear fits of what was counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Fit", "Rows", "entered", "fit"]

Rows = list[tuple[dict[str, int], Any]]
"""Runs of one routine: what its cost should depend on, and the counts of that run."""


@dataclass(frozen=True)
class Fit:
    """Coefficients (``base`` first) and the largest deviation from the counts."""

    coefficients: Mapping[str, Fraction]
    residual: Fraction


def entered(counts: Mapping[str, int], loops: Iterable[str]) -> dict[str, int]:
    """``counts``, and ``n>0`` for each loop n of them whose entry may cost something of its own."""
    return {**counts, **{f"{name}>0": int(counts[name] > 0) for name in loops if name in counts}}


def fit(routine: str, rows: Sequence[tuple[Mapping[str, int], int]], *, base: bool = True) -> Fit:
    """Least squares of value = base + sum of coefficient x count, in exact fractions.

    Raises
    ------
    ValueError
        If the rows do not tell the counts of ``routine`` apart.
    """
    names = [*["base"] * base, *rows[0][0]]
    points = [[*[1] * base, *counts.values()] for counts, _ in rows]
    values = [value for _, value in rows]
    size = len(names)
    matrix = [
        [Fraction(sum(point[row] * point[column] for point in points)) for column in range(size)]
        + [Fraction(sum(point[row] * value for point, value in zip(points, values, strict=True)))]
        for row in range(size)
    ]
    solution = _solve(routine, names, matrix)
    residual = Fraction(0)
    for point, value in zip(points, values, strict=True):
        terms = (rate * count for rate, count in zip(solution, point, strict=True))
        residual = max(residual, abs(value - sum(terms, Fraction(0))))
    return Fit(dict(zip(names, solution, strict=True)), residual)


def _solve(routine: str, names: Sequence[str], matrix: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan elimination of an augmented, regular matrix."""
    size = len(matrix)
    for column in range(size):
        pivots = [row for row in range(column, size) if matrix[row][column]]
        if not pivots:
            raise ValueError(
                f"{routine} must be run so that {names[column]!r} varies apart from the others"
            )
        matrix[column], matrix[pivots[0]] = matrix[pivots[0]], matrix[column]
        head = matrix[column][column]
        matrix[column] = [value / head for value in matrix[column]]
        for row in range(size):
            if row != column and matrix[row][column]:
                factor = matrix[row][column]
                matrix[row] = [
                    value - factor * top
                    for value, top in zip(matrix[row], matrix[column], strict=True)
                ]
    return [row[-1] for row in matrix]
