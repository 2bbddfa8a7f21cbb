"""Chains of hops in C beside the model's."""

from dataclasses import replace
from itertools import product

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.chain import (
    Chain,
    Frontier,
    Hop,
    entry_of,
    next_frontier,
    parse_chain,
    parse_hops,
    root_frontier,
)
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from firmware_model.ns_config import NsConfig, Refusal, SegmentList
from firmware_model.routine_cases import BLOCKS, ID_LOG2, LBA_LOG2, PAGE_LOG2, PAIR_LOG2
from rtl.contract.codec import pack
from rtl.contract.ns_config import (
    BLOCK_BYTES,
    CHAIN_HEADER_OFFSET,
    BodyEntry,
    ChainHeader,
    HopEntry,
    KeyRule,
    Mode,
    RowPointers,
)
from rtl.contract.nvme import Status

__all__ = ["CHAIN", "CONFIG", "chain_run", "entry_run", "hop_rows", "roots_run", "table_run"]
__all__ += ["targets_run"]

FORMAT = words(LBA_LOG2, PAGE_LOG2, PAIR_LOG2, ID_LOG2, BLOCKS)
NO_SEGMENTS = SegmentList(pieces=(), chain=None)
CONFIG = NsConfig(
    mode=Mode.DRAW,
    id_bytes=1 << ID_LOG2,
    target_count=1024,
    body_bytes=2 * 8 + 4 * 1024,
    result_bytes=0,
    body=NO_SEGMENTS,
    result=NO_SEGMENTS,
    is_chain=True,
)
CHAIN = Chain(
    hops=2,
    keys=KeyRule.MIXED,
    row_pointers=RowPointers.DRAM,
    nodes=5000,
    edge_lba=7,
    pointer_lba=0,
)
HOP = Hop(fan_out=25, key=0x1234_5678)
ROOM = 64
"""Targets that a list of them has room for."""


def _limits(config: NsConfig) -> bytes:
    return words(config.mode, config.target_count, config.body_bytes, config.result_bytes)


def _chain(chain: Chain) -> bytes:
    blocks = (chain.edge_lba, chain.pointer_lba)
    halves = [block >> shift & 0xFFFF_FFFF for block in blocks for shift in (0, 32)]
    return words(chain.hops, chain.keys, chain.row_pointers, chain.nodes, *halves)


def chain_run(program: ArmProgram, config: NsConfig, table_nodes: int, **fields: int) -> Run:
    """Judge the second half of a header, :data:`CHAIN`'s but for ``fields``."""
    half = pack(ChainHeader, **{**vars(CHAIN), **fields})
    block = bytearray(BLOCK_BYTES)
    block[CHAIN_HEADER_OFFSET : CHAIN_HEADER_OFFSET + len(half)] = half
    run = program.run(
        "chain_check",
        "page_buffer",
        "table:limits",
        "table:format",
        table_nodes,
        "table:out",
        objects={
            "page_buffer": half,
            "table:limits": _limits(config),
            "table:format": FORMAT,
            "table:out": bytes(32),
        },
    )
    expected, made = Status.SUCCESS, bytes(32)
    try:
        sizes = {"lba_bytes": 1 << LBA_LOG2, "namespace_blocks": BLOCKS}
        made = _chain(parse_chain(bytes(block), config, table_nodes=table_nodes, **sizes))
    except Refusal as refusal:
        expected = refusal.status
    equal("status of chain_check", run.value, int(expected))
    equal("chain of chain_check", run.memory["table:out"], made)
    return run


def table_run(program: ArmProgram, body: bytes, config: NsConfig, chain: Chain) -> Run:
    """Keep the hops of a body."""
    run = program.run(
        "hop_table",
        "page_buffer",
        "table:limits",
        "table:chain",
        "table:out",
        "table:last",
        objects={
            "page_buffer": body,
            "table:limits": _limits(config),
            "table:chain": _chain(chain),
            "table:out": bytes(len(body)),
            "table:last": bytes(4),
        },
    )
    try:
        hops, most = parse_hops(body, config, chain)
    except Refusal as refusal:
        equal("status of hop_table", run.value, int(refusal.status))
        return run
    equal("status of hop_table", run.value, int(Status.SUCCESS))
    made = b"".join(words(hop.fan_out, hop.key) for hop in hops)
    equal("hops of hop_table", run.memory["table:out"], made)
    equal("last hop of hop_table", run.memory["table:last"], words(most))
    return run


def _listed(run: Run, name: str, frontier: Frontier, first: int) -> None:
    """Compare a list of targets, of which the first ``first`` were there before."""
    pairs = np.stack([frontier.nodes, frontier.keys], axis=1).astype("<u4").tobytes()
    found = run.memory["table:list"]
    equal(f"targets of {name}", found[:4], words(first + len(frontier)))
    equal(f"targets of {name}", found[4 + 8 * first :][: len(pairs)], pairs)


def roots_run(program: ArmProgram, nodes: list[int], first: int) -> Run:
    """Add root targets behind ``first`` others."""
    body = words(*nodes)
    run = program.run(
        "hop_roots",
        "page_buffer",
        len(nodes),
        "table:chain",
        "table:hop",
        "table:list",
        objects={
            "page_buffer": body,
            "table:chain": _chain(CHAIN),
            "table:hop": words(HOP.fan_out, HOP.key),
            "table:list": words(first) + bytes(8 * ROOM),
        },
    )
    try:
        frontier = root_frontier(body, first, HOP, CHAIN)
    except Refusal as refusal:
        equal("status of hop_roots", run.value, int(refusal.status))
        return run
    equal("status of hop_roots", run.value, int(Status.SUCCESS))
    _listed(run, "hop_roots", frontier, first)
    return run


def targets_run(program: ArmProgram, lists: list[list[int]], *, walks: bool = False) -> Run:
    """Add the ids of ``lists`` of the hop before."""
    name, chain = "hop_targets", CHAIN
    if walks:
        name, chain = "hop_walks", replace(CHAIN, keys=KeyRule.CARRIED)
    result = b"".join(words(len(ids)) + np.array(ids, dtype="<u8").tobytes() for ids in lists)
    generator = np.random.default_rng(len(lists))
    before = Frontier(*generator.integers(0, 1 << 32, (2, len(lists)), dtype=np.uint32))
    pairs = np.stack([before.nodes, before.keys], axis=1).astype("<u4").tobytes()
    run = program.run(
        name,
        "page_buffer",
        len(lists),
        "table:chain",
        "table:from" if walks else "table:hop",
        "table:list",
        objects={
            "page_buffer": result + bytes(4),
            "table:chain": _chain(chain),
            "table:from" if walks else "table:hop": pairs if walks else words(25, HOP.key),
            "table:list": words(0) + bytes(8 * ROOM),
        },
    )
    try:
        frontier = next_frontier(result, [len(ids) for ids in lists], HOP, chain, before)
    except Refusal as refusal:
        equal(f"status of {name}", run.value, int(refusal.status))
        return run
    equal(f"status of {name}", run.value, int(Status.SUCCESS))
    _listed(run, name, frontier, 0)
    return run


def entry_run(program: ArmProgram, start: int, end: int) -> Run:
    """Make a body entry by two row pointers."""
    key = 0xABCD_0123
    run = program.run(
        "row_entry",
        "page_buffer:start",
        "page_buffer:end",
        "table:target",
        "table:hop",
        "table:chain",
        "table:format",
        "page_buffer:entry",
        objects={
            "page_buffer:start": start.to_bytes(8, "little"),
            "page_buffer:end": end.to_bytes(8, "little"),
            "table:target": words(1, key),
            "table:hop": words(HOP.fan_out, HOP.key),
            "table:chain": _chain(CHAIN),
            "table:format": FORMAT,
            "page_buffer:entry": bytes(20),
        },
    )
    try:
        entry = entry_of(start, end, HOP.fan_out, CONFIG, CHAIN, lba_bytes=1 << LBA_LOG2)
    except Refusal as refusal:
        equal("status of row_entry", run.value, int(refusal.status))
        return run
    equal("status of row_entry", run.value, int(Status.SUCCESS))
    fields = entry._asdict()
    del fields["extra_bytes"]
    equal(
        "entry of row_entry",
        run.memory["page_buffer:entry"],
        pack(BodyEntry, **fields) + words(key),
    )
    return run


def _start_run(program: ArmProgram) -> Run:
    pointer = bytes(range(8))
    run = program.run(
        "row_start",
        "page_buffer:pointer",
        "page_buffer:out",
        objects={"page_buffer:pointer": pointer, "page_buffer:out": bytes(8)},
    )
    equal("pointer of row_start", run.memory["page_buffer:out"], pointer)
    return run


def _table_case(program: ArmProgram, hops: int) -> Run:
    generator = np.random.default_rng(hops)
    targets, result, body = 3, 0, b""
    for _ in range(hops):
        fan_out = int(generator.integers(1, 9))
        result += 4 * targets + 8 * targets * fan_out
        targets *= fan_out
        body += pack(HopEntry, fan_out=fan_out, key=int(generator.integers(1 << 32)))
    config = replace(CONFIG, target_count=3, result_bytes=result)
    return table_run(program, body, config, replace(CHAIN, hops=hops))


def hop_rows(program: ArmProgram) -> dict[str, Rows]:
    """Good chains; the counts of each routine vary apart from each other."""
    generator = np.random.default_rng(1)

    def nodes(count: int) -> list[int]:
        return [int(node) for node in generator.integers(0, CHAIN.nodes, count)]

    on_flash = {"row_pointers": RowPointers.FLASH, "pointer_lba": 99}
    rows: dict[str, Rows] = {
        "chain_check": [
            ({"on_flash": len(fields) // 2}, chain_run(program, CONFIG, CHAIN.nodes, **fields))
            for fields in ({}, on_flash)
        ],
        "hop_table": [({"hop": hops}, _table_case(program, hops)) for hops in (1, 2, 3, 5)],
        "hop_roots": [
            ({"target": count}, roots_run(program, nodes(count), first))
            for count, first in product((1, 2, 3, 10, 30), (0, 7))
        ],
        "hop_targets": [],
        "hop_walks": [],
        "row_start": [({}, _start_run(program))],
        "row_entry": [
            ({}, entry_run(program, start, start + degree))
            for start, degree in ((0, 0), (5, 1), (123_456, 789), (1 << 25, 1 << 22))
        ],
    }
    for full, empty, size in product((0, 1, 2, 3), (0, 1, 2), (1, 2, 5, 10)):
        if full + empty:
            run = targets_run(program, [nodes(size)] * full + [[]] * empty)
            counts = {"slot": full + empty, "list": full, "id": full * size}
            rows["hop_targets"].append((counts, run))
    for full, empty in product((0, 1, 2, 5), (0, 1, 3)):
        if full + empty:
            run = targets_run(program, [nodes(1)] * full + [[]] * empty, walks=True)
            rows["hop_walks"].append(({"slot": full + empty, "id": full}, run))
    return rows
