"""Counts the cost of the firmware's C routines and writes ``costs/cortex_a9.yaml``.

Run as ``python -m firmware_model.costing [--check]``. Each routine is executed over a grid of
inputs; its results must equal those of the Python model, and its counts are fitted by
base + sum of coefficient x count, exactly, in fractions.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from firmware_model.arm_machine import (
    FLAGS,
    SOURCES,
    TARGET,
    ArmProgram,
    Run,
    compiler_version,
)
from firmware_model.cost_table import COSTS
from firmware_model.routine_cases import (
    body_case,
    flash_case,
    gather_case,
    group_counts,
    group_run,
    sqe_case,
    turns,
)

__all__ = ["CORE", "Fit", "Routine", "fit", "measure", "table_text"]

CORE = "cortex_a9"

Case = Callable[..., Run]


@dataclass(frozen=True, kw_only=True)
class Routine:
    """A C function, how to run it for given counts, and the grid of counts.

    ``terms`` names the cost's variables, as functions of the grid's coordinates.
    """

    name: str
    source: str
    case: Case
    grid: Mapping[str, Sequence[int]] = field(default_factory=dict)
    terms: Mapping[str, Callable[..., int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Fit:
    """Coefficients (``base`` first) and the largest deviation from the counts."""

    coefficients: Mapping[str, Fraction]
    residual: Fraction


ROUTINES = (
    Routine(name="sqe_decode", source="sqe_decode", case=sqe_case),
    Routine(
        name="body_parse",
        source="body_parse",
        case=lambda program, target, fan_out: body_case(program, "body_parse", target, fan_out),
        grid={"target": (1, 2, 3, 8), "fan_out": (0, 1, 2, 5, 10, 25)},
        terms={
            "target": lambda target, fan_out: target,
            "list": lambda target, fan_out: target if fan_out else 0,
            "position": lambda target, fan_out: target * fan_out,
        },
    ),
    Routine(
        name="body_draw",
        source="body_parse",
        case=lambda program, target, fan_out: body_case(program, "body_draw", target, fan_out),
        grid={"target": (1, 2, 3, 8), "fan_out": (0, 1, 2, 5, 10, 25)},
        terms={
            "target": lambda target, fan_out: target,
            "list": lambda target, fan_out: target if fan_out else 0,
            "draw": lambda target, fan_out: target * fan_out,
        },
    ),
    Routine(
        name="group_pieces",
        source="group_pieces",
        case=lambda program, piece, page: group_run(program, turns(piece, page)),
        grid={"piece": (1, 2, 3, 5, 10, 25), "page": (1, 2, 3, 5)},
        terms={
            name: lambda piece, page, name=name: group_counts(turns(piece, page))[name]
            for name in ("page", "more", "compare")
        },
    ),
    Routine(
        name="gather",
        source="gather",
        case=gather_case,
        grid={"id": (1, 2, 3, 5, 10, 25), "words": (1, 2)},
        terms={"id": lambda id, words: id, "word": lambda id, words: id * words},
    ),
    Routine(name="flash_issue", source="flash_issue", case=flash_case),
)


def fit(rows: Sequence[tuple[Mapping[str, int], int]]) -> Fit:
    """Least squares of value = base + sum of coefficient x count, in exact fractions."""
    names = ["base", *rows[0][0]]
    points = [[1, *counts.values()] for counts, _ in rows]
    values = [value for _, value in rows]
    size = len(names)
    matrix = [
        [Fraction(sum(point[row] * point[column] for point in points)) for column in range(size)]
        + [Fraction(sum(point[row] * value for point, value in zip(points, values, strict=True)))]
        for row in range(size)
    ]
    solution = _solve(matrix)
    residual = Fraction(0)
    for point, value in zip(points, values, strict=True):
        terms = (rate * count for rate, count in zip(solution, point, strict=True))
        residual = max(residual, abs(value - sum(terms, Fraction(0))))
    return Fit(dict(zip(names, solution, strict=True)), residual)


def _solve(matrix: list[list[Fraction]]) -> list[Fraction]:
    """Gauss-Jordan elimination of an augmented, regular matrix."""
    size = len(matrix)
    for column in range(size):
        pivot = next(row for row in range(column, size) if matrix[row][column])
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
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


def measure(routine: Routine) -> dict[str, dict[str, Fit]]:
    """Fits of one routine: ``instructions``, and ``loads`` and ``stores`` by object."""
    program = ArmProgram(SOURCES / f"{routine.source}.c")
    runs = []
    for point in product(*routine.grid.values()):
        place = dict(zip(routine.grid, point, strict=True))
        counts = {name: term(**place) for name, term in routine.terms.items()}
        runs.append((counts, routine.case(program, **place)))
    fits = {"instructions": {"": fit([(counts, run.instructions) for counts, run in runs])}}
    for kind in ("loads", "stores"):
        objects = sorted({name for _, run in runs for name in getattr(run, kind)})
        fits[kind] = {
            name: fit([(counts, getattr(run, kind).get(name, 0)) for counts, run in runs])
            for name in objects
        }
    return fits


def table_text() -> str:
    """The whole cost table as YAML."""
    lines = [
        "# Counted by `python -m firmware_model.costing` from the routines in firmware_model/c.",
        "# Do not edit. Stores are posted: they are listed, and cost their instruction.",
        f"core: {CORE}",
        f'compiler: "ziglang {compiler_version()}"',
        f'options: "{" ".join((*TARGET, *FLAGS))}"',
        "routines:",
    ]
    for routine in ROUTINES:
        fits = measure(routine)
        flat = [one for kind in fits.values() for one in kind.values()]
        lines.append(f"  {routine.name}:  # residual {max(one.residual for one in flat)}")
        lines.append(f"    instructions: {_form(fits['instructions'][''])}")
        for kind in ("loads", "stores"):
            lines.append(f"    {kind}:" if fits[kind] else f"    {kind}: {{}}")
            lines += [f"      {name}: {_form(one)}" for name, one in fits[kind].items()]
    return "\n".join(lines) + "\n"


def _form(one: Fit) -> str:
    parts = [
        f"{name}: {value if value.denominator == 1 else repr(str(value))}"
        for name, value in one.coefficients.items()
        if value or name == "base"
    ]
    return "{" + ", ".join(parts) + "}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table; with ``--check`` only say whether the file is the same."""
    parser = argparse.ArgumentParser(prog="python -m firmware_model.costing", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    options = parser.parse_args(arguments)
    path = COSTS / f"{CORE}.yaml"
    text = table_text()
    if options.check:
        same = path.read_text(encoding="utf-8") == text
        print(f"{path.name} {'is up to date' if same else 'must be made again'}")
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
