"""Inputs for drawing without replacement, and the comparison of its results with the model."""

import numpy as np

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.mismatch import words
from firmware_model.ns_config import Entry, distinct_counts
from firmware_model.routine_cases import (
    BLOCKS,
    ID_LOG2,
    LBA_LOG2,
    ONES,
    body_run,
    check_body,
    pieces_of,
)
from rtl.contract.codec import pack
from rtl.contract.ns_config import BodyEntry
from rtl.contract.sampling import distinct_positions

__all__ = ["DISTINCT_COUNTS", "distinct_case", "distinct_total"]

DISTINCT_COUNTS = ("list", "draw", "compare", "again", "whole", "position")


def _entries(target: int, fan_out: int, degree: int) -> list[tuple[Entry, bytes]]:
    """Seeded lists of ``degree`` ids, with their keys."""
    generator = np.random.default_rng([target, fan_out, degree])
    made = []
    for _ in range(target):
        lba = int(generator.integers(0, BLOCKS - (degree * 8 >> LBA_LOG2) - 2))
        offset = int(generator.integers(0, 1 << LBA_LOG2 - ID_LOG2)) << ID_LOG2
        key = generator.bytes(4)
        made.append((Entry(lba, degree, offset, fan_out, len(key)), key))
    return made


def distinct_total(target: int, fan_out: int, degree: int) -> dict[str, int]:
    """What the cost of :func:`distinct_case` depends on."""
    total = dict.fromkeys(DISTINCT_COUNTS, 0)
    for entry, key in _entries(target, fan_out, degree):
        for name, count in distinct_counts(entry, key).items():
            total[name] += count
    return total


def distinct_case(program: ArmProgram, target: int, fan_out: int, degree: int) -> Run:
    """Draw from ``target`` lists without replacement."""
    body, expected, subgraph, result = b"", [], b"", 0
    for entry, key in _entries(target, fan_out, degree):
        fields = entry._asdict()
        del fields["extra_bytes"]
        body += pack(BodyEntry, **fields) + key
        taken = distinct_positions(int.from_bytes(key, "little"), entry.degree, fan_out)
        result += 4
        expected += pieces_of((entry.lba << LBA_LOG2) + entry.offset, taken, result)
        result += 8 * len(taken)
        subgraph += words(len(taken)) + words(ONES, 0) * len(taken)
    run = body_run(program, "body_draw_distinct", body, target, len(expected) + 1)
    check_body(run, "body_draw_distinct", expected, subgraph)
    return run
