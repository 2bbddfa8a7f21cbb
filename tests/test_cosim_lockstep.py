"""The lock-step loop against a scripted engine: order, times, writes, deadlock."""

import asyncio

import pytest

from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import Deadlock, LockStep, Report


class ScriptedEngine:
    """Events at given edge times; refuses to be driven against the rules."""

    def __init__(self, script):
        self.script = sorted(script)  # (edge_ps, unit, word)
        self.now_ps = BOOT_PS | 1
        self.log = []

    async def advance(self, until_ps):
        limit = float("inf") if until_ps is None else until_ps
        if not self.script or self.script[0][0] > limit:
            if until_ps is not None:
                self.now_ps = max(self.now_ps, until_ps | 1)
            return []
        edge_ps = self.script[0][0]
        reports = []
        while self.script and self.script[0][0] == edge_ps:
            _, unit, word = self.script.pop(0)
            reports.append(Report(unit, edge_ps, word))
        self.now_ps = edge_ps | 1
        return reports

    async def settle(self, at_ps):
        assert self.now_ps <= at_ps | 1
        self.now_ps = at_ps | 1

    def post(self):
        self.log.append(("post", self.now_ps))


def start(script, units=2):
    kernel = Kernel()
    engine = ScriptedEngine(script)
    lockstep = LockStep(kernel, engine)
    log = []

    def deliver(report):
        log.append(("rtl", int(kernel.env.now), report.unit, report.word))

    lockstep.attach(range(units), deliver, lambda: ["a read of way 3"])
    return kernel, engine, lockstep, log


def at(kernel, log, time_ps, name):
    def act():
        yield kernel.env.timeout(time_ps - kernel.env.now)
        log.append(("kernel", int(kernel.env.now), name))

    return kernel.env.process(act())


def run(lockstep, until):
    return asyncio.run(lockstep.run(until))


def test_events_and_kernel_steps_come_in_the_order_of_time():
    kernel, _, lockstep, log = start([(1_020_000, 0, 7), (1_060_000, 1, 8)])
    at(kernel, log, 1_030_000, "a")
    run(lockstep, at(kernel, log, 1_070_000, "b"))
    assert log == [
        ("rtl", 1_020_000, 0, 7),
        ("kernel", 1_030_000, "a"),
        ("rtl", 1_060_000, 1, 8),
        ("kernel", 1_070_000, "b"),
    ]


def test_each_time_is_shown_once_and_whole():
    """The two events of one time are one step, and what follows them at once belongs to it."""
    kernel, _, lockstep, log = start([(1_020_000, 0, 7), (1_020_000, 1, 8), (1_060_000, 1, 9)])
    at(kernel, log, 1_020_000, "a")
    seen = []
    lockstep.on_step = lambda: seen.append((int(kernel.env.now), len(log)))
    run(lockstep, at(kernel, log, 1_070_000, "b"))
    assert seen[-3:] == [(1_020_000, 3), (1_060_000, 4), (1_070_000, 5)]
    assert [time_ps for time_ps, _ in seen] == sorted({time_ps for time_ps, _ in seen})


def test_rtl_comes_first_at_equal_times_in_the_order_of_units():
    kernel, _, lockstep, log = start([(1_020_000, 1, 5), (1_020_000, 0, 4)])
    end = at(kernel, log, 1_020_000, "a")
    run(lockstep, end)
    assert [entry[0] for entry in log] == ["rtl", "rtl", "kernel"]
    assert [entry[2] for entry in log[:2]] == [0, 1]


def test_rtl_comes_before_a_process_that_starts_at_the_same_time():
    # The start of a process is urgent in SimPy; the RTL is more so.
    kernel, _, lockstep, log = start([(BOOT_PS, 0, 4)])

    def act():
        log.append(("kernel", int(kernel.env.now), "start"))
        yield kernel.env.timeout(1)

    run(lockstep, kernel.env.process(act()))
    assert [entry[0] for entry in log] == ["rtl", "kernel"]


def test_a_write_is_made_after_everything_of_its_time():
    kernel, engine, lockstep, log = start([(1_020_000, 0, 4)])

    def act():
        yield kernel.env.timeout(20_000)
        lockstep.post(lambda: log.append(("write", engine.now_ps)))
        yield kernel.env.timeout(0)
        log.append(("kernel", int(kernel.env.now), "later, same time"))

    run(lockstep, kernel.env.process(act()))
    assert log == [
        ("rtl", 1_020_000, 0, 4),
        ("kernel", 1_020_000, "later, same time"),
        ("write", 1_020_001),
    ]
    assert engine.log == [("post", 1_020_001)]


def test_the_rtl_alone_can_move_time():
    kernel, engine, _, _ = start([(9_000_000, 2, 3)])
    lockstep = LockStep(kernel, engine)
    done = kernel.env.event()
    lockstep.attach([2], lambda report: done.succeed(report.word), list)
    assert run(lockstep, done) == 3
    assert kernel.env.now == 9_000_000


def test_nothing_to_come_is_a_deadlock_that_names_what_waits():
    kernel, _, lockstep, _ = start([])
    with pytest.raises(Deadlock, match=r"at 1000000 ps; outstanding: a read of way 3"):
        run(lockstep, kernel.env.event())


def test_a_failed_process_raises_its_error():
    kernel, _, lockstep, _ = start([])

    def fail():
        yield kernel.env.timeout(1)
        raise KeyError("page 5")

    with pytest.raises(KeyError, match="page 5"):
        run(lockstep, kernel.env.process(fail()))


def test_a_unit_has_one_receiver():
    _, _, lockstep, _ = start([])
    with pytest.raises(ValueError, match="Unit 1 must have one receiver"):
        lockstep.attach([1], lambda report: None, list)
