"""The command ``bench p2p``: measures, and writes what was asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cosim.bench.measurement import write_report
from cosim.bench.outputs import check_outputs
from cosim.bench.p2p import measure
from cosim.bench.page import markdown_table, rewrite_page

__all__ = ["run", "table"]


def run(ssd: str, card: str, *, largest: int, json_path: Path | None, docs: Path | None) -> str:
    """Measure, write report and page where asked, and return the table.

    Raises
    ------
    UserError
        If a platform cannot be used or a file cannot be written.
    """
    check_outputs(json_path=json_path, docs=docs, tables=["p2p"])
    report = measure(ssd, card, largest=largest)
    write_report(json_path, report)
    text = table(report)
    if docs is not None:
        rewrite_page(docs, {"p2p": text})
    return text


def table(report: Mapping[str, Any]) -> str:
    """Measured and published, point by point; errors are of the rate."""
    rows = [
        [
            _size(point["bytes"]),
            f"{point['us']:,.1f}",
            f"{point['published_us']:,.0f}",
            f"{point['bytes_per_s'] / 10**9:.3f}",
            f"{point['published_bytes_per_s'] / 10**9:.2f}",
            f"{point['error']:+.1%}".replace("%", " %"),
        ]
        for point in report["points"]
    ]
    head = ("request", "us", "published, us", "GB/s", "published, GB/s", "error")
    return markdown_table(head, rows)


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
