"""Channels for all operations: who goes first on a bus changes times, and no subgraph."""

import pytest

from tests.scenarios import crowded

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEM = "draws"
"""Its reads are the most that wait for each other."""
POLICIES = ["round-robin", "reads-first", "oldest-ready-first"]


def outcome(**flash):
    keys = {"operations": "all"} | flash
    return crowded.outcome(SYSTEM, constants={f"ssd.flash.{key}": keys[key] for key in keys})


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_keeps_the_laws(policy):
    found = outcome(policy=policy)
    assert found.subgraphs == crowded.expected(SYSTEM)
    assert sum(found.stages_ps().values()) == found.latencies_ps[0]


def test_the_oldest_page_first_is_another_order():
    first, oldest, reads = (
        outcome(policy=policy) for policy in ("round-robin", "oldest-ready-first", "reads-first")
    )
    assert (oldest.spans == first.spans) is False
    # There is nothing but reads.
    assert reads.spans == first.spans


@pytest.mark.parametrize(("key", "value"), [("suspends", 2), ("watchdog", "20 ms")])
def test_what_reads_alone_do_not_need_changes_nothing(key, value):
    before, after = outcome(), outcome(**{key: value})
    assert after.spans == before.spans
    assert after.subgraphs == before.subgraphs
