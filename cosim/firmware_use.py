"""What the SSD's cores did, by task, and how long their queues were; made from spans only."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cosim.spans import Span

__all__ = ["PAGES", "core_use", "page_use", "translation_use"]

STEP = "firmware."
POLL = "firmware.poll"
PAGES = ("page_jobs", "hits", "merges", "misses", "refills", "flash_reads")
"""Counters of pages: a look-up in the page buffer is a hit, a merge or a miss."""


def core_use(spans: Iterable[Span]) -> dict[str, Any]:
    """By core: ``poll_ps`` on the way to steps, and its ``tasks``.

    Of each task ``steps``, their time ``busy_ps``, and ``queue_ps``: for how long so many steps
    waited in its queue, by their number. A step waits from when its work was ready to its start.
    """
    steps: dict[str, dict[str, list[Span]]] = {}
    polls: Counter[str] = Counter()
    for span in spans:
        if span.stage == POLL:
            polls[span.unit] += span.end_ps - span.start_ps
        elif span.stage.startswith(STEP):
            steps.setdefault(span.unit, {}).setdefault(span.kind, []).append(span)
    return {
        core: {
            "poll_ps": polls[core],
            "tasks": {
                task: {
                    "steps": len(done),
                    "busy_ps": sum(span.end_ps - span.start_ps for span in done),
                    "queue_ps": _depths(done),
                }
                for task, done in sorted(tasks.items())
            },
        }
        for core, tasks in sorted(steps.items())
    }


def page_use(counters: Mapping[str, int]) -> dict[str, int]:
    """Lists that were sampled, and what was done for their pages; empty where there are none."""
    lists = counters.get("firmware.targets", 0) - counters.get("firmware.empty_targets", 0)
    if not lists:
        return {}
    return {"lists": lists} | {name: counters[f"firmware.{name}"] for name in PAGES}


def translation_use(counters: Mapping[str, int]) -> dict[str, Any]:
    """Counters of the flash translation layer; empty where there is none.

    ``write_amplification`` is pages programmed over pages written by the host, absent without any.
    """
    prefix = "firmware.ftl_"
    found: dict[str, Any] = {
        name.removeprefix(prefix): count
        for name, count in counters.items()
        if name.startswith(prefix)
    }
    if found.get("host_pages"):
        found["write_amplification"] = round(found["programs"] / found["host_pages"], 3)
    return found


def _depths(steps: Iterable[Span]) -> dict[str, int]:
    """Time by number of waiting steps, where any wait."""
    changes: Counter[int] = Counter()
    for span in steps:
        changes[span.ready_ps] += 1
        changes[span.start_ps] -= 1
    found: Counter[int] = Counter()
    depth = before = 0
    for time, change in sorted(changes.items()):
        if depth:
            found[depth] += time - before
        depth, before = depth + change, time
    return {str(depth): time for depth, time in sorted(found.items())}
