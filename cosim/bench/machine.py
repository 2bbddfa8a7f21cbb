"""A configured system inside one's own cocotb test."""

import json
import os
from pathlib import Path
from typing import Any

from cosim.config.load import unpack
from cosim.engines.run import JOB_VARIABLE
from cosim.errors import UserError
from cosim.own.find import blocks
from cosim.systems.inputs import load_same_inputs
from cosim.systems.machine import Machine

__all__ = ["start_machine"]


async def start_machine(dut: Any, system: str | None = None) -> Machine:
    """Put the configuration's system ``system`` together around ``dut``.

    By default it is that whose RTL was built: the first, or that of ``--system``.

    To be called at the start of a cocotb test that ``csd-cosim cocotb`` runs: it brings the
    simulation to the end of reset. From then on the test may run processes on the machine with
    :meth:`Machine.do`, or its whole trace with :meth:`Machine.run`, while cocotb tasks of its own
    watch ``dut``. All objects of the system are attributes of what is returned.

    Raises
    ------
    UserError
        If the test was started by something else, the configuration has no such system, it has
        other RTL than was built, or graph or trace were changed after that start.
    """
    description = os.environ.get(JOB_VARIABLE)
    if description is None:
        raise UserError("start_machine must be called in a test that csd-cosim cocotb runs")
    job = json.loads(Path(description).read_text())["job"]
    loaded = unpack(job["loaded"])
    known = {system.name: system for system in loaded.config.systems}
    name = job["rtl_of"] if system is None else system
    if name not in known:
        raise UserError(
            f"{loaded.source.file}: systems must have {name!r}; known are {list(known)}"
        )
    if blocks(known[name]) != blocks(known[job["rtl_of"]]):
        raise UserError(
            f"{loaded.source.file}: {name} must have the RTL of {job['rtl_of']}, which was built "
            f"(csd-cosim cocotb --system {name})"
        )
    return await Machine.start(
        dut,
        loaded.platforms,
        known[name],
        load_same_inputs(loaded, job["inputs_sha256"]),
        stop_clocks=loaded.config.engine.stop_clocks,
    )
