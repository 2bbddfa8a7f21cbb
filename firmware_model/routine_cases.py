"""Inputs for the C routines, and the comparison of their results with the Python model.

Each function runs one routine once on seeded random data, checks everything it returned and wrote,
and gives back the counts. A difference is a :class:`~firmware_model.mismatch.ModelMismatch`.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.mismatch import equal, words
from firmware_model.nvme_controller import classify
from firmware_model.translation import grouping_counts, pieces_of_list
from rtl.contract.codec import pack, unpack
from rtl.contract.mixer import positions
from rtl.contract.ns_config import MAX_DISTINCT, BodyEntry
from rtl.contract.nvme import SAMPLING_BIT, Opcode, Status, SubmissionEntry

__all__ = [
    "BLOCKS",
    "ID_LOG2",
    "LBA_LOG2",
    "ONES",
    "body_case",
    "body_run",
    "check_body",
    "gather_case",
    "group_counts",
    "group_run",
    "pieces_of",
    "sqe_case",
    "sqe_run",
    "turns",
]

LBA_LOG2, PAGE_LOG2, PAIR_LOG2, ID_LOG2 = 12, 14, 9, 3
BLOCKS = 1 << 20
ONES = 0xFFFF_FFFF


def sqe_run(program: ArmProgram, raw: bytes) -> Run:
    """Decode the submission entry ``raw``, and compare."""
    run = program.run(
        "sqe_decode", "registers", "table", objects={"registers": raw, "table": bytes(44)}
    )
    entry = unpack(SubmissionEntry, raw)
    status, sampling = classify(entry)
    equal("status of sqe_decode", run.value, int(status))
    expected = words(
        entry.opcode,
        sampling,
        entry.cid,
        entry.cdw3,
        *(word >> shift & 0xFFFF_FFFF for word in (entry.prp1, entry.prp2) for shift in (0, 32)),
        entry.cdw10,
        entry.cdw11,
        (entry.cdw12 & 0xFFFF) + 1,
    )
    equal("command of sqe_decode", run.memory["table"], expected)
    return run


def sqe_case(program: ArmProgram) -> Run:
    """Decode a sampling command."""
    raw = pack(
        SubmissionEntry,
        opcode=Opcode.WRITE,
        cid=0x1234,
        nsid=1,
        cdw3=7,
        prp1=0x1_2345_6000,
        cdw12=1 << SAMPLING_BIT,
    )
    return sqe_run(program, raw)


def body_run(
    program: ArmProgram,
    function: str,
    body: bytes,
    targets: int,
    pieces: int,
    id_log2: int = ID_LOG2,
) -> Run:
    """Parse the bytes ``body``, with room for ``pieces`` pieces; nothing is compared.

    The subgraph's memory is full of ones before.
    """
    chosen = ("table:chosen",) if function == "body_draw_distinct" else ()
    return program.run(
        function,
        "page_buffer:body",
        targets,
        "table:format",
        "table:out",
        "page_buffer:subgraph",
        *chosen,
        objects={
            **dict.fromkeys(chosen, bytes(4 * MAX_DISTINCT)),
            "page_buffer:body": body,
            "table:format": words(LBA_LOG2, PAGE_LOG2, PAIR_LOG2, id_log2, BLOCKS),
            "table:out": bytes(16 * pieces),
            "page_buffer:subgraph": b"\xff" * (4 * targets + 8 * pieces),
        },
    )


def body_case(program: ArmProgram, function: str, target: int, fan_out: int) -> Run:
    """Parse a body of ``target`` lists with ``fan_out`` positions each (1 to 2^20 ids long)."""
    generator = np.random.default_rng([target, fan_out])
    body, expected, result, subgraph = b"", [], 0, b""
    for _ in range(target):
        degree = int(generator.integers(1, 1 << 20))
        lba = int(generator.integers(0, BLOCKS - (degree * 8 >> LBA_LOG2) - 2))
        offset = int(generator.integers(0, 1 << LBA_LOG2 - ID_LOG2)) << ID_LOG2
        body += pack(BodyEntry, lba=lba, degree=degree, offset=offset, fan_out=fan_out)
        if function == "body_draw":
            key = int(generator.integers(0, 1 << 32))
            body += words(key)
            taken = positions(key, degree, fan_out)
        else:
            taken = generator.integers(0, degree, fan_out)
            body += words(*taken)
        result += 4
        expected += pieces_of((lba << LBA_LOG2) + offset, taken, result)
        result += 8 * fan_out
        subgraph += words(fan_out) + words(ONES, 0) * fan_out
    run = body_run(program, function, body, target, len(expected) + 1)
    check_body(run, function, expected, subgraph)
    return run


def pieces_of(list_byte: int, taken: Iterable[int], result: int) -> list[tuple[int, int, int]]:
    """Place in the result, page and start of each id of a list."""
    pages = pieces_of_list(list_byte, taken, 1 << ID_LOG2, result, 1 << PAGE_LOG2)
    return [(at, page, start) for page in pages for start, _, at in pages[page]]


def check_body(
    run: Run, function: str, expected: list[tuple[int, int, int]], subgraph: bytes
) -> None:
    """Compare what a routine made of a body, with room for one piece more."""
    equal(f"status of {function}", run.value, int(Status.SUCCESS))
    written = b"".join(words(page, start, 2, at) for at, page, start in sorted(expected))
    equal(f"pieces of {function}", run.memory["table:out"], written + bytes(16))
    room = subgraph + b"\xff" * 8
    equal(f"subgraph of {function}", run.memory["page_buffer:subgraph"], room)


def turns(piece: int, page: int) -> list[int]:
    """Pages of ``piece`` pieces that take turns among ``page`` pages."""
    return [number % page for number in range(piece)]


def group_counts(pages: Sequence[int]) -> dict[str, int]:
    """What the cost of grouping pieces of these pages depends on."""
    sizes: dict[int, list[int]] = {}
    for page in pages:
        sizes.setdefault(page, []).append(page)
    return grouping_counts(sizes.values())


def group_run(program: ArmProgram, pages: Sequence[int]) -> Run:
    """Group pieces of these pages, and compare."""
    starts = np.random.default_rng(pages).integers(0, 1 << PAGE_LOG2 - ID_LOG2, len(pages))
    pieces = [
        (page, int(start) << ID_LOG2, 2, 4 + 8 * number)
        for number, (page, start) in enumerate(zip(pages, starts, strict=True))
    ]
    groups: dict[int, list[tuple[int, int, int, int]]] = {}
    for one in pieces:
        groups.setdefault(one[0], []).append(one)
    run = program.run(
        "group_pieces",
        "table:pieces",
        len(pieces),
        "table:format",
        "table:jobs",
        "table:grouped",
        objects={
            "table:pieces": b"".join(words(*one) for one in pieces),
            "table:format": words(LBA_LOG2, PAGE_LOG2, PAIR_LOG2, ID_LOG2, BLOCKS),
            "table:jobs": b"\xff" * 16 * len(groups),
            "table:grouped": bytes(16 * len(pieces)),
        },
    )
    equal("value of group_pieces", run.value, len(groups))
    jobs, grouped, end = b"", b"", 0
    for number, (name, group) in enumerate(groups.items()):
        end += len(group)
        pairs = sum({1 << (start >> PAIR_LOG2) for _, start, _, _ in group})
        jobs += words(name, pairs, len(group), end)
        grouped += b"".join(words(number, *rest) for _, *rest in group)
    equal("jobs of group_pieces", run.memory["table:jobs"], jobs)
    equal("pieces of group_pieces", run.memory["table:grouped"], grouped)
    return run


def gather_case(program: ArmProgram, id: int, size: int) -> Run:
    """Gather ``id`` ids of ``size`` 32-bit words each."""
    generator = np.random.default_rng([id, size])
    page = generator.bytes(1 << PAGE_LOG2)
    starts = generator.integers(0, (1 << PAGE_LOG2) // (4 * size), id) * 4 * size
    pieces = b"".join(words(0, start, size, 4 + 8 * n) for n, start in enumerate(starts))
    run = program.run(
        "gather",
        "page_buffer:page",
        "table",
        id,
        "page_buffer:subgraph",
        objects={
            "page_buffer:page": page,
            "table": pieces,
            "page_buffer:subgraph": bytes(4 + 8 * id),
        },
    )
    expected = bytes(4) + b"".join(
        page[start : start + 4 * size].ljust(8, b"\0") for start in starts
    )
    equal("subgraph of gather", run.memory["page_buffer:subgraph"], expected)
    return run
