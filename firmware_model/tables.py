"""Layout of the firmware's tables in ``c/tables.h``, and their sizes, for the counting harness."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = [
    "ANCHORS",
    "CHANNELS",
    "CHOICE",
    "DEFINES",
    "FRAMES",
    "JOBS",
    "LUNS_A_CHANNEL",
    "NONE",
    "TABLES",
    "empty_choice",
    "empty_tables",
    "entries",
    "listed",
    "words_of",
]

FRAMES = 1024
JOBS = 1024
ANCHORS = 3
"""Frames behind the last one that begin lists of a replacement policy."""
CHANNELS = 8
LUNS_A_CHANNEL = 16
NONE = 0xFFFF_FFFF


def words_of(names: str) -> np.dtype:
    """A structure of 32-bit words."""
    return np.dtype([(name, "<u4") for name in names.split()])


def _ring(entries: int) -> np.dtype:
    return np.dtype([("head", "<u4"), ("tail", "<u4"), ("entries", "<u4", entries)])


READ = words_of("way lun row column length tag")
FILL = np.dtype(
    [
        *words_of("pairs frame job ok next waiting last_waiting queued").descr,
        ("read", READ),
    ]
)
POLICY = np.dtype(
    [
        *words_of("idle hand young young_limit free_ghost ghost_mask").descr,
        ("marks", "<u4", FRAMES),
        ("ghosts", "<u4", FRAMES),
    ]
)
TABLES = np.dtype(
    [
        *words_of("capacity used mask waiting free_job free_fill").descr,
        *((name, _ring(JOBS)) for name in ("granted", "ready", "woken", "finished")),
        (
            "jobs",
            words_of("page pairs widen channel way lun row frame ok request next same last_same"),
            JOBS,
        ),
        ("requests", words_of("jobs result result_bytes first_piece"), JOBS),
        ("fills", FILL, JOBS),
        ("frames", words_of("page valid pins fills chain older newer"), FRAMES + 1),
        ("chains", "<u4", FRAMES),
        ("luns", words_of("outstanding first last"), CHANNELS * LUNS_A_CHANNEL),
        ("ready_luns", _ring(LUNS_A_CHANNEL), CHANNELS),
        ("policy", POLICY),
    ]
)
"""``struct tables``; the compiler refuses a size that differs."""

RANKS = 3
"""Classes of flash work, and so ranks."""
CHOICE = np.dtype(
    [
        *words_of("patience any").descr,
        ("ranks", "<u4", RANKS),
        (
            "channels",
            [
                *words_of("turn room idle").descr,
                ("waiting", "<u4", RANKS),
                ("next", "<u4", RANKS),
            ],
            CHANNELS,
        ),
        ("queues", words_of("first last"), (CHANNELS * LUNS_A_CHANNEL, RANKS)),
        ("ages", words_of("older newer rank"), JOBS + CHANNELS),
    ]
)
"""``struct choice`` of ``c/flash_choice.h``."""

DEFINES = (
    f"-DFRAMES={FRAMES}",
    f"-DJOBS={JOBS}",
    f"-DCHANNELS={CHANNELS}",
    f"-DLUNS_A_CHANNEL={LUNS_A_CHANNEL}",
    f"-DTABLES_BYTES={TABLES.itemsize}",
    f"-DRANKS={RANKS}",
    f"-DCHOICE_BYTES={CHOICE.itemsize}",
)


def empty_tables(capacity: int, mask: int) -> np.ndarray:
    """``struct tables`` after power-up, of a page buffer with ``capacity`` frames."""
    memory = np.zeros(1, TABLES)
    table = memory[0]
    table["capacity"], table["mask"], table["waiting"] = capacity, mask, NONE
    for name in ("jobs", "fills"):
        table[name]["next"] = [*range(1, JOBS), NONE]
    table["chains"] = NONE
    for anchor in range(capacity, capacity + ANCHORS):
        table["frames"][anchor]["older"] = table["frames"][anchor]["newer"] = anchor
    for name in ("first", "last"):
        table["luns"][name] = NONE
    return memory


def empty_choice(patience: int, ranks: Sequence[int], *, idle_first: bool) -> np.ndarray:
    """``struct choice`` after power-up."""
    memory = np.zeros(1, CHOICE)
    choice = memory[0]
    every = (1 << LUNS_A_CHANNEL) - 1
    choice["patience"], choice["any"], choice["ranks"] = patience, every * (not idle_first), ranks
    choice["channels"]["room"] = choice["channels"]["idle"] = every
    choice["queues"]["first"] = NONE
    for end in range(JOBS, JOBS + CHANNELS):
        choice["ages"][end]["older"] = choice["ages"][end]["newer"] = end
    return memory


def entries(ring: Any) -> list[int]:
    """What is in a ring, oldest first."""
    size = len(ring["entries"])
    return [int(ring["entries"][n % size]) for n in range(int(ring["head"]), int(ring["tail"]))]


def listed(table: Any, first: int, link: str, end: int = NONE) -> list[int]:
    """Entries of a linked list from ``first`` on."""
    found = []
    while first != end:
        found.append(first)
        first = int(table[first][link])
    return found
