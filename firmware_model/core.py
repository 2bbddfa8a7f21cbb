"""Embedded cores: a cooperative polling loop whose steps cost cycles and exclude each other."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from firmware_model.cost_table import CostTable, load_costs
from firmware_model.events import Awaited
from firmware_model.parameters import CoreParameters, FirmwareParameters, Task
from rtl.contract.kernel import Cause, Kernel

__all__ = ["Core", "Cores", "Routine", "Step"]

Counts = dict[str, int]
State = Callable[[], Counts]


class Step(Awaited):
    """One run of a routine, asked for; it happens at the run's end, with that as its value."""

    __slots__ = ("cause", "duration_ps", "ready_ps", "request", "routine", "state")

    def __init__(
        self,
        routine: "Routine",
        cause: Cause,
        request: int,
        duration_ps: int = 0,
        state: State | None = None,
    ) -> None:
        self.callbacks = []
        self.routine = routine
        self.cause = cause
        self.ready_ps = cause.at_ps
        self.request = request
        self.duration_ps = duration_ps
        self.state = state


class Routine:
    """A routine as a task of a core: ``cause = yield routine.step(cause)`` runs it once.

    Whoever runs it often keeps it; see :meth:`Cores.routine`.
    """

    __slots__ = ("_core", "_durations", "_name", "kind", "place", "stage")

    def __init__(self, core: "Core", task: Task, name: str) -> None:
        self.kind = task.value
        self.stage = f"firmware.{name}"
        self.place = core.tasks.index(task)
        """Of the task's queue, among those of the core."""
        self._core = core
        self._name = name
        self._durations: dict[tuple[Any, ...], int] = {}
        """Of the runs so far, by what they depend on."""

    def step(self, cause: Cause, *, request: int = 0, **counts: int) -> Step:
        """Queue a step now; to be waited for. ``counts`` are what its cost depends on.

        Raises
        ------
        RuntimeError
            If ``cause`` did not happen now: time would be lost.
        """
        return self._core.ask(Step(self, cause, request, self.duration_ps(counts)))

    def step_by_state(self, cause: Cause, state: State, *, request: int = 0) -> Step:
        """The same, where the cost depends on tables: ``state`` counts when the step begins."""
        return self._core.ask(Step(self, cause, request, 0, state))

    def duration_ps(self, counts: Counts) -> int:
        """How long a run takes."""
        key = (*counts, *counts.values())
        found = self._durations.get(key)
        if found is None:
            found = self._durations[key] = self._core.duration_ps(self._name, counts)
        return found


class Core:
    """One core running the polling loop over the task queues bound to it.

    The loop looks at the queues in turn, in the order of :class:`Task`. An empty queue costs
    ``poll_cycles`` and the load that shows it to be empty, of a device register or of a table; from
    one with work the oldest step is run to its end, its own loads included, and the loop goes on
    with the next queue. Visits of an idle core are computed, not simulated: they repeat with the
    time of a whole round after the last step's end, so that new work waits for the loop's phase.

    Each step is a span ``firmware.<routine>`` whose kind is its task, and the loop's way to it a
    span ``firmware.poll``. If the core was idle when the work came, the chain of causes leads to
    the work's own cause; if it was busy, to the step that occupied it last.

    Parameters
    ----------
    kernel : Kernel
    parameters : CoreParameters
    costs : CostTable
    tasks : sequence of Task
        The queues of this core.
    """

    def __init__(
        self,
        kernel: Kernel,
        parameters: CoreParameters,
        costs: CostTable,
        tasks: Sequence[Task],
    ) -> None:
        self.name = parameters.name
        self.tasks = tuple(task for task in Task if task in tasks)
        self.steps = 0
        self.polls = 0
        """Steps that waited for the loop to come round."""
        self.waits = 0
        """Steps that were ready while another one occupied the core."""
        self.ties = 0
        """Choices among work in more than one queue."""
        self.busy_ps = 0
        self._kernel = kernel
        self._env = kernel.env
        self._parameters = parameters
        self.costs = costs
        self._queues: tuple[deque[Step], ...] = tuple(deque() for _ in self.tasks)
        self._visit_ps = tuple(
            (parameters.poll_cycles + parameters.load_cycles(task.queue_place))
            * parameters.period_ps
            for task in self.tasks
        )
        """Time that each queue takes when it is empty."""
        self._round_ps = sum(self._visit_ps)
        self._ways = tuple(
            tuple(_way(self._queues, self._visit_ps, first)) for first in range(len(self.tasks))
        )
        """By the queue that is next, all queues in the order of visits: number, itself, and the
        time until its first one."""
        self._routines: dict[tuple[Task, str], Routine] = {}
        self._filled = 0
        """Queues that have work."""
        self._free_at = self._env.now
        self._last: Cause | None = None
        self._next_queue = 0
        self._start_ps = 0
        """When the loop comes to the queue whose turn is next, or the step that runs began."""
        self._index = 0
        """That queue."""
        self._is_on_way = False
        """Whether the loop is on its way there."""
        self._visits = 0
        """Times that it set out for a queue."""
        self._is_idle = True
        self._listens = True
        """Whether the loop is to hear of new work."""

    def routine(self, task: Task, name: str) -> Routine:
        """The routine ``name``, run by ``task``."""
        found = self._routines.get((task, name))
        if found is None:
            found = self._routines[task, name] = Routine(self, task, name)
        return found

    def duration_ps(self, routine: str, counts: Counts) -> int:
        """How long one run takes by the cost table."""
        parameters = self._parameters
        return self.costs.cycles(parameters, routine, **counts) * parameters.period_ps

    def ask(self, step: Step) -> Step:
        """Queue a step of one of this core's routines now; returns it.

        Raises
        ------
        RuntimeError
            If its cause did not happen now.
        """
        if step.ready_ps != self._env.now:
            raise RuntimeError(
                f"Step {step.routine.stage} must be asked for when its cause {step.cause} "
                f"happened, not at {self._env.now} ps"
            )
        queue = self._queues[step.routine.place]
        self._filled += not queue
        queue.append(step)
        if self._listens:
            self._listens = False
            if self._env.is_next():
                self._hear(is_next=True)
            else:
                self._env.call(self._hear_late)
        return step

    # The loop is calls from SimPy's queue. It is idle, or on its way to a queue with work, or in a
    # step. New work makes it look again, since its queue may be passed earlier. `is_next` says that
    # nothing is due before what else is to be done now.

    def _hear(self, is_next: bool) -> None:
        """New work has come. A step may have begun since, at the same time."""
        if self._is_idle:
            self._is_idle = False
            self._look(is_next)
        elif self._is_on_way:
            self._is_on_way = False
            if is_next:
                self._go_on(is_next)
            else:
                self._env.call(self._arrive)

    def _hear_late(self, _: None) -> None:
        self._hear(self._env.is_next())

    def _look(self, is_next: bool) -> None:
        """Begin the next step now, or go to its queue, or wait for work."""
        if not self._filled:
            self._is_idle = self._listens = True
            return
        self._start_ps, self._index = self._next_visit()
        way_ps = self._start_ps - self._env.now
        if way_ps > 0:
            self._is_on_way = self._listens = True
            self._visits += 1
            self._env.call(self._come, self._visits, way_ps)
        else:
            self._begin(is_next)

    def _come(self, visit: int) -> None:
        """The loop has come to a queue, if it did not go another way meanwhile."""
        if self._is_on_way and visit == self._visits:
            self._is_on_way = False
            if self._env.is_next():
                self._begin(is_next=True)
            else:
                self._env.call(self._arrive)

    def _arrive(self, _: None) -> None:
        self._go_on(self._env.is_next())

    def _go_on(self, is_next: bool) -> None:
        if self._env.now < self._start_ps:
            self._look(is_next)
        else:
            self._begin(is_next)

    def _next_visit(self) -> tuple[int, int]:
        """When the loop next looks at a queue that has work, and which one."""
        elapsed = self._env.now - self._free_at
        first, first_ps = -1, 0
        for index, queue, offset_ps in self._ways[self._next_queue]:
            if not queue:
                continue
            late_ps = elapsed - offset_ps
            if late_ps > 0:  # passed already, so often
                offset_ps += -(-late_ps // self._round_ps) * self._round_ps
            if first < 0 or offset_ps < first_ps or (offset_ps == first_ps and index < first):
                first, first_ps = index, offset_ps
            if late_ps <= 0:
                break  # those behind it are visited later
        return self._free_at + first_ps, first

    def _begin(self, is_next: bool) -> None:
        """Take the oldest work of the queue to which the loop has come."""
        self._listens = False
        self.ties += self._filled > 1
        queue = self._queues[self._index]
        step = queue.popleft()
        self._filled -= not queue
        if step.ready_ps < self._free_at and self._last is not None:
            self.waits += 1
            step.cause = self._last
        polled_ps = step.cause.at_ps
        if polled_ps < self._start_ps:
            self.polls += 1
            step.cause = self._kernel.record(
                self.name,
                "firmware.poll",
                polled_ps,
                self._start_ps,
                step.cause,
                request=step.request,
            )
        if step.state is None:
            self._env.call(self._end, step, step.duration_ps)
        elif is_next:
            self._spend(step)
        else:
            self._env.call(self._spend, step)  # what the step before did is done by then

    def _spend(self, step: Step) -> None:
        assert step.state is not None, "it says what the step costs"
        self._env.call(self._end, step, step.routine.duration_ps(step.state()))

    def _end(self, step: Step) -> None:
        end_ps = self._env.now
        self._free_at = end_ps
        self._last = self._kernel.record(
            self.name,
            step.routine.stage,
            self._start_ps,
            end_ps,
            step.cause,
            request=step.request,
            kind=step.routine.kind,
            ready_ps=step.ready_ps,
        )
        self.steps += 1
        self.busy_ps += end_ps - self._start_ps
        self._next_queue = (self._index + 1) % len(self._queues)
        if self._env.is_next():
            self._look(is_next=False)
            step.happen_now(self._last)
        else:
            step.happen(self._env, self._last)
            self._look(is_next=False)


def _way(
    queues: Sequence[deque[Step]], visit_ps: Sequence[int], first: int
) -> Iterator[tuple[int, deque[Step], int]]:
    offset_ps = 0
    for turn in range(len(queues)):
        index = (first + turn) % len(queues)
        yield index, queues[index], offset_ps
        offset_ps += visit_ps[index]


class Cores:
    """All cores of a device, and the binding of tasks to them.

    Each core has the costs of its kind, unless ``costs`` says otherwise.
    """

    def __init__(
        self, kernel: Kernel, parameters: FirmwareParameters, costs: CostTable | None = None
    ) -> None:
        policy = parameters.page_buffer_policy
        more = () if parameters.ftl is None else ("assumed_ftl",)

        def tables(kind: str) -> tuple[str, ...]:
            return (kind, "assumed", *more)

        self.cores = tuple(
            Core(
                kernel,
                core,
                load_costs(tables(core.kind), policy) if costs is None else costs,
                [task for task, name in parameters.binding.items() if name == core.name],
            )
            for core in parameters.cores
        )
        self.assumed = {
            routine: reason for core in self.cores for routine, reason in core.costs.assumed.items()
        }
        """Routines whose cost was not counted from code, with the reason."""
        by_name = {core.name: core for core in self.cores}
        self._by_task = {task: by_name[name] for task, name in parameters.binding.items()}

    def routine(self, task: Task, name: str) -> Routine:
        """The routine ``name``, run by ``task`` on the core that this is bound to."""
        return self._by_task[task].routine(task, name)

    def run(
        self, task: Task, routine: str, cause: Cause, *, request: int = 0, **counts: int
    ) -> Generator[Any, Any, Cause]:
        """Run a routine of ``task`` once, as :meth:`Routine.step`."""
        step = self.routine(task, routine).step(cause, request=request, **counts)
        end: Cause = yield step
        return end

    def run_by_state(
        self, task: Task, routine: str, cause: Cause, state: State, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Run a routine of ``task`` once, as :meth:`Routine.step_by_state`."""
        end: Cause = yield self.routine(task, routine).step_by_state(cause, state, request=request)
        return end
