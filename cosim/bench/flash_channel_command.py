"""The command ``bench flash-channel``: measures, and writes what was asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cosim.bench.flash_channel import bench_flash_channel
from cosim.bench.flash_channel_case import FlashChannelCase
from cosim.bench.flash_channel_text import (
    bound_table,
    case_table,
    cause_table,
)
from cosim.bench.flash_program import FlashProgramCase, bench_programs, program_tables
from cosim.bench.measurement import write_report
from cosim.bench.outputs import check_outputs
from cosim.bench.page import rewrite_page
from cosim.config.quantities import TIME, parse_quantity
from cosim.errors import UserError

__all__ = ["bounds", "run", "tables"]

TABLES = ("bound", "cases", "causes")
"""Those that there are without programs, too."""


def run(
    chosen: Sequence[FlashChannelCase],
    programs: Sequence[FlashProgramCase] = (),
    *,
    json_path: Path | None,
    plot: Path | None,
    docs: Path | None,
    drain: str | None,
    **options: Any,
) -> str:
    """Measure, write report, plot and page where asked, and return the tables of the cases.

    Parameters
    ----------
    chosen : sequence of FlashChannelCase
    programs : sequence of FlashProgramCase
        Measured after them, under ``programs`` of the report.
    json_path, plot, docs : Path, optional
        Report as JSON; bars as PNG; page whose tables are rewritten.
    drain : str, optional
        A time with its unit.
    options
        Of :func:`bench_flash_channel`.

    Raises
    ------
    UserError
        If an option is wrong or a file cannot be written.
    """
    try:
        drain_ps = 0 if drain is None else parse_quantity(TIME, drain)
    except ValueError as error:
        raise UserError(f"--drain {error}") from None
    check_outputs(json_path=json_path, docs=docs, tables=TABLES, plot=plot)
    report = bench_flash_channel(chosen, drain_ps=drain_ps, **options)
    report["programs"] = bench_programs(programs, **options)
    write_report(json_path, report)
    if plot is not None:
        # Slow to import, and seldom needed.
        from cosim.bench.flash_channel_plot import save_plot

        save_plot(report, plot)
    if docs is not None:
        rewrite_page(docs, tables(chosen, report))
    shown = [case_table(report), *list(program_tables(report["programs"]).values())[:1]]
    return "\n".join(shown)


def tables(chosen: Sequence[FlashChannelCase], report: dict[str, Any]) -> dict[str, str]:
    """The tables of ``docs/flash-channel.md`` by name."""
    fewest = min(case["channels"] for case in report["cases"])
    shown = [case for case in report["cases"] if case["channels"] == fewest]
    return {
        "bound": bound_table(bounds(chosen)),
        "cases": case_table(report),
        "causes": cause_table(shown),
        **program_tables(report.get("programs", [])),
    }


def bounds(chosen: Sequence[FlashChannelCase]) -> dict[str, dict[Any, int]]:
    """Terms of the bound of each different page read among ``chosen``, by its name."""
    return {case.name.partition("-")[2]: case.bound.page(case.length_bytes) for case in chosen}
