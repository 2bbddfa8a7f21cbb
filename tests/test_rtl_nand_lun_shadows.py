"""What the bus checker knows of LUNs, against one plain record a LUN."""

import random
from dataclasses import dataclass

import pytest
from amaranth.sim import Simulator

from rtl.nand.checks.lun_shadows import LunShadows

LUNS, BUSY_CYCLES = 5, 6
INPUTS = ("now", "rb_n", "confirm", "target", "reset", "status_ready", "source", "opened", "ask")
OUTPUTS = ("busy", "late", "is_early", "is_fresh")


@dataclass
class Shadow:
    """One LUN as its rules say it; ``window`` is tWB after its last confirm cycle."""

    held: bool = False
    waiting: bool = False
    window: int = 0
    ready_edge: int = -(1 << 40)

    def look(self, now, rb_n, status_ready):
        """Outputs ``busy`` and ``late``, and the edge at which it was last seen ready."""
        appears = self.held and not self.waiting and (rb_n or status_ready)
        late = self.waiting and now >= self.window and rb_n
        return self.held and not appears, late, now if appears else self.ready_edge

    def step(self, now, rb_n, status_ready, confirm, reset):
        busy, _, self.ready_edge = self.look(now, rb_n, status_ready)
        self.held = busy
        self.waiting = self.waiting and now < self.window
        if confirm and not busy:
            self.held = self.waiting = True
            self.window = now + BUSY_CYCLES
        if reset:
            self.held = self.waiting = False
            self.window = 0


def draw(rng, now):
    """One clock's inputs: enough of each event for all of them to meet."""
    some = {name: rng.getrandbits(LUNS) & rng.getrandbits(LUNS) for name in ("rb_n", "ask")}
    rare = {name: some["ask"] * (rng.random() < 0.1) for name in ("reset", "status_ready")}
    return {
        "now": now,
        "confirm": rng.random() < 0.4,
        "target": rng.randrange(LUNS),
        "source": rng.randrange(LUNS),
        "opened": max(0, now - rng.randrange(12)),
        **some,
        **rare,
    }


def expected(shadows, clock, rest_cycles):
    seen = [
        shadow.look(clock["now"], clock["rb_n"] >> lun & 1, clock["status_ready"] >> lun & 1)
        for lun, shadow in enumerate(shadows)
    ]
    return {
        "busy": sum(busy << lun for lun, (busy, _, _) in enumerate(seen)),
        "late": sum(late << lun for lun, (_, late, _) in enumerate(seen)),
        "is_early": int(
            any(
                clock["ask"] >> lun & 1 and clock["opened"] < shadow.window
                for lun, shadow in enumerate(shadows)
            )
        ),
        "is_fresh": int(clock["now"] - seen[clock["source"]][2] < rest_cycles),
    }


@pytest.mark.parametrize("rest_cycles", [0, 1, 2, 5])
def test_all_luns_are_followed_at_once(rest_cycles):
    """Also when the clock stands still for a while, and when LUNs appear one after the other."""
    rng = random.Random(rest_cycles)
    dut = LunShadows(luns=LUNS, busy_cycles=BUSY_CYCLES, rest_cycles=rest_cycles)
    shadows = [Shadow() for _ in range(LUNS)]
    counts = dict.fromkeys(OUTPUTS, 0)

    async def bench(ctx):
        now = 10
        for _ in range(1500):
            now += rng.choice((1, 1, 1, 1, 2, 9))
            clock = draw(rng, now)
            for name in INPUTS:
                ctx.set(getattr(dut, name), clock[name])
            got = {name: ctx.get(getattr(dut, name)) for name in OUTPUTS}
            assert got == expected(shadows, clock, rest_cycles), f"edge {now}"
            for lun, shadow in enumerate(shadows):
                shadow.step(
                    now,
                    clock["rb_n"] >> lun & 1,
                    clock["status_ready"] >> lun & 1,
                    clock["confirm"] and clock["target"] == lun,
                    clock["reset"] >> lun & 1,
                )
            for name in OUTPUTS:
                counts[name] += got[name] != 0
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(counts[name] > 20 for name in OUTPUTS if name != "is_fresh" or rest_cycles), counts
