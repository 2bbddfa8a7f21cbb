"""Every constant of a platform reaches a parameter: a key without effect is a bug."""

import pytest

from cosim.config.build import (
    bch_code,
    bus_phases,
    card_wires,
    cell_state,
    decoder_code,
    dram_times,
    firmware_parameters,
    host_costs,
    link_parameters,
    nand_part,
    page_layout,
    period_ps,
    sequencer_costs,
    striping,
    wire_parameters,
)
from cosim.config.flash_build import channel_options
from cosim.config.load import default_platforms, load_config
from cosim.config.platform import Constant, constants

DIRECT = {
    "ssd.flash.channels",
    "ssd.flash.ways",
    "ssd.flash.landing_slots",
    "ssd.nvme.queue_entries",
    "fpga.window",
    "fpga.lanes",
    "fpga.outstanding_reads",
    "fpga.result_words",
    "fpga.stage_slots",
    "fpga.stage_slot",
    "fpga.kernel_launch",
    "fpga.card_copy",
    "fpga.hops.launch",
    "fpga.hops.frontier",
}
"""Taken by the systems as they are; tests of whole runs change them."""
LIMITS = {"ssd.nand.chip_enables"}
"""Bound what is accepted, and are no parameters."""

# Changed values that keep a platform consistent, where doubling does not.
SPECIAL = {
    "ssd.nand.page": "8 KiB",
    "ssd.nand.t_wp": "13 ns",
    "ssd.nand.t_wh": "12 ns",
    "ssd.flash.part": "toshiba-th58tfxxt23ba",
    "ssd.flash.interface": "sdr",
    "ssd.flash.mode": 2,
    "ssd.flash.operations": "all",
    "ssd.flash.clock": "200 MHz",
    "ssd.flash.striping": "way channel lun",
    "ssd.flash.policy": "oldest-ready-first",
    "ssd.flash.suspends": 2,
    "ssd.flash.decoder": "absent",
    "ssd.cells.cycles": 1000,
    "ssd.cells.age": "8 h",
    "ssd.cells.fresh_rate": "1 ppm",
    "ssd.cells.cycles_exponent": "4/5",
    "ssd.cells.age_exponent": "4/5",
    "ssd.cells.level_shares": "100 %, 10 %",
    "ssd.firmware.cores.core0.type": "cortex_m7",
    "ssd.firmware.cores.core1.type": "cortex_a53",
    "ssd.firmware.page_buffer_memory": "cached",
    "ssd.firmware.page_buffer_policy": "2q",
    "ssd.firmware.flash_order": "idle-first",
    "ssd.firmware.flash_priority": "host sampling background",
    "ssd.firmware.read_retries": 1,
    "ssd.page_format.chunk": "512 B",
    "ssd.page_format.lba": "512 B",
    "ssd.page_format.field_bits": 13,
    "ssd.page_format.corrected_bits": 12,
    "fpga.clock": "125 MHz",
}
COMPANIONS = {
    "ssd.flash.watchdog": {"ssd.flash.operations": "all"},
    "ssd.firmware.read_retries": {"ssd.flash.operations": "all"},
    "ssd.page_format.chunk": {
        "ssd.page_format.field_bits": 13,
        "ssd.page_format.corrected_bits": 12,
    },
    "ssd.page_format.field_bits": {"ssd.page_format.corrected_bits": 12},
    "fpga.dram.t_rrd": {"fpga.dram.t_rrd_l": "10 ns"},
    **{
        f"ssd.firmware.cores.{core}.loads.page_buffer_cached": {
            "ssd.firmware.page_buffer_memory": "cached"
        }
        for core in ("core0", "core1")
    },
}
"""What else must hold for a change to be possible, before it and after it."""
KEYS = [
    f"{part}.{key}"
    for part in ("ssd", "fpga", "host")
    for key, _ in constants(getattr(default_platforms(), part))
]


def parameters(loaded):
    """Everything that is built from the platforms, as one comparable value."""
    ssd, fpga, host = loaded.platforms.ssd, loaded.platforms.fpga, loaded.platforms.host
    code = bch_code(ssd)
    firmware = firmware_parameters(ssd, loaded.config.systems[0], 10**8)
    cores = [repr(core) for core in firmware.cores]
    return (
        nand_part(ssd), cell_state(ssd), page_layout(ssd), striping(ssd),
        (code.m, code.t, code.chunk_bytes),
        bus_phases(ssd), decoder_code(ssd), period_ps(ssd.flash.clock.value), channel_options(ssd),
        link_parameters(ssd.pcie), repr(firmware), cores, dict(firmware.binding),
        period_ps(fpga.clock.value), dram_times(fpga), wire_parameters(fpga.p2p),
        card_wires(fpga.pcie), host_costs(host), sequencer_costs(fpga),
    )  # fmt: skip


def changed(key, constant):
    if key in SPECIAL:
        return SPECIAL[key]
    if ".binding." in key:
        return {"core0": "core1", "core1": "core0"}[constant.value]
    shown = constant.model_dump(mode="json")["value"]
    number, space, unit = str(shown).partition(" ")
    return f"{2 * int(number)}{space}{unit}" if unit else 2 * int(number)


@pytest.fixture
def load(write_config):
    def load(**overrides):
        lines = "".join(f"  {key}: {value!r}\n" for key, value in overrides.items())
        return load_config(write_config(('  ssd.nand.t_r: "25 us"\n', lines or "  {}\n")))

    return load


@pytest.mark.parametrize("key", sorted(set(KEYS) - DIRECT - LIMITS))
def test_a_changed_constant_changes_a_parameter(load, key):
    part, path = key.split(".", 1)
    others = COMPANIONS.get(key, {})
    before = load(**others)
    constant = dict(constants(getattr(before.platforms, part)))[path]
    assert isinstance(constant, Constant)
    after = load(**others, **{key: changed(key, constant)})
    assert parameters(after) != parameters(before)


def test_what_systems_take_directly_exists():
    assert set(KEYS) >= DIRECT | LIMITS
