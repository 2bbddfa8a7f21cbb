"""Two tests of one's own: the page buffer seen from the host, and the channel's clock.

csd-cosim cocotb examples/quickstart-small.yaml examples/own_test/hot_page.py --engine icarus
"""

import cocotb

from cosim.bench.machine import start_machine
from host.block_read import read_blocks

BLOCK = 0


@cocotb.test()
async def a_page_read_twice_is_sensed_once(dut):
    """The second read of a block finds its page in the SSD's page buffer, and is faster."""
    machine = await start_machine(dut, "firmware-csd")
    size = machine.device.parameters.layout.lba_bytes
    cause = machine.kernel.origin("host-cpu", "test.start")
    times = [cause.at_ps]
    contents = []
    for _ in range(2):
        read = read_blocks(machine.driver, BLOCK, 1, size, cause)
        content, cause = await machine.do(read)
        contents.append(content)
        times.append(cause.at_ps)
    first, second = times[1] - times[0], times[2] - times[1]
    assert contents[0] == contents[1]
    ids = machine.inputs.graph.indices[: size // machine.inputs.id_bytes]
    assert contents[0] == ids.astype(f"<u{machine.inputs.id_bytes}").tobytes()
    assert machine.medium.sensed == 1
    assert second < first - machine.platforms.ssd.nand.t_r.value
    cocotb.log.warning("first read %d ps, second read %d ps", first, second)


@cocotb.test()
async def a_channel_without_work_has_no_clock(dut):
    """While channel 0 reads a page, the clock of channel 1 stands still."""
    machine = await start_machine(dut, "firmware-csd")
    ran = set()

    async def watch():
        """Note the channels whose clocks run; bit n of ``stopped`` is unit n of the top."""
        while True:
            await dut.stopped.value_change
            stopped = int(dut.stopped.value)
            ran.update(channel for channel in (0, 1) if not stopped >> channel & 1)

    cocotb.start_soon(watch())
    cause = machine.kernel.origin("host-cpu", "test.start")
    size = machine.device.parameters.layout.lba_bytes
    await machine.do(read_blocks(machine.driver, BLOCK, 1, size, cause))
    assert ran == {0}
