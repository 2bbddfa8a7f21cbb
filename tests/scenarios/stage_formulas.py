# amaranth: UnusedElaboratable=no
"""How long each step of one request lasts, by the platform's times: worked out apart from the code.

A formula gives the part of a step that depends on times; the rest (instructions, bytes on links,
registers between two clocks) is no constant's doing. ``c`` maps key paths to picoseconds.
"""

from math import ceil

from firmware_model.cost_table import load_costs
from rtl.bch.decoder import BchDecoder
from rtl.contract.bch import BchCode

__all__ = ["COUNTS", "FORMULAS", "bus_bytes", "bus_clocks", "ecc_clocks"]

FLASH_PERIOD_PS = 10_000
CORE_PERIOD_PS = 1_000
DRAM_WORD_BYTES = 64
STATUS_BYTES = 2
DECISION = 3
"""Clocks from a LUN's turn on the bus being due to the first clock of its operation."""

COSTS = load_costs()
LOADS = {name: cost.loads for name, cost in COSTS.routines.items()}
NOT_ZERO = {
    "body_parse": {"target": 1, "list": 1, "position": 1},
    "body_draw": {"target": 1, "list": 1, "draw": 1},
    "group_pieces": {"page": 1},
    "gather": {"id": 1, "word": 1},
    "segment_list": {"segment": 1},
    "block_io": {"piece": 1},
    "prp_parse": {"entry": 1},
    # One page, in a frame that never held another one; nobody else wants it.
    "buffer_claim": {"fresh": 1, "miss": 1},
    "buffer_fill": {"good": 1},
    "buffer_wake": {"good": 1, "last": 1},
    "buffer_release": {"idle": 1},
    "flash_queue": {"first": 1, "ring": 1},
}
COUNTS = {
    name: dict.fromkeys(cost.counts, 0) | NOT_ZERO.get(name, {})
    for name, cost in COSTS.routines.items()
}
"""What a routine's cost depends on, for one id of one list."""


def bus_clocks(c, data_bytes=0):
    """Clocks of the flash stages around one page of ``data_bytes``, by the ONFI waveforms.

    A bus cycle is WE# low, then high. 00h to 30h and 05h to E0h are seven of them, 78h with its row
    is four. A poll, k poll periods after the first one, finds the LUN ready if its status is driven
    after the array's time.
    """
    t = {
        key.rpartition(".")[2]: -(-value // FLASH_PERIOD_PS)
        for key, value in c.items()
        if key.startswith("ssd.nand.")
    }
    edges = bus_bytes(c)
    low = max(t["t_wp"], t["t_cals"])
    high = max(t["t_wh"], t["t_cah"], t["t_wc"] - low)
    last_high = max(high, t["t_ch"])
    select = max(1, t["t_cs"] - low)
    seven = 6 * (low + high) + low
    four = 3 * (low + high) + low
    status = DECISION + select + four + max(t["t_whr"], last_high + 1) + t["t_rpre"]
    status += -(-STATUS_BYTES // edges) - 1
    busy_until = t["t_wb"] + t["t_r"]
    poll = t["poll_first"]
    while poll + status < busy_until:
        poll += t["poll_period"]
    hold = max(t["t_rpst"], t["t_ch"], t["t_dqsre"])
    since_select = select + seven
    return {
        "flash.queue": DECISION + select,
        "flash.command": seven + t["t_wb"],
        "flash.sense": t["t_r"],
        "flash.poll": poll + status + t["t_dqsre"] - busy_until,
        # From the status byte's arrival: CE# rises after the hold, the bus turns round, 05h. The
        # controller needs four clocks of that.
        "flash.bus-wait": max(hold + 4, t["t_rhw"] - select - 1) - t["t_dqsre"] + select,
        "flash.transfer": (
            seven
            + max(t["t_ccs"], t["t_rr"] - since_select, last_high + 1)
            + t["t_rpre"]
            + -(-data_bytes // edges)
            + t["t_dqsre"]
        ),
    }


def bus_bytes(c):
    """Bytes a clock: RE# toggles twice in tRC, a byte at each edge, and the PHY has 1, 2 or 4."""
    return max(n for n in (1, 2, 4) if n * c["ssd.nand.t_rc"] <= 2 * FLASH_PERIOD_PS)


def ecc_clocks(clock_bytes=2):
    """Clocks from a transfer's last word on the bus to the same word corrected."""
    return BchDecoder(BchCode(m=12, t=14, chunk_bytes=256), clock_bytes).latency


def _bus(c, segment):
    span = segment.span
    clocks = bus_clocks(c, span.payload_bytes + span.overhead_bytes)
    return clocks[span.stage] * FLASH_PERIOD_PS


def _staging(c, segment):
    """Words go into one row, which takes the place of another one but for the very first."""
    beats = segment.span.payload_bytes // DRAM_WORD_BYTES
    is_block = beats > 1
    opened = c["fpga.dram.t_rcd"] + (0 if is_block else c["fpga.dram.t_rp"])
    data = c["fpga.dram.t_cwl"] + c["fpga.dram.t_beat"]
    data += (beats - 1) * max(c["fpga.dram.t_beat"], c["fpga.dram.t_ccd_l"])
    return opened + data + c["fpga.dram.t_controller"]


def _gather(c, segment):
    """Descriptor, position and id, one after the other, each in a row that must be opened."""
    one = ("t_rp", "t_rcd", "t_cl", "t_beat", "t_controller")
    return 3 * sum(c[f"fpga.dram.{name}"] for name in one)


def _firmware(c, segment):
    """Loads of the routine, each as long as its core waits for what it touches."""
    routine = segment.span.stage.removeprefix("firmware.")
    total = 0
    for place, form in LOADS[routine].items():
        latency_ps = c[f"ssd.firmware.cores.{segment.span.unit}.loads.{place}"]
        cycles = -(-latency_ps // CORE_PERIOD_PS)
        total += ceil(form(COUNTS[routine])) * cycles * CORE_PERIOD_PS
    return total


def _sum(*keys):
    return lambda c, segment: sum(c[key] for key in keys)


FORMULAS = {
    "flash.queue": _bus,
    "flash.command": _bus,
    "flash.sense": _bus,
    "flash.poll": _bus,
    "flash.bus-wait": _bus,
    "flash.transfer": _bus,
    "flash.ecc": lambda c, segment: ecc_clocks(bus_bytes(c)) * FLASH_PERIOD_PS,
    "gather.stage": _staging,
    "gather.first-word": _gather,
    "dma.setup": _sum("ssd.dma.setup"),
    "pcie.ssd.latency": _sum("ssd.pcie.latency"),
    "pcie.fpga.latency": _sum("fpga.pcie.latency"),
    "pcie.p2p.latency": _sum("fpga.p2p.latency"),
    "host.launch": _sum("fpga.kernel_launch"),
    "host.copy": _sum("fpga.card_copy"),
    "host.submit": _sum("host.submit"),
    "host.interrupt": _sum("host.interrupt"),
    "host.complete": _sum("host.complete"),
    "host.draw": _sum("host.key", "host.draw"),
    "host.build": _sum("host.build_target"),
    "host.map": _sum("host.map_block"),
    "host.parse": _sum("host.parse_target", "host.parse_id"),
    **{f"firmware.{routine}": _firmware for routine in LOADS},
}
"""By stage: picoseconds of one segment, from the constants and what the segment moves."""
