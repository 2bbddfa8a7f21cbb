"""What the kernel does to the gather unit, edge by edge; free of any simulator.

A driver gives access to one simulator's unit: coroutines ``set(port, word)``, ``get(port)``,
``clock(edge)`` (one rising edge, number ``edge``), ``store(memory, row, word)`` and
``load(memory, row)``.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np
from amaranth.lib.data import Layout

from rtl.contract.codec import pack
from rtl.contract.gather import (
    GatherCounters,
    GatherEvent,
    GatherLaunch,
    GatherMode,
    StageRequest,
)
from rtl.contract.gather_rings import RING_LAUNCH, RingWrite
from tests.scenarios.dram import DDR4
from tests.scenarios.gather import random_scenario

__all__ = [
    "SIZES",
    "UNIT",
    "Abort",
    "Free",
    "Stage",
    "Start",
    "UnitPlayer",
    "Write",
    "pieces",
    "story",
]

BEAT = 64
NEVER = (1 << 48) - 1

SIZES = {"stage_slots": 4, "stage_slot_bytes": 1024, "result_bytes": 1 << 14}
UNIT = {
    **SIZES,
    "times": replace(DDR4, banks=4, row_bytes=2048, t_refi_ps=1_000_000, t_rfc_ps=100_000),
    "window_bytes": 1 << 17,
}
"""Parameters of a unit small enough for every simulator, with refreshes close together."""


@dataclass(frozen=True)
class Stage:
    """Stage ``data`` at ``address``; ``length`` may lie about it."""

    address: int
    data: bytes
    tag: int
    length: int | None = None


@dataclass(frozen=True)
class Start:
    """Launch ``count`` descriptors at ``address``."""

    address: int
    count: int
    tag: int


@dataclass(frozen=True)
class Write:
    """Write to a register of the descriptor rings."""

    offset: int
    value: int


class Abort:
    """Give up the launch in the unit, or the oldest that waits."""


class Free:
    """Give the result memory back."""


@dataclass(kw_only=True)
class UnitPlayer:
    """Plays ``actions`` into the unit and keeps its events with their edges.

    An action (edge, what) is seen at that edge. ``free_after``: edges from a launch's end to the
    freeing of its results; None is never. With ``stop`` the clock stands still while the unit is
    quiet, as the co-simulation's clock does.
    """

    actions: list
    stop: bool
    stage_slots: int
    stage_slot_bytes: int
    result_bytes: int
    free_after: int | None = None
    limit_edges: int = 30_000
    events: list = field(default_factory=list)
    results: list = field(default_factory=list)
    counters: dict = field(default_factory=dict)
    edges: int = 0
    edge: int = 0

    async def play(self, driver):
        self.actions.sort(key=lambda action: action[0])
        self._flips = defaultdict(int)
        edge, toggle = 1, 0
        while True:
            self.edge = edge
            while self.actions and self.actions[0][0] <= edge:
                await self._act(driver, self.actions.pop(0)[1])
            if await driver.get("quiet"):
                if not self.actions:
                    break
                if self.stop:
                    assert await driver.get("wake_edge") == NEVER
                    edge = self.actions[0][0]
                    continue
            await driver.clock(edge)
            self.edges += 1
            assert self.edges < self.limit_edges, "the unit does not come to rest"
            if await driver.get("event_toggle") != toggle:
                toggle ^= 1
                await self._event(driver, edge)
            edge += 1
        counters = Layout.cast(GatherCounters).from_bits(await driver.get("counters"))
        self.counters = {name: counters[name] for name, _ in Layout.cast(GatherCounters)}

    async def _act(self, driver, what):
        if isinstance(what, Stage):
            row = what.tag % self.stage_slots * self.stage_slot_bytes // BEAT
            for n in range(0, len(what.data), BEAT):
                word = int.from_bytes(what.data[n : n + BEAT], "little")
                await driver.store("stage", row + n // BEAT, word)
            length = len(what.data) if what.length is None else what.length
            word = pack(StageRequest, address=what.address, length=length, tag=what.tag)
            await self._post(driver, "stage", word)
        elif isinstance(what, Start):
            word = pack(
                GatherLaunch, descriptor_address=what.address, count=what.count, tag=what.tag
            )
            await self._post(driver, "launch", word)
        elif isinstance(what, Write):
            word = pack(RingWrite, offset=what.offset, value=what.value)
            await self._post(driver, "ring_write", word)
        else:
            await self._flip(driver, "abort" if isinstance(what, Abort) else "result_free")

    async def _post(self, driver, name, word):
        await driver.set(name, int.from_bytes(word, "little"))
        await self._flip(driver, f"{name}_toggle")

    async def _flip(self, driver, name):
        self._flips[name] ^= 1
        await driver.set(name, self._flips[name])

    async def _event(self, driver, edge):
        event = Layout.cast(GatherEvent).from_bits(await driver.get("event"))
        seen = {"edge": edge}
        if event.done_valid:
            done = event.done
            seen["done"] = (done.tag, done.status, done.words, done.started, done.first, done.last)
            if not done.tag & RING_LAUNCH:
                self.results.append(await self._words(driver, done.words))
                if self.free_after is not None:
                    self.later(edge + self.free_after, Free())
        if event.interrupt_valid:
            seen["interrupt"] = event.interrupt_cause
            self.interrupted(edge, event.interrupt_cause)
        if event.staged_valid:
            seen["staged"] = (event.staged_tag, event.staged_error)
        if event.violation_valid:
            seen["violation"] = (event.violation_rule >> 4, event.violation_rule & 15)
        assert len(seen) > 1, "an event that says nothing"
        self.events.append(seen)

    def later(self, edge, action):
        self.actions.append((edge, action))
        self.actions.sort(key=lambda action: action[0])

    def interrupted(self, edge, cause):
        """What the host does about an interrupt: nothing here."""

    async def _words(self, driver, count):
        """The words of a launch that are in the result memory."""
        image = b""
        for row in range(-(-min(8 * count, self.result_bytes) // BEAT)):
            image += (await driver.load("results", row)).to_bytes(BEAT, "little")
        return np.frombuffer(image, dtype="<u8")[:count].tolist()


def pieces(scenario, spans, size=1024):
    """Stage actions that carry the scenario's image, in pieces of a slot; tags from 0."""
    addresses = [address for start, stop in spans for address in range(start, stop, size)]
    for tag, address in enumerate(addresses):
        yield Stage(address, bytes(scenario.image[address : address + size]), tag)


def story(seed=3, gap=300):
    """Stage an image piece by piece, then launch twice while other pieces are still coming.

    Returns the scenario and the actions.
    """
    scenario = random_scenario(seed, targets=12, errors=False)
    half = scenario.size // 2
    spans = [(0, 0x2000), (0x8000, 0xA000), (half, half + 0x2000)]
    rng = np.random.default_rng(seed)
    descriptors = [
        {
            "mode": GatherMode.DRAW,
            "fan_out": 10,
            "degree": (0, 5, 60, 500)[number % 4],
            "key": number,
            "list_address": half + 8 * int(rng.integers(0, 500)),
        }
        for number in range(12)
    ]
    scenario.launches = []
    scenario.launch(0x1000, descriptors)
    scenario.launch(0x1400, descriptors[::-1])
    actions = [(10 + gap * n, piece) for n, piece in enumerate(pieces(scenario, spans))]
    end = actions[-1][0] + gap
    first, second = scenario.launches
    actions += [(end, Start(first.address, first.count, 1))]
    actions += [(end + 4, Start(second.address, second.count, 2))]
    late = (8, 45, 75, 200)
    actions += [(end + at, Stage(0xC000, bytes(1024), 24 + n)) for n, at in enumerate(late)]
    return scenario, actions
