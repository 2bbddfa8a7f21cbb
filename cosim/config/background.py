"""Whether an SSD can have a background load beside the lists."""

from cosim.config.build import page_layout, striping
from cosim.config.ftl_build import host_pages
from cosim.config.model import Background
from cosim.config.platform import SsdPlatform

__all__ = ["check_background"]


def check_background(ssd: SsdPlatform, load: Background, edge_bytes: int) -> None:
    """Refuse commands that are too many, no whole blocks or too long, and writes without a place.

    Raises
    ------
    ValueError
        Beginning with the name of a key of the load.
    """
    _check_queue(ssd.nvme.queue_entries.value, load)
    layout, size = page_layout(ssd), load.size
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
