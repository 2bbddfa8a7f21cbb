"""Processes that end with the one that started them, so that a killed run leaves no simulator.

Linux only: the kernel sends the signal (prctl, PR_SET_PDEATHSIG), and keeps to it across exec; what
the leashed program starts in its turn is that program's affair. Elsewhere nothing is done.

This file is also a script. As such it leashes itself and becomes the program that it is given,
which is safe where the parent has threads and may not run Python between fork and exec.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["end_with_parent", "leashed"]

PR_SET_PDEATHSIG = 1
CANNOT_EXECUTE = 127


def end_with_parent(number: signal.Signals) -> None:
    """Have signal ``number`` sent to this process when the thread that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def leashed(command: Sequence[str], number: signal.Signals = signal.SIGKILL) -> list[str]:
    """``command``, to be started by this process, as one that gets ``number`` when this one ends.

    It has the process number under which it was started.
    """
    # Isolated and without site: none of the user's settings matter, and it is quick.
    script = [sys.executable, "-I", "-S", __file__]
    return [*script, str(os.getpid()), str(int(number)), *command]


def _main(parent: str, number: str, *command: str) -> None:
    end_with_parent(signal.Signals(int(number)))
    if os.getppid() != int(parent):
        return  # It ended before the leash was on.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and exec would hand that on
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} must be a program: {error.strerror}\n")
        sys.exit(CANNOT_EXECUTE)


if __name__ == "__main__":
    _main(*sys.argv[1:])
