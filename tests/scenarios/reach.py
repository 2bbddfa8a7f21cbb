"""The configuration on which both simulators are compared: whatever can be busy or full, is.

Short tables and slow surroundings, a graph with one hub and many empty lists, and targets whose
lists lie side by side.
"""

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from host.formats.load import load_graph
from host.formats.npz import write_npz
from host.trace import MiniBatch, Trace
from tests.host_scenarios import random_graph
from tests.system_runs import configuration

__all__ = ["SYSTEMS", "reach_configuration"]

OVERRIDES = {
    "ssd.flash.striping": "way lun channel",  # pages beside each other meet on one bus
    "ssd.nand.t_r": "15 us",  # reads of one LUN pile up
    "ssd.nand.poll_first": "14 us",
    "ssd.cells.cycles": 2000,  # every page has bits to correct
    "ssd.cells.age": "1000 h",
    "ssd.dram_rate": "150 MB/s",  # landing slots and DMA slots are given back late
    "ssd.firmware.cores.core1.clock": "100 MHz",  # gathers and write-backs meet
    "ssd.firmware.page_jobs": 6,
    "ssd.firmware.subgraph_buffer": "224 B",
    "ssd.nvme.command_slots": 4,
    "ssd.nvme.queue_entries": 6,
    "ssd.nvme.transfer_limit": "8 KiB",
    "ssd.dma.slots": 3,
    "ssd.dma.setup": "2 us",
    "ssd.pcie.rate": "120 MB/s",
    "fpga.stage_slots": 2,
    "fpga.stage_slot": "512 B",
    "fpga.outstanding_reads": 4,
    "host.complete": "40 us",  # completions wait until the host has taken those before them
}
SYSTEMS = [
    {"kind": "firmware-csd", "coalescing": 2, "whole_page": False, "page_buffer": "8 KiB"},
    {
        "kind": "fpga-csd",
        "name": "fpga-csd-blocks",
        "reads_in_flight": 16,
        "unique_blocks": False,
        "page_buffer": "12 KiB",
    },
    {
        "kind": "fpga-csd",
        "name": "fpga-csd-lists",
        "positions": "device",
        "reads_in_flight": 3,
        "page_buffer": "12 KiB",
    },
]
NODES = 4_000
HUB = NODES // 2
FAN_OUTS = (4, 2)
SEED = 4


@cache
def _files():
    """The graph as read back, and a trace of the hub and of nodes beside each other."""
    folder = Path(mkdtemp(prefix="csd-cosim-reach-"))
    atexit.register(shutil.rmtree, folder)
    write_npz(folder / "graph.npz", random_graph(nodes=NODES, hub=3_000))
    graph = load_graph(folder / "graph.npz", direction="out").graph
    targets = np.array([HUB, *range(HUB - 8, HUB + 9, 2), 3, 4, 5, 6], dtype=np.uint32)
    trace = Trace(graph.sha256, (MiniBatch(0, targets, FAN_OUTS, SEED),))
    trace.save(folder / "trace.json")
    return str(folder / "graph.npz"), str(folder / "trace.json")


def reach_configuration():
    graph, trace = _files()
    return configuration(
        run__graph={"file": graph, "id_bytes": 8},
        run__trace={"file": trace},
        platform_overrides=OVERRIDES,
        systems=SYSTEMS,
    )
