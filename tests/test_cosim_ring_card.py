"""Descriptor rings across the card's link: posted writes, interrupts, entries; times by hand."""

import pytest

from cosim.kernel import BOOT_PS
from cosim.ring_card import RingCard
from host.costs import HostCpu
from host.errors import FpgaError
from host.gather_orders import RingOrders
from host.window import WindowLayout
from rtl.contract.codec import pack
from rtl.contract.gather import GatherStatus
from rtl.contract.gather_rings import MORE, CardRegister, RingCompletion, RingRegister, ring_offset
from tests.links_bench import COPY_PS, COSTS, LAUNCH_PS, World

ENTRY_PS = 90_000
RUN_PS = 500_000
FLIGHT_PS = 300_000
LAYOUT = WindowLayout(1 << 16, has_ring=True)
TAIL = ring_offset(0, RingRegister.TAIL)
TAKEN = ring_offset(0, RingRegister.TAKEN)


class ScriptedRing:
    """A ring that answers each doorbell after a while with entries of ``steps`` descriptors."""

    def __init__(self, kernel, steps=(), status=0):
        self.kernel = kernel
        self.on_interrupt = None
        self.writes = []
        self.steps = list(steps)
        self.status = status
        self.entries = []
        self.landed = 0
        self.phase_of = lambda number: (number // LAYOUT.completion_entries + 1) % 2

    def write(self, offset, value, cause, *, request=0):
        self.writes.append((offset, value, cause.at_ps - BOOT_PS))
        if (offset == TAIL or (offset == TAKEN and self.more)) and self.steps:
            self.kernel.env.process(self._run(cause, request))

    def _run(self, cause, request):
        count = self.steps.pop(0)
        self.more = count < 0
        count = abs(count)
        start = self.kernel.env.now
        yield self.kernel.env.timeout(RUN_PS)
        self.landed += count
        self.entries.append(
            pack(
                RingCompletion,
                consumed=count,
                words=count,
                landed=self.landed,
                first_bad=1,
                status=self.status,
                flags=MORE * self.more,
                phase=self.phase_of(len(self.entries)),
            )
        )
        now = self.kernel.env.now
        cause = self.kernel.record("gather", "gather.run", start, now, cause, request=request)
        self.on_interrupt(1, cause, request)

    def read(self, address, length):
        assert length == 32
        place = (address - LAYOUT.completion_base) // 32
        last = len(self.entries) - 1
        assert place == last % LAYOUT.completion_entries
        return self.entries[last]

    def words(self, ring, first, count):
        assert ring == 0
        return b"".join(word.to_bytes(8, "little") for word in range(first, first + count))


def world_of(*steps, **options):
    """A world whose card has rings, and the orders of its host."""
    world = World()
    ring = ScriptedRing(world.kernel, steps, **options)
    cpu = HostCpu(world.kernel, COSTS)
    world.fpga.rings = RingCard(
        world.kernel, world.fpga._link, cpu, ring, launch_ps=LAUNCH_PS, entry_read_ps=ENTRY_PS
    )
    return world, ring, RingOrders(world.fpga, LAYOUT)


def test_a_round_costs_a_doorbell_an_interrupt_and_an_entry():
    world, ring, orders = world_of(3, 2)
    orders.place(bytes(96))
    raw, first = world.run(orders.run(3, world.start, request=4))
    assert raw == ring.words(0, 0, 3)
    assert [offset for offset, _, _ in ring.writes[:9]] == [
        CardRegister.COMPLETION_BASE, CardRegister.COMPLETION_BASE_HIGH,
        CardRegister.COMPLETION_SIZE, CardRegister.INTERRUPT_ENABLE, CardRegister.CONTROL,
        *(ring_offset(0, RingRegister[name]) for name in ("BASE", "BASE_HIGH", "SIZE", "CONTROL")),
    ]  # fmt: skip
    orders.place(bytes(64))
    raw, end = world.run(orders.run(2, first, request=4))
    assert raw == ring.words(0, 3, 2)
    path = world.stages(end)
    # In front 9 writes of 4 + 24 bytes. A round: doorbell, cause, the request of the entry, the
    # registers of the copy and the two writes that words and entry were taken down; interrupt,
    # entry, words and interrupt up. Posted writes fly alone, but for the doorbell.
    down = 9 * 28 + 2 * (28 + 28 + 24 + 40 + 2 * 28)
    up = 2 * (28 + 32 + 24 + 28) + (24 + 24) + (16 + 24)
    assert path == {
        "host.launch": 2 * LAUNCH_PS,
        "host.copy": 2 * COPY_PS,
        "pcie.fpga.down": down * 1000,
        "pcie.fpga.up": up * 1000,
        "pcie.fpga.latency": 2 * 7 * FLIGHT_PS,
        "gather.run": 2 * RUN_PS,
        "fpga.entry-read": 2 * ENTRY_PS,
    }
    world.env.run(world.env.now + 10 * FLIGHT_PS)
    told = [(offset, value) for offset, value, _ in ring.writes[9:]]
    assert told == [
        (TAIL, 3), (CardRegister.INTERRUPT_CAUSE, 1), (TAKEN, 3), (CardRegister.COMPLETION_HEAD, 1),
        (TAIL, 5), (CardRegister.INTERRUPT_CAUSE, 1), (TAKEN, 5), (CardRegister.COMPLETION_HEAD, 2),
    ]  # fmt: skip


def test_results_in_parts_are_taken_part_by_part():
    world, ring, orders = world_of(-4, -4, 2)
    orders.place(bytes(320))
    raw, _ = world.run(orders.run(10, world.start))
    assert raw == ring.words(0, 0, 10)
    assert [value for offset, value, _ in ring.writes if offset == TAKEN] == [4, 8]


def test_descriptors_go_round_the_ring_in_whole_words():
    _, _, orders = world_of()
    base = LAYOUT.descriptor_base
    size = LAYOUT.ring_entries
    bodies = [bytes([n + 1]) * 32 for n in range(7)]
    assert orders.place(bodies[0] * 3) == [(base, bodies[0] * 3 + bytes(32))]
    # The word that the ring's tail is in is written once more, as it was.
    assert orders.place(bodies[1] * 2) == [(base + 64, bodies[0] + bodies[1] * 2 + bytes(32))]
    orders.place(bodies[2] * (size - 6))
    (end, data), (start, more) = orders.place(bodies[3] + bodies[4])
    assert (end, data[32:]) == (base + 32 * size - 64, bodies[3])
    assert (start, more) == (base, bodies[4] + bodies[0])
    with pytest.raises(FpgaError, match=f"fewer than {size} descriptors, not {size}"):
        orders.place(bytes(32 * size))


def test_ring_and_completion_ring_share_the_area_of_descriptors():
    for window in (3 * 4096, 1 << 16, 1 << 24, 1 << 32):
        layout = WindowLayout(window, has_ring=True)
        end = layout.completion_base + 32 * layout.completion_entries
        assert layout.descriptor_base < layout.completion_base < end <= layout.position_base
        assert layout.ring_entries & layout.ring_entries - 1 == 0
        assert layout.descriptor_bytes == 32 * (layout.ring_entries - 1)
        assert WindowLayout(window).descriptor_bytes == layout.area_bytes


def test_failed_descriptor_is_named():
    world, _, orders = world_of(3, status=GatherStatus.BUS_ERROR)
    orders.place(bytes(96))
    with pytest.raises(FpgaError, match="descriptor 1 must end with OK, not BUS_ERROR"):
        world.run(orders.run(3, world.start))


def test_entry_of_another_phase_is_an_error():
    world, ring, orders = world_of(3)
    ring.phase_of = lambda number: 0
    orders.place(bytes(96))
    with pytest.raises(FpgaError, match="entry 0 must have phase 1 and ring 0, not 0 and 0"):
        world.run(orders.run(3, world.start))


def test_phase_turns_with_each_pass_of_the_completion_ring():
    rounds = 2 * LAYOUT.completion_entries + 3
    world, ring, orders = world_of(*[1] * rounds)

    def host(cause):
        for _ in range(rounds):
            orders.place(bytes(32))
            _, cause = yield from orders.run(1, cause)
        return cause

    world.run(host(world.start))
    assert len(ring.entries) == rounds
    assert {entry[31] for entry in ring.entries} == {0, 1}


def test_a_card_without_rings_is_refused():
    with pytest.raises(ValueError, match="card must have rings, not None"):
        RingOrders(World().fpga, LAYOUT)


@pytest.mark.parametrize("name", ["launch_ps", "entry_read_ps"])
def test_times_are_not_negative(name):
    times = {"launch_ps": 0, "entry_read_ps": 0} | {name: -1}
    with pytest.raises(ValueError, match=f"{name} must not be negative, not -1"):
        RingCard(None, None, None, None, **times)
