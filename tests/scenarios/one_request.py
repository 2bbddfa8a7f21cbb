"""One request on a calm platform: its critical path shows every step once, and nothing waits.

Bus and DRAM times are such that each of them matters by itself, alone and doubled. The times of the
DRAM are multiples of its clock, so that nothing is rounded.
"""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from cosim.spans import critical_path
from tests.system_runs import configuration, run

LIST_LENGTH = 6
NODES = 64
SYSTEMS = ("firmware-csd", "fpga-csd")
OVERRIDES = {
    # A polling loop that comes round at once; the names of the two cores stay.
    "ssd.firmware.cores.core0.poll": "1 cycles",
    "ssd.firmware.cores.core1.poll": "1 cycles",
    "ssd.flash.channels": 1,
    "ssd.flash.ways": 1,
    "ssd.nand.t_wc": "33 ns",
    "ssd.nand.t_wp": "11 ns",
    "ssd.nand.t_wh": "11 ns",
    "ssd.nand.t_cs": "40 ns",
    "ssd.nand.t_ch": "50 ns",
    "ssd.nand.t_cals": "20 ns",
    "ssd.nand.t_cah": "20 ns",
    "ssd.nand.t_rr": "250 ns",
    "ssd.nand.t_rhw": "100 ns",
    "ssd.nand.t_rpst": "60 ns",
    # The first poll finds the LUN busy, the second one ready.
    "ssd.nand.poll_period": "2400 ns",
    "fpga.window": "16 KiB",
    "fpga.stage_slots": 4,
    "fpga.stage_slot": "512 B",
    "fpga.outstanding_reads": 4,
    # Blocks, descriptors and positions lie in three rows of one bank.
    "fpga.dram.banks": 2,
    "fpga.dram.groups": 1,
    "fpga.dram.row": "1 KiB",
    "fpga.dram.t_beat": "4 ns",
    "fpga.dram.t_ccd_l": "4 ns",
    "fpga.dram.t_cl": "16 ns",
    "fpga.dram.t_cwl": "12 ns",
    "fpga.dram.t_rcd": "20 ns",
    "fpga.dram.t_rp": "24 ns",
    "fpga.dram.t_controller": "48 ns",
    # No refresh while the request lasts.
    "fpga.dram.t_refi": "1 ms",
}


@cache
def graph_file():
    """An edge list in which every node has a list of :data:`LIST_LENGTH` ids."""
    path = Path(mkdtemp(prefix="csd-cosim-graph-")) / "graph.txt"
    edges = [
        (node, (5 * node + 7 * k + 1) % NODES) for node in range(NODES) for k in range(LIST_LENGTH)
    ]
    path.write_text("".join(f"{source}\t{target}\n" for source, target in edges))
    return str(path)


def document(constants=None):
    """The configuration, with ``constants`` of its platforms changed."""
    return configuration(
        run__graph={"file": graph_file(), "id_bytes": 4},
        run__trace={"batches": 1, "targets": 1, "fan_outs": [1], "seed": 1},
        platform_overrides=OVERRIDES | (constants or {}),
    )


def outcome(system, constants=None):
    """Run ``system``; see :func:`document`."""
    return run(system, "icarus", document(constants))


def path_of(result):
    """Critical path of the one request: segments that own every instant of its latency."""
    (batch,) = result.result.batches
    return critical_path(result.result.spans, batch.end, batch.start_ps)
