"""Ids per second of the gather unit against reads in flight, lanes and id size."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from cosim.bench.figure import write_figure

__all__ = ["draw_against", "save_plot"]

# Colours of Okabe and Ito.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLES = {8: ("o", "-"), 4: ("s", "--")}
BOUND = "#7F7F7F"
LABELS = {"outstanding": "reads in flight", "lanes": "lanes"}


def draw_against(cases: Sequence[Mapping[str, Any]], key: str, axes: Axes) -> Axes:
    """Million ids a second over ``key``, a line for each of the other key and size of ids.

    Grey: what a bare trace of the same ids' addresses would reach, the higher of all.
    """
    (other,) = LABELS.keys() - {key}
    values = sorted({case[other] for case in cases})
    for id_bytes, (marker, line) in STYLES.items():
        own = [case for case in cases if case["id_bytes"] == id_bytes]
        for colour, value in zip(COLOURS, values, strict=False):
            points = sorted(
                (case[key], case["ids_per_s"] / 1e6) for case in own if case[other] == value
            )
            if points:
                label = f"{value} {LABELS[other]}, {id_bytes}-byte ids"
                if other == "lanes" and value == 1:
                    label = label.replace("lanes", "lane")
                axes.plot(*zip(*points, strict=True), marker + line, color=colour, label=label)
        bounds: dict[int, float] = {}
        for case in own:
            bound = case["ids_per_s"] / case["share_of_dram_bound"] / 1e6
            bounds[case[key]] = max(bound, bounds.get(case[key], 0.0))
        if bounds:
            label = f"bare trace, {id_bytes}-byte ids"
            axes.plot(*zip(*sorted(bounds.items()), strict=True), line, color=BOUND, label=label)
    places = sorted({case[key] for case in cases})
    axes.set_xscale("log", base=2)
    axes.set_xticks(places, [str(place) for place in places])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(LABELS[key])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def save_plot(measured: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw cases of one memory, mode and fan-out, against both beside each other, as a PNG.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    cases = [{"lanes": 1, **case} for case in measured]
    figure = Figure(figsize=(12, 6.6), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, key in zip(figure.subplots(1, 2, sharey=True), LABELS, strict=True):
        draw_against(cases, key, axes)
        axes.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, fontsize=8
        )
    figure.axes[0].set_ylabel("million ids a second")
    figure.suptitle(
        f"Gather unit before the DRAM of {cases[0]['platform']}: "
        f"{cases[0]['fan_out']} ids a list, with replacement",
        fontsize=10,
    )
    write_figure(figure, path)
