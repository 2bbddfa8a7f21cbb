"""Outcomes as a table, as Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cosim.formal.sby import ENGINE, Outcome, Verdict

__all__ = ["HEADINGS", "Result", "line", "table"]

HEADINGS = ("property", "statement", "engine", "depth", "design", "mutants", "seconds")
NAMES = {"bmc": "bounded", "prove": "induction", "cover": "reachable"}


@dataclass(frozen=True)
class Result:
    """What became of one property, on the design and on each of its mutants, by their names."""

    name: str
    statement: str
    mode: str
    depth: int
    design: Outcome
    mutants: dict[str, Outcome]

    @property
    def is_good(self) -> bool:
        """The property holds on the design, and fails on every mutant, of which there is one."""
        failed = [outcome.verdict is Verdict.FAIL for outcome in self.mutants.values()]
        return self.design.verdict is Verdict.PASS and bool(failed) and all(failed)


def line(result: Result) -> str:
    """A row of the table; ``seconds`` are those of the design's own run."""
    mutants = ", ".join(f"{name}: {outcome.verdict}" for name, outcome in result.mutants.items())
    return _row(
        (
            f"`{result.name}`",
            result.statement,
            f"{NAMES[result.mode]}, {ENGINE}",
            str(result.depth),
            str(result.design.verdict),
            mutants,
            f"{result.design.seconds:.0f}",
        )
    )


def table(old: str, results: Iterable[Result], names: Sequence[str]) -> str:
    """The table ``old``, which may be empty, with the rows of ``results`` in place of theirs.

    In the order of ``names``; rows of properties that are not among them go.
    """
    rows = {text.split("|")[1].strip(): text for text in old.splitlines()[2:] if "|" in text}
    rows |= {f"`{result.name}`": line(result) for result in results}
    kept = [rows[f"`{name}`"] for name in names if f"`{name}`" in rows]
    return "\n".join([_row(HEADINGS), _row(["---"] * len(HEADINGS)), *kept, ""])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
