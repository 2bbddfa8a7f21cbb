"""What replacement policies keep in the firmware's tables, beside what the model's keep."""

from typing import Any

from firmware_model.mismatch import equal
from firmware_model.replacement import Clock, LeastRecentlyUsed, Replacement, TwoQueues
from firmware_model.tables import ANCHORS, NONE, listed

__all__ = ["POLICY_HEADERS", "compare_policy", "prepare_policy"]

POLICY_HEADERS = {"lru": "lru", "clock": "clock", "2q": "two_queues"}
"""Headers in ``c/`` by policy."""


def prepare_policy(table: Any, policy: Replacement) -> None:
    """Make the tables those of ``policy`` after power-up."""
    if not isinstance(policy, TwoQueues):
        return
    first = policy.frames + ANCHORS
    numbers = range(first, first + policy.ghost_limit)
    table["frames"]["chain"][numbers] = [*numbers[1:], NONE]
    kept = table["policy"]
    kept["free_ghost"], kept["young_limit"] = first, policy.young_limit
    kept["ghosts"], kept["ghost_mask"] = NONE, policy.ghost_hashes.mask


def compare_policy(table: Any, policy: Replacement) -> None:
    """All that both keep."""
    match policy:
        case LeastRecentlyUsed():
            equal("idle frames", _pages(table, policy.frames), list(policy.idle))
        case Clock():
            _compare_clock(table, policy)
        case TwoQueues():
            _compare_queues(table, policy)


def _compare_clock(table: Any, policy: Clock) -> None:
    kept, frames = table["policy"], range(int(table["used"]))
    equal("hand", int(kept["hand"]), policy.hand)
    equal("number of idle frames", int(kept["idle"]), len(policy.idle))
    equal("pages in the clock", [int(table["frames"][n]["page"]) for n in frames], policy.pages)
    marked = {int(table["frames"][n]["page"]) for n in frames if kept["marks"][n]}
    equal("marked pages", marked, policy.marked)


def _compare_queues(table: Any, policy: TwoQueues) -> None:
    kept = table["policy"]
    equal("number of idle frames", int(kept["idle"]), len(policy.idle))
    equal("number of pages in A1in", int(kept["young"]), len(policy.young))
    queues = {"A1in": policy.young, "Am": policy.hot, "A1out": policy.ghosts}
    for number, (name, queue) in enumerate(queues.items()):
        equal(f"pages in {name}", _pages(table, policy.frames + number), list(queue))
    for number in range(policy.ghost_hashes.mask + 1):
        chain = listed(table["frames"], int(kept["ghosts"][number]), "chain")
        pages = [int(table["frames"][entry]["page"]) for entry in chain]
        equal("hash chain of A1out", pages, list(policy.ghost_hashes.chain(number)))
    free = listed(table["frames"], int(kept["free_ghost"]), "chain")
    equal("free entries of A1out", len(free), policy.ghost_limit - len(policy.ghosts))


def _pages(table: Any, anchor: int) -> list[int]:
    """Of a list of frames, the oldest first."""
    first = int(table["frames"][anchor]["newer"])
    return [
        int(table["frames"][n]["page"]) for n in listed(table["frames"], first, "newer", anchor)
    ]
