"""The command ``bench firmware``: measures, and writes what was asked for."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cosim.bench.firmware import read_stream, sample_lists
from cosim.bench.firmware_text import batch_table, large_table, list_table, stream_table
from cosim.bench.large_device import EDGE_BYTES, large_device
from cosim.bench.measurement import write_report
from cosim.bench.outputs import check_outputs
from cosim.bench.page import rewrite_page

__all__ = ["run"]

TABLES = ("stream", "mini-batch", "lists", "large")


def run(
    platform: str,
    *,
    json_path: Path | None,
    docs: Path | None,
    reads: int,
    depth: int,
    targets: int,
    fan_outs: Sequence[int],
    nodes: int,
    edge_bytes: int = EDGE_BYTES,
) -> str:
    """Measure, write report and page where asked, and return the tables.

    Raises
    ------
    UserError
        If the platform cannot be used or a file cannot be written.
    """
    check_outputs(json_path=json_path, docs=docs, tables=TABLES)
    stream = read_stream(platform, reads=reads, depth=depth)
    lists = sample_lists(platform, nodes=nodes, targets=targets, fan_outs=fan_outs)
    large = large_device(platform, edge_bytes=edge_bytes, targets=targets, fan_outs=fan_outs)
    tables = {
        "stream": stream_table(stream),
        "mini-batch": batch_table(lists),
        "lists": list_table(lists),
        "large": large_table(large),
    }
    ways = {
        name: {**found, "core_times": [asdict(one) for one in found["core_times"]]}
        for name, found in lists.items()
    }
    report = {"stream": stream, "lists": ways, "large": large}
    write_report(json_path, report)
    if docs is not None:
        rewrite_page(docs, tables)
    return "\n".join(tables.values())
