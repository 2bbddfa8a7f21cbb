"""Jobs that run inside the simulator on designs of echo units (tests/designs/echo_unit.v)."""

import json
import time
from pathlib import Path

from cosim.engines.hdl import HdlEngine
from cosim.errors import UserError
from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import LockStep

ECHO = Path(__file__).parents[1] / "designs" / "echo_unit.v"
PAUSE = 7  # of echo_unit


class EchoPort:
    """Hands commands to echo units, answers their begins after ``array_ps``, logs reports."""

    def __init__(self, lockstep, engine, array_ps):
        self.log = []
        self.done = lockstep.kernel.env.event()
        self.expected = 0
        self._lockstep = lockstep
        self._env = lockstep.kernel.env
        self._array_ps = array_ps
        units = range(len(engine.units))
        self._boxes = [
            {
                name: engine.mailbox(unit, name)
                for name in ("command", "command_toggle", "array_done")
            }
            for unit in units
        ]
        lockstep.attach(units, self.deliver, lambda: ["an echo"])

    def command(self, unit, tag, row):
        boxes = self._boxes[unit]
        word = (tag << 96) | (row << 32)
        self._lockstep.post(lambda: (boxes["command"].set(word), boxes["command_toggle"].flip()))

    def deliver(self, report):
        assert self._env.now == report.edge_ps
        self.log.append(["rtl", report.unit, report.edge_ps, report.word])
        if report.word & 2:
            number = report.word >> 24 & 0xFF
            self._env.process(self.answer(report.unit, number))
        elif len([entry for entry in self.log if entry[0] == "rtl"]) == self.expected:
            self.done.succeed()

    def answer(self, unit, number):
        yield self._env.timeout(self._array_ps)
        box = self._boxes[unit]["array_done"]
        toggle = ~box.value & 0x100
        self._lockstep.post(lambda: box.set(toggle | number))


async def play(dut, job):
    """Give the commands of ``script`` ([time, unit, tag]) at their times; log all reports."""
    kernel = Kernel()
    engine = HdlEngine(dut, job["units"], stop_clocks=job["stop_clocks"])
    await engine.start(BOOT_PS)
    lockstep = LockStep(kernel, engine)
    port = EchoPort(lockstep, engine, job["array_ps"])
    port.expected = 2 * len(job["script"])

    def drive():
        for at_ps, unit, tag in job["script"]:
            yield kernel.env.timeout(at_ps - kernel.env.now)
            port.log.append(["kernel", unit, kernel.env.now, tag])
            port.command(unit, tag, row=at_ps & 0xFFFFFFFF)

    kernel.env.process(drive())
    await lockstep.run(port.done)
    edges = [engine.counters(unit) for unit in range(len(engine.units))]
    result = {
        "log": port.log,
        "edges": edges,
        "end_ps": kernel.env.now,
        "advances": engine.advances,
        "skips": engine.skips,
    }
    Path(job["result"]).write_text(json.dumps(result))


async def run_twice(dut, job):
    """A run that ends with a write, and one that begins with a write to the same unit then."""
    kernel = Kernel()
    engine = HdlEngine(dut, job["units"], stop_clocks=job["stop_clocks"])
    await engine.start(BOOT_PS)
    lockstep = LockStep(kernel, engine)
    port = EchoPort(lockstep, engine, job["array_ps"])
    port.expected = 2

    def end_with_a_write():
        yield kernel.env.timeout(BOOT_PS - kernel.env.now)
        lockstep.post(lambda: engine.mailbox(0, "array_done").set(0))

    def begin_with_a_write():
        port.command(0, tag=5, row=0)
        yield port.done

    await lockstep.run(kernel.env.process(end_with_a_write()))
    start_ps = kernel.env.now
    await lockstep.run(kernel.env.process(begin_with_a_write()))
    result = {"start_ps": start_ps, "log": port.log}
    Path(job["result"]).write_text(json.dumps(result))


async def hang(dut, job):
    """Wait for something that cannot come."""
    engine = HdlEngine(dut, job["units"], stop_clocks=job["stop_clocks"])
    await engine.start(BOOT_PS)
    lockstep = LockStep(Kernel(), engine)
    port = EchoPort(lockstep, engine, 1)
    await lockstep.run(port.done)


async def complain(dut, job):
    raise UserError(job["message"])


async def move(dut, job):
    """Words in and out of a memory, and how long that takes."""
    engine = HdlEngine(dut, job["units"])
    await engine.start(BOOT_PS)
    page = engine.memory(0, "page0.mem")
    data = bytes(range(256)) * 8
    page.write(0, data)
    assert page.read(0, len(data)) == data
    page.write(3, b"\x12\x34\x56")
    assert page.read(3, 128) == b"\x12\x34\x56" + bytes(125)
    assert page.read(2, 131) == data[256:384] + b"\x12\x34\x56"
    start = time.perf_counter()
    for _ in range(20):
        page.write(0, data)
    middle = time.perf_counter()
    for _ in range(20):
        page.read(0, len(data))
    end = time.perf_counter()
    Path(job["result"]).write_text(json.dumps([(middle - start) / 20, (end - middle) / 20]))
