"""What a device that holds a very large graph takes of the machine that simulates it.

The edge list array is a :class:`~cosim.bench.procedural_graph.ProceduralGraph`, so that the memory
is that of the model. A process of its own measures its peak memory and its CPU time, and compares
with bare time-outs of SimPy in the same process, as a measure of the machine:

- of a mini-batch, with all that belongs to it. What the pages hold is computed as they are read,
  and the subgraph is compared with the reference's; what of the time that is, is measured apart.
  Then the same with the hops on the SSD, whose row pointers are computed likewise;
- of the firmware alone (:mod:`cosim.bench.page_stream`).
"""

import multiprocessing
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import simpy

from cosim.bench.firmware import WAYS, Ssd, sample_batch
from cosim.bench.page_stream import EqualPages, read_pages
from cosim.bench.procedural_graph import ProceduralGraph
from cosim.config.build import page_layout, striping
from cosim.config.load import load_platform
from host import reference
from host.trace import MiniBatch

__all__ = ["EDGE_BYTES", "TIMEOUTS_A_PAGE", "large_device"]

EDGE_BYTES = 474 * 10**9
TIMEOUTS_A_PAGE = 40
"""A page read shall cost no more time of the CPU than so many bare time-outs."""
ID_BYTES = 8
NODES, DEGREE = 1 << 24, 28
"""So many nodes at most, and neighbours of each at the least."""
TIMEOUTS = 200_000
STREAM_PAGES = 16_384
IMAGES = 1000
KIB = 1024


def large_device(
    platform: str = "cosmos_plus",
    *,
    edge_bytes: int = EDGE_BYTES,
    targets: int = 1024,
    fan_outs: Sequence[int] = (25, 10),
    stream_pages: int = STREAM_PAGES,
) -> dict[str, Any]:
    """Sample one mini-batch in a process of its own; its subgraph must be the reference's.

    The lists fill ``edge_bytes`` of the flash, or all of it.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure, (platform, edge_bytes, targets, tuple(fan_outs), stream_pages))


def _measure(
    platform: str, edge_bytes: int, targets: int, fan_outs: tuple[int, ...], stream_pages: int
) -> dict[str, Any]:
    ids = min(edge_bytes, _capacity(platform)) // ID_BYTES
    nodes = min(NODES, max(1, ids // DEGREE))
    graph = ProceduralGraph(nodes, ids // nodes)
    chosen = np.random.default_rng(1).integers(0, nodes, targets).astype(np.uint32)
    batch = MiniBatch(0, chosen, fan_outs, seed=1)
    return {
        "platform": platform,
        "edge_bytes": graph.edge_bytes(),
        **_measure_batch(Ssd(platform, graph), graph, batch),
        **_measure_chain(Ssd(platform, graph, way=WAYS[-1]), graph, batch),
        "peak_bytes": _peak_bytes(),
        **_measure_stream(Ssd(platform, graph, flash=EqualPages), stream_pages),
        "timeouts_per_s": round(_timeouts_per_s()),
    }


def _measure_batch(ssd: Ssd, graph: Any, batch: MiniBatch) -> dict[str, Any]:
    timeouts = _timeouts_of(lambda: sample_batch(ssd, graph, batch))
    counts = ssd.device.counts()
    reads = counts["flash_reads"]
    pages = range(min(IMAGES, ssd.flash.pages))
    of_images = _timeouts_of(lambda: [ssd.flash.page(number) for number in pages])
    of_reference = _timeouts_of(lambda: reference.sample(graph, batch))
    return {
        "lists": counts["targets"],
        "flash_reads": reads,
        "timeouts_a_read": round(timeouts / reads, 1),
        "of_image": round(of_images / len(pages), 1),
        "of_reference": round(of_reference / reads, 1),
    }


def _measure_chain(ssd: Ssd, graph: Any, batch: MiniBatch) -> dict[str, Any]:
    sample_batch(ssd, graph, batch)
    return {"chained_flash_reads": ssd.device.counts()["flash_reads"]}


def _measure_stream(ssd: Ssd, most: int) -> dict[str, Any]:
    pages = min(most, ssd.flash.pages)
    timeouts = _timeouts_of(lambda: read_pages(ssd, pages))
    return {"stream_pages": pages, "timeouts_a_page": round(timeouts / pages, 1)}


def _timeouts_of(work: Callable[[], object]) -> float:
    """CPU time of some work, in bare time-outs of SimPy: as they are before and after it."""
    before = _timeouts_per_s()
    begun = time.process_time()
    work()
    spent = time.process_time() - begun
    return spent * (before + _timeouts_per_s()) / 2


def _peak_bytes() -> int:
    """Most memory that this process has held since its program was loaded.

    ``getrusage`` would count what its parent held when it forked: ``ru_maxrss`` survives ``exec``
    (getrusage(2), proc(5) ``VmHWM``).
    """
    status = Path("/proc/self/status").read_text()
    (kib,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(kib) * KIB


def _capacity(platform: str) -> int:
    """Bytes that the flash of a platform holds."""
    ssd = load_platform(platform)
    return striping(ssd).pages * page_layout(ssd).page_bytes


def _timeouts_per_s() -> float:
    """Bare time-outs of one process, one after the other, in a second of CPU time."""

    def wait(env: simpy.Environment) -> Any:
        for _ in range(TIMEOUTS):
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(wait(env))
    begun = time.process_time()
    env.run()
    return TIMEOUTS / (time.process_time() - begun)
