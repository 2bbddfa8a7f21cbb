"""Whether an SSD can have a background load beside the lists."""

from collections.abc import Sequence

from cosim.config.build import page_layout, striping
from cosim.config.ftl_build import host_pages
from cosim.config.model import Background
from cosim.config.platform import SsdPlatform
from host.background_trace import Area, BlockCommand, block_commands
from host.errors import TraceError
from host.formats.mqsim import BlockRequest
from rtl.contract.page import PageLayout

__all__ = ["area_first", "check_background", "trace_commands"]


def check_background(
    ssd: SsdPlatform,
    load: Background,
    edge_bytes: int,
    requests: Sequence[BlockRequest] = (),
) -> None:
    """Refuse a load that its SSD cannot have; ``requests`` are those of its trace.

    Raises
    ------
    ValueError
        Beginning with the name of a key of the load.
    TraceError
        For a request of the trace, beginning with its place.
    """
    if load.trace is None:
        _check_mix(ssd, load, edge_bytes)
        return
    if load.write_area is not None:
        _check_area(ssd, load.write_area, edge_bytes)
    try:
        trace_commands(ssd, load, edge_bytes, requests)
    except ValueError as error:
        raise TraceError(str(error)) from None


def trace_commands(
    ssd: SsdPlatform, load: Background, edge_bytes: int, requests: Sequence[BlockRequest]
) -> tuple[BlockCommand, ...]:
    """The commands of a trace: reads go to the lists, writes to the area behind them.

    Raises
    ------
    ValueError
        As from :func:`host.background_trace.block_commands`.
    """
    layout = page_layout(ssd)
    block = layout.lba_bytes
    return block_commands(
        requests,
        block,
        reads=Area(0, edge_bytes // block),
        writes=Area(area_first(layout, edge_bytes), (load.write_area or 0) // block),
        wraps=load.beyond != "refuse",
        most_blocks=ssd.nvme.transfer_limit.value // block,
    )


def area_first(layout: PageLayout, edge_bytes: int) -> int:
    """The first block behind the pages of the edge lists."""
    return -(-edge_bytes // layout.page_bytes) * layout.lbas


def _check_mix(ssd: SsdPlatform, load: Background, edge_bytes: int) -> None:
    """Refuse commands that are too many, no whole blocks or too long, and writes without a place.

    Raises
    ------
    ValueError
        Beginning with the name of a key of the load.
    """
    _check_queue(ssd.nvme.queue_entries.value, load)
    layout, size = page_layout(ssd), load.size or 0
    block = layout.lba_bytes
    most = min(ssd.nvme.transfer_limit.value, edge_bytes // block * block)
    if size % block or not size:
        raise ValueError(f"size must be whole logical blocks of {block} bytes, not {size} bytes")
    if size > most:
        raise ValueError(
            f"size must be at most {most} bytes (what a command may transfer, and the lists have), "
            f"not {size}"
        )
    if not load.writes_in_flight:
        return
    if ssd.firmware.ftl is None:
        raise ValueError("writes_in_flight must be 0 for an SSD without firmware.ftl")
    area = load.write_area or 0
    if area < load.writes_in_flight * size:
        raise ValueError(
            f"write_area must hold {load.writes_in_flight} writes of {size} bytes beside each "
            f"other, not {area} bytes"
        )
    _check_area(ssd, area, edge_bytes)


def _check_area(ssd: SsdPlatform, area: int, edge_bytes: int) -> None:
    if ssd.firmware.ftl is None:
        raise ValueError("write_area must not be given for an SSD without firmware.ftl")
    layout = page_layout(ssd)
    namespace = host_pages(ssd, striping(ssd)) * layout.page_bytes
    room = namespace - -(-edge_bytes // layout.page_bytes) * layout.page_bytes
    if area > room:
        raise ValueError(
            f"write_area must be at most {room} bytes, what the lists leave of the namespace, "
            f"not {area}"
        )


def _check_queue(entries: int, load: Background) -> None:
    """Refuse more commands than a queue can hold: the others would wait, and not be in flight."""
    most, of = entries - 1, f"(of a queue of {entries} entries)"
    reads, writes = load.reads_in_flight, load.writes_in_flight
    if reads > most:
        raise ValueError(f"reads_in_flight must be at most {most} {of}, not {reads}")
    if reads + writes > most:
        raise ValueError(
            f"writes_in_flight must be at most {most - reads} beside {reads} reads {of}, "
            f"not {writes}"
        )
