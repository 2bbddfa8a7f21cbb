"""Critical path: every instant from start to end has one owner, the span that came last.

Spans are drawn as (stage, start, end, cause by stage); times are small integers.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim.kernel import Kernel
from cosim.spans import CausalityError, Span, SpanLog, critical_path, stage_totals
from rtl.contract.kernel import Cause, latest


def log_of(*spans):
    """A log of (stage, start, end, cause); returns it and the number of each stage."""
    log = SpanLog()
    numbers = {}
    for stage, start, end, cause in spans:
        number = numbers[stage] = log.reserve()
        log.add(
            Span(
                number=number,
                unit="unit",
                stage=stage,
                start_ps=start,
                end_ps=end,
                cause=-1 if cause is None else numbers[cause],
                ready_ps=start,
                request=1,
                kind="",
                payload_bytes=0,
                overhead_bytes=0,
            )
        )
    return log, numbers


def owners(log, numbers, last, *, start, end=None):
    """The path to the end of stage ``last`` (or to ``end``) as (stage, from, to)."""
    number = numbers[last]
    end = log[number].end_ps if end is None else end
    path = critical_path(log, Cause(end, number), start)
    return [(segment.span.stage, segment.start_ps, segment.end_ps) for segment in path]


def test_spans_end_to_end_own_their_whole_length():
    log, numbers = log_of(("a", 0, 3, None), ("b", 3, 7, "a"), ("c", 7, 8, "b"))
    assert owners(log, numbers, "c", start=0) == [("a", 0, 3), ("b", 3, 7), ("c", 7, 8)]


def test_later_start_owns_an_overlap():
    # The first word of a stream released b before a had ended.
    log, numbers = log_of(("a", 0, 10, None), ("b", 4, 12, "a"), ("c", 12, 13, "b"))
    assert owners(log, numbers, "c", start=0) == [("a", 0, 4), ("b", 4, 12), ("c", 12, 13)]


def test_what_nobody_waited_for_owns_nothing():
    log, numbers = log_of(("a", 0, 3, None), ("side", 0, 9, None), ("b", 3, 5, "a"))
    assert owners(log, numbers, "b", start=0) == [("a", 0, 3), ("b", 3, 5)]


def test_join_follows_the_last_finisher():
    log, numbers = log_of(("fast", 0, 3, None), ("slow", 0, 8, None), ("b", 8, 9, "slow"))
    causes = [Cause(log[numbers[stage]].end_ps, numbers[stage]) for stage in ("fast", "slow")]
    assert latest(causes) == Cause(8, numbers["slow"])
    assert owners(log, numbers, "b", start=0) == [("slow", 0, 8), ("b", 8, 9)]


def test_of_those_that_finish_together_the_first_number_owns():
    assert latest([Cause(8, 5), Cause(8, 2), Cause(7, 1)]) == Cause(8, 2)


def test_release_of_a_resource_leads_to_who_held_it():
    # c was ready at 2 and waited for the holder, whose own past is another one.
    log, numbers = log_of(("a", 0, 2, None), ("holder", 1, 6, None), ("c", 6, 9, "holder"))
    assert owners(log, numbers, "c", start=1) == [("holder", 1, 6), ("c", 6, 9)]


def test_time_before_the_start_is_clipped():
    log, numbers = log_of(("before", 0, 5, None), ("a", 5, 9, "before"), ("b", 9, 12, "a"))
    assert owners(log, numbers, "b", start=7) == [("a", 7, 9), ("b", 9, 12)]
    # The very first instant belongs to who starts there: what went before is not looked at.
    assert owners(log, numbers, "b", start=5) == [("a", 5, 9), ("b", 9, 12)]


def test_spans_without_length_own_nothing():
    log, numbers = log_of(("a", 0, 4, None), ("tick", 4, 4, "a"), ("b", 4, 6, "tick"))
    assert owners(log, numbers, "b", start=0) == [("a", 0, 4), ("b", 4, 6)]


def test_end_may_lie_within_the_last_span():
    log, numbers = log_of(("a", 0, 4, None), ("b", 4, 10, "a"))
    assert owners(log, numbers, "b", start=0, end=6) == [("a", 0, 4), ("b", 4, 6)]


def test_gap_is_an_error():
    log, numbers = log_of(("a", 0, 3, None), ("b", 5, 7, "a"))
    with pytest.raises(CausalityError, match="must own the time just before 5 ps"):
        owners(log, numbers, "b", start=0)


def test_cause_that_began_later_is_an_error():
    log, numbers = log_of(("late", 6, 9, None), ("b", 5, 7, "late"))
    with pytest.raises(CausalityError, match="must own the time just before 5 ps"):
        owners(log, numbers, "b", start=0)


def test_missing_cause_is_an_error_unless_it_began_the_request():
    log, numbers = log_of(("a", 3, 5, None), ("b", 5, 7, "a"))
    assert owners(log, numbers, "b", start=3) == [("a", 3, 5), ("b", 5, 7)]
    with pytest.raises(CausalityError, match="has no cause, and the request began at 2 ps"):
        owners(log, numbers, "b", start=2)


def test_cause_that_never_ended_is_an_error():
    log = SpanLog()
    never = log.reserve()
    with pytest.raises(CausalityError, match=f"Span {never} is named as a cause but never ended"):
        critical_path(log, Cause(5, never), 0)


def test_end_outside_of_its_span_is_an_error():
    log, numbers = log_of(("a", 0, 3, None))
    with pytest.raises(CausalityError, match="must own the time just before 4 ps"):
        owners(log, numbers, "a", start=0, end=4)


def test_number_must_be_reserved_once_and_used_once():
    log, numbers = log_of(("a", 0, 3, None))
    taken = log[numbers["a"]]
    for number in (taken.number, taken.number + 1):
        with pytest.raises(CausalityError, match="must be reserved once and used once"):
            log.add(taken._replace(number=number))


def test_span_must_not_end_before_it_starts():
    with pytest.raises(CausalityError, match="must end at or after 3 ps, not 2 ps"):
        log_of(("a", 3, 2, None))


def test_totals_add_up_by_stage():
    log, numbers = log_of(("a", 0, 3, None), ("b", 3, 7, "a"))
    path = critical_path(log, Cause(7, numbers["b"]), 1)
    assert stage_totals(path + path) == {"a": 4, "b": 8}


def test_kernel_refuses_a_gap_when_it_happens():
    kernel = Kernel()
    start = kernel.origin("unit", "start")
    with pytest.raises(CausalityError, match="must start when its cause"):
        kernel.record("unit", "late", start.at_ps + 1, start.at_ps + 2, start)


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12),
    st.integers(0, 30),
)
def test_path_covers_every_instant_once(steps, clipped):
    """A chain of spans, each begun somewhere within the one before, as streams do."""
    spans = []
    start, end = 0, 0
    for number, (offset, length) in enumerate(steps):
        start = min(start + offset, end)
        end = start + length
        spans.append((number, start, end, number - 1 if number else None))
    log, numbers = log_of(*spans)
    first = min(clipped, end)
    path = owners(log, numbers, len(steps) - 1, start=first)
    instants = [instant for _, begin, finish in path for instant in range(begin, finish)]
    assert instants == list(range(first, end))
    for stage, begin, finish in path:
        following = [s for n, s, _, _ in spans if n == stage + 1]
        assert begin >= spans[stage][1]
        assert not following or finish <= following[0]


def test_span_with_the_next_number_must_not_end_before_it_starts():
    kernel = Kernel()
    start = kernel.origin("unit", "start")
    with pytest.raises(CausalityError, match=r"Span unit step must end at or after \d+ ps, not 0"):
        kernel.record("unit", "step", start.at_ps, 0, start)
    assert len(kernel.spans) == 1
