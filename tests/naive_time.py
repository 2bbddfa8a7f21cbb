"""Cores and resources made of nothing but SimPy's own processes, events and resources.

The real ones must be like them to the last span: their number is the order in which they ended.
"""

import simpy

from cosim.spans import NO_CAUSE
from firmware_model.core import Core
from rtl.contract.kernel import Cause

__all__ = ["NaiveCore", "NaiveResource"]


class NaiveResource:
    """A SimPy resource that remembers who released it."""

    def __init__(self, kernel, name):
        self.name = name
        self.waits = 0
        self._kernel = kernel
        self._resource = simpy.Resource(kernel.env)
        self._released = Cause(-1, NO_CAUSE)

    def use(self, stage, duration_ps, cause):
        env = self._kernel.env
        ready_ps = env.now
        with self._resource.request() as grant:
            yield grant
            start_ps = env.now
            if start_ps != ready_ps:
                self.waits += 1
                cause = self._released
            yield env.timeout(duration_ps)
            self._released = self._kernel.record(
                self.name, stage, start_ps, env.now, cause, ready_ps=ready_ps
            )
        return self._released


class NaiveCore(Core):
    """The same loop as a story of its turns; queues, costs and counters are those of the base."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._arrival = self._env.event()
        self._env.process(self._loop())

    def ask(self, step):
        self._queues[step.routine.place].append(step)
        if not self._arrival.triggered:
            self._arrival.succeed()
        return step

    def _loop(self):
        env = self._env
        while True:
            if not any(self._queues):
                self._arrival = env.event()
                yield self._arrival
            visit_ps, index = self._visit_of_any()
            if visit_ps > env.now:
                self._arrival = env.event()
                yield self._arrival | env.timeout(visit_ps - env.now)
                if env.now < visit_ps:
                    continue  # more work came; the loop may pass its queue earlier
            self.ties += sum(map(bool, self._queues)) > 1
            yield from self._step(index, visit_ps)

    def _visit_of_any(self):
        """All queues with work, each at its first visit that is not over."""
        visits, offset_ps = [], 0
        for turn in range(len(self._queues)):
            index = (self._next_queue + turn) % len(self._queues)
            visit_ps = self._free_at + offset_ps
            while visit_ps < self._env.now:
                visit_ps += self._round_ps
            if self._queues[index]:
                visits.append((visit_ps, index))
            offset_ps += self._visit_ps[index]
        return min(visits)

    def _step(self, index, start_ps):
        step = self._queues[index].popleft()
        cause, ready_ps = step.cause, step.cause.at_ps
        if ready_ps < self._free_at and self._last is not None:
            self.waits += 1
            cause = self._last
        if cause.at_ps < start_ps:
            self.polls += 1
            cause = self._kernel.record(
                self.name, "firmware.poll", cause.at_ps, start_ps, cause, request=step.request
            )
        duration_ps = step.duration_ps
        if step.state is not None:
            yield self._env.timeout(0)  # what the step before did is done by then
            duration_ps = step.routine.duration_ps(step.state())
        yield self._env.timeout(duration_ps)
        self._last = self._kernel.record(
            self.name,
            step.routine.stage,
            start_ps,
            self._env.now,
            cause,
            request=step.request,
            kind=step.routine.kind,
            ready_ps=ready_ps,
        )
        self.steps += 1
        self.busy_ps += self._env.now - start_ps
        self._free_at = self._env.now
        self._next_queue = (index + 1) % len(self._queues)
        step.happen(self._env, self._last)
