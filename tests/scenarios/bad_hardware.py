"""Overrides of which no hardware can be made, and how the refusal begins."""

__all__ = ["HARDWARE"]

HARDWARE = [
    ("ssd.flash.clock", "250 MHz", "ssd.flash.clock: nv-ddr2 mode 4 must take at least 10000 ps "),
    (
        "ssd.flash.landing_slots",
        300,
        "ssd.flash.landing_slots must be at most 256, not 300",
    ),
    (
        "ssd.flash.policy",
        "reads-first",
        "ssd.flash.policy must not be reads-first for a part of plain reads",
    ),
    (
        "ssd.flash.suspends",
        2,
        "ssd.flash.suspends must be 0 for a part without opcodes to suspend, not 2",
    ),
    ("ssd.flash.channels", 31, "ssd.flash.channels must be at most 30, not 31"),
    ("ssd.flash.ways", 300, "ssd.flash.ways must be at most 16, not 300"),
    (
        "ssd.nand.spare",
        "99328 B",
        "ssd.nand.spare: page and spare must be at most 65536 bytes together, ",
    ),
    (
        "ssd.nand.blocks_per_lun",
        1 << 20,
        "ssd.nand.blocks_per_lun: blocks_per_lun, pages_per_block and luns ",
    ),
    (
        "ssd.nand.pages_per_block",
        96,
        "ssd.nand.pages_per_block must be a power of two, not 96: a row ",
    ),
    ("ssd.nvme.queue_entries", 1, "ssd.nvme.queue_entries must be at least 2, not 1"),
    (
        "fpga.window",
        "24 MiB",
        "fpga.window: DRAM window must be a power of two of bytes from 16384 up, ",
    ),
    (
        "fpga.outstanding_reads",
        12,
        "fpga.outstanding_reads must be a power of two from 4 (twice the lanes) to 1024, not 12",
    ),
    (
        "fpga.outstanding_reads",
        1 << 28,
        "fpga.outstanding_reads must be a power of two from 4 (twice the lanes) to 1024, not 2684",
    ),
    ("fpga.lanes", 3, "fpga.lanes must be 1, 2, 4 or 8, not 3"),
    ("fpga.result_words", 3, "fpga.result_words must be 1, 2, 4 or 8, not 3"),
    ("fpga.stage_slots", 12, "fpga.stage_slots must be a power of two from 2 up, not 12"),
    ("fpga.stage_slot", "3 KiB", "fpga.stage_slot must be a power of two from 64 up, not 3072"),
]
