"""The polling loop of a core: phase, order, exclusion, causes. Times worked out by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from cosim.kernel import BOOT_PS, Kernel
from firmware_model.core import Core
from firmware_model.cost_table import CostTable, Linear, RoutineCost
from firmware_model.parameters import CoreParameters, Task

# 1 ns a cycle, 20 cycles to pass an empty queue, 100 cycles (60 + 2 loads of 20) a step.
CORE = CoreParameters(
    name="core0",
    period_ps=1000,
    issue_rate=Fraction(1),
    load_ps={"table": 19_001},
    poll_cycles=20,
)
COSTS = CostTable(
    {
        "work": RoutineCost(
            instructions=Linear(Fraction(60)), loads={"table": Linear(Fraction(2))}
        ),
        "loop": RoutineCost(
            instructions=Linear(Fraction(5, 2), {"turn": Fraction(3, 2)}), loads={}
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
            yield from self.core.run(task, routine, cause, **counts)

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
        (1, Task.FRONT_END, 40),  # just missed: once round the loop, two visits of 20
        (30, Task.FRONT_END, 40),
        (40, Task.FRONT_END, 40),
        (41, Task.FRONT_END, 80),
        (1, Task.GATHER, 20),
        (20, Task.GATHER, 20),
        (21, Task.GATHER, 60),
        (1_000_001, Task.GATHER, 1_000_020),
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
        ("poll", 100, 120, "work"),  # past the empty queue of translations
        ("work", 120, 220, "poll"),  # gather, though asked for later
        ("work", 220, 320, "work"),
    ]
    assert loop.core.ties == 1
    assert loop.core.waits == 2
    assert loop.core.busy_ps == 300 * NS


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
    loop.at(1, Task.FRONT_END)  # to be seen at 60
    loop.at(35, Task.GATHER)  # seen at 40
    assert [event[:3] for event in loop.events()] == [
        ("poll", 35, 40),
        ("work", 40, 140),
        ("work", 140, 240),
    ]


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
        yield from loop.core.run(Task.GATHER, "work", cause)

    loop.kernel.env.process(late())
    with pytest.raises(RuntimeError, match="must be asked for when its cause"):
        loop.kernel.env.run()
