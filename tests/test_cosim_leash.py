"""Programs that end with the process that started them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cosim.engines.leash import leashed


def run(script, number=signal.SIGKILL):
    command = leashed([sys.executable, "-c", script], number)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_leashed_program_is_the_one_that_was_started():
    """Its number, input, environment and exit status are what they would be without a leash."""
    script = "import os, sys; print(os.getpid(), sys.argv[1:]); raise SystemExit(3)"
    process = subprocess.Popen(
        leashed([sys.executable, "-c", script, "a b", "-I"]), stdout=subprocess.PIPE, text=True
    )
    out, _ = process.communicate(timeout=60)
    assert (out, process.returncode) == (f"{process.pid} ['a b', '-I']\n", 3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_leash_is_on(number):
    script = (
        "import ctypes; found = ctypes.c_int();"
        "ctypes.CDLL(None).prctl(2, ctypes.byref(found)); print(found.value)"
    )
    assert run(script, number).stdout == f"{int(number)}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_signal_is_ignored_that_was_not():
    """SIGPIPE above all, which Python ignores: a program writes into a closed pipe and ends."""
    found = subprocess.run(
        leashed(["cat", "/proc/self/status"]), capture_output=True, text=True, check=True
    ).stdout
    ignored = next(line.split()[1] for line in found.splitlines() if line.startswith("SigIgn"))
    assert int(ignored, 16) & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0


def test_a_program_that_is_not_there_is_one_line():
    done = subprocess.run(leashed(["no-such"]), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        127,
        "no-such must be a program: No such file or directory\n",
    )


def test_nothing_is_started_for_a_parent_that_is_gone(tmp_path):
    command = leashed(["touch", str(tmp_path / "started")])
    command[command.index(str(os.getpid()))] = "1" if os.getpid() != 1 else "2"
    assert subprocess.run(command, check=False).returncode == 0
    assert not Path(tmp_path, "started").exists()
