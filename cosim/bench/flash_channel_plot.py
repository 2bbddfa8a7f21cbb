"""Where the clocks of a flash bus go: one bar a case, and beside it, enlarged, what is no data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cosim.bench.figure import write_figure
from rtl.contract.bus_causes import BusCause

__all__ = ["draw_overheads", "draw_shares", "save_plot"]

# Colours of Okabe and Ito, and shades of them; idleness is grey and red.
STYLE = {
    BusCause.DATA: ("page data", "#0072B2"),
    BusCause.READ_COMMAND: ("00h-30h cycles", "#009E73"),
    BusCause.TRANSFER_COMMAND: ("05h-E0h cycles", "#66C5A8"),
    BusCause.POLL_COMMAND: ("78h cycles", "#00553D"),
    BusCause.OTHER_COMMAND: ("other cycles", "#B2E2D5"),
    BusCause.STATUS_DATA: ("status data", "#56B4E9"),
    BusCause.SELECT: ("CE# before WE# (tCS)", "#F7DC4A"),
    BusCause.T_CCS: ("tCCS", "#E69F00"),
    BusCause.T_WHR: ("tWHR", "#A86F00"),
    BusCause.T_RPRE: ("preamble (tRPRE)", "#CC79A7"),
    BusCause.T_RPST: ("postamble (tRPST)", "#8A4A70"),
    BusCause.T_RHW: ("turn-round (tRHW)", "#E3B7D0"),
    BusCause.DECISION: ("idle: decision", "#D7301F"),
    BusCause.NOT_POLLED: ("idle: ready, not polled", "#FC8D59"),
    BusCause.NO_LANDING_SLOT: ("idle: no landing slot", "#7F0000"),
    BusCause.SENSING: ("idle: all sense", "#969696"),
    BusCause.NO_COMMAND: ("idle: no command", "#D0D0D0"),
}
LABEL_SHARE = 0.045
"""Parts of at least this share of the longest bar carry their number."""


def draw_shares(report: Mapping[str, Any], axes: Axes) -> Axes:
    """Share of bus time by cause, in percent."""
    for place, case in enumerate(report["cases"]):
        total = sum(case["clocks_per_page"].values())
        left = 0.0
        for cause, (_, colour) in STYLE.items():
            width = 100 * case["clocks_per_page"][cause.name.lower()] / total
            axes.barh(place, width, left=left, height=0.72, color=colour)
            left += width
        share = f"{100 * case['bus_utilisation']:.2f} % data"
        axes.text(3, place, share, va="center", color="white", fontsize=8)
    axes.set_xlim(0, 100)
    axes.set_xlabel("bus time in %")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def draw_overheads(report: Mapping[str, Any], axes: Axes) -> Axes:
    """Clocks a page that carry no page data, by cause; a black line where the bound has them."""
    cases = report["cases"]
    parts = [
        [(cause, case["clocks_per_page"][cause.name.lower()]) for cause in STYLE] for case in cases
    ]
    overheads = [[part for part in bar if part[0] is not BusCause.DATA] for bar in parts]
    longest = max(sum(clocks for _, clocks in bar) for bar in overheads)
    for place, (case, bar) in enumerate(zip(cases, overheads, strict=True)):
        left = 0.0
        for cause, clocks in bar:
            colour = STYLE[cause][1]
            axes.barh(place, clocks, left=left, height=0.72, color=colour)
            if clocks >= LABEL_SHARE * longest:
                axes.text(
                    left + clocks / 2, place, f"{clocks:.0f}", ha="center", va="center",
                    color="black" if _is_light(colour) else "white", fontsize=7,
                )  # fmt: skip
            left += clocks
        bound = sum(case["bound_clocks_per_page"].values()) - case["bound_clocks_per_page"]["data"]
        axes.plot([bound, bound], [place - 0.44, place + 0.44], color="black", linewidth=1.6)
        label = f"{left:.1f}; {100 * case['of_bound']:.2f} % of the bound"
        axes.text(max(left, bound) + 0.012 * longest, place, label, va="center", fontsize=8)
    axes.set_xlim(0, 1.42 * longest)
    axes.set_xlabel("clocks a page without page data (black line: the bound's)")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def save_plot(report: Mapping[str, Any], path: Path) -> None:
    """Write both beside each other as a PNG without date and program, so that bytes repeat.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    cases = report["cases"]
    figure = Figure(figsize=(13, 1.9 + 0.36 * len(cases)), layout="constrained")
    FigureCanvasAgg(figure)
    whole, enlarged = figure.subplots(1, 2, sharey=True, width_ratios=(1, 2.1))
    draw_shares(report, whole)
    draw_overheads(report, enlarged)
    whole.set_yticks(range(len(cases)), [_label(case) for case in cases], fontsize=8)
    whole.set_ylim(len(cases) - 0.4, -0.6)
    seen = [
        style
        for cause, style in STYLE.items()
        if any(case["clocks_per_page"][cause.name.lower()] for case in cases)
    ]
    patches = [enlarged.barh([0], [0], color=colour) for _, colour in seen]
    figure.legend(
        patches, [title for title, _ in seen], loc="outside lower center", ncols=6, frameon=False,
        fontsize=8,
    )  # fmt: skip
    write_figure(figure, path)


def _label(case: Mapping[str, Any]) -> str:
    channels = f"{case['channels']} channel{'s' if case['channels'] > 1 else ''}"
    luns = f"{case['luns']} LUN{'s' if case['luns'] > 1 else ''} a way"
    rate = f"{case['transfer_rate'] // 10**6} MT/s"
    return f"{channels}, {rate}, {luns}, {case['length_bytes']:,} B"


def _is_light(colour: str) -> bool:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return 299 * red + 587 * green + 114 * blue > 140_000
