"""The kernel's part of a die's operations, for tests of the die alone."""

import random

from rtl.contract.channel import ArrayOperation
from rtl.contract.onfi import plane
from tests.scenarios.onfi_die_luns import Answer

READS = {
    ArrayOperation.READ,
    ArrayOperation.READ_PLANE,
    ArrayOperation.READ_CACHE_RANDOM,
    ArrayOperation.READ_CACHE_SEQUENTIAL,
}
CACHED = {
    ArrayOperation.READ_CACHE_RANDOM,
    ArrayOperation.READ_CACHE_SEQUENTIAL,
    ArrayOperation.PROGRAM_CACHE,
}
BUSY = 40
"""Clocks from begin to the answer that makes ready."""
WORK = 60
"""Clocks from there to the end of a cached operation's array work."""


def stored(part, lun, row):
    """What page ``row`` of a LUN holds."""
    return random.Random(f"{lun} {row}").randbytes(part.raw_page_bytes)


class Kernel:
    """Answers each begin ``BUSY`` clocks later, and a cached one again ``WORK`` clocks later.

    Reads bring the page that is stored. ``ends`` maps (LUN, number) to the (FAIL, FAILC) of that
    operation's last answer; ``brings`` maps an operation to what is written into LUN 0's register.
    """

    def __init__(self, part, ends=None, brings=None):
        self._part = part
        self._ends = ends or {}
        self._brings = brings or {}

    def __call__(self, begin):
        pages = {}
        if begin.operation in READS:
            place = plane(self._part, begin.row), begin.register
            pages = {place: stored(self._part, begin.lun, begin.row)}
        if begin.operation in self._brings:
            pages = {(0, begin.register): self._brings[begin.operation]}
        fail, failc = self._ends.get((begin.lun, begin.number), (False, False))
        last = Answer(begin.lun, begin.number, False, fail, failc, pages)
        if begin.operation not in CACHED:
            return [(BUSY, last)]
        return [(BUSY, Answer(begin.lun, begin.number, is_cached=True)), (BUSY + WORK, last)]
