"""Figures as Markdown, between two marks of a page, and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from cosim.errors import UserError
from cosim.synthesis.flow import Figures, tool_versions
from cosim.synthesis.reports import KU15P, Area

__all__ = ["as_json", "between", "merged", "replace_between", "rows", "share", "table"]

BEGIN, END = "<!-- {name}: begin -->", "<!-- {name}: end -->"
MADE = "Made with "
HEADINGS = (
    "unit", "parameters", "LUT4", "FF", "block RAM", "MULT18", "Fmax, MHz", "grade 8", "goal",
    "slowest path", "US+ LUT", "US+ FF", "US+ RAM18", "US+ DSP", "of a KU15P",
)  # fmt: skip


def rows(figures: Iterable[Figures]) -> list[str]:
    """A line of the table for each unit."""
    return [_line(_cells(entry)) for entry in figures]


def table(figures: Iterable[Figures]) -> str:
    """The table, with the versions of the tools below it."""
    lines = [_line(HEADINGS), _line(["---"] * len(HEADINGS)), *rows(figures)]
    return "\n".join([*lines, "", f"{MADE}{_tools()}.", ""])


def merged(old: str, figures: Iterable[Figures], order: Sequence[str]) -> str:
    """The table ``old`` with the lines of ``figures`` in place of theirs, or beside the others.

    Below it is which tools made which line. ``order`` are the units' names; a line of another one
    goes.
    """
    made = {**_makers(old), **{entry.unit.name: _tools() for entry in figures}}
    lines = {_name(line): line for line in (*_unit_lines(old), *rows(figures))}
    kept = [name for name in order if name in lines]
    makers = dict.fromkeys(made[name] for name in kept)
    notes = [
        f"{MADE}{tools}: {', '.join(f'`{name}`' for name in kept if made[name] == tools)}."
        for tools in makers
    ]
    if len(makers) == 1:
        notes = [f"{MADE}{tools}." for tools in makers]
    head = [_line(HEADINGS), _line(["---"] * len(HEADINGS))]
    return "\n".join([*head, *(lines[name] for name in kept), "", *notes, ""])


def _unit_lines(text: str) -> list[str]:
    """Lines of units in a table."""
    return [line for line in text.splitlines() if line.startswith("| `")]


def _name(line: str) -> str:
    return line.split("`")[1]


def _makers(text: str) -> dict[str, str]:
    """The tools that made each unit's line, as is said below the table."""
    names = [_name(line) for line in _unit_lines(text)]
    made = {}
    for line in text.splitlines():
        if line.startswith(MADE):
            tools, colon, some = line.removeprefix(MADE).removesuffix(".").partition(": ")
            made.update(dict.fromkeys(some.split("`")[1::2] if colon else names, tools))
    missing = [name for name in names if name not in made]
    if missing:
        raise UserError(f"the table must say what {', '.join(missing)} was made with, but does not")
    return made


def _tools() -> str:
    return ", ".join(f"{name} {version}" for name, version in tool_versions().items())


def as_json(figures: Sequence[Figures]) -> dict[str, Any]:
    """The same for programs; frequencies in kHz, delays in ps."""
    return {
        "tools": tool_versions(),
        "units": {
            entry.unit.name: {
                "parameters": entry.unit.parameters,
                "goal_mhz": entry.unit.goal_mhz,
                "ecp5": asdict(entry.ecp5),
                "timing": asdict(entry.timing),
                "timing_grade_8": asdict(entry.fast) if entry.fast else None,
                "xcup": asdict(entry.xcup),
            }
            for entry in figures
        },
    }


def between(path: Path, name: str) -> str:
    """What is between the marks ``name`` of the page ``path``; errors as of the next."""
    return _parts(path, name)[1].removeprefix("\n")


def replace_between(path: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks ``name`` of the page ``path``.

    Raises
    ------
    UserError
        If the page cannot be read or written, or does not have both marks once, in order.
    """
    begin, end = BEGIN.format(name=name), END.format(name=name)
    before, _, after = _parts(path, name)
    try:
        path.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: page must be writable: {error.strerror}") from None


def _parts(path: Path, name: str) -> tuple[str, str, str]:
    """A page before, between and after its marks."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    try:
        page = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: page must be readable: {error.strerror}") from None
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise UserError(f"{path}: page must have the marks {begin!r} and {end!r} once, in order")
    before, _, rest = page.partition(begin)
    inside, _, after = rest.partition(end)
    return before, inside, after


def _cells(entry: Figures) -> list[str]:
    path = entry.timing.path
    delay_ps = path.logic_ps + path.routing_ps
    return [
        f"`{entry.unit.name}`",
        entry.unit.parameters,
        *map(str, (entry.ecp5.luts, entry.ecp5.flip_flops)),
        *map(str, (entry.ecp5.block_rams, entry.ecp5.multipliers)),
        f"{entry.timing.fmax_khz / 1000:.1f}",
        f"{entry.fast.fmax_khz / 1000:.1f}" if entry.fast else "",
        str(entry.unit.goal_mhz),
        f"`{path.begin}` to `{path.end}`, {delay_ps / 1000:.1f} ns, {path.levels} cells",
        *map(str, (entry.xcup.luts, entry.xcup.flip_flops)),
        *map(str, (entry.xcup.block_rams, entry.xcup.multipliers)),
        share(entry.xcup),
    ]


def share(area: Area) -> str:
    """How much of a KU15P: LUTs, flip-flops, block RAM and multipliers, in per cent."""
    parts = zip(astuple(area), astuple(KU15P), strict=True)
    return f"{', '.join(f'{100 * used / there:.1f}' for used, there in parts)} %"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
