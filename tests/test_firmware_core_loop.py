"""The polling loop and the resources do what simple processes of SimPy would, ties included."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from cosim.kernel import CausalResource, Kernel
from firmware_model.core import Core
from firmware_model.parameters import Task
from tests.naive_time import NaiveCore, NaiveResource
from tests.test_firmware_core import CORE, COSTS

NS = 1000
TASKS = {
    "core0": (Task.FRONT_END, Task.TRANSLATE, Task.GATHER),
    "core1": (Task.FLASH_COMPLETION, Task.WRITE_BACK),
}
PLACES = [(name, task) for name, tasks in TASKS.items() for task in tasks]
QUICK = replace(CORE, poll_cycles=5, load_ps={"table": 5_000, "registers": 15_000})
"""Steps of 70 cycles and less; a round takes 40 or 30, so that much happens at one time."""
ACTS = st.one_of(
    st.tuples(st.just("step"), st.sampled_from(PLACES)),
    st.tuples(st.just("counted"), st.sampled_from(PLACES)),
    st.tuples(st.just("use"), st.integers(0, 7).map(lambda tens: tens * 10 * NS)),
    st.tuples(st.just("wait"), st.integers(0, 7).map(lambda tens: tens * 10 * NS)),
    st.tuples(st.just("fork"), st.none()),
)
FLOWS = st.lists(
    st.tuples(st.integers(0, 20).map(lambda tens: tens * 10 * NS), st.lists(ACTS, max_size=8)),
    min_size=1,
    max_size=8,
)


def play(flows, core_type, resource_type):
    """All flows side by side; returns the spans, and what was counted."""
    kernel = Kernel()
    env = kernel.env
    cores = {
        name: core_type(kernel, replace(QUICK, name=name), COSTS, tasks)
        for name, tasks in TASKS.items()
    }
    resource, done = resource_type(kernel, "bus"), []

    def flow(start_ps, acts):
        yield env.timeout(start_ps)
        cause = kernel.origin("outside", "start")
        for number, (act, what) in enumerate(acts):
            if act == "fork":
                env.process(flow(0, acts[number + 1 :]))
            elif act == "wait":
                begun = env.now
                yield env.timeout(what)
                cause = kernel.record("outside", "wait", begun, env.now, cause)
            elif act == "use":
                cause = yield from resource.use("use", what, cause)
            else:
                name, task = what
                core = cores[name]
                if act == "step":
                    cause = yield core.routine(task, "work").step(cause)
                else:
                    cause = yield core.routine(task, "loop").step_by_state(
                        cause, lambda: {"turn": len(done)}
                    )
            done.append(act)

    for start_ps, acts in flows:
        env.process(flow(start_ps, acts))
    env.run()
    counted = [(one.steps, one.polls, one.waits, one.ties, one.busy_ps) for one in cores.values()]
    return list(kernel.spans), counted, resource.waits


@given(flows=FLOWS)
@settings(max_examples=150, deadline=None)
def test_loop_and_resource_are_those_of_simple_processes(flows):
    assert play(flows, Core, CausalResource) == play(flows, NaiveCore, NaiveResource)


def test_what_comes_next_is_known_only_when_nothing_is_due_before():
    kernel = Kernel()
    env, found = kernel.env, []

    def ask(_=None):
        found.append(env.is_next())

    env.timeout(10).callbacks.append(ask)
    env.run()
    both = env.timeout(10)
    both.callbacks += [ask, ask]  # the second is to come
    env.run()
    env.timeout(10).callbacks.append(ask)
    env.timeout(10)  # this one, too
    env.run()
    assert found == [True, False, False, False]


def test_a_run_that_is_stopped_at_an_event_goes_on_with_the_rest_of_it():
    env, seen = Kernel().env, []
    stop = env.timeout(10, "value")

    def wait(start_ps, name):
        yield env.timeout(start_ps)
        yield stop
        seen.append(name)

    env.process(wait(5, "after"))
    stop.callbacks.append(lambda _: seen.append("before"))
    assert env.run(until=stop) == "value"
    assert seen == ["before"]
    env.run()
    assert seen == ["before", "after"]
