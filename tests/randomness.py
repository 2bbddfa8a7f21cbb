"""``make randomness``: are the positions that lists are sampled at as good as random ones?

Chi-square tests of how often each position is drawn, of pairs, and of sets. Keys are those of hops
as the host makes them: slots 0, 1, 2... of mini-batches of a trace. What is expected is exact: of
the 2^32 words of the mixer, the number that leads to each cell.

A test fails if its p-value, of both tails, is below 0.001 over the number of tests (Bonferroni): a
perfect source would fail one run in a thousand. Seeds are fixed, so a run is always the same.
"""

import argparse
import itertools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cosim.bench.page import markdown_table, rewrite_page
from rtl.contract.mixer import list_keys, position_table
from rtl.contract.sampling import distinct_table, walk_key
from tests.chi_square import Fit, fit

__all__ = ["FALSE_ALARM", "TESTS", "failures", "run"]

FALSE_ALARM = 1e-3
"""Of a whole run, with a perfect source."""
DRAWS = 10**7
WORDS = 1 << 32
SEED = 2022
SLOTS = 1 << 16
"""Of a hop."""


@dataclass(frozen=True)
class Outcome:
    """What a test found."""

    name: str
    draws: int
    fit: Fit


def hops(lists):
    """Keys of ``lists`` lists, hop by hop."""
    for batch in range(-(-lists // SLOTS)):
        count = min(SLOTS, lists - batch * SLOTS)
        yield list_keys(SEED, batch, 0, np.arange(count))


def cells(positions, degree, bins):
    """Bin of each position."""
    return (positions.astype(np.uint64) * np.uint64(bins) // np.uint64(degree)).astype(np.int64)


def shares(degree, bins):
    """Share of the mixer's words that leads to a position of each bin."""
    firsts = [-(-degree * number // bins) for number in range(bins + 1)]
    words = [-(-WORDS * first // degree) for first in firsts]
    return np.diff(words) / WORDS


def frequencies(draws, degree, fan_out=25):
    """How often each position comes, or each of 1,000 stretches of a longer list."""
    bins = min(degree, 1000)
    counts = np.zeros(bins, dtype=np.int64)
    for keys in hops(draws // fan_out):
        table = position_table(keys, np.full(len(keys), degree), fan_out)
        counts += np.bincount(cells(table, degree, bins).ravel(), minlength=bins)
    return fit(counts, shares(degree, bins) * counts.sum())


def pair_fit(pairs, degree, bins):
    """Fit of a stream of (one, other) arrays of positions to independence."""
    counts = np.zeros(bins * bins, dtype=np.int64)
    for one, other in pairs:
        both = cells(one, degree, bins) * bins + cells(other, degree, bins)
        counts += np.bincount(both.ravel(), minlength=bins * bins)
    share = shares(degree, bins)
    return fit(counts, np.outer(share, share).ravel() * counts.sum())


def successive(draws, degree, fan_out=10):
    """Pairs of draws that follow each other in a list; each draw is in one pair."""
    tables = (
        position_table(keys, np.full(len(keys), degree), fan_out) for keys in hops(draws // fan_out)
    )
    pairs = ((table[:, 0::2], table[:, 1::2]) for table in tables)
    return pair_fit(pairs, degree, min(degree, 32))


def neighbours(draws, degree):
    """First draws of slots beside each other; each slot is in one pair."""
    tables = (position_table(keys, np.full(len(keys), degree), 1)[:, 0] for keys in hops(draws))
    pairs = ((table[: len(table) // 2 * 2 : 2], table[1::2]) for table in tables)
    return pair_fit(pairs, degree, min(degree, 32))


def walks(draws, degree):
    """Steps of a walk that follow each other."""
    keys = [(walk_key(keys, 0), walk_key(keys, 1)) for keys in hops(draws // 2)]
    pairs = (
        tuple(position_table(key, np.full(len(key), degree), 1)[:, 0] for key in both)
        for both in keys
    )
    return pair_fit(pairs, degree, min(degree, 32))


def inclusions(draws, degree, fan_out):
    """How often each position is among those of a list without replacement.

    Counts of positions of one list depend on each other: the covariance matrix of the counts is
    that of a multinomial one with their mean, times (degree - fan_out) / (degree - 1).
    """
    counts = np.zeros(degree, dtype=np.int64)
    for keys in hops(draws // fan_out):
        table = distinct_table(keys, np.full(len(keys), degree), fan_out)
        counts += np.bincount(table.ravel(), minlength=degree)
    return fit(counts, counts.sum() / degree, scale=(degree - 1) / (degree - fan_out))


def sets(draws, degree, fan_out):
    """How often each set of positions comes: all are equally likely."""
    every = itertools.combinations(range(degree), fan_out)
    number = {sum(1 << place for place in places): n for n, places in enumerate(every)}
    lookup = np.zeros(1 << degree, dtype=np.int64)
    lookup[list(number)] = list(number.values())
    counts = np.zeros(len(number), dtype=np.int64)
    for keys in hops(draws // fan_out):
        table = distinct_table(keys, np.full(len(keys), degree), fan_out)
        masks = (np.int64(1) << table.astype(np.int64)).sum(axis=1)
        counts += np.bincount(lookup[masks], minlength=len(number))
    return fit(counts, counts.sum() / len(number))


def members(draws, degree, fan_out):
    """Which two positions are in a list without replacement: two of its members, drawn by NumPy."""
    rng = np.random.default_rng(SEED)
    counts = np.zeros((degree, degree), dtype=np.int64)
    for keys in hops(draws // fan_out):
        table = distinct_table(keys, np.full(len(keys), degree), fan_out).astype(np.int64)
        first = rng.integers(0, fan_out, len(keys))
        second = (first + rng.integers(1, fan_out, len(keys))) % fan_out
        rows = np.arange(len(keys))
        pair = np.sort(np.stack([table[rows, first], table[rows, second]]), axis=0)
        np.add.at(counts, (pair[0], pair[1]), 1)
    above = counts[np.triu_indices(degree, 1)]
    return fit(above, above.sum() / math.comb(degree, 2))


TESTS = {
    **{f"positions, degree {d:,}": (frequencies, d) for d in (2, 7, 100, 1000, 99_991, WORDS - 1)},
    **{f"successive draws, degree {d:,}": (successive, d) for d in (5, 32, 99_991)},
    **{f"slots beside each other, degree {d:,}": (neighbours, d) for d in (5, 32, 99_991)},
    **{f"steps of a walk, degree {d:,}": (walks, d) for d in (5, 32)},
    **{
        f"without replacement, {k} of {d:,}": (inclusions, d, k)
        for d, k in ((26, 25), (50, 25), (1000, 25), (65, 64))
    },
    **{f"sets, {k} of {d}": (sets, d, k) for d, k in ((8, 4), (12, 3), (16, 2))},
    **{f"two of a list, {k} of {d}": (members, d, k) for d, k in ((12, 10), (30, 10))},
}
"""Name: function of the number of draws, and its other arguments."""


def run(draws, names=None, tell=lambda _: None):
    """Run tests with about ``draws`` draws each."""
    outcomes = []
    for name in names or TESTS:
        function, *arguments = TESTS[name]
        outcomes.append(Outcome(name, draws, function(draws, *arguments)))
        tell(outcomes[-1])
    return outcomes


def failures(outcomes):
    """Those whose p-value is below its share of the false alarms."""
    return [one for one in outcomes if one.fit.p < FALSE_ALARM / len(TESTS)]


def table(outcomes):
    """The outcomes as Markdown."""
    rows = [
        (one.name, f"{one.fit.statistic:,.1f}", f"{one.fit.freedom:,}", f"{one.fit.p:.3f}")
        for one in outcomes
    ]
    return markdown_table(("test", "chi-square", "degrees of freedom", "p"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=DRAWS, help="of each test")
    parser.add_argument("--page", type=Path, help="page whose table to bring up to date")
    arguments = parser.parse_args()

    def tell(one):
        print(f"{one.name}: {one.fit.statistic:.1f}, {one.fit.freedom}, p {one.fit.p:.4f}")

    outcomes = run(arguments.draws, tell=tell)
    if arguments.page is not None:
        rewrite_page(arguments.page, {"randomness": table(outcomes)})
    failed = failures(outcomes)
    for one in failed:
        print(f"{one.name}: p must be at least {FALSE_ALARM / len(TESTS):.1e}, not {one.fit.p:.1e}")
    return len(failed) > 0


if __name__ == "__main__":
    raise SystemExit(main())
