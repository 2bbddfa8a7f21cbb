"""The command ``bench gather``: measures, and writes what was asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cosim.bench.gather import bench_gather
from cosim.bench.gather_case import GatherCase
from cosim.bench.measurement import write_report
from cosim.bench.outputs import check_outputs
from cosim.bench.page import markdown_table, rewrite_page
from rtl.contract.gather import BUSY_PARTS

__all__ = ["run", "tables"]

TABLES = ("fast", "dram", "clocks", "targets")


def run(
    chosen: Sequence[GatherCase],
    *,
    json_path: Path | None,
    docs: Path | None,
    plot: Path | None = None,
    swept: Sequence[GatherCase] = (),
    **options: Any,
) -> str:
    """Measure, write report, page and plot where asked, and return the tables.

    Parameters
    ----------
    chosen : sequence of GatherCase
    json_path, docs, plot : Path, optional
        Report as JSON; page whose tables are rewritten; PNG.
    swept : sequence of GatherCase
        What the plot shows, measured for it alone.
    options
        Of :func:`bench_gather`.

    Raises
    ------
    UserError
        If an option is wrong or a file cannot be written.
    """
    check_outputs(json_path=json_path, docs=docs, tables=TABLES, plot=plot)
    report = bench_gather(chosen, **options)
    if plot is not None:
        # Only here: it takes as long to load as all the rest.
        from cosim.bench.gather_plot import save_plot

        report["sweep"] = bench_gather(swept, **options)["cases"]
        save_plot(report["sweep"], plot)
    write_report(json_path, report)
    written = tables(report)
    if docs is not None:
        rewrite_page(docs, written)
    return "\n".join(written.values())


def tables(report: Mapping[str, Any]) -> dict[str, str]:
    """The tables of ``docs/gather.md`` by name."""
    before = {memory: [case for case in report["cases"] if case["memory"] == memory]
              for memory in ("fast", "dram")}  # fmt: skip
    return {
        "fast": _table(
            before["fast"],
            {
                "words/clock": lambda case: f"{case['words_per_clock']:.3f}",
                "ids/clock": lambda case: f"{case['ids_per_clock']:.3f}",
                "beats/clock": lambda case: f"{case['beats_per_clock']:.3f}",
                "merged": lambda case: _percent(case["merges"] / case["ids"]),
                "first word": lambda case: f"{case['first_word_clocks']}",
                "last word": lambda case: f"{case['last_word_clocks']}",
            },
        ),
        "dram": _table(
            before["dram"],
            {
                "clocks": lambda case: f"{case['clocks']:,}",
                "bare trace": lambda case: f"{case['trace_clocks']:,}",
                "of the bound": lambda case: _percent(case["share_of_dram_bound"]),
                "million ids/s": lambda case: f"{case['ids_per_s'] / 1e6:.1f}",
                "first word": lambda case: f"{case['first_word_clocks']}",
                "last word": lambda case: f"{case['last_word_clocks']}",
            },
        ),
        "clocks": _table(
            before["dram"],
            {
                f"`{part}`": lambda case, part=part: _percent(case["busy_shares"][part])
                for part in BUSY_PARTS
            },
        ),
        "targets": markdown_table(
            ("target", "met by"),
            [(name, f"{met} of {total}") for name, (met, total) in _met(report).items()],
        ),
    }


def _table(cases: Sequence[Mapping[str, Any]], columns: Mapping[str, Any]) -> str:
    rows = [(f"`{case['name']}`", *(shown(case) for shown in columns.values())) for case in cases]
    return markdown_table(("case", *columns), rows)


def _met(report: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Of each target: in how many cases it is met, and in how many it applies."""
    counted: dict[str, tuple[int, int]] = {}
    for target in report["targets"]:
        name = f"`{target['key']}` at least {target['at_least']}"
        met, total = counted.get(name, (0, 0))
        counted[name] = (met + target["met"], total + 1)
    return counted


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
