"""Embedded cores: a cooperative polling loop whose steps cost cycles and exclude each other."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple

from firmware_model.cost_table import CostTable, load_costs
from firmware_model.parameters import CoreParameters, FirmwareParameters, Task
from rtl.contract.kernel import Cause, Kernel

__all__ = ["Core", "Cores"]

Counts = dict[str, int]
State = Callable[[], Counts]


class _Work(NamedTuple):
    task: Task
    routine: str
    counts: Counts | State
    cause: Cause
    request: int
    done: Any


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
        self._known: dict[tuple[Any, ...], int] = {}
        """Cycles of the steps run so far, by routine and counts."""
        self._queues: tuple[deque[_Work], ...] = tuple(deque() for _ in self.tasks)
        self._visit_ps = tuple(
            (parameters.poll_cycles + parameters.load_cycles(task.queue_place))
            * parameters.period_ps
            for task in self.tasks
        )
        """Time that each queue takes when it is empty."""
        self._round_ps = sum(self._visit_ps)
        self._free_at = int(self._env.now)
        self._last: Cause | None = None
        self._next_queue = 0
        self._arrival: Any = self._env.event()
        if self.tasks:
            self._env.process(self._loop())

    def run(
        self, task: Task, routine: str, cause: Cause, *, request: int = 0, **counts: int
    ) -> Generator[Any, Any, Cause]:
        """Queue one step now and wait for its end; ``counts`` are what its cost depends on.

        Raises
        ------
        RuntimeError
            If ``cause`` did not happen now: time would be lost.
        """
        self._cycles(routine, counts)  # wrong counts are an error of who asks
        return self._ask(task, routine, counts, cause, request)

    def run_by_state(
        self, task: Task, routine: str, cause: Cause, state: State, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """The same, where the cost depends on tables: ``state`` counts when the step begins."""
        return self._ask(task, routine, state, cause, request)

    def _ask(
        self, task: Task, routine: str, counts: Counts | State, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        if cause.at_ps != self._env.now:
            raise RuntimeError(
                f"Step {routine} must be asked for when its cause {cause} happened, "
                f"not at {self._env.now} ps"
            )
        work = _Work(task, routine, counts, cause, request, self._env.event())
        self._queues[self.tasks.index(task)].append(work)
        if not self._arrival.triggered:
            self._arrival.succeed()
        end: Cause = yield work.done
        return end

    def _cycles(self, routine: str, counts: Counts) -> int:
        key = routine, *counts.items()
        if key not in self._known:
            self._known[key] = self.costs.cycles(self._parameters, routine, **counts)
        return self._known[key]

    def _loop(self) -> Generator[Any, Any, None]:
        env = self._env
        while True:
            if not any(self._queues):
                self._arrival = env.event()
                yield self._arrival
            visit_ps, index = self._next_visit()
            if visit_ps > env.now:
                self._arrival = env.event()
                yield self._arrival | env.timeout(visit_ps - int(env.now))
                if env.now < visit_ps:
                    continue  # more work came; the loop may pass its queue earlier
            self.ties += sum(map(bool, self._queues)) > 1
            yield from self._step(index, visit_ps)

    def _next_visit(self) -> tuple[int, int]:
        """When the loop next looks at a queue that has work, and which one."""
        size, elapsed = len(self._queues), int(self._env.now) - self._free_at
        offset_ps = 0  # of the queue's first visit
        visits = []
        for turn in range(size):
            index = (self._next_queue + turn) % size
            if self._queues[index]:
                rounds = max(0, -(-(elapsed - offset_ps) // self._round_ps))
                visits.append((self._free_at + offset_ps + rounds * self._round_ps, index))
            offset_ps += self._visit_ps[index]
        return min(visits)

    def _step(self, index: int, start_ps: int) -> Generator[Any, Any, None]:
        work = self._queues[index].popleft()
        cause, ready_ps = work.cause, work.cause.at_ps
        if ready_ps < self._free_at and self._last is not None:
            self.waits += 1
            cause = self._last
        if cause.at_ps < start_ps:
            self.polls += 1
            cause = self._kernel.record(
                self.name, "firmware.poll", cause.at_ps, start_ps, cause, request=work.request
            )
        counts = work.counts
        if callable(counts):
            yield self._env.timeout(0)  # what the step before did is done by then
            counts = counts()
        duration_ps = self._cycles(work.routine, counts) * self._parameters.period_ps
        yield self._env.timeout(duration_ps)
        end_ps = start_ps + duration_ps
        done = self._kernel.record(
            self.name,
            f"firmware.{work.routine}",
            start_ps,
            end_ps,
            cause,
            request=work.request,
            kind=work.task.value,
            ready_ps=ready_ps,
        )
        self.steps += 1
        self.busy_ps += duration_ps
        self._free_at, self._last = end_ps, done
        self._next_queue = (index + 1) % len(self._queues)
        work.done.succeed(done)


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

    def run(
        self, task: Task, routine: str, cause: Cause, *, request: int = 0, **counts: int
    ) -> Generator[Any, Any, Cause]:
        """As :meth:`Core.run`, on the core that ``task`` is bound to."""
        return self._by_task[task].run(task, routine, cause, request=request, **counts)

    def run_by_state(
        self, task: Task, routine: str, cause: Cause, state: State, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """As :meth:`Core.run_by_state`, on the core that ``task`` is bound to."""
        core = self._by_task[task]
        return core.run_by_state(task, routine, cause, state, request=request)
