"""The FPGA card: peer-to-peer writes, copies, launches; times worked out by hand."""

import numpy as np
import pytest

from cosim.fpga_card import CardWindow, FpgaPort
from cosim.kernel import BOOT_PS, Kernel
from cosim.links import DevicePort
from rtl.contract.kernel import P2P_BASE, BusError
from tests.links_bench import COPY_PS, LAUNCH_PS, RUN_PS, STAGE_PS, World


def test_peer_to_peer_write_goes_to_the_card_in_pieces():
    world = World()
    data = np.random.default_rng(1).bytes(4096 + 128)
    address = P2P_BASE + 8192
    end = world.run(world.device.write(address, data, world.start, request=4))
    # 4,224 bytes in 17 packets: 4,224 + 17 * 24 = 4,632 bytes; two pieces staged in turn.
    assert world.spans() == [
        ("pcie.p2p", "pcie.p2p", 0, 4_632_000, 4224, 408, "data"),
        ("pcie.p2p.flight", "pcie.p2p.latency", 4_632_000, 4_932_000, 0, 0, "data"),
        ("gather.stage", "gather.stage", 4_932_000, 4_982_000, 4096, 0, ""),
        ("gather.stage", "gather.stage", 4_982_000, 5_032_000, 128, 0, ""),
        ("pcie.p2p.flight", "pcie.p2p.latency", 5_032_000, 5_332_000, 0, 0, "acknowledgement"),
    ]
    assert world.gather.staged == [(8192, 4096), (12_288, 128)]
    assert world.gather.memory[8192 : 8192 + len(data)] == data
    assert end.at_ps == BOOT_PS + 5_332_000
    world.stages(end)


def test_host_write_to_the_card_stages_one_piece_while_the_next_is_on_the_link():
    world = World()
    data = np.random.default_rng(2).bytes(2 * 4096 + 64)
    end = world.run(world.fpga.write(0, data, world.start, request=4))
    # 4,096 + 16 * 24 = 4,480 bytes a piece, then 64 + 24; the last one is staged at once.
    # Before: software, 16 + 24 bytes of registers down, three requests of 24 bytes up, two flights.
    begin = COPY_PS + 40_000 + 300_000 + 72_000 + 300_000
    down = [(*span[2:5], span[6]) for span in world.spans() if span[0] == "pcie.fpga.down"]
    assert down == [
        (COPY_PS, COPY_PS + 40_000, 16, "card_registers"),
        (begin, begin + 4_480_000, 4096, "descriptor"),
        (begin + 4_480_000, begin + 8_960_000, 4096, "descriptor"),
        (begin + 8_960_000, begin + 9_048_000, 64, "descriptor"),
    ]
    # After: 4 + 24 bytes of interrupt up, and its flight.
    assert end.at_ps == BOOT_PS + begin + 9_048_000 + 300_000 + STAGE_PS + 28_000 + 300_000
    assert world.gather.memory[: len(data)] == data
    assert world.stages(end) == {
        "host.copy": COPY_PS,
        "pcie.fpga.up": 72_000 + 28_000,
        "pcie.fpga.down": 40_000 + 9_048_000,
        "pcie.fpga.latency": 4 * 300_000,
        "gather.stage": STAGE_PS,
    }


def test_launch_and_fetch():
    world = World()

    def host():
        status, results, cause = yield from world.fpga.launch(64, 5, world.start, request=3)
        assert status == 3
        return (yield from world.fpga.fetch(results, cause, request=3))

    data, end = world.run(host())
    assert data == b"".join(value.to_bytes(8, "little") for value in range(5))
    # Twice software and 16 + 24 bytes of registers down; the run; 40 + 24 of words; twice 4 + 24 of
    # interrupt up.
    assert world.stages(end) == {
        "host.launch": LAUNCH_PS,
        "host.copy": COPY_PS,
        "pcie.fpga.down": 2 * 40_000,
        "pcie.fpga.latency": 5 * 300_000,
        "gather.run": RUN_PS,
        "pcie.fpga.up": 2 * 28_000 + 64_000,
    }
    assert {span.request for span in world.kernel.spans} == {0, 3}


@pytest.mark.parametrize(
    ("offset", "length", "message"),
    [
        (65_536, 64, "must lie in its window of 65536 bytes, not 64 bytes at 65536"),
        (65_472, 128, "must lie in its window of 65536 bytes, not 128 bytes at 65472"),
        (32, 64, "must be of whole words of 64 bytes, not 64 bytes at 32"),
        (64, 32, "must be of whole words of 64 bytes, not 32 bytes at 64"),
    ],
)
def test_card_window(offset, length, message):
    for steps in (
        lambda world: world.device.write(P2P_BASE + offset, bytes(length), world.start),
        lambda world: world.fpga.write(offset, bytes(length), world.start),
    ):
        world = World()
        with pytest.raises(BusError, match=message):
            world.run(steps(world))
        assert world.spans() == []


def test_no_card_and_no_reads_from_it():
    world = World(with_card=False)
    with pytest.raises(BusError, match="must reach a card, but there is none"):
        world.run(world.device.write(P2P_BASE, bytes(64), world.start))
    with pytest.raises(BusError):
        world.run(World().device.read(P2P_BASE, 64, world.start))
    with pytest.raises(ValueError, match="peer and card must be given together"):
        DevicePort(world.kernel, world.ssd, world.memory, card=world.window)


@pytest.mark.parametrize("sizes", [{"window_bytes": 100}, {"window_bytes": 64, "piece_bytes": 0}])
def test_window_sizes_are_whole_words(sizes):
    with pytest.raises(ValueError, match="must be a positive multiple of 64, not"):
        CardWindow(Kernel(), None, **sizes)


@pytest.mark.parametrize("name", ["launch_ps", "copy_ps"])
def test_times_of_the_card_are_not_negative(name):
    times = {"launch_ps": 0, "copy_ps": 0} | {name: -1}
    with pytest.raises(ValueError, match=f"{name} must not be negative, not -1"):
        FpgaPort(Kernel(), None, None, None, None, **times)
