# amaranth: UnusedElaboratable=no
"""The order in which a flash-channel controller serves its LUNs, by policy."""

import random

import pytest
from amaranth.sim import Simulator

from rtl.contract.channel import ChannelOperation
from rtl.nand.arbiter import BusArbiter, BusPolicy
from rtl.nand.command_cycles import BusOperationKind
from rtl.nand.controller import FlashChannelController
from rtl.nand.oldest_first import OldestFirst
from tests.controller_bench import FULL, Command, ControllerBench
from tests.scenarios.nand import PERIOD_PS, TINY


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


def bits(numbers):
    return sum(1 << number for number in numbers)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_oldest_is_the_one_that_came_first(count):
    """Against a list in the order of arrival."""
    dut = OldestFirst(count)
    rng = random.Random(count)

    async def bench(ctx):
        queue = []
        for _ in range(300):
            new = [n for n in range(count) if n not in queue and rng.random() < 0.3]
            queue = [number for number in queue if rng.random() < 0.8] + new
            requests = [number for number in queue if rng.random() < 0.6]
            ctx.set(dut.waiting, bits(queue))
            ctx.set(dut.requests, bits(requests))
            assert ctx.get(dut.oldest) == bits(requests[:1])
            await ctx.tick()

    simulate(dut, bench)


@pytest.mark.parametrize("has_suspends", [False, True])
def test_classes_of_reads_first(has_suspends):
    """Issued reads, suspends, resumes, polls, transfers, and last what else is issued."""
    luns = 3
    dut = BusArbiter(luns, policy=BusPolicy.READS_FIRST, has_suspends=has_suspends)
    rng = random.Random(1)

    async def bench(ctx):
        for _ in range(200):
            names = ["reads", "polls", "transfers", "urgent"]
            names += ["suspends", "resumes"] * has_suspends
            asked = {name: rng.getrandbits(luns) & -(rng.random() < 0.5) for name in names}
            for name, candidates in asked.items():
                ctx.set(getattr(dut, name), candidates)
            classes = [
                (BusOperationKind.ISSUE, asked["reads"] & asked["urgent"]),
                (BusOperationKind.SUSPEND, asked.get("suspends", 0)),
                (BusOperationKind.RESUME, asked.get("resumes", 0)),
                (BusOperationKind.POLL, asked["polls"]),
                (BusOperationKind.TRANSFER, asked["transfers"]),
                (BusOperationKind.ISSUE, asked["reads"] & ~asked["urgent"]),
            ]
            asking = [found for found in classes if found[1]]
            assert ctx.get(dut.valid) == bool(asking)
            if asking:
                kind, candidates = asking[0]
                assert ctx.get(dut.kind) == kind
                assert candidates >> ctx.get(dut.index) & 1
            await ctx.tick()

    simulate(dut, bench)


def served(policy, *fields):
    """Way and first command of the bus operations for commands on three ways, by policy."""
    bench = ControllerBench(FULL, ways=3, launch={0: bytes(10)}, policy=policy)
    bench.run(
        [
            Command(operation=operation, tag=tag, way=way, edge=edge, length=length)
            for tag, (operation, way, edge, length) in enumerate(fields)
        ]
    )
    return [(item.way, item.text.split()[0]) for item in bench.target.log]


@pytest.mark.parametrize(
    ("policy", "later"), [("round-robin", [1, 2]), ("oldest-ready-first", [2, 1])]
)
def test_who_is_ready_first_is_read_first_if_asked_for(policy, later):
    """Ways 2, then 1, become ready during the long burst of way 0."""
    found = served(
        policy,
        (ChannelOperation.READ, 0, 3, 304),
        (ChannelOperation.READ, 2, 30, 10),
        (ChannelOperation.READ, 1, 60, 10),
    )
    assert found[:3] == [(0, "00"), (2, "00"), (1, "00")]
    assert [way for way, first in found if first == "05"] == [0, *later]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ("round-robin", [(1, "80"), (2, "00"), (0, "05")]),
        ("reads-first", [(2, "00"), (0, "05"), (1, "80")]),
    ],
)
def test_reads_overtake_programs_if_asked_for(policy, order):
    """All are wanted when a burst ends: two commands, and way 0's next transfer."""
    found = served(
        policy,
        (ChannelOperation.READ, 2, 3, 304),
        (ChannelOperation.READ, 0, 40, 10),
        (ChannelOperation.PROGRAM, 1, 180, 10),
        (ChannelOperation.READ, 2, 181, 10),
    )
    end = found.index((2, "05"))
    assert found[end + 1 : end + 4] == order


def test_policies_are_checked():
    with pytest.raises(ValueError, match="'fifo' is not a valid BusPolicy"):
        FlashChannelController(TINY, period_ps=PERIOD_PS, ways=1, policy="fifo")
    with pytest.raises(ValueError, match="Policy must not be reads-first for a part of plain"):
        FlashChannelController(TINY, period_ps=PERIOD_PS, ways=1, policy="reads-first")
