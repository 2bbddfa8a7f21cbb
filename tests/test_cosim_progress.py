"""How far a simulation is: its file, and what the command makes of it."""

import asyncio
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from cosim import compare as compare_module
from cosim import progress as progress_module
from cosim.config.load import load_config, pack
from cosim.progress import ProgressFile, Reached, read_progress
from cosim.systems import child
from cosim.systems.child import PROGRESS_FILE
from cosim.systems.inputs import load_inputs
from tests.system_runs import SMALL


@pytest.fixture
def clock(monkeypatch):
    """The wall clock, standing until its ``at_s`` is moved."""
    clock = SimpleNamespace(at_s=100.0)
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: clock.at_s))
    return clock


def test_time_is_noted_now_and_then_and_the_end_of_a_batch_at_once(clock, tmp_path):
    path = tmp_path / "progress"
    with ProgressFile(path) as file:
        file.write(Reached(0, 1_000_000))
        file.write(Reached(0, 2_000_000))
        assert read_progress(path) == (0, 1_000_000)
        clock.at_s += progress_module.INTERVAL_S
        file.write(Reached(0, 3_000_000))
        assert read_progress(path) == (0, 3_000_000)
        file.write(Reached(1, 4_000_000))
        assert read_progress(path) == (1, 4_000_000)


def test_nothing_is_reached_without_a_whole_file(tmp_path):
    path = tmp_path / "progress"
    assert read_progress(path) == (0, 0)
    path.write_bytes(b"  12")
    assert read_progress(path) == (0, 0)


class MachineOfTwoBatches:
    """In the place of a machine: time goes on by a millisecond a step, two steps a mini-batch."""

    def __init__(self):
        self.batches = []
        self.kernel = SimpleNamespace(env=SimpleNamespace(now=0))

    async def run(self, on_step):
        for step in range(1, 5):
            self.kernel.env.now += 10**9
            if step % 2 == 0:
                self.batches.append(step)
            on_step()
            self.seen.append(read_progress(self.folder / PROGRESS_FILE))


def test_a_simulation_notes_how_far_it_is(clock, tmp_path, monkeypatch):
    machine = MachineOfTwoBatches()
    machine.folder, machine.seen = tmp_path, []

    async def start(*arguments, **options):
        return machine

    monkeypatch.setattr(child.Machine, "start", start)
    monkeypatch.setattr(child, "save_system", lambda result, folder: None)
    loaded = load_config(SMALL)
    job = {
        "loaded": pack(loaded),
        "inputs_sha256": load_inputs(loaded).sha256,
        "system": "fpga-csd",
        "folder": str(tmp_path),
    }
    asyncio.run(child.run_system(None, job))
    # The clock stands: what is not the end of a mini-batch is noted the first time only.
    ms = 10**9
    assert machine.seen == [(0, ms), (1, 2 * ms), (1, 2 * ms), (2, 4 * ms)]


class Told:
    """Progress that ends the jobs when it has heard of them."""

    def __init__(self, steps):
        self.heard = []
        self._steps = steps

    def advance(self, units=1):
        self.heard.append(units)

    def tell(self, where):
        self.heard.append(where)
        next(self._steps, None)


def test_the_command_hears_of_batches_and_of_the_time_in_systems_that_run(
    clock, tmp_path, monkeypatch
):
    monkeypatch.setattr(compare_module, "POLL_S", 0.01)
    jobs = {name: Future() for name in ("one", "two", "three")}
    works = [tmp_path / name for name in jobs]
    for work in works:
        work.mkdir()

    def simulate():
        with (
            ProgressFile(works[0] / PROGRESS_FILE) as one,
            ProgressFile(works[1] / PROGRESS_FILE) as two,
        ):
            one.write(Reached(0, 2_500_000_000))
            yield
            one.write(Reached(2, 4_000_000_000))
            two.write(Reached(0, 1_000_000))
            yield
            jobs["one"].set_result(None)
            yield
            jobs["two"].set_result(None)
            jobs["three"].set_result(None)

    told = Told(simulate())
    compare_module._watch(jobs, works, told)
    assert told.heard == [
        "",
        "one at 2.500 ms",
        2,
        "one at 4.000 ms, two at 0.001 ms",
        "two at 0.001 ms",
        "",
    ]


def test_a_failure_is_raised_while_others_run(tmp_path):
    jobs = {"one": Future(), "two": Future()}
    jobs["two"].set_exception(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        compare_module._watch(jobs, [tmp_path / name for name in jobs], Told(iter(())))
