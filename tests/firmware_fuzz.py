"""``make firmware-fuzz``: random submission entries, NS_config and PRP lists for the firmware."""

import argparse
import sys
import time

from hypothesis import HealthCheck, given, seed, settings

from tests.scenarios.firmware_fuzz import CASES, make_bench

__all__ = ["fuzz", "main"]

RENEWED = 2000
"""Cases after which a device is made anew: what the kernel keeps grows with simulated time."""


def fuzz(case, bench, examples, number=0):
    """Run ``examples`` random cases of a kind on one device; the first failure is raised."""
    act, strategies = CASES[case]

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(**strategies)
    def one(**how):
        act(bench, **how)

    one()


def main(arguments=None):
    """Share the cases among the kinds; 1 where one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.firmware_fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    share, start = -(-options.cases // len(CASES)), time.monotonic()
    for case in CASES:
        for number, done in enumerate(range(0, share, RENEWED)):
            fuzz(case, make_bench(), min(RENEWED, share - done), options.seed + number)
        print(f"{case}: {share} cases, {time.monotonic() - start:.0f} s so far", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
