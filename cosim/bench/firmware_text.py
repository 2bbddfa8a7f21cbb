"""Tables of the firmware's benchmark."""

from collections.abc import Mapping
from typing import Any

from cosim.bench.large_device import TIMEOUTS_A_PAGE
from cosim.bench.page import markdown_table

__all__ = ["batch_table", "large_table", "list_table", "stream_table"]


def stream_table(stream: dict[str, Any]) -> str:
    """The stream of reads, beside the published rate and the bound of the flash buses."""
    rows = [
        ["measured", _gb(stream["bytes_per_s"])],
        ["published", f"about {_gb(stream['published_bytes_per_s'])}"],
        ["deviation", f"{stream['deviation']:+.1%}"],
        ["bound of the flash buses", _gb(stream["bus_bytes_per_s"])],
        ["time of a read", f"{stream['us_a_read']:.2f} us"],
    ]
    rows += [
        [f"{core}, time of a read", f"{time:.2f} us"]
        for core, time in stream["core_us_a_read"].items()
    ]
    return markdown_table([f"16 KiB reads, {stream['depth']} at a time", ""], rows)


def batch_table(ways: Mapping[str, dict[str, Any]]) -> str:
    """The mini-batch as a whole, in each way of sampling."""
    first = next(iter(ways.values()))
    fan_outs = ", then ".join(str(number) for number in first["fan_outs"])
    columns = [_batch_column(lists) for lists in ways.values()]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    return markdown_table([f"{first['targets']:,} targets, {fan_outs} neighbours", *ways], rows)


def _batch_column(lists: dict[str, Any]) -> dict[str, str]:
    count = lists["lists"]
    return {
        "lists": f"{count:,}",
        "ids": f"{lists['ids']:,}",
        "page jobs": f"{lists['page_jobs']:,}",
        "flash reads": f"{lists['flash_reads']:,}",
        "latency": f"{lists['latency_us'] / 1000:,.1f} ms",
        "a list, of the latency": f"{lists['latency_us'] / count:.2f} us",
        "a list, of the flash buses' bound": f"{lists['flash_bus_us'] / count:.2f} us",
    }


def list_table(ways: Mapping[str, dict[str, Any]]) -> str:
    """Core time of a list by routine and way, most first, and each core's sum."""
    cells = [_list_cells(lists) for lists in ways.values()]
    keys = {key: max(of[key][1] for of in cells if key in of) for of in cells for key in of}
    routines = sorted((key for key in keys if key[1] != "all"), key=lambda key: (-keys[key], key))
    order = [*routines, *sorted(key for key in keys if key[1] == "all")]
    rows = [
        [routine, core, *(_cell(of.get((core, routine))) for of in cells)]
        for core, routine in order
    ]
    return markdown_table(["routine", "core", *(f"{way}, ns (steps)" for way in ways)], rows)


def _list_cells(lists: dict[str, Any]) -> dict[tuple[str, str], tuple[float, float]]:
    """Steps and nanoseconds a list, by core and routine, and of ``all`` routines of a core."""
    count = lists["lists"]
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for one in lists["core_times"]:
        sums[one.core, one.routine] = (one.steps, one.time_ps)
        steps, time_ps = sums.get((one.core, "all"), (0, 0))
        sums[one.core, "all"] = (steps + one.steps, time_ps + one.time_ps)
    return {key: (steps / count, ps / count / 1000) for key, (steps, ps) in sums.items()}


def _cell(found: tuple[float, float] | None) -> str:
    return "" if found is None else f"{found[1]:,.1f} ({found[0]:.3f})"


def large_table(large: dict[str, Any]) -> str:
    """What the large device took of the machine."""
    rows = [
        ["edge list array", f"{large['edge_bytes'] / 10**9:,.3f} GB"],
        ["lists", f"{large['lists']:,}"],
        ["flash reads", f"{large['flash_reads']:,}"],
        ["flash reads where the SSD chains", f"{large['chained_flash_reads']:,}"],
        ["peak memory of the process", f"{large['peak_bytes'] / 2**20:,.0f} MiB"],
        ["bare time-outs of SimPy a second", f"{large['timeouts_per_s']:,}"],
        [
            f"time-outs in the time of a flash read (goal: {TIMEOUTS_A_PAGE})",
            f"{large['timeouts_a_read']:,.0f}",
        ],
        ["of these for what the page holds", f"{large['of_image']:,.0f}"],
        ["of these for the reference", f"{large['of_reference']:,.0f}"],
        [
            f"the same for a page that the firmware alone reads (goal: {TIMEOUTS_A_PAGE})",
            f"{large['timeouts_a_page']:,.0f}",
        ],
    ]
    return markdown_table(["one mini-batch", ""], rows)


def _gb(rate: int) -> str:
    return f"{rate / 10**9:.3f} GB/s"
