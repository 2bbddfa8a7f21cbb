"""Tables of the firmware's benchmark."""

from typing import Any

from cosim.bench.firmware import CoreTime
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


def batch_table(lists: dict[str, Any]) -> str:
    """The mini-batch as a whole."""
    count = lists["lists"]
    fan_outs = ", then ".join(str(number) for number in lists["fan_outs"])
    rows = [
        ["lists", f"{count:,}"],
        ["ids", f"{lists['ids']:,}"],
        ["page jobs", f"{lists['page_jobs']:,}"],
        ["flash reads", f"{lists['flash_reads']:,}"],
        ["latency", f"{lists['latency_us'] / 1000:,.1f} ms"],
        ["a list, of the latency", f"{lists['latency_us'] / count:.2f} us"],
        ["a list, of the flash buses' bound", f"{lists['flash_bus_us'] / count:.2f} us"],
    ]
    return markdown_table([f"{lists['targets']:,} targets, {fan_outs} neighbours", ""], rows)


def list_table(lists: dict[str, Any]) -> str:
    """Core time of a list by routine, most first, and each core's sum."""
    count = lists["lists"]
    times: list[CoreTime] = lists["core_times"]
    rows = [_row(one.routine, one.core, one.steps, one.time_ps, count) for one in times]
    for core in sorted({one.core for one in times}):
        own = [one for one in times if one.core == core]
        steps = sum(one.steps for one in own)
        rows.append(_row("all", core, steps, sum(one.time_ps for one in own), count))
    return markdown_table(["routine", "core", "steps a list", "ns a list"], rows)


def large_table(large: dict[str, Any]) -> str:
    """What the large device took of the machine."""
    rows = [
        ["edge list array", f"{large['edge_bytes'] / 10**9:,.3f} GB"],
        ["lists", f"{large['lists']:,}"],
        ["flash reads", f"{large['flash_reads']:,}"],
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


def _row(routine: str, core: str, steps: int, time_ps: int, lists: int) -> list[str]:
    return [routine, core, f"{steps / lists:.3f}", f"{time_ps / lists / 1000:,.1f}"]


def _gb(rate: int) -> str:
    return f"{rate / 10**9:.3f} GB/s"
