"""Read commands for a small flash channel, what the cells hold, and who hands the commands over."""

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Feeder", "Read", "bad_fields", "page_image", "random_reads", "saturating_reads"]


@dataclass(frozen=True)
class Read:
    """A command and the first edge that may see its toggle."""

    edge: int
    way: int
    lun: int
    row: int
    column: int
    length: int
    tag: int
    operation: int = 0
    is_raw: int = 0

    def is_good(self, part, ways):
        return (
            self.operation == 0
            and self.way < ways
            and self.lun < part.luns
            and self.row < part.rows
            and self.column % 2 == 0
            and self.length % 2 == 0
            and self.length > 0
            and self.column + self.length <= part.raw_page_bytes
        )


def page_image(part, way, lun, row):
    """What the cells of a page hold."""
    return np.random.default_rng([way, lun, row]).bytes(part.raw_page_bytes)


def random_reads(seed, part, ways, count=60, spacing=120, bad=0.1):
    """Random whole and partial reads; a share of ``bad`` ones is refused by the controller."""
    rng = random.Random(seed)
    edge, reads = 3, []
    for tag in range(count):
        edge += rng.choice((1, 1, 2, rng.randint(1, spacing), rng.randint(1, 8 * spacing)))
        column, end = sorted(rng.sample(range(0, part.raw_page_bytes + 2, 2), 2))
        if rng.random() < 0.3:
            column, end = 0, part.raw_page_bytes
        elif rng.random() < 0.5:
            end = min(end, column + 2 * rng.randint(1, 40))
        read = Read(
            edge,
            rng.randrange(ways),
            rng.randrange(part.luns),
            rng.randrange(part.rows),
            column,
            end - column,
            tag,
        )
        if rng.random() < bad:
            read = replace(read, **rng.choice(bad_fields(part, ways)))
        reads.append(read)
    return reads


def bad_fields(part, ways):
    """Changes that each make a good command one to refuse."""
    return (
        {"operation": 1},
        {"way": ways},
        {"lun": part.luns},
        {"row": part.rows},
        {"column": 3, "length": 2},
        {"column": 0, "length": 3},
        {"length": 0},
        {"column": part.raw_page_bytes, "length": 2},
        {"column": 2, "length": part.raw_page_bytes},
    )


def saturating_reads(part, ways, rounds):
    """Whole pages, all wanted at once, LUN after LUN."""
    order = [(way, lun) for lun in range(part.luns) for way in range(ways)] * rounds
    return [
        Read(3 + tag, way, lun, tag % part.rows, 0, part.raw_page_bytes, tag)
        for tag, (way, lun) in enumerate(order)
    ]


class Feeder:
    """Hands reads over as a kernel may: one an edge, no more than two outstanding at a LUN.

    Among the reads whose edge has come and whose LUN has room the first in the list goes first.
    """

    def __init__(self, reads):
        self._waiting = list(reads)
        self._outstanding = Counter()
        self._places = {read.tag: (read.way, read.lun) for read in reads}

    def next_edge(self, edge):
        """First edge from ``edge`` on at which a read can be handed over, or ``None``."""
        edges = [max(edge, read.edge) for read in self._waiting if self._has_room(read)]
        return min(edges, default=None)

    def take(self, edge):
        """The read to hand over at ``edge``, or ``None``."""
        for read in self._waiting:
            if read.edge <= edge and self._has_room(read):
                self._waiting.remove(read)
                self._outstanding[self._places[read.tag]] += 1
                return read
        return None

    def complete(self, tag):
        self._outstanding[self._places[tag]] -= 1

    def _has_room(self, read):
        return self._outstanding[read.way, read.lun] < 2
