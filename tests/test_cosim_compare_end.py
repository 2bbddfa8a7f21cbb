"""The main job is ended: by a failure of one of its simulations, by its user, by a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cosim import compare as compare_module
from cosim.compare import compare
from cosim.config.load import load_config
from cosim.engines import run as run_module
from cosim.engines.build import Build
from cosim.engines.run import SimulationFailed
from cosim.engines.tools import Simulator

ENDED_WITHIN_S = 20
START_S = 60
GONE_S = 5
AT_ONCE = min(2, os.cpu_count() or 1)
"""Simulators that run together."""
PATCHED = [
    sys.executable, "-c", "from tests.test_cosim_compare_end import patched_main; patched_main()",
]  # fmt: skip


def stand_in(build, folder):
    """Command in the simulator's place: one system fails soon, the other one would take minutes."""
    if folder.name == os.environ.get("FAILS"):
        script = "import time; time.sleep(0.5); print('boom', flush=True); raise SystemExit(3)"
    else:
        pids = os.environ["PIDS"]
        script = (
            "import os, time; from pathlib import Path\n"
            f"Path({pids!r}, str(os.getpid())).touch(); time.sleep(300)"
        )
    return [sys.executable, "-c", script]


def no_build(*arguments, **options):
    return Build(Simulator.ICARUS, Path(), Path(), waves=False)


def patched_main():
    """The command with stand-ins for simulators; see :func:`stand_in`."""
    from cosim.cli import main

    run_module._command = stand_in
    compare_module.build = no_build
    compare_module.require = lambda simulator: None
    main()


def runs(number):
    """Whether the process still runs; one that only waits for its parent to look does not."""
    try:
        stat = Path("/proc", str(number), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def alive(folder):
    """Those of the processes whose numbers are names in ``folder`` that still run."""
    return [path.name for path in folder.iterdir() if runs(path.name)]


def wait_for(what, limit_s):
    until = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


class TestEnd:
    @pytest.fixture
    def pids(self, tmp_path, monkeypatch):
        folder = tmp_path / "pids"
        folder.mkdir()
        monkeypatch.setenv("PIDS", str(folder))
        return folder

    @pytest.fixture
    def out(self, tmp_path):
        return tmp_path / "runs" / "here"

    def test_one_failure_ends_all(self, write_example, pids, out, monkeypatch):
        monkeypatch.setattr(run_module, "_command", stand_in)
        monkeypatch.setattr(compare_module, "build", no_build)
        monkeypatch.setattr(compare_module, "require", lambda simulator: None)
        monkeypatch.setenv("FAILS", "work-fpga-csd")
        log = out.with_name("here.failed.log")
        began = time.monotonic()
        with pytest.raises(SimulationFailed) as failed:
            compare(load_config(write_example()), out=out)
        assert time.monotonic() - began < ENDED_WITHIN_S
        assert str(failed.value) == f"The simulator ended with status 3; see {log}"
        assert log.read_text() == "boom\n"
        assert alive(pids) == []
        assert list(out.parent.iterdir()) == [log]

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_ends_all(self, write_example, pids, out, number, status):
        command = subprocess.Popen(
            [*PATCHED, "compare", write_example(), "--out", out], stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
        command.send_signal(number)
        _, errors = command.communicate(timeout=ENDED_WITHIN_S)
        assert command.returncode == status
        lines = [line for line in errors.splitlines() if not line.endswith("...")]
        assert lines == [f"csd-cosim: stopped by {number.name}; nothing of the run was kept"]
        assert alive(pids) == []
        assert list(out.parent.iterdir()) == []

    @pytest.mark.slow
    def test_no_simulator_outlives_a_killed_command(self, write_example, pids, out):
        command = subprocess.Popen(
            [*PATCHED, "compare", write_example(), "--out", out], stderr=subprocess.DEVNULL
        )
        wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
        command.kill()
        command.wait()
        wait_for(lambda: not alive(pids), GONE_S)

    @pytest.mark.slow
    @pytest.mark.parametrize("option", ["--with-parent", None])
    def test_a_command_may_end_with_its_parent(self, write_example, pids, out, option):
        """And clean up, as after any signal; by default it goes on."""
        options = [] if option is None else [option]
        started = [*PATCHED, *options, "compare", str(write_example()), "--out", str(out)]
        script = (
            "import subprocess as s\n"
            f"command = s.Popen({started!r}, stdout=s.DEVNULL, stderr=s.DEVNULL)\n"
            "print(command.pid, flush=True); command.wait()"
        )
        parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        command = int(parent.stdout.readline())
        try:
            wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
            parent.kill()
            parent.communicate()
            if option is None:
                time.sleep(1)
                assert runs(command)
                assert len(alive(pids)) == AT_ONCE
                return
            wait_for(lambda: not runs(command), GONE_S)
            assert alive(pids) == []
            assert list(out.parent.iterdir()) == []
        finally:
            if runs(command):
                os.kill(command, signal.SIGTERM)
                wait_for(lambda: not runs(command), GONE_S)
