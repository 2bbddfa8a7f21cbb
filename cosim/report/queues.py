"""The part of a run's page that is about the SSD's queues: figures and small plots."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import pairwise
from typing import Any

from cosim.queue_depths import Changes, pieces
from cosim.report.label import label
from cosim.results import SystemResult

__all__ = ["COLUMNS", "columns_of", "curve", "render_queues"]

COLUMNS = 300
"""Of a plot, each an equal part of the time."""
HEIGHT = 36
EXPLANATION = """From the first mini-batch's begin to the last one's end. Each column of a plot
is an equal part of that time: the dark area is the mean of the depth in it, the light one its
largest. All changes are in <code>queues.parquet</code>. The subgraph buffer is in bytes."""


def render_queues(
    summary: Mapping[str, Any], systems: Iterable[SystemResult], table: Callable[..., str]
) -> list[str]:
    """A table of all queues in which somebody ever was; nothing where there is none."""
    rows = []
    for system in systems:
        found = summary["systems"][system.name]
        name = escape(label(system.name, found))
        for queue, use in found.get("queues", {}).items():
            if use["max"]:
                plot = curve(system.depths[queue], *system.window, use["max"])
                cells = f"{use['mean']:,.3f}", f"{use['p99']:,}", f"{use['max']:,}"
                rows.append([name, escape(queue), plot, *cells])
    if not rows:
        return []
    head = ["system", "queue", "over time", "mean", "99 % of the time at most", "max"]
    return ["<h2>Queues of the SSD</h2>", f"<p>{EXPLANATION}</p>", table(head, rows, 3)]


def columns_of(changes: Changes, start_ps: int, end_ps: int) -> list[tuple[int, int]]:
    """Of each column of a plot: the area under the curve, and the largest depth."""
    areas, peaks = [0] * COLUMNS, [0] * COLUMNS
    edges, column = _edges(start_ps, end_ps), 0
    for begin, end, depth in pieces(changes, start_ps, end_ps):
        while begin < end:
            while edges[column + 1] <= begin:
                column += 1
            until = min(end, edges[column + 1])
            areas[column] += depth * (until - begin)
            peaks[column] = max(peaks[column], depth)
            begin = until
    return list(zip(areas, peaks, strict=True))


def _edges(start_ps: int, end_ps: int) -> list[int]:
    return [start_ps + (end_ps - start_ps) * n // COLUMNS for n in range(COLUMNS + 1)]


def curve(changes: Changes, start_ps: int, end_ps: int, top: int) -> str:
    """A queue's depth as SVG, ``top`` at its upper edge."""
    found = columns_of(changes, start_ps, end_ps)
    edges = _edges(start_ps, end_ps)
    means = [
        area / (top * max(until - begin, 1))
        for (area, _), (begin, until) in zip(found, pairwise(edges), strict=True)
    ]
    peaks = [peak / top for _, peak in found]
    return (
        f'<svg width="{COLUMNS}" height="{HEIGHT}" viewBox="0 0 {COLUMNS} {HEIGHT}" role="img">'
        f'<path d="{_area(peaks)}" fill="#bcd"/><path d="{_area(means)}" fill="#468"/></svg>'
    )


def _area(shares: list[float]) -> str:
    """Steps over the lower edge; runs of equal height are one step."""
    parts, before = [f"M0 {HEIGHT}"], None
    for x, share in enumerate(shares):
        y = f"{HEIGHT * (1 - share):.1f}"
        if y != before:
            parts.append(f"H{x}V{y}")
            before = y
    return "".join([*parts, f"H{COLUMNS}V{HEIGHT}Z"])
