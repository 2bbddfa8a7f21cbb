"""Child side of the tests of whole systems: one system, with a tweak before it starts."""

import json
from pathlib import Path

from cosim.config.load import load_config
from cosim.results import save_system
from cosim.systems.inputs import load_inputs
from cosim.systems.machine import Machine


async def run(dut, job):
    """Run the job's system, its flash cells tweaked; leave its result and its subgraphs."""
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
    for page, bit in job["flips"]:
        machine.medium.flip_bit(*machine.medium.striping.physical(page), bit)
    result = await machine.run()
    save_system(result, folder)
    subgraphs = [
        [graph.result_bytes(hop).hex() for hop in range(len(graph.hops))]
        for graph in machine.subgraphs
    ]
    (folder / "subgraphs.json").write_text(json.dumps(subgraphs))
