"""The part of a run's page that is about the SSD's cores and its page buffer."""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from cosim.firmware_use import PAGES
from cosim.report.label import label
from cosim.report.table import duration

__all__ = ["render_firmware"]

HEAD = ["system", "core", "task", "steps", "busy", "steps waiting, longest", "on average"]


def render_firmware(summary: Mapping[str, Any], table: Callable[..., str]) -> list[str]:
    """Tables of the cores by task and of pages; nothing where no core has worked."""
    rows = []
    for name, system in summary["systems"].items():
        span_ps = sum(batch["latency_ps"] for batch in system["batches"])
        for core, use in system["cores"].items():
            for task, did in use["tasks"].items():
                cells = [f"{did['steps']:,}", duration(did["busy_ps"]), *_queue(did, span_ps)]
                rows.append([*map(escape, (label(name, system), core, task)), *cells])
    if not rows:
        return []
    parts = ["<h2>The SSD's cores</h2>", table(HEAD, rows, 3)]
    pages = {
        label(name, one): one["pages"] for name, one in summary["systems"].items() if one["pages"]
    }
    if pages:
        rows = [["lists", *(f"{one['lists']:,}" for one in pages.values())]]
        rows += [
            [
                escape(key.replace("_", " ")),
                *(f"{one[key]:,} ({one[key] / one['lists']:.3f} a list)" for one in pages.values()),
            ]
            for key in PAGES
        ]
        parts += ["<h2>Pages of the sampled lists</h2>", table(["what", *pages], rows, 1)]
    return parts


def _queue(did: Mapping[str, Any], span_ps: int) -> tuple[str, str]:
    """The most steps that waited at a time, and how many did on average in the mini-batches."""
    depths = {int(depth): time for depth, time in did["queue_ps"].items()}
    waited = sum(depth * time for depth, time in depths.items())
    return f"{max(depths, default=0):,}", f"{waited / span_ps:.3f}"
