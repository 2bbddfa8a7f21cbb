"""Configurations that are refused, and what the refusal says."""

from tests.scenarios.configs import GOOD

__all__ = ["BAD"]

BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 12)
)


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
