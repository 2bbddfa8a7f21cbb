"""Deadlines of a flash channel's LUNs, and the earliest of them."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl.contract.channel import NEVER
from rtl.nand.deadlines import keep_deadlines
from rtl.nand.earliest import EarliestEdge

SHORT, LONG = 2, 7
COUNT = 3


class Deadlines(wiring.Component):
    """Registers of three units with two waits, of which the short one goes first."""

    def __init__(self):
        names = ("short", "long", "cancel")
        super().__init__(
            {"now": In(48), "due": Out(COUNT), "edges": Out(48).array(COUNT)}
            | {name: In(COUNT) for name in names}
        )

    def elaborate(self, platform):
        m = Module()
        waits = ((self.short, SHORT), (self.long, LONG))
        due, deadlines = keep_deadlines(m, "test", now=self.now, waits=waits, cancel=self.cancel)
        m.d.comb += self.due.eq(due)
        m.d.comb += [port.eq(edge) for port, edge in zip(self.edges, deadlines, strict=True)]
        return m


def simulate(dut, bench):
    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_deadline_comes_once_at_its_edge():
    """Against a dictionary of edges; now and then the clock stops until just before the next."""
    dut = Deadlines()
    rng = random.Random(1)

    async def bench(ctx):
        edge, expected = 1000, {}
        for _ in range(600):
            ctx.set(dut.now, edge)
            due = [unit for unit, at in expected.items() if at == edge]
            assert ctx.get(dut.due) == sum(1 << unit for unit in due)
            for unit in due:
                del expected[unit]
            strobes = dict.fromkeys(("short", "long", "cancel"), 0)
            if rng.random() < 0.3:
                strobes[rng.choice(("short", "long"))] = 1 << rng.randrange(COUNT)
            elif rng.random() < 0.2:
                strobes["cancel"] = rng.getrandbits(COUNT)
            for name, bits in strobes.items():
                ctx.set(getattr(dut, name), bits)
                for unit in range(COUNT):
                    if bits >> unit & 1:
                        expected.pop(unit, None)
                        if name != "cancel":
                            expected[unit] = edge + (SHORT if name == "short" else LONG)
            await ctx.tick()
            edges = [ctx.get(port) for port in dut.edges]
            assert edges == [expected.get(unit, NEVER + 1) - 1 for unit in range(COUNT)]
            edge += 1
            if not any(strobes.values()) and not ctx.get(dut.due):
                edge = max(edge, min([*edges, edge + 20]) - rng.randrange(3))

    simulate(dut, bench)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_the_earliest_is_known_when_nothing_has_moved_for_a_while(count):
    dut = EarliestEdge(count)
    levels = (count - 1).bit_length()
    rng = random.Random(count)

    async def bench(ctx):
        calm_for = 0
        for _ in range(200):
            calm = rng.random() < 0.9
            if not calm:
                for port in dut.edges:
                    ctx.set(port, rng.choice((NEVER, rng.getrandbits(48), rng.randrange(4))))
                calm_for = 0
            ctx.set(dut.calm, calm)
            assert ctx.get(dut.known) == (calm and calm_for > levels)
            if ctx.get(dut.known):
                assert ctx.get(dut.edge) == min(ctx.get(port) for port in dut.edges)
            calm_for += calm
            await ctx.tick()

    simulate(dut, bench)
