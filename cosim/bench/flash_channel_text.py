"""The tables of the flash-channel benchmark, as Markdown: on the terminal, and in its page."""

from collections.abc import Mapping, Sequence
from typing import Any

from cosim.bench.page import markdown_table
from rtl.contract.bus_causes import BusCause

__all__ = ["bound_table", "case_table", "cause_table"]


def case_table(report: Mapping[str, Any]) -> str:
    """A row a case: bound, clocks a page, and the rates."""
    targets = {(target["case"], target["key"]): target for target in report["targets"]}
    head = ("case", "bound, clocks a page", "measured", "of the bound", "data on the bus",
            "pages/s", "target")  # fmt: skip
    rows = []
    for case in report["cases"]:
        bound = sum(case["bound_clocks_per_page"].values())
        measured = sum(case["clocks_per_page"].values())
        notes = [
            f"{key} at least {_plain(target['at_least'])}: {'met' if target['met'] else 'missed'}"
            for (name, key), target in targets.items()
            if name == case["name"]
        ]
        rows.append(
            (
                f"`{case['name']}`",
                f"{bound:,}",
                f"{measured:,.1f}",
                f"{100 * case['of_bound']:.2f} %",
                f"{100 * case['bus_utilisation']:.2f} %",
                f"{case['pages_per_s']:,.0f}",
                "; ".join(notes),
            )
        )
    return markdown_table(head, rows)


def cause_table(cases: Sequence[Mapping[str, Any]]) -> str:
    """A row a cause that occurs: clocks a page in each case, after those of its bound."""
    rows = []
    for cause in (cause.name.lower() for cause in BusCause):
        pairs = [(case["bound_clocks_per_page"][cause], case["clocks_per_page"][cause])
                 for case in cases]  # fmt: skip
        if any(bound or found for bound, found in pairs):
            rows.append((f"`{cause}`", *(f"{bound:,} / {found:,.2f}" for bound, found in pairs)))
    return markdown_table(("cause", *(f"`{case['name']}`" for case in cases)), rows)


def bound_table(terms: Mapping[str, Mapping[BusCause, int]]) -> str:
    """A column for each of ``terms``, named by its key; a row a term, then their sum."""
    causes = [cause for cause in BusCause if any(column.get(cause) for column in terms.values())]
    rows = [
        (f"`{cause.name.lower()}`", *(f"{column[cause]:,}" for column in terms.values()))
        for cause in causes
    ]
    rows.append(("sum", *(f"{sum(column.values()):,}" for column in terms.values())))
    return markdown_table(("clocks", *terms), rows)


def _plain(number: float) -> str:
    return f"{number:,}"
