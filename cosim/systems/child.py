"""What a run's child process does inside the HDL simulator: one system on the whole trace."""

from pathlib import Path
from typing import Any

from cosim.config.load import load_config
from cosim.results import save_system
from cosim.systems.inputs import load_inputs
from cosim.systems.machine import Machine

__all__ = ["PROGRESS_FILE", "run_system"]

PROGRESS_FILE = "progress"
"""One byte a finished mini-batch."""


async def run_system(dut: Any, job: dict[str, Any]) -> None:
    """Run system ``job["system"]`` of file ``job["config"]``; write into ``job["folder"]``."""
    folder = Path(job["folder"])
    loaded = load_config(job["config"])
    system = next(s for s in loaded.config.systems if s.name == job["system"])
    machine = await Machine.start(
        dut,
        loaded.platforms,
        system,
        load_inputs(loaded),
        stop_clocks=loaded.config.engine.stop_clocks,
    )
    with (folder / PROGRESS_FILE).open("ab", buffering=0) as progress:

        def tell() -> None:
            progress.write(b".")

        result = await machine.run(on_batch=tell)
    save_system(result, folder)
