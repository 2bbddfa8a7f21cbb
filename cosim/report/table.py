"""The table that the command line prints, and how figures are written."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table

from cosim.report.label import label, labels
from cosim.report.stages import by_family, in_order

__all__ = ["duration", "latency_table", "mean_latency", "ratio_sentence", "size"]


def duration(ps: int) -> str:
    """Picoseconds in the unit that leaves one to three digits before the point."""
    for unit, scale in (("s", 10**12), ("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps >= scale:
            return f"{ps / scale:.3f} {unit}"
    return f"{ps} ps"


def size(count: int) -> str:
    """Bytes in the unit that leaves one to three digits before the point."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count} B"


def mean_latency(system: Mapping[str, Any]) -> float:
    """Mean latency of a system's mini-batches in picoseconds."""
    latencies = [batch["latency_ps"] for batch in system["batches"]]
    return float(sum(latencies) / len(latencies))


def ratio_sentence(summary: Mapping[str, Any]) -> str:
    """Which system is faster and by how much, in mean latency."""
    named = [(label(*item), item[1]) for item in summary["systems"].items()]
    ranked = sorted(named, key=lambda item: mean_latency(item[1]))
    if len(ranked) == 1:
        name, system = ranked[0]
        return f"{name} takes {duration(round(mean_latency(system)))} for a mini-batch on average."
    (fast, best), *others = ranked
    parts = [
        f"{mean_latency(system) / mean_latency(best):.2f} times as long on {name}"
        for name, system in others
    ]
    return (
        f"A mini-batch takes {duration(round(mean_latency(best)))} on {fast} on average, and "
        f"{', '.join(parts)}."
    )


def latency_table(summary: Mapping[str, Any]) -> Table:
    """One column a system: latency of each mini-batch and its stages, then bytes moved.

    Where there are two systems, a last column has the second's figure over the first's.
    """
    systems = list(summary["systems"].values())
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    for name in labels(summary):
        table.add_column(name, justify="right")
    if len(systems) == 2:
        first, second = labels(summary)
        table.add_column(f"{second} / {first}", justify="right")
    for number, batches in enumerate(zip(*(s["batches"] for s in systems), strict=True)):
        latencies = [batch["latency_ps"] for batch in batches]
        table.add_row(f"batch {number}: latency", *_cells(latencies, duration), style="bold")
        parts = [by_family(batch["stages_ps"]) for batch in batches]
        for family in in_order(family for part in parts for family in part):
            times = [part.get(family, 0) for part in parts]
            table.add_row(f"  {family.title}", *_cells(times, duration))
        table.add_section()
    for key in dict.fromkeys(key for system in systems for key in system["bytes"]):
        moved = [system["bytes"][key] for system in systems]
        table.add_row(f"bytes, {key.replace('_', ' ')}", *_cells(moved, size))
    return table


def _cells(values: Sequence[int], shown: Callable[[int], str]) -> list[str]:
    cells = [shown(value) if value else "-" for value in values]
    if len(values) == 2:
        cells.append(f"{values[1] / values[0]:.2f}" if all(values) else "")
    return cells
