"""Child side of the tests of whole systems: one system, with a tweak before it starts."""

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np

from cosim.config.build import bch_code
from cosim.config.load import load_config, unpack
from cosim.conservation import check_bytes
from cosim.medium import IdArray
from cosim.results import save_system
from cosim.systems.inputs import load_inputs
from cosim.systems.machine import Machine
from cosim.units.lun_array import TIMES
from firmware_model.device import Device
from host.block_read import read_blocks
from host.block_write import write_blocks
from host.errors import NvmeError
from rtl.contract.channel import ArrayOperation
from rtl.contract.codec import pack
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode
from rtl.contract.kernel import latest
from rtl.contract.nand_array import NandArrayTimes

HANG_PS = 60_000_000
LISTS = 64
"""Of a launch of :func:`run_two_workers`: more work than the software between two launches."""


class SilentPort:
    """A PCIe port from which no doorbell comes."""

    def __init__(self, kernel):
        self._kernel = kernel

    def next_doorbell(self):
        return self._kernel.env.event()


class BlindGraph:
    """A graph as a host has it: where the lists lie, and not what is in them."""

    def __init__(self, graph):
        self.indptr = graph.indptr
        self.nodes = graph.nodes

    @property
    def indices(self):
        raise AssertionError("Neighbour ids must come from flash, not from the host's graph")


async def start(dut, job):
    loaded = unpack(job["loaded"]) if "loaded" in job else load_config(job["config"])
    system = next(s for s in loaded.config.systems if s.name == job["system"])
    return await Machine.start(
        dut,
        loaded.platforms,
        system,
        load_inputs(loaded),
        stop_clocks=loaded.config.engine.stop_clocks,
    )


async def run(dut, job):
    """Run the job's system, tweaked as it says; leave its result and its subgraphs."""
    folder = Path(job["folder"])
    machine = await start(dut, job)
    for page, bit in job["flips"]:
        machine.medium.flip_bit(*machine.medium.striping.physical(page), bit)
    if job["blind"]:
        machine.host.graph = BlindGraph(machine.inputs.graph)
    save_system(await machine.run(), folder)
    subgraphs = [
        [graph.result_bytes(hop).hex() for hop in range(len(graph.hops))]
        for graph in machine.subgraphs
    ]
    (folder / "subgraphs.json").write_text(json.dumps(subgraphs))


async def run_unwritten(dut, job):
    """Run a system whose firmware takes more pages for written than the flash cells hold."""

    def half(ids, id_bytes):
        return IdArray(ids[: len(ids) // 2], id_bytes)

    with patch("cosim.systems.machine.IdArray", half):
        machine = await start(dut, job)
    layout = machine.device.parameters.layout
    pages = -(-machine.inputs.edge_bytes // layout.page_bytes)
    written = -(-(machine.inputs.edge_bytes // 2) // layout.page_bytes)
    machine.device.load_extent(written, pages - written)
    await machine.run()


async def run_two_workers(dut, job):
    """Two launches and a copy on one FPGA card at once; leaves the counters."""
    machine = await start(dut, job)
    kernel, card = machine.kernel, machine.host.card
    base = card.window_bytes // 2
    fields = {"mode": GatherMode.DRAW, "id_log2": 3, "fan_out": 64, "degree": 4096}
    descriptor = pack(GatherDescriptor, magic=DESCRIPTOR_MAGIC, **fields)

    def together(*flows):
        processes = [kernel.env.process(flow) for flow in flows]
        yield kernel.env.all_of(processes)
        return [process.value for process in processes]

    def work():
        cause = kernel.origin("host-cpu", "host.start")
        cause = yield from card.write(0, bytes(8 * fields["degree"]), cause)
        cause = yield from card.write(base, LISTS * descriptor, cause)
        copied, *launches = yield from together(
            card.write(base + 4096, bytes(64 << 10), cause),
            card.launch(base, LISTS, cause),
            card.launch(base, LISTS, cause),
        )
        cause = latest([copied, *(launch[2] for launch in launches)])
        yield from together(*(card.fetch(results, cause) for _, results, _ in launches))

    await machine.do(work())
    (Path(job["folder"]) / "counters.json").write_text(json.dumps(machine.counters()))


async def run_media_error(dut, job):
    """A mini-batch that ends with an error, and again once the cells are healed; leaves both."""
    machine = await start(dut, job)

    def flip():
        for page, bit in job["flips"]:
            machine.medium.flip_bit(*machine.medium.striping.physical(page), bit)

    await fail_once(machine, Path(job["folder"]), flip)


async def run_hanging(dut, job):
    """The same, of dies that are busy with a read for :data:`HANG_PS`."""
    machine = await start(dut, job)
    times = [TIMES[ArrayOperation.READ], "hang_ps"]
    NandArrayTimes.hang_ps = HANG_PS

    def turn():
        times.reverse()
        TIMES[ArrayOperation.READ] = times[0]

    await fail_once(machine, Path(job["folder"]), turn)


async def fail_once(machine, folder, turn):
    """Sample a mini-batch between two calls of ``turn``, and again after them."""
    batch = machine.inputs.trace.batches[0]

    def work():
        turn()
        try:
            yield from machine.host.sample(batch, machine.kernel.origin("host-cpu", "host.start"))
        except NvmeError as error:
            (folder / "error.json").write_text(json.dumps([error.name, machine.counters()]))
        turn()
        again = machine.kernel.origin("host-cpu", "host.start")
        subgraph, _ = yield from machine.host.sample(batch, again)
        return subgraph

    subgraph = await machine.do(work())
    hops = [subgraph.result_bytes(hop).hex() for hop in range(len(subgraph.hops))]
    (folder / "subgraphs.json").write_text(json.dumps([hops]))


async def run_given_up(dut, job):
    """Give up a launch on its way; another waits, a third comes later. Leaves how all ended."""
    machine = await start(dut, job)
    kernel, card = machine.kernel, machine.host.card
    base = card.window_bytes // 2
    fields = {"mode": GatherMode.DRAW, "id_log2": 3, "fan_out": 64, "degree": 4096}
    descriptor = pack(GatherDescriptor, magic=DESCRIPTOR_MAGIC, **fields)

    def give_up():
        while not machine.gather.is_running:
            yield kernel.env.timeout(10_000)
        yield from card.abort(kernel.origin("host-cpu", "host.give-up"))

    def work():
        cause = kernel.origin("host-cpu", "host.start")
        cause = yield from card.write(0, bytes(8 * fields["degree"]), cause)
        cause = yield from card.write(base, LISTS * descriptor, cause)
        launches = [kernel.env.process(card.launch(base, LISTS, cause)) for _ in range(2)]
        kernel.env.process(give_up())
        yield kernel.env.all_of(launches)
        cause = latest(launch.value[2] for launch in launches)
        third = yield from card.launch(base, LISTS, cause)
        return [*(launch.value for launch in launches), third]

    found = [(status, len(words.words)) for status, words, _ in await machine.do(work())]
    (Path(job["folder"]) / "launches.json").write_text(json.dumps(found))


async def run_refused(dut, job):
    """Run a system whose host writes a magic that no device knows."""
    with patch("host.ns_config.MAGIC", 0):
        machine = await start(dut, job)
        await machine.run()


def idle(kernel):
    """Let 200 us pass."""
    yield kernel.env.timeout(2 * 10**8)
    return kernel.origin("host-cpu", "test.idle")


async def run_writes(dut, job):
    """Write ``pages``, one block each fourth time; read them, find them again, run the trace."""
    folder = Path(job["folder"])
    machine = await start(dut, job)
    parameters = machine.device.parameters
    size = parameters.layout.lba_bytes
    blocks = parameters.layout.lbas
    generator = np.random.default_rng(1)
    model = {}
    cause = machine.kernel.origin("host-cpu", "test.start")
    for number, page in enumerate(job["pages"]):
        first, count = page * blocks, 1 if number % 4 == 3 else blocks
        data = generator.bytes(count * size)
        cause = await machine.do(write_blocks(machine.driver, first, data, size, cause))
        model |= {first + at: data[at * size : (at + 1) * size] for at in range(count)}
    cause = await machine.do(idle(machine.kernel))
    assert not machine.device.layer.ftl.needs_collection(0), "the collector must have ended"
    wrong, lost = [], []
    for block in model:  # of which few are left in the page buffer
        data, cause = await machine.do(read_blocks(machine.driver, block, 1, size, cause))
        if data != model[block]:
            wrong.append(block)
    again = Device(
        machine.kernel,
        SilentPort(machine.kernel),
        machine.flash,
        parameters,
        code=bch_code(machine.platforms.ssd),
    )
    cause = await machine.do(again.recover(machine.kernel.origin("host-cpu", "test.power")))
    for page in {block // blocks for block in model}:
        places = []
        for device in (machine.device, again):
            place, cause = await machine.do(device.layer.places.find(page, cause, request=0))
            places.append(place)
        if places[0] != places[1]:
            lost.append(page)
    save_system(await machine.run(), folder)
    check_bytes(machine.kernel.spans)
    subgraphs = [
        [graph.result_bytes(hop).hex() for hop in range(len(graph.hops))]
        for graph in machine.subgraphs
    ]
    (folder / "subgraphs.json").write_text(json.dumps(subgraphs))
    found = {"wrong": wrong, "lost": lost, "counters": machine.counters()}
    (folder / "writes.json").write_text(json.dumps(found))
