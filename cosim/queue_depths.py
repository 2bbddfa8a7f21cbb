"""Depths of the SSD's queues over time: their table, and what a summary has of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["Changes", "Depths", "depth_table", "depths_of_table", "pieces", "queue_use"]

Changes = Sequence[tuple[int, int]]
"""Times in picoseconds, rising, and how many are in the queue from each on."""
Depths = Mapping[str, Changes]
"""By the name of the queue."""

SCHEMA = pa.schema([("queue", pa.string()), ("time_ps", pa.int64()), ("depth", pa.int64())])


def depth_table(depths: Depths) -> pa.Table:
    """One row a change."""
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for name, changes in depths.items():
        columns["queue"] += [name] * len(changes)
        columns["time_ps"] += [time for time, _ in changes]
        columns["depth"] += [depth for _, depth in changes]
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def depths_of_table(table: pa.Table) -> dict[str, list[tuple[int, int]]]:
    """What :func:`depth_table` was made of."""
    found: dict[str, list[tuple[int, int]]] = {}
    columns = (table[name].to_pylist() for name in SCHEMA.names)
    for name, time, depth in zip(*columns, strict=True):
        found.setdefault(name, []).append((time, depth))
    return found


def pieces(changes: Changes, start_ps: int, end_ps: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and depth of each piece of the curve between two times, in order."""
    ends = [time for time, _ in changes[1:]] + [end_ps]
    for (begin, depth), end in zip(changes, ends, strict=True):
        begin, end = max(begin, start_ps), min(end, end_ps)
        if begin < end:
            yield begin, end, depth


def queue_use(changes: Changes, start_ps: int, end_ps: int) -> dict[str, Any]:
    """Of the time between: ``area_ps``, the sum of the times that all spent in the queue.

    ``mean`` is that over the time. For 99 % of the time at least ``p99`` or fewer were there. A
    depth that lasts no time is not among them.
    """
    time_at: Counter[int] = Counter()
    for begin, end, depth in pieces(changes, start_ps, end_ps):
        time_at[depth] += end - begin
    whole_ps = end_ps - start_ps
    area_ps = sum(depth * time for depth, time in time_at.items())
    p99 = reached_ps = 0
    for depth, time in sorted(time_at.items()):
        if 100 * reached_ps >= 99 * whole_ps:
            break
        p99, reached_ps = depth, reached_ps + time
    return {
        "area_ps": area_ps,
        "mean": round(area_ps / whole_ps, 3) if whole_ps else 0.0,
        "max": max(time_at, default=0),
        "p99": p99,
    }
