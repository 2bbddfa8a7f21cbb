"""A crowded little device: queues fill, pages are evicted, rows conflict, a refresh comes."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from tests.system_runs import configuration, reference, run

NODES = 1200
HUBS = (5, 53)
SYSTEMS = {
    "firmware": {"kind": "firmware-csd", "name": "firmware", "coalescing": 3},
    "fpga": {"kind": "fpga-csd", "name": "fpga", "reads_in_flight": 6},
    # Whole lists are read, and the device draws from them.
    "draws": {"kind": "fpga-csd", "name": "draws", "positions": "device"},
    # And it goes from hop to hop by itself.
    "hops": {
        "kind": "fpga-csd",
        "name": "hops",
        "positions": "device",
        "hops": "device",
        "reads_in_flight": 6,
    },
    # So does the firmware.
    "chains": {
        "kind": "firmware-csd",
        "name": "chains",
        "positions": "device",
        "hops": "device",
    },
}
NAMES = tuple(SYSTEMS)
OVERRIDES = {
    "ssd.nand.page": "1 KiB",
    "ssd.nand.spare": "384 B",
    "ssd.flash.channels": 1,
    "ssd.firmware.page_buffer": "4 KiB",
    "ssd.nvme.queue_entries": 4,
    "ssd.dma.descriptor": "128 B",
    "fpga.window": "16 KiB",
    "fpga.outstanding_reads": 4,
    "fpga.stage_slots": 2,
    "fpga.stage_slot": "512 B",
    # Every 64 bytes lie in a row of their own, in two banks by turns.
    "fpga.dram.banks": 2,
    "fpga.dram.groups": 1,
    "fpga.dram.row": "64 B",
    "fpga.dram.t_refi": "2 us",
}
WINDOWS = {"hops": {"fpga.window": "32 KiB"}}
"""Where the row pointers fit, too."""


@cache
def graph_file():
    """An edge list of short lists, each with the two hubs whose lists are long."""
    path = Path(mkdtemp(prefix="csd-cosim-graph-")) / "graph.txt"
    lists = {node: range(1100) for node in HUBS}
    for node in set(range(NODES)) - set(HUBS):
        lists[node] = [*HUBS, *((11 * node + 5 * k + 1) % NODES for k in range(2 + node % 5 * 4))]
    lines = [f"{node}\t{other}\n" for node, others in lists.items() for other in others]
    path.write_text("".join(lines))
    return str(path)


def document(system, keys=None, *, constants=None, engine=None):
    """The configuration with one system; its ``keys`` and ``constants`` of platforms changed."""
    return configuration(
        systems=[SYSTEMS[system] | (keys or {})],
        engine=engine or {},
        run__graph={"file": graph_file(), "id_bytes": 4},
        run__trace={"batches": 1, "targets": 6, "fan_outs": [2, 2], "seed": 3},
        platform_overrides=OVERRIDES | WINDOWS.get(system, {}) | (constants or {}),
    )


def outcome(system, keys=None, **changes):
    """Run a system; see :func:`document`."""
    changed = document(system, keys, **changes)
    return run(changed["systems"][0]["name"], "icarus", changed)


def expected(system):
    """What the reference samples."""
    return reference(document(system))
