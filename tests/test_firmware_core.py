"""The polling loop of a core: phase, order, exclusion, causes. Times worked out by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from cosim.kernel import BOOT_PS, Kernel
from firmware_model.core import Core
from firmware_model.cost_table import CostTable, Linear, RoutineCost
from firmware_model.parameters import CoreParameters, Task

# 1 ns a cycle, 100 cycles (60 + 2 loads of 20) a step. To pass an empty queue takes 10 cycles and
# a load: 30 cycles for a table, 60 for the front end and for flash completions.
CORE = CoreParameters(
    name="core0",
    kind="cortex_a9",
    period_ps=1000,
    issue_rate=Fraction(1),
    load_ps={"table": 19_001, "registers": 49_001},
    poll_cycles=10,
)
COSTS = CostTable(
    {
        "work": RoutineCost(
            instructions=Linear(Fraction(60)), loads={"table": Linear(Fraction(2))}
        ),
        "loop": RoutineCost(
            instructions=Linear(Fraction(5, 2), {"turn": Fraction(3, 2)}),
            loads={},
            counts=frozenset({"turn"}),
        ),
        "nothing": RoutineCost(instructions=Linear(Fraction(0)), loads={}),
    }
)
NS = 1000


class Loop:
    """Runs steps asked for at given times; ``events``: (stage, start, end, cause) in ns."""

    def __init__(self, *tasks, core=CORE):
        self.kernel = Kernel()
        self.core = Core(self.kernel, core, COSTS, tasks)

    def at(self, time_ns, task, routine="work", **counts):
        env = self.kernel.env

        def flow():
            yield env.timeout(time_ns * NS)
            cause = self.kernel.origin("outside", f"{task.value}@{time_ns}")
            yield self.core.routine(task, routine).step(cause, **counts)

        env.process(flow())

    def events(self):
        self.kernel.env.run()
        log = self.kernel.spans

        def ns(time_ps):
            assert (time_ps - BOOT_PS) % NS == 0
            return (time_ps - BOOT_PS) // NS

        return [
            (
                span.stage.removeprefix("firmware."),
                ns(span.start_ps),
                ns(span.end_ps),
                log[span.cause].stage.removeprefix("firmware."),
            )
            for span in sorted(log, key=lambda span: span.end_ps)
            if span.unit == "core0"
        ]


def test_first_visit_is_at_once_and_free_of_polling():
    loop = Loop(Task.FRONT_END, Task.GATHER)
    loop.at(0, Task.FRONT_END)
    assert loop.events() == [("work", 0, 100, "front-end@0")]


@pytest.mark.parametrize(
    ("asked", "task", "start"),
    [
        (1, Task.FRONT_END, 90),  # just missed: once round the loop, past 60 and 30
        (30, Task.FRONT_END, 90),
        (90, Task.FRONT_END, 90),
        (91, Task.FRONT_END, 180),
        (1, Task.GATHER, 60),
        (60, Task.GATHER, 60),
        (61, Task.GATHER, 150),
        (1_000_001, Task.GATHER, 60 + 11_111 * 90),
    ],
)
def test_idle_core_notices_work_at_the_loop_s_phase(asked, task, start):
    loop = Loop(Task.GATHER, Task.FRONT_END)
    loop.at(asked, task)
    cause = f"{task.value}@{asked}"
    poll = [("poll", asked, start, cause)] if start > asked else []
    assert loop.events() == [*poll, ("work", start, start + 100, "poll" if poll else cause)]


def test_busy_core_goes_on_with_the_next_queue_and_names_the_step_before():
    loop = Loop(Task.FRONT_END, Task.TRANSLATE, Task.GATHER)
    loop.at(0, Task.FRONT_END)
    loop.at(50, Task.FRONT_END)
    loop.at(60, Task.GATHER)
    assert loop.events() == [
        ("work", 0, 100, "front-end@0"),
        ("poll", 100, 130, "work"),  # past the empty queue of translations
        ("work", 130, 230, "poll"),  # gather, though asked for later
        ("work", 230, 330, "work"),
    ]
    assert loop.core.ties == 1
    assert loop.core.waits == 2
    assert loop.core.busy_ps == 300 * NS


def test_a_step_s_cost_may_follow_from_the_state_at_its_beginning():
    """The second step begins when the first one has ended, and done what it is there for."""
    loop = Loop(Task.GATHER)
    env, turns = loop.kernel.env, []

    def state():
        return {"turn": len(turns)}

    def flow(name, time_ns):
        yield env.timeout(time_ns * NS)
        cause = loop.kernel.origin("outside", name)
        yield loop.core.routine(Task.GATHER, "loop").step_by_state(cause, state)
        turns.extend(range(5))

    env.process(flow("first", 0))
    env.process(flow("second", 1))
    # ceil(5/2 + 3/2 turns): 3 cycles, then 10.
    assert loop.events() == [("loop", 0, 3, "first"), ("loop", 3, 13, "loop")]


def test_work_that_comes_as_the_core_falls_idle_did_not_wait_for_it():
    loop = Loop(Task.GATHER)
    loop.at(0, Task.GATHER)
    loop.at(100, Task.GATHER)
    assert loop.events()[1] == ("work", 100, 200, "gather@100")
    assert loop.core.waits == 0


def test_steps_of_one_queue_are_first_come_first_served():
    loop = Loop(Task.GATHER)
    for time in (0, 10, 20):
        loop.at(time, Task.GATHER, "loop", turn=9 + time)
    # ceil(2.5 + 1.5 * n) cycles
    assert [event[1:3] for event in loop.events()] == [(0, 16), (16, 47), (47, 93)]


def test_work_that_comes_while_the_loop_is_on_its_way_may_be_passed_first():
    loop = Loop(Task.FRONT_END, Task.TRANSLATE, Task.GATHER)
    loop.at(1, Task.FRONT_END)  # to be seen at 120
    loop.at(65, Task.GATHER)  # seen at 90
    assert [event[:3] for event in loop.events()] == [
        ("poll", 65, 90),
        ("work", 90, 190),
        ("work", 190, 290),
    ]


@pytest.mark.parametrize(
    ("task", "place"),
    [
        (task, "registers" if task in (Task.FRONT_END, Task.FLASH_COMPLETION) else "table")
        for task in Task
    ],
)
def test_passing_an_empty_queue_costs_the_load_that_shows_it(task, place):
    base, slow = {"table": 19_001, "registers": 49_001}, {"table": 39_001, "registers": 99_001}
    for load_ps in (base, base | {place: slow[place]}):
        loop = Loop(task, core=replace(CORE, load_ps=load_ps))
        loop.at(1, task)
        visit = 10 + -(-load_ps[place] // NS)
        assert loop.events()[0][:3] == ("poll", 1, visit)


def test_core_without_the_latency_of_its_queues_is_refused():
    with pytest.raises(KeyError, match="must have a load latency for 'registers'"):
        Loop(Task.FLASH_COMPLETION, core=replace(CORE, load_ps={"table": 1}))


def test_cost_waits_for_each_load_in_whole_cycles():
    assert COSTS.cycles(CORE, "work") == 100
    slow = replace(CORE, load_ps={"table": 20_001}, issue_rate=Fraction(3, 2))
    assert COSTS.cycles(slow, "work") == 40 + 2 * 21


def test_step_without_cycles_is_refused():
    with pytest.raises(ValueError, match="nothing must cost at least one cycle, not 0"):
        COSTS.cycles(CORE, "nothing")


def test_counts_must_be_those_of_the_routine():
    with pytest.raises(ValueError, match=r"loop must be given the counts \['turn'\], not \[\]"):
        COSTS.cycles(CORE, "loop")
    with pytest.raises(KeyError, match="must have a load latency for 'table'"):
        COSTS.cycles(replace(CORE, load_ps={}), "work")


def test_step_asked_for_later_than_its_cause_is_refused():
    loop = Loop(Task.GATHER)
    cause = loop.kernel.origin("outside", "early")

    def late():
        yield loop.kernel.env.timeout(1)
        yield loop.core.routine(Task.GATHER, "work").step(cause)

    loop.kernel.env.process(late())
    with pytest.raises(RuntimeError, match="must be asked for when its cause"):
        loop.kernel.env.run()
