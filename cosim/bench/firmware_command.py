"""The command ``bench firmware``: measures, and writes what was asked for."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cosim.bench.firmware import read_stream, sample_lists
from cosim.bench.firmware_text import batch_table, list_table, stream_table
from cosim.bench.flash_channel_text import rewrite_page
from cosim.errors import UserError

__all__ = ["run"]


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
) -> str:
    """Measure, write report and page where asked, and return the tables.

    Raises
    ------
    UserError
        If the platform cannot be used or a file cannot be written.
    """
    stream = read_stream(platform, reads=reads, depth=depth)
    lists = sample_lists(platform, nodes=nodes, targets=targets, fan_outs=fan_outs)
    tables = {
        "stream": stream_table(stream),
        "mini-batch": batch_table(lists),
        "lists": list_table(lists),
    }
    if json_path is not None:
        lists = {**lists, "core_times": [asdict(one) for one in lists["core_times"]]}
        report = {"stream": stream, "lists": lists}
        try:
            json_path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{json_path}: must be writable: {error.strerror}") from None
    if docs is not None:
        rewrite_page(docs, tables)
    return "\n".join(tables.values())
