"""Slots: order, amounts, causes."""

import pytest
import simpy

from firmware_model.slots import Slots
from rtl.contract.kernel import Cause


def story(capacity, *uses):
    """Uses are (time, amount, duration); returns (time, user, causing user) of each grant."""
    env = simpy.Environment()
    slots = Slots(env, "things", capacity)
    granted = []

    def use(user, time, amount, duration):
        yield env.timeout(time)
        cause = yield from slots.acquire(Cause(env.now, user), amount)
        granted.append((env.now, user, cause.span))
        assert cause.at_ps == env.now
        yield env.timeout(duration)
        slots.release(Cause(env.now, user), amount)

    for user, times in enumerate(uses):
        env.process(use(user, *times))
    env.run()
    assert slots.free == capacity
    return granted, slots.waits


def test_who_waits_goes_on_with_the_release_as_cause():
    assert story(1, (0, 1, 10), (3, 1, 10), (4, 1, 10)) == (
        [(0, 0, 0), (10, 1, 0), (20, 2, 1)],
        2,
    )


def test_a_small_demand_does_not_overtake_a_large_one():
    assert story(4, (0, 3, 10), (1, 4, 5), (2, 1, 1)) == (
        [(0, 0, 0), (10, 1, 0), (15, 2, 1)],
        2,
    )


def test_one_release_may_let_in_several():
    assert story(4, (0, 4, 10), (1, 2, 5), (2, 2, 9)) == (
        [(0, 0, 0), (10, 1, 0), (10, 2, 0)],
        2,
    )


def test_misuse_is_refused():
    env = simpy.Environment()
    with pytest.raises(ValueError, match="things must have a positive capacity, not 0"):
        Slots(env, "things", 0)
    slots = Slots(env, "things", 2)
    with pytest.raises(ValueError, match="things must be asked for 1 to 2, not 3"):
        next(slots.acquire(Cause(0, 0), 3))
    with pytest.raises(RuntimeError, match="must not get back more than was taken"):
        slots.release(Cause(0, 0))
    with pytest.raises(RuntimeError, match="things must be given back when"):
        slots.release(Cause(5, 0))
