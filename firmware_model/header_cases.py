"""Header and segment lists of NS_config in C beside the model's."""

from zlib import crc32

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from firmware_model.ns_config import (
    NsConfig,
    Refusal,
    SegmentList,
    check_total,
    parse_header,
    parse_segments,
)
from rtl.contract.codec import byte_size, pack, unpack
from rtl.contract.ns_config import (
    BLOCK_BYTES,
    BODY_LIST_OFFSET,
    CHAIN_VERSION,
    LIST_PAGE_SLOTS,
    LIST_SLOTS,
    MAGIC,
    RESULT_LIST_OFFSET,
    VERSION,
    Header,
    Mode,
    Segment,
    SegmentFlag,
)
from rtl.contract.nvme import Status

__all__ = ["ROOM", "block_of", "header_rows", "judge_block", "slots_of"]

ROOM = 600
"""Pieces that a request keeps."""
CRC_FIELD = slice(8, 12)
PIECES = 24
"""Bytes before the pieces in ``struct pieces``."""


def slots_of(count: int, seed: int, *, chain: int = 0) -> bytes:
    """A list of ``count`` random pieces; ``chain`` slots of a further page follow them."""
    generator = np.random.default_rng([count, seed])
    raw = b"".join(
        pack(
            Segment,
            address=int(generator.integers(1 << 40)),
            length=int(generator.integers(1, 1 << 20)),
        )
        for _ in range(count)
    )
    if chain:
        raw += pack(Segment, address=0x40_0000_1000, length=16 * chain, flags=SegmentFlag.CHAIN)
    return raw


def block_of(body: bytes, result: bytes, **fields: int) -> bytes:
    """A header block with two lists of slots, sealed; ``fields`` replace the header's."""
    block = bytearray(BLOCK_BYTES)
    block[BODY_LIST_OFFSET : BODY_LIST_OFFSET + len(body)] = body
    block[RESULT_LIST_OFFSET : RESULT_LIST_OFFSET + len(result)] = result
    header = {
        "magic": MAGIC,
        "version": VERSION,
        "length": BLOCK_BYTES,
        "mode": Mode.DRAW,
        "id_bytes": 8,
        "target_count": 10,
        "body_bytes": _total(body),
        "result_bytes": _total(result),
        "body_segments": len(body) // byte_size(Segment),
        "result_segments": len(result) // byte_size(Segment),
    } | fields
    crc = header.pop("crc", None)
    block[:64] = pack(Header, **header)
    block[CRC_FIELD] = (crc32(block) if crc is None else crc).to_bytes(4, "little")
    return bytes(block)


def _total(raw: bytes) -> int:
    slots = (unpack(Segment, raw[at : at + 16]) for at in range(0, len(raw), 16))
    return sum(int(slot.length) for slot in slots if not slot.flags) & 0xFFFF_FFFF


def header_run(program: ArmProgram, block: bytes) -> Run:
    """Check one header in C."""
    cleared = bytearray(block)
    cleared[CRC_FIELD] = bytes(4)
    return program.run(
        "header_check",
        "page_buffer",
        "registers",
        "table",
        objects={
            "page_buffer": block,
            "registers": words(crc32(cleared)),
            "table": bytes(32),
        },
    )


def list_run(program: ArmProgram, raw: bytes, count: int, limit: int, pieces: bytes) -> Run:
    """Check one list of slots in C, and add its pieces to ``pieces``."""
    return program.run(
        "segment_list",
        "page_buffer",
        count,
        limit,
        LIST_PAGE_SLOTS,
        "table",
        objects={"page_buffer": raw + bytes(16), "table": pieces},
    )


def judge_block(program: ArmProgram, block: bytes) -> tuple[Run, list[Run]]:
    """Header and both lists by the C code, and compared; the runs."""
    expected, config = Status.SUCCESS, None
    try:
        config = parse_header(block)
    except Refusal as refusal:
        expected = refusal.status
    run = header_run(program, block)
    found, runs = run.value, []
    lists = np.frombuffer(run.memory["table"], "<u4")[5:7].tolist()
    for offset, count in zip((BODY_LIST_OFFSET, RESULT_LIST_OFFSET), lists, strict=True):
        if found != Status.SUCCESS:
            break
        raw = block[offset : offset + 16 * min(count, LIST_SLOTS)]
        runs.append(list_run(program, raw, count, LIST_SLOTS, bytes(PIECES + 16 * ROOM)))
        found = runs[-1].value
    equal("status of a header block", found, int(expected))
    if config is not None:
        _compare(config, np.frombuffer(run.memory["table"], "<u4").tolist())
        for part, one in zip((config.body, config.result), runs, strict=True):
            _compare_list(part, one)
    return run, runs


def _compare(config: NsConfig, found: list[int]) -> None:
    expected = [config.mode, config.id_bytes, config.target_count]
    expected += [config.body_bytes, config.result_bytes]
    equal("fields of a header", [*found[:5], found[7]], [*expected, config.is_chain])


def _compare_list(part: SegmentList, run: Run) -> None:
    """Pieces, their total, and the next list page."""
    raw = run.memory["table"]
    count, slots, *rest = np.frombuffer(raw[:PIECES], "<u4").tolist()
    equal("pieces of segment_list", count, len(part.pieces))
    found = np.frombuffer(raw[PIECES : PIECES + 16 * count], "<u4").reshape(-1, 4).tolist()
    pieces = tuple((low | high << 32, length) for low, high, length, _ in found)
    equal("pieces of segment_list", pieces, part.pieces)
    equal("slots of the next page", slots, 0 if part.chain is None else part.chain[1])
    if part.chain is not None:
        equal("address of the next page", rest[0] | rest[1] << 32, part.chain[0])
    check_total(part.pieces, rest[2] | rest[3] << 32)


def header_rows(program: ArmProgram) -> dict[str, Rows]:
    """Blocks with lists of one to all slots, chained and not; further pages."""
    rows: dict[str, Rows] = {"header_check": [], "segment_list": []}
    for count in (1, 2, 3, 7, 125):
        for chain in (0, 1, 256):
            body, result = slots_of(count, 0, chain=chain), slots_of(count, 1)
            run, runs = judge_block(program, block_of(body, result))
            rows["header_check"].append(({}, run))
            of_chain, _ = judge_block(program, block_of(body, result, version=CHAIN_VERSION))
            rows["header_check"].append(({}, of_chain))
            for one, chained in zip(runs, (chain, 0), strict=True):
                counts = {"segment": count, "chain": int(chained > 0)}
                rows["segment_list"].append((counts, one))
    for count in (1, 255):
        raw = slots_of(count, 2)
        run = list_run(program, raw, count, LIST_PAGE_SLOTS, bytes(PIECES + 16 * ROOM))
        _compare_list(parse_segments(raw), run)
        rows["segment_list"].append(({"segment": count, "chain": 0}, run))
    return rows
