"""How the neighbours of a target are chosen: one declaration for host, firmware and hardware.

Positions are numbers of ids within a list. All of them come from :mod:`rtl.contract.mixer`, where
draw i (from 0) of a list is ``draw(key, i)``, 32 random bits, and n is the list's degree, k the
fan-out:

* **With replacement**: position i is draw i times n, over 2^32, for i from 0 to k - 1.
* **Without replacement**, n <= k: the whole list in order, 0 to n - 1; nothing is drawn.
* **Without replacement**, n > k: Floyd's method (Bentley and Floyd, CACM 30(9), 1987, algorithm
  F2). For i from 0 to k - 1, with j = n - k + i: t is draw i times (j + 1), over 2^32. If t is none
  of the positions chosen so far, position i is t, else it is j, which cannot have been chosen:
  all of them are below j. Each draw is used once; none is repeated. Every set of k positions is
  equally likely; their order, in which ids are delivered, is that of choice, and is not uniform.
* **Random walk** (the regular walk of GraphSAINT, Zeng et al., ICLR 2020, algorithm 2): from each
  root target one neighbour, of that node one neighbour, and so on. A hop is a step of all walks, of
  fan-out 1; a walk that comes to a node without neighbours ends there. The walk of the root in slot
  r has one key, that of hop 0 and slot r, and its step s takes draw s. Its key in step s is
  therefore :func:`walk_key`: to a device each step is a list with replacement and fan-out 1, and no
  walk depends on where another one ended.
"""

from enum import StrEnum

import numpy as np

from rtl.contract.mixer import advance, draw, position_table, positions

__all__ = [
    "Sampling",
    "comparisons",
    "distinct_positions",
    "distinct_table",
    "taken",
    "taken_positions",
    "taken_table",
    "walk_key",
]


class Sampling(StrEnum):
    """The modes, by the names that configurations and traces use."""

    REPLACEMENT = "with-replacement"
    DISTINCT = "without-replacement"
    WALK = "random-walk"


def taken(sampling, degree, fan_out):
    """Ids that a list of ``degree`` ids yields; ``degree`` may be an array of them."""
    if sampling == Sampling.DISTINCT:
        return np.minimum(degree, fan_out)
    return np.where(np.asarray(degree) > 0, fan_out, 0)


def walk_key(key, step):
    """Key of step ``step`` (from 0) of the walks with ``key``, an integer or an array."""
    return advance(key, step)


def taken_positions(sampling, key, degree, fan_out):
    """Positions to take from one list, in order: ``uint32[taken]``. A walk's key is its step's."""
    if sampling == Sampling.DISTINCT:
        return distinct_positions(key, degree, fan_out)
    return positions(key, degree, fan_out)


def taken_table(sampling, keys, degrees, fan_out):
    """:func:`taken_positions` of many lists at once: ``uint32[len(keys), fan_out]``.

    Of each row the first :func:`taken` entries mean something.
    """
    if sampling == Sampling.DISTINCT:
        return distinct_table(keys, degrees, fan_out)
    return position_table(keys, degrees, fan_out)


def distinct_positions(key, degree, fan_out):
    """Positions without replacement of one list, as they are chosen: ``uint32[min(both)]``."""
    if degree <= fan_out:
        return np.arange(degree, dtype=np.uint32)
    chosen = []
    for number, last in enumerate(range(degree - fan_out, degree)):
        position = draw(key, number) * (last + 1) >> 32
        chosen.append(last if position in chosen else position)
    return np.array(chosen, dtype=np.uint32)


def distinct_table(keys, degrees, fan_out):
    """:func:`distinct_positions` of many lists at once: ``uint32[len(keys), fan_out]``.

    Entries beyond the degree of a short list are zero.
    """
    return _floyd(keys, degrees, fan_out)[0]


def comparisons(keys, degrees, fan_out):
    """What Floyd's method costs for each list: comparisons, and draws that came before.

    Two ``int64[len(keys)]``. Each draw is compared with the positions chosen so far, oldest first,
    until one is equal. Lists that are taken whole need none.
    """
    return _floyd(keys, degrees, fan_out)[1:]


def _floyd(keys, degrees, fan_out):
    """Positions, comparisons and repeated draws of many lists."""
    keys, degrees = np.asarray(keys, dtype=np.uint32), np.asarray(degrees, dtype=np.int64)
    table = np.zeros((len(keys), fan_out), dtype=np.uint32)
    compared, repeated = np.zeros((2, len(keys)), dtype=np.int64)
    whole = degrees <= fan_out
    numbers = np.arange(fan_out, dtype=np.uint32)[None, :]
    table[whole] = np.where(numbers < degrees[whole, None], numbers, 0)
    keys, long = keys[~whole], degrees[~whole]
    chosen, each, repeats = table[~whole], compared[~whole], repeated[~whole]
    for number in range(fan_out):
        last = (long - fan_out + number).astype(np.uint64)
        words = draw(keys, number).astype(np.uint64)
        drawn = (words * (last + np.uint64(1)) >> np.uint64(32)).astype(np.uint32)
        equal = chosen[:, :number] == drawn[:, None]
        again = equal.any(axis=1)
        chosen[:, number] = np.where(again, last.astype(np.uint32), drawn)
        if number:
            each += np.where(again, equal.argmax(axis=1) + 1, number)
        repeats += again
    table[~whole], compared[~whole], repeated[~whole] = chosen, each, repeats
    return table, compared, repeated
