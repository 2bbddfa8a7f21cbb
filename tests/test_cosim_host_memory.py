"""Host memory: allocations, guards, and what DMA can reach."""

from itertools import pairwise

import pytest

from cosim.host_memory import GUARD_BYTES, HostMemory
from cosim.kernel import BOOT_PS
from rtl.contract.kernel import P2P_BASE, BusError
from tests.links_bench import World


@pytest.mark.parametrize(
    ("offset", "length"), [(-1, 4), (97, 4), (100, 1), (100 + GUARD_BYTES // 2, 1), (0, 101)]
)
@pytest.mark.parametrize("access", ["read", "write"])
def test_stray_dma_is_an_error_at_once(access, offset, length):
    world = World()
    address = world.memory.allocate(100)
    world.memory.allocate(100)
    argument = length if access == "read" else bytes(length)
    with pytest.raises(BusError, match=r"Host access of \d+ bytes at 0x\w+ must lie within one"):
        world.run(getattr(world.device, access)(address + offset, argument, world.start))
    assert world.env.now == BOOT_PS
    assert world.spans() == []


def test_released_memory_is_gone_for_good():
    world = World()
    address = world.memory.allocate(100)
    world.memory.release(address)
    assert world.memory.allocate(100) != address
    with pytest.raises(BusError):
        world.run(world.device.read(address, 4, world.start))
    with pytest.raises(ValueError, match="must be the address of a live allocation"):
        world.memory.release(address)


def test_memory_released_under_a_transfer():
    world = World()
    address = world.memory.allocate(100)
    write = world.env.process(world.device.write(address, bytes(100), world.start))
    world.env.run(until=BOOT_PS + 10)
    world.memory.release(address)
    world.env.run(write)
    with pytest.raises(BusError):
        world.env.run()


class TestHostMemory:
    def test_is_zero_until_written(self):
        memory = HostMemory()
        address = memory.allocate(10, alignment=64)
        assert address % 64 == 0
        assert memory.load(address, 10) == bytes(10)
        memory.store(address + 3, b"abc")
        assert memory.load(address, 10) == b"\0\0\0abc\0\0\0\0"

    def test_allocations_keep_a_guard_and_their_alignment(self):
        memory = HostMemory()
        addresses = [memory.allocate(4097, alignment=1 << bits) for bits in (0, 12, 16, 3)]
        gaps = [after - before for before, after in pairwise(addresses)]
        assert min(gaps) >= 4097 + GUARD_BYTES
        assert addresses[1] % 4096 == addresses[2] % 65_536 == addresses[3] % 8 == 0
        assert addresses[0] > 0
        assert memory.allocated_bytes == 4 * 4097

    def test_ends_below_the_card(self):
        memory = HostMemory()
        with pytest.raises(MemoryError, match="Host memory must end below 0x10000000000"):
            memory.allocate(P2P_BASE)

    @pytest.mark.parametrize(
        ("length", "alignment", "message"),
        [
            (0, 4096, "length must be positive, not 0"),
            (1, 0, "alignment must be a power of two, not 0"),
            (1, 12, "alignment must be a power of two, not 12"),
        ],
    )
    def test_refuses(self, length, alignment, message):
        with pytest.raises(ValueError, match=message):
            HostMemory().allocate(length, alignment)
