"""What a run's child process does inside the HDL simulator: one system on the whole trace."""

from pathlib import Path
from typing import Any

from cosim.config.load import unpack
from cosim.progress import ProgressFile, Reached
from cosim.results import save_system
from cosim.systems.inputs import load_same_inputs
from cosim.systems.machine import Machine

__all__ = ["PROGRESS_FILE", "run_system"]

PROGRESS_FILE = "progress"
"""Of each system's folder: how far it is, a :class:`cosim.progress.ProgressFile`."""


async def run_system(dut: Any, job: dict[str, Any]) -> None:
    """Run system ``job["system"]`` of the packed ``job["loaded"]``; write into ``job["folder"]``.

    Graph and traces are read again, and must still be those of ``job["inputs_sha256"]``.
    """
    folder = Path(job["folder"])
    loaded = unpack(job["loaded"])
    system = next(s for s in loaded.config.systems if s.name == job["system"])
    machine = await Machine.start(
        dut,
        loaded.platforms,
        system,
        load_same_inputs(loaded, job["inputs_sha256"]),
        stop_clocks=loaded.config.engine.stop_clocks,
    )
    with ProgressFile(folder / PROGRESS_FILE) as progress:

        def tell() -> None:
            progress.write(Reached(len(machine.batches), int(machine.kernel.env.now)))

        result = await machine.run(on_step=tell)
    save_system(result, folder)
