"""Plots. Functions take data and axes and return the axes; only ``save_`` functions write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cosim.report.label import label
from cosim.report.stages import Family, by_family, in_order

__all__ = ["draw_stages", "save_stages"]

PS_PER_MS = 10**9
LABEL_SHARE = 0.06
"""Parts of a bar that are at least this share of the longest one carry their share in writing."""


def draw_stages(summary: Mapping[str, Any], axes: Axes) -> Axes:
    """One bar a system and mini-batch: its latency, stacked from its families of stages."""
    bars = [
        (
            f"{label(name, system)}, batch {number}",
            by_family(batch["stages_ps"]),
            batch["latency_ps"],
        )
        for name, system in summary["systems"].items()
        for number, batch in enumerate(system["batches"])
    ]
    longest = max((latency for _, _, latency in bars), default=0) or 1
    seen: dict[Family, Any] = {}
    for place, (_, parts, latency) in enumerate(bars):
        left = 0.0
        for family, duration in parts.items():
            width = duration / PS_PER_MS
            bar = axes.barh(
                place, width, left=left, height=0.7, color=family.colour, edgecolor="white"
            )
            seen.setdefault(family, bar)
            if duration >= LABEL_SHARE * longest:
                colour = "black" if _light(family.colour) else "white"
                share = f"{100 * duration / latency:.0f} %"
                axes.text(
                    left + width / 2, place, share, ha="center", va="center", color=colour,
                    fontsize=8,
                )  # fmt: skip
            left += width
        axes.text(
            left + 0.01 * longest / PS_PER_MS, place, f"{left:.3f} ms", va="center", fontsize=9
        )
    axes.set_yticks(range(len(bars)), [label for label, _, _ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.14 * longest / PS_PER_MS)
    axes.set_xlabel("latency in ms; each instant belongs to the stage on the critical path")
    axes.spines[["top", "right"]].set_visible(False)
    order = in_order(seen)
    axes.legend(
        [seen[family] for family in order],
        [family.title for family in order],
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize=9,
    )
    return axes


def save_stages(summary: Mapping[str, Any], path: Path) -> None:
    """Write :func:`draw_stages` as a PNG without date and program, so that bytes repeat."""
    bars = sum(len(system["batches"]) for system in summary["systems"].values())
    figure = Figure(figsize=(11, max(2.9, 1.1 + 0.45 * bars)), layout="constrained")
    FigureCanvasAgg(figure)
    draw_stages(summary, figure.add_subplot())
    figure.savefig(path, dpi=120, metadata={"Software": None})


def _light(colour: str) -> bool:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 299 * red + 587 * green + 114 * blue > 140_000
