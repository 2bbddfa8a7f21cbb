"""Queues, DMA and block commands in C beside the model's."""

from collections.abc import Sequence

import numpy as np
import simpy

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.block_io import PrpError, cut, direct_pieces, listed_pieces
from firmware_model.dma import split
from firmware_model.fits import Rows
from firmware_model.mismatch import equal, words
from firmware_model.nvme_queues import CompletionQueue, SubmissionQueue
from firmware_model.tables import NONE, empty_tables
from rtl.contract.nvme import PAGE_BYTES, Status

__all__ = ["block_rows", "dma_rows", "finish_rows", "queue_rows"]

FREE, DONE = 5, 6
"""Words of the DMA engine's registers, as ``c/dma.h`` has them; five of a descriptor before."""
TO_HOST = 1 << 31
ENGINE = words(0, 0, 0, 0, 0, 9, 0)
LIMIT = 4096
LBA_LOG2 = 12
TRANSFER_LIMIT, BLOCKS = 1 << 20, 1 << 33
Pieces = Sequence[tuple[int, int]]


def halves(value: int) -> tuple[int, int]:
    """Low and high word of 64 bits."""
    return value & 0xFFFF_FFFF, value >> 32


def _segments(pieces: Pieces) -> bytes:
    return b"".join(words(*halves(address), length, 0) for address, length in pieces)


def _random_pieces(
    generator: np.random.Generator, count: int, longest: int
) -> list[tuple[int, int]]:
    return [
        (int(generator.integers(1 << 40)), int(generator.integers(1, longest)))
        for _ in range(count)
    ]


def queue_rows(program: ArmProgram) -> dict[str, Rows]:
    """Fetch and complete until both queues have turned."""
    completions = CompletionQueue(simpy.Environment(), 3, 0x9_8765_4000, 7)
    model = SubmissionQueue(simpy.Environment(), 3, 0x12_3456_7000, 5, completions)
    queue = words(
        *(3, 5, 7, 0, 0, 1),
        *halves(model.address),
        *halves(completions.address),
        *(0x4000, 77),
    )
    rows: dict[str, Rows] = {"sqe_fetch": [], "cqe_post": []}
    for number in range(16):
        address = model.head_address
        run = program.run(
            "sqe_fetch",
            "registers:dma",
            "registers:doorbell",
            "table",
            objects={
                "registers:dma": ENGINE,
                "registers:doorbell": words((model.head + 1) % 5),
                "table": queue,
            },
        )
        equal("value of sqe_fetch", run.value, 1)
        order = words(*halves(address), 0x4000, 64, 77)
        equal("descriptor of sqe_fetch", run.memory["registers:dma"][:20], order)
        rows["sqe_fetch"].append(({}, run))
        model.fetched()
        run = program.run(
            "cqe_post",
            "registers:dma",
            "page_buffer",
            "table",
            100 + number,
            int(Status.LBA_OUT_OF_RANGE),
            objects={
                "registers:dma": ENGINE,
                "page_buffer": bytes(16),
                "table": run.memory["table"],
            },
        )
        queue = run.memory["table"]
        address, entry = completions.post_entry(model, 100 + number, Status.LBA_OUT_OF_RANGE)
        equal("entry of cqe_post", run.memory["page_buffer"], entry)
        order = words(*halves(address), 0, 16 | TO_HOST, 77)
        equal("descriptor of cqe_post", run.memory["registers:dma"][:20], order)
        state = np.frombuffer(queue, "<u4")[3:6].tolist()
        equal("queue of cqe_post", state, [model.head, completions.post, completions.phase])
        rows["cqe_post"].append(({}, run))
    return rows


def dma_rows(program: ArmProgram) -> dict[str, Rows]:
    """Give lists of pieces to the engine, descriptor by descriptor, and take their ends."""
    generator = np.random.default_rng(4)
    rows: dict[str, Rows] = {"dma_setup": [], "dma_complete": []}
    for count in (1, 2, 3):
        pieces = _random_pieces(generator, count, 10_000)
        transfer = words(0, 0, sum(length for _, length in pieces), 0x100, TO_HOST, 5)
        local = 0x100
        for number, (address, length) in enumerate(split(pieces, LIMIT)):
            run = program.run(
                "dma_setup",
                "registers",
                "table:transfer",
                "table:pieces",
                LIMIT,
                objects={
                    "registers": ENGINE,
                    "table:transfer": transfer,
                    "table:pieces": _segments(pieces),
                },
            )
            equal("value of dma_setup", run.value, 0)
            order = words(*halves(address), local, length | TO_HOST, 5 + number)
            equal("descriptor of dma_setup", run.memory["registers"][:20], order)
            local += length
            transfer = run.memory["table:transfer"]
            rows["dma_setup"].append(({}, run))
        equal("rest of dma_setup", np.frombuffer(transfer, "<u4")[2], 0)
    for failed in (0, 1):
        run = program.run(
            "dma_complete",
            "registers",
            "table:descriptors",
            "table:waits",
            "table:failed",
            objects={
                "registers": ENGINE[: 4 * DONE] + words(1 << 31 | failed << 30 | 2),
                "table:descriptors": words(0, 0, 0, 0, 1, 0),
                "table:waits": words(7, 4),
                "table:failed": words(0, 0),
            },
        )
        equal("value of dma_complete", run.value, 3)
        equal("waits of dma_complete", run.memory["table:waits"], words(7, 3))
        equal("failures of dma_complete", run.memory["table:failed"], words(0, failed))
        rows["dma_complete"].append(({}, run))
    return rows


def finish_rows(program: ArmProgram) -> dict[str, Rows]:
    """Find a request that has ended, and none."""
    rows: Rows = []
    for ended in (0, 1):
        memory = empty_tables(8, 7)
        table = memory[0]
        table["finished"]["tail"] = ended
        table["finished"]["entries"][0] = 6
        table["requests"][6] = (0, 0x800, 1234, 3)
        run = program.run(
            "finish",
            "table",
            "table:transfer",
            objects={"table": memory.tobytes(), "table:transfer": words(*[9] * 6)},
        )
        equal("request of finish", run.value, 6 if ended else NONE)
        if ended:
            expected = words(3, 0, 1234, 0x800, TO_HOST, 9)
            equal("transfer of finish", run.memory["table:transfer"], expected)
            rows.append(({}, run))
    return {"finish": rows}


def block_rows(program: ArmProgram) -> dict[str, Rows]:
    """Read commands of one to many pages of memory, aligned and not."""
    generator = np.random.default_rng(8)
    rows: dict[str, Rows] = {"block_decode": [], "prp_parse": [], "block_io": []}
    for blocks in (1, 2, 3, 4, 9, 256):
        for offset in (0, 4, 2048):
            prp1 = int(generator.integers(1 << 30)) * PAGE_BYTES + offset
            prp2 = int(generator.integers(1 << 30)) * PAGE_BYTES
            pieces = _decode(program, rows, blocks, prp1, prp2, generator)
            _send(program, rows, pieces, generator)
    return rows


def decode_run(
    program: ArmProgram, blocks: int, block: int, prp1: int, prp2: int, room: int = 2
) -> tuple[Run, list[tuple[int, int]], int]:
    """Decode a read command, and compare; the run, its pieces, and the bytes left for a list."""
    run = program.run(
        "block_decode",
        "table:command",
        "table:limits",
        "table:out",
        objects={
            "table:command": words(
                2, 0, 0, 0, *halves(prp1), *halves(prp2), *halves(block), blocks
            ),
            "table:limits": words(LBA_LOG2, TRANSFER_LIMIT, *halves(BLOCKS)),
            "table:out": bytes(20 + 16 * room),
        },
    )
    length = blocks << LBA_LOG2
    pieces: list[tuple[int, int]] = []
    status, left = Status.SUCCESS, 0
    if length > TRANSFER_LIMIT:
        status = Status.INVALID_FIELD
    elif block + blocks > BLOCKS:
        status = Status.LBA_OUT_OF_RANGE
    else:
        try:
            pieces, left = direct_pieces(prp1, prp2, length)
        except PrpError:
            status = Status.PRP_OFFSET_INVALID
    equal("status of block_decode", run.value, int(status))
    if status == Status.SUCCESS:
        head = words(*halves(block << LBA_LOG2), length, left, len(pieces))
        expected = head + _segments(pieces)
        equal("command of block_decode", run.memory["table:out"][: len(expected)], expected)
    return run, pieces, left


def _decode(
    program: ArmProgram,
    rows: dict[str, Rows],
    blocks: int,
    prp1: int,
    prp2: int,
    generator: np.random.Generator,
) -> list[tuple[int, int]]:
    """All pieces of one command, by its entries and a list."""
    block = int(generator.integers(BLOCKS - blocks))
    run, pieces, left = decode_run(program, blocks, block, prp1, prp2, 2 + blocks)
    beyond = (blocks << LBA_LOG2) - pieces[0][1]
    counts = {"beyond": int(beyond > 0), "second": int(0 < beyond <= PAGE_BYTES)}
    rows["block_decode"].append((counts, run))
    if not left:
        return pieces
    entries = [
        int(one) * PAGE_BYTES for one in generator.integers(1 << 30, size=-(-left // PAGE_BYTES))
    ]
    more = prp_run(program, run.memory["table:out"], entries, left)
    rows["prp_parse"].append(({"entry": len(entries)}, more))
    return pieces + listed_pieces(entries, left)[0]


def prp_run(program: ArmProgram, command: bytes, entries: Sequence[int], left: int) -> Run:
    """Parse entries of a PRP list behind what ``command`` has, and compare."""
    run = program.run(
        "prp_parse",
        "page_buffer",
        len(entries),
        "table",
        objects={
            "page_buffer": words(*(half for entry in entries for half in halves(entry))),
            "table": command,
        },
    )
    count = int(np.frombuffer(command, "<u4")[4])
    status = Status.SUCCESS
    try:
        pieces, rest = listed_pieces(entries, left)
    except PrpError:
        status = Status.PRP_OFFSET_INVALID
    equal("status of prp_parse", run.value, int(status))
    if status == Status.SUCCESS:
        found = run.memory["table"]
        start = 20 + 16 * count
        equal("pieces of prp_parse", found[start:][: 16 * len(pieces)], _segments(pieces))
        equal("rest of prp_parse", np.frombuffer(found, "<u4")[3], rest)
    return run


def _send(
    program: ArmProgram,
    rows: dict[str, Rows],
    pieces: Pieces,
    generator: np.random.Generator,
) -> None:
    """Parts of the command that lie in one flash page each, from a random block on."""
    length = sum(size for _, size in pieces)
    for place in {0, int(generator.integers(0, length // 4096)) * 4096}:
        here = min(16_384, length - place)
        expected = split(cut(list(pieces), place, here), LIMIT)
        run = program.run(
            "block_io",
            "registers",
            "table:command",
            place,
            "table:transfer",
            LIMIT,
            objects={
                "registers": ENGINE,
                "table:command": words(0, 0, length, 0, len(pieces)) + _segments(pieces),
                "table:transfer": words(0, 0, here, 0x3000, 0, 11),
            },
        )
        equal("descriptors of block_io", run.value, len(expected))
        address, size = expected[-1]
        last = words(*halves(address), 0x3000 + here - size, size | TO_HOST, 10 + len(expected))
        equal("last descriptor of block_io", run.memory["registers"][:20], last)
        rows["block_io"].append(({"piece": len(expected)}, run))
