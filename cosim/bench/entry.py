"""The cocotb test that a run's child process starts with: it calls the function of the job."""

import gc
import importlib
import json
import os
from pathlib import Path
from typing import Any

import cocotb

from cosim.engines.run import JOB_VARIABLE
from cosim.errors import UserError

__all__ = ["run"]


@cocotb.test()
async def run(dut: Any) -> None:
    """Call the job's function; what it raises goes to the failure file, and fails the test."""
    # Spans and events live as long as the run: looking for garbage among them is time lost.
    gc.freeze()
    gc.set_threshold(100_000)
    description = json.loads(Path(os.environ[JOB_VARIABLE]).read_text())
    module, name = description["function"].split(":")
    try:
        # What is loaded by now stays: the collector need not look through it at each turn.
        gc.freeze()
        function = getattr(importlib.import_module(module), name)
        await function(dut, description["job"])
    except Exception as error:
        report = {
            "kind": type(error).__name__,
            "message": str(error),
            "user_error": isinstance(error, UserError),
        }
        Path(description["failure"]).write_text(json.dumps(report))
        raise
