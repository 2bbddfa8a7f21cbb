"""Entries of SimPy's queue that are less than events, beside those that are."""

import pytest

from cosim.kernel import Kernel
from firmware_model.events import Awaited, Errand, Landing, Pause


def test_all_keep_their_places_among_events():
    env, seen = Kernel().env, []

    def wait(name, awaited):
        value = yield awaited
        seen.append((name, value))

    awaited = Awaited()
    env.process(wait("awaited", awaited))
    Errand(env, wait("pause", Pause(env, 10)))
    env.run(until=env.now + 5)
    env.call(seen.append, "call", 5)
    Errand(env, wait("event", env.timeout(5, "late")))
    env.timeout(5).callbacks.append(lambda _: awaited.happen(env, "last"))
    env.run()
    assert seen == [("pause", None), "call", ("event", "late"), ("awaited", "last")]


def test_what_happens_now_is_before_all_else():
    env, seen = Kernel().env, []
    awaited = Awaited()

    def wait():
        seen.append((yield awaited))

    def act(_):
        awaited.happen_now("value")
        seen.append("acted")

    Errand(env, wait())
    env.call(act)
    env.run()
    assert seen == ["value", "acted"]


def test_an_errand_goes_on_at_once_where_what_it_waits_for_is_over():
    env, seen = Kernel().env, []
    over = env.timeout(5, "over")
    env.run()

    def wait():
        seen.append((yield over))
        seen.append((yield env.timeout(5, "then")))

    Errand(env, wait())
    env.run()
    assert seen == ["over", "then"]


def test_an_errand_may_catch_what_went_wrong_and_else_ends_the_run():
    env, seen = Kernel().env, []

    def fail():
        yield env.timeout(5)
        raise LookupError("lost")

    def catch():
        try:
            yield env.process(fail())
        except LookupError as error:
            seen.append(str(error))

    def let():
        yield env.process(fail())

    Errand(env, catch())
    env.run()
    assert seen == ["lost"]
    Errand(env, let())
    with pytest.raises(LookupError, match="lost"):
        env.run()


def test_an_errand_begins_like_a_process_before_what_is_due():
    env, seen = Kernel().env, []

    def flow(name):
        seen.append(name)
        yield env.timeout(1)

    env.timeout(0).callbacks.append(lambda _: seen.append("due"))
    env.process(flow("process"))
    Errand(env, flow("errand"))
    env.run()
    assert seen == ["process", "errand", "due"]


@pytest.mark.parametrize("waiting", [0, 1, 3])
def test_any_number_may_wait_for_a_landing_and_who_asks_later_goes_on_at_once(waiting):
    env, seen, landing = Kernel().env, [], Landing()

    def wait(name):
        seen.append((name, (yield landing)))

    for name in range(waiting):
        env.process(wait(name))
    env.run(until=env.now + 1)
    landing.happen(env, "down")
    env.process(wait("same time"))
    env.run(until=env.now + 1)
    env.process(wait("late"))
    env.run()
    assert seen == [(name, "down") for name in (*range(waiting), "same time", "late")]
    assert landing.value == "down"
