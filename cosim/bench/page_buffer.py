"""How often pages of sampled lists are in a page buffer, by its policy and its size.

Only look-ups are played, one after the other and each ended before the next: neither time nor reads
in flight, so that policies are compared on the same sequence of pages.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

from cosim.bench.firmware import ID_BYTES, list_graph
from cosim.bench.measurement import write_report
from cosim.bench.outputs import check_outputs
from cosim.bench.page import markdown_table, rewrite_page
from cosim.config.build import page_layout
from cosim.config.load import load_platform
from firmware_model.replacement import POLICIES
from host.graph import Graph
from host.sampler import plan_hop
from host.trace import MiniBatch, Trace

__all__ = ["BEST", "hit_rates", "hits", "most_hits", "pages_of", "run"]

BEST = "best possible"
"""Of all policies, also of those that know what comes (Belady, 1966)."""
SHARES = (512, 128, 32, 8, 2)
"""Sizes of the buffer, as parts of the edge list array."""


def pages_of(graph: Graph, batch: MiniBatch, page_bytes: int) -> Iterator[int]:
    """Pages that a mini-batch looks up: of each list those of its drawn ids, each once."""
    frontier = batch.targets
    for hop in range(len(batch.fan_outs)):
        plan = plan_hop(graph, batch, hop, frontier)
        places = plan.starts[:, None] + plan.positions()
        drawn = np.arange(places.shape[1]) < plan.counts[:, None]
        for row, is_drawn in zip(places * ID_BYTES // page_bytes, drawn, strict=True):
            yield from dict.fromkeys(row[is_drawn].tolist())
        frontier = graph.indices[places[drawn]]


def hits(policy: str, frames: int, pages: Sequence[int]) -> int:
    """Look-ups that find their page in a buffer that is empty at first."""
    replacement, present, found = POLICIES[policy](frames), set[int](), 0
    for page in pages:
        if page in present:
            found += 1
            replacement.use(page)
        else:
            if len(present) < frames:
                replacement.enter(page)
            else:
                present.remove(replacement.replace(page))
            present.add(page)
        replacement.rest(page)
    return found


def most_hits(frames: int, pages: Sequence[int]) -> int:
    """The same of the best choice there is: the page leaves that is not needed for longest."""
    following = [0] * len(pages)
    next_use: dict[int, int] = {}
    for place in range(len(pages) - 1, -1, -1):
        following[place] = next_use.get(pages[place], len(pages))
        next_use[pages[place]] = place
    needed: set[int] = set()
    latest: list[tuple[int, int]] = []
    found = 0
    for place, page in enumerate(pages):
        if page in needed:
            found += 1
        elif len(needed) == frames:
            # Uses that are over come after all that are still to come.
            _, leaver = heappop(latest)
            needed.remove(leaver)
        needed.add(page)
        heappush(latest, (-following[place], page))
    return found


def hit_rates(
    platform: str, *, nodes: int, batches: int, targets: int, fan_outs: Sequence[int]
) -> dict[str, Any]:
    """Hits of each policy and size, on mini-batches one after the other."""
    page_bytes = page_layout(load_platform(platform)).page_bytes
    graph = list_graph(nodes, 28)
    trace = Trace.generate(graph, seed=1, batches=batches, targets=targets, fan_outs=fan_outs)
    pages = [page for batch in trace.batches for page in pages_of(graph, batch, page_bytes)]
    whole = -(-graph.edge_bytes(ID_BYTES) // page_bytes)
    sizes = {max(1, whole // share): share for share in SHARES}
    return {
        "platform": platform,
        "pages": whole,
        "lookups": len(pages),
        "different": len(set(pages)),
        "hits": {
            str(frames): {
                **{policy: hits(policy, frames, pages) for policy in POLICIES},
                BEST: most_hits(frames, pages),
            }
            for frames in sizes
        },
    }


def hit_table(found: dict[str, Any]) -> str:
    """Shares of look-ups that are hits."""
    names = [*POLICIES, BEST]
    rows = [
        [
            f"{int(frames):,} pages, {int(frames) / found['pages']:.1%} of the lists",
            *(f"{of[name] / found['lookups']:.1%}" for name in names),
        ]
        for frames, of in found["hits"].items()
    ]
    head = f"{found['lookups']:,} look-ups of {found['different']:,} pages"
    return markdown_table([head, *names], rows)


def run(platform: str, *, json_path: Path | None, docs: Path | None, **work: Any) -> str:
    """Measure, write report and page where asked, and return the table.

    Raises
    ------
    UserError
        If the platform cannot be used or a file cannot be written.
    """
    check_outputs(json_path=json_path, docs=docs, tables=["hit-rates"])
    found = hit_rates(platform, **work)
    table = hit_table(found)
    write_report(json_path, found)
    if docs is not None:
        rewrite_page(docs, {"hit-rates": table})
    return table
