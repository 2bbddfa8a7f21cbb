"""From a benchmark's job in the simulator to a report in a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cosim.engines.build import Build
from cosim.engines.run import run_job
from cosim.errors import UserError

__all__ = ["measure_in_simulator", "write_report"]


def measure_in_simulator(program: Build, function: str, job: Mapping[str, Any]) -> Any:
    """Run the job's function in ``program``; returns what it has written, as JSON, to ``result``.

    Raises
    ------
    SimulationFailed
        As :func:`cosim.engines.run.run_job`.
    """
    with TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        run_job(program, function, {**job, "result": str(result)}, Path(folder))
        return json.loads(result.read_text())


def write_report(path: Path | None, report: Mapping[str, Any]) -> None:
    """Write a report as JSON, if it is asked for.

    Raises
    ------
    UserError
        If the file cannot be written.
    """
    if path is None:
        return
    try:
        path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: must be writable: {error.strerror}") from None
