"""Configurations that are refused, and what the refusal says."""

from tests.scenarios.configs import GOOD

__all__ = ["BAD"]

OVERRIDE = 'ssd.nand.t_r: "25 us"'
PLACED = "c.yaml:9: platform_overrides."
BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 12)
)


def overriding(key, value):
    return OVERRIDE, f"{key}: {value}"


RETRIES_ALONE = """ssd.firmware.read_retries: 5
  ssd.flash.operations: all
  ssd.flash.decoder: absent"""

BAD = [
    # Keys.
    (
        ("    coalescing:", "    coalesing:"),
        "c.yaml:3: systems[0].coalesing is not a key; did you mean 'coalescing'?",
    ),
    (("run:", "runs:"), "c.yaml:10: runs is not a key; did you mean 'run'?"),
    (
        ("  out: runs/x", "  out: runs/x\n  zzz: 1"),
        "c.yaml:18: run.zzz is not a key; known are graph, out, trace",
    ),
    (
        ("    coalescing: 64", "    reads_in_flight: 1"),
        (
            "c.yaml:3: systems[0].reads_in_flight is not a key; known are background, coalescing, "
            "flash_channel, hops, kind, name, page_buffer, positions, row_pointers, whole_page"
        ),
    ),
    (
        ("    seed: 7", "    seed: 7\n    seed: 8"),
        "c.yaml:17: run.trace.seed must be given once, and is given in line 16 already",
    ),
    (("  out: runs/x\n", ""), "c.yaml:10: run.out must be given"),
    (("    seed: 7\n", ""), "c.yaml:12: run.trace must give seed, or a file"),
    (
        ("    seed: 7", "    seed: 7\n    file: t.json"),
        "c.yaml:12: run.trace must not give batches, fan_outs, seed, targets beside file",
    ),
    (("kind: firmware-csd", "name: a"), "c.yaml:2: systems[0] must give 'kind'"),
    (
        ("  ssd.nand", "  3"),
        ("c.yaml:9: platform_overrides.3.t_r must begin with one of ssd, fpga, host, not '3'"),
    ),
    # Values.
    (
        ("kind: firmware-csd", "kind: firmware"),
        "c.yaml:2: systems[0].kind must be one of 'firmware-csd', 'fpga-csd', not 'firmware'",
    ),
    (
        ("name: serial", "name: firmware-csd"),
        "c.yaml:1: systems must have different names, not 'firmware-csd' twice",
    ),
    (
        ("name: serial", "name: ../x"),
        "c.yaml:5: systems[1].name must match ^[A-Za-z0-9][A-Za-z0-9_.-]*$, not '../x'",
    ),
    (
        ("coalescing: 64", "coalescing: 0"),
        "c.yaml:3: systems[0].coalescing must be at least 1, not 0",
    ),
    (
        ("coalescing: 64", "coalescing: '64'"),
        "c.yaml:3: systems[0].coalescing must be an integer, not '64'",
    ),
    (
        ("coalescing: 64", "coalescing: true"),
        "c.yaml:3: systems[0].coalescing must be an integer, not true",
    ),
    (
        ("coalescing: 64", "coalescing: 6.4"),
        "c.yaml:3: systems[0].coalescing must be an integer, not 6.4",
    ),
    (
        ("coalescing: 64", "whole_page: 1"),
        "c.yaml:3: systems[0].whole_page must be true or false, not 1",
    ),
    (
        ("coalescing: 64", "positions: both"),
        "c.yaml:3: systems[0].positions must be 'host' or 'device', not 'both'",
    ),
    (
        ('"5 %"', '"5 us"'),
        (
            "c.yaml:7: systems[1].page_buffer must be a share such as '2 %' (in %) or a size such "
            "as '16 MiB' (in B, KB, KiB, MB, MiB, GB or GiB), not '5 us', which is a time"
        ),
    ),
    (
        ('"5 %"', '"4 KiB"'),
        (
            "c.yaml:7: systems[1].page_buffer must hold at least one page of 16384 bytes, "
            "not 4096 bytes"
        ),
    ),
    (("[3, 2]", "[3, 0]"), "c.yaml:15: run.trace.fan_outs[1] must be at least 1, not 0"),
    (("[3, 2]", "[]"), "c.yaml:15: run.trace.fan_outs must have at least 1 items, not a list of 0"),
    (("[3, 2]", "3"), "c.yaml:15: run.trace.fan_outs must be a list, not 3"),
    (
        ("seed: 7", "seed: 7\n    sampling: all"),
        (
            "c.yaml:17: run.trace.sampling must be 'with-replacement', 'without-replacement' or "
            "'random-walk', not 'all'"
        ),
    ),
    (
        ("seed: 7", "seed: 7\n    sampling: random-walk"),
        "c.yaml:12: run.trace must give walk_length, or a file",
    ),
    (
        ("seed: 7", "seed: 7\n    sampling: random-walk\n    walk_length: 3"),
        "c.yaml:12: run.trace must not give fan_outs where sampling is random-walk",
    ),
    (
        ("seed: 7", "seed: 7\n    walk_length: 3"),
        "c.yaml:12: run.trace must not give walk_length where sampling is with-replacement",
    ),
    (
        ("fan_outs: [3, 2]", "sampling: random-walk\n    walk_length: 0"),
        "c.yaml:16: run.trace.walk_length must be at least 1, not 0",
    ),
    (("{file: g.npz}", "g.npz"), "c.yaml:11: run.graph must be a mapping of keys, not 'g.npz'"),
    (
        ("{file: g.npz}", "{file: g.npz, id_bytes: 2}"),
        "c.yaml:11: run.graph.id_bytes must be 4 or 8, not 2",
    ),
    (("out: runs/x", "out: ''"), "c.yaml:17: run.out must not be empty, not ''"),
    (("out: runs/x", "out:"), "c.yaml:17: run.out must be text, not nothing"),
    # Platforms and overrides.
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
    # Not even YAML.
    (("run:", "run: ["), "c.yaml:"),
    ((GOOD, "- 1\n"), "c.yaml:1: file must hold a mapping of keys, not a list"),
    ((GOOD, ""), "c.yaml:1: file must hold a mapping of keys, not nothing"),
    (
        (GOOD, "a: !!python/object:os.system {}\n"),
        "c.yaml:1: file must hold plain YAML, not tag:yaml.org,2002:python/object:os.system",
    ),
    ((GOOD, "a: !!python/name:os.system\n"), "c.yaml:1: file must be YAML: could not "),
    ((GOOD, "a: &a [*a]\n"), "c.yaml:1: a[0] must not contain itself"),
    ((GOOD, "a: 1\n? [b]\n: 2\n"), "c.yaml:2: keys must be words, not a list or mapping"),
    (
        ("seed: 7", "seed: 0x" + "f" * 6000),
        "c.yaml:16: file must have integers of at most 128 bits",
    ),
    ((GOOD, BOMB), "file must have at most 20000 values, aliases followed"),
    ((GOOD, "a: 1\nb: 2020-13-45\n"), "c.yaml:2: file must be YAML: '2020-13-45' is no timestamp"),
    ((GOOD, "a: 1\nb: !!float x\n"), "c.yaml:2: file must be YAML: 'x' is no float"),
    ((GOOD, "a: 1\nb: !!bool x\n"), "c.yaml:2: file must be YAML: 'x' is no bool"),
    (
        (GOOD, "a: " + "[" * 2000 + "]" * 2000),
        "c.yaml:1: file must be YAML: exceeded maximum nesting depth",
    ),
    ((GOOD, "1: 2\n"), "c.yaml:1: keys must be words, not 1"),
]
"""A change of the good configuration, and the message."""
