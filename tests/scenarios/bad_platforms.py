"""Platforms and overrides of a configuration that are refused, and what the refusal says."""

__all__ = ["BAD_PLATFORMS"]

OVERRIDE = 'ssd.nand.t_r: "25 us"'
PLACED = "c.yaml:9: platform_overrides."


def overriding(key, value):
    return OVERRIDE, f"{key}: {value}"


RETRIES_ALONE = """ssd.firmware.read_retries: 5
  ssd.flash.operations: all
  ssd.flash.decoder: absent"""

BAD_PLATFORMS = [
    (
        ("systems:", "platforms: {ssd: cosmos}\nsystems:"),
        (
            "c.yaml:1: platforms.ssd must be the name of a platform or a .yaml file, not 'cosmos'; "
            "did you mean 'cosmos_plus'?"
        ),
    ),
    (("systems:", "platforms: {ssd: my.yaml}\nsystems:"), "my.yaml: file must exist, and does not"),
    (("systems:", "platforms: {ssd: smartssd}\nsystems:"), "part must be 'ssd', not 'fpga'"),
    (
        ("ssd.nand.t_r", "ssd.nand.tr"),
        (
            "c.yaml:9: platform_overrides.ssd.nand.tr is not a constant: nand has no 'tr'; did you "
            "mean 't_r'?"
        ),
    ),
    (("ssd.nand.t_r", "ssd.nand"), "c.yaml:9: platform_overrides.ssd.nand must name one constant"),
    (
        ("ssd.nand.t_r", "ssd.nand.t_r.value"),
        (
            "c.yaml:9: platform_overrides.ssd.nand.t_r.value is not a constant: nand.t_r has no "
            "'value'; it is a constant itself"
        ),
    ),
    (
        ('"25 us"', '"25 MHz"'),
        (
            "c.yaml:9: platform_overrides.ssd.nand.t_r must be a time such as '50 us' (in ps, ns, "
            "us, ms or s), not '25 MHz', which is a frequency"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'ssd.nand.t_wp: "20 ns"'),
        PLACED + "ssd.nand.t_wp: t_wc must be at least t_wp + t_wh, not 25000 < 20000 + 11000",
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'fpga.clock: "223 MHz"'),
        (
            "c.yaml:9: platform_overrides.fpga.clock must have a period of an even number of ps, "
            "not that of 223 MHz (4484.305 ps)"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'ssd.flash.clock: "250 MHz"'),
        (
            PLACED + "ssd.flash.clock: nv-ddr2 mode 4 must take at least 10000 ps for two "
            "transfers, not what a clock of 4000 ps makes of 1 or 2 or 4 transfers a clock"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.mode: 5"),
        (
            PLACED + "ssd.flash.mode: Timing mode of nv-ddr2 must be one of the part's, "
            "0, 1, 2, 3, 4, not 5"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.interface: nv-ddr"),
        (
            PLACED + "ssd.flash.interface must be one of hynix-mlc-slc-mode's, sdr, nv-ddr2, "
            "not nv-ddr"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.interface: nv"),
        PLACED + "ssd.flash.interface must be 'sdr', 'nv-ddr' or 'nv-ddr2', not 'nv'",
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'ssd.nand.t_rc: "60 ns"'),
        (
            "ssd.flash.mode: nv-ddr2 mode 4 must take at least 60000 ps for two transfers, "
            "not what a clock of 10000 ps makes of 1 or 2 or 4 transfers a clock"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.nand.t_prog: 1 ms"),
        PLACED + "ssd.nand.t_prog is not a constant: nand has no 't_prog'; did you mean 't_r",
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.ways: 9"),
        PLACED + "ssd.flash.ways must be at most chip_enables, not 9 > 8",
    ),
    (
        (OVERRIDE, "ssd.flash.landing_slots: 257"),
        PLACED + "ssd.flash.landing_slots must be at most 256, not 257",
    ),
    (
        (OVERRIDE, "ssd.flash.suspends: 17"),
        PLACED + "ssd.flash.suspends must be at most 16, not 17",
    ),
    (
        (OVERRIDE, 'ssd.flash.operations: all\n  ssd.nand.t_cbsy: "1 s"'),
        (
            "c.yaml:10: platform_overrides.ssd.nand.t_cbsy must be at most t_prog, not "
            "1000000000000 > 500000000"
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.part: hynix"),
        (
            PLACED + "ssd.flash.part must be the name of a NAND part or a .yaml file, not 'hynix'; "
            "known are "
        ),
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.part: none.yaml"),
        "none.yaml: file must exist, and does not",
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.flash.part: tiny"),
        "ssd.flash.ways must be at most chip_enables, not 8 > 4",
    ),
    (
        (OVERRIDE, 'ssd.cells.level_shares: "100"'),
        PLACED + "ssd.cells.level_shares must be a share such as '2 %' (in %), not '100', which "
        "has no unit",
    ),
    (
        (OVERRIDE, "ssd.firmware.read_retries: 1"),
        PLACED + "ssd.firmware.read_retries must be 0 where flash.operations is read, not 1",
    ),
    (
        (OVERRIDE, "ssd.firmware.read_retries: 6\n  ssd.flash.operations: all"),
        PLACED + "ssd.firmware.read_retries must be less than the 6 levels of "
        "cells.level_shares, not 6",
    ),
    (
        (OVERRIDE, RETRIES_ALONE),
        PLACED + "ssd.firmware.read_retries must be 0 where flash.decoder is absent, not 5",
    ),
    (
        (OVERRIDE, 'ssd.cells.die_spread: "150 %"'),
        PLACED + "ssd.cells.die_spread must be at most 1000000 millionths, not 1500000",
    ),
    (
        (OVERRIDE, "ssd.cells.cycles: 1000000"),
        PLACED
        + "ssd.cells.cycles: cycles, age and rates must leave at most half of all bits wrong, "
        "not 0.632 of them and a die's spread",
    ),
    (
        (OVERRIDE, 'ssd.cells.fresh_rate: "1e-4"'),
        PLACED + "ssd.cells.fresh_rate must be a rate of errors such as '50 ppm' (in ppt, ppb or "
        "ppm), not '1e-4'",
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'ssd.page_format.lba: "1 KiB"'),
        PLACED + "ssd.page_format.lba must be 512 or 4096, not 1024",
    ),
    (
        ('ssd.nand.t_r: "25 us"', 'fpga.window: "10 KiB"'),
        PLACED + "fpga.window must be at least 12288 in whole pages of 4096, not 10240",
    ),
    (
        ('ssd.nand.t_r: "25 us"', "ssd.firmware.binding.gather: core7"),
        PLACED + "ssd.firmware.binding.gather must be one of core0, core1, not 'core7'",
    ),
    (
        overriding("ssd.firmware.cores.core1.clock", '"300 MHz"'),
        (
            PLACED + "ssd.firmware.cores.core1.clock must have a period of an even number of ps, "
            "not that of 300 MHz (3333.333 ps)"
        ),
    ),
    (
        overriding("ssd.flash.clock", '"300 MHz"'),
        (
            PLACED + "ssd.flash.clock must have a period of an even number of ps, "
            "not that of 300 MHz (3333.333 ps)"
        ),
    ),
    (
        overriding("ssd.flash.striping", "channel way"),
        PLACED
        + "ssd.flash.striping must name each of channel, way, lun once, not ('channel', 'way')",
    ),
    (
        overriding("ssd.nand.page", "0 B"),
        PLACED + "ssd.nand.page must be a positive integer, not 0",
    ),
    (
        overriding("ssd.nand.program_poll_first", "0 us\n  ssd.flash.operations: all"),
        PLACED + "ssd.nand.program_poll_first must be a positive integer, not 0",
    ),
    (
        overriding("ssd.nand.spare", "512 B"),
        PLACED + "ssd.nand.spare: page + spare must hold 18006 bytes of codewords, not 16896",
    ),
    (
        overriding("ssd.page_format.field_bits", "7"),
        PLACED + "ssd.page_format.field_bits must be in 8 to 15, not 7",
    ),
    (
        overriding("ssd.page_format.corrected_bits", "20"),
        PLACED + "ssd.page_format.corrected_bits: page + spare must hold 18590 bytes of codewords",
    ),
    (
        overriding("ssd.page_format.corrected_bits", "128"),
        PLACED + "ssd.page_format.corrected_bits must give a generator polynomial of degree "
        "field_bits * corrected_bits = 1536, not 1464",
    ),
    (
        overriding("ssd.page_format.corrected_bits", "400"),
        PLACED + "ssd.page_format.corrected_bits: chunk must leave the codeword within 4095 bits",
    ),
    (
        overriding("ssd.nand.t_rc", "20 ns\n  ssd.flash.interface: sdr\n  ssd.flash.mode: 2"),
        PLACED + "ssd.nand.t_rc must be at least t_rp + t_reh, not 20000 < 17000 + 15000",
    ),
    (
        overriding("fpga.pcie.max_payload", "0 B"),
        PLACED + "fpga.pcie.max_payload must be an integer of at least 1, not 0",
    ),
    (
        overriding("fpga.dram.t_rrd", "4901 ps"),
        PLACED + "fpga.dram.t_rrd must be at most t_rrd_l, not 4901 > 4900",
    ),
    (
        overriding("fpga.dram.t_wtr_l", "2499 ps"),
        PLACED + "fpga.dram.t_wtr_l: t_wtr_s must be at most t_wtr_l, not 2500 > 2499",
    ),
    (
        overriding("ssd.nvme.queue_entries", "true"),
        PLACED + "ssd.nvme.queue_entries must be text, such as '25 us', or an integer, not true",
    ),
    (
        overriding("ssd.flash.clock", '"0 Hz"'),
        PLACED + "ssd.flash.clock must be positive, not '0 Hz'",
    ),
    (overriding("fpga.clock", '"0 Hz"'), PLACED + "fpga.clock must be positive, not '0 Hz'"),
    (
        overriding("ssd.firmware.cores.core0.clock", '"0 Hz"'),
        PLACED + "ssd.firmware.cores.core0.clock must be positive, not '0 Hz'",
    ),
    (
        overriding("ssd.nvme.queue_entries", "1"),
        PLACED + "ssd.nvme.queue_entries must be at least 2, not 1",
    ),
    (
        overriding("ssd.nvme.queue_entries", "100000"),
        PLACED + "ssd.nvme.queue_entries must be at most 65536, not 100000",
    ),
    (
        overriding("ssd.nand.t_r", '"1e30 s"'),
        PLACED + "ssd.nand.t_r must be at most 1000 s, not '1e30 s'",
    ),
    (
        overriding("ssd.flash.channels", "31"),
        PLACED + "ssd.flash.channels must be at most 30, not 31",
    ),
    (overriding("ssd.flash.ways", "17"), PLACED + "ssd.flash.ways must be at most 16, not 17"),
    (overriding("ssd.nand.luns", "9"), PLACED + "ssd.nand.luns must be at most 8, not 9"),
]
"""A change of the good configuration, and the message."""
