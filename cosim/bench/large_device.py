"""What a device that holds a very large graph takes of the machine that simulates it.

The edge list array is a :class:`~cosim.bench.procedural_graph.ProceduralGraph`, so that the memory
is that of the model. A process of its own measures: its peak memory, the pages that the firmware
reads in a second of wall time, and bare time-outs of SimPy in the same process, as a measure of the
machine.
"""

import multiprocessing
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import simpy

from cosim.bench.firmware import Ssd, sample_batch
from cosim.bench.procedural_graph import ProceduralGraph
from cosim.config.build import page_layout, striping
from cosim.config.load import load_platform
from host.trace import MiniBatch

__all__ = ["EDGE_BYTES", "TIMEOUTS_A_PAGE", "large_device"]

EDGE_BYTES = 474 * 10**9
TIMEOUTS_A_PAGE = 40
"""A page read shall cost no more wall time than so many bare time-outs."""
ID_BYTES = 8
NODES, DEGREE = 1 << 24, 28
"""So many nodes at most, and neighbours of each at the least."""
TIMEOUTS = 200_000
KIB = 1024


def large_device(
    platform: str = "cosmos_plus",
    *,
    edge_bytes: int = EDGE_BYTES,
    targets: int = 1024,
    fan_outs: Sequence[int] = (25, 10),
) -> dict[str, Any]:
    """Sample one mini-batch in a process of its own; its subgraph must be the reference's.

    The lists fill ``edge_bytes`` of the flash, or all of it.
    """
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_measure, (platform, edge_bytes, targets, tuple(fan_outs)))


def _measure(
    platform: str, edge_bytes: int, targets: int, fan_outs: tuple[int, ...]
) -> dict[str, Any]:
    ids = min(edge_bytes, _capacity(platform)) // ID_BYTES
    nodes = min(NODES, max(1, ids // DEGREE))
    graph = ProceduralGraph(nodes, ids // nodes)
    ssd = Ssd(platform, graph)
    chosen = np.random.default_rng(1).integers(0, nodes, targets).astype(np.uint32)
    begun = time.perf_counter()
    sample_batch(ssd, graph, MiniBatch(0, chosen, fan_outs, seed=1))
    wall_s = time.perf_counter() - begun
    counts = ssd.device.counts()
    peak = _peak_bytes()
    timeouts_per_s = _timeouts_per_s()
    return {
        "platform": platform,
        "edge_bytes": graph.edge_bytes(),
        "lists": counts["targets"],
        "flash_reads": counts["flash_reads"],
        "peak_bytes": peak,
        "pages_per_wall_s": round(counts["flash_reads"] / wall_s, 1),
        "timeouts_per_wall_s": round(timeouts_per_s),
        "timeouts_a_page": round(timeouts_per_s * wall_s / counts["flash_reads"], 1),
    }


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
    """Bare time-outs of one process, one after the other."""

    def wait(env: simpy.Environment) -> Any:
        for _ in range(TIMEOUTS):
            yield env.timeout(1)

    env = simpy.Environment()
    env.process(wait(env))
    begun = time.perf_counter()
    env.run()
    return TIMEOUTS / (time.perf_counter() - begun)
