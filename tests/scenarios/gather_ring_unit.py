"""What a host does to the descriptor rings of a whole gather unit, edge by edge."""

from dataclasses import dataclass, field

import numpy as np

from rtl.contract.codec import unpack
from rtl.contract.gather import GatherMode
from rtl.contract.gather_rings import (
    CardRegister,
    RingCompletion,
    RingRegister,
    ring_offset,
)
from tests.scenarios.gather import GatherScenario, Launch, reference
from tests.scenarios.gather_rings import Ring, set_up
from tests.scenarios.gather_unit import BEAT, Start, UnitPlayer, Write, pieces

__all__ = ["RING_UNIT", "RingPlayer", "expected_words", "ring_story", "told"]

COMPLETIONS, COMPLETION_LOG2 = 0x6000, 2
RING_BYTES = 1 << 13
RING_UNIT = {"rings": 3, "quantum": 3, "max_fan_out": 64, "ring_result_bytes": RING_BYTES}


class Scan:
    """Read the completion ring, after the cause of the interrupt was cleared."""


@dataclass(kw_only=True)
class RingPlayer(UnitPlayer):
    """Also takes completion entries and results of rings, and gives their places back."""

    entries: list = field(default_factory=list)
    ring_words: dict = field(default_factory=dict)
    """Words that the entries told of, by ring."""
    taken: int = 0

    def interrupted(self, edge, cause):
        self.later(edge + 3, Write(CardRegister.INTERRUPT_CAUSE, cause))
        self.later(edge + 9, Scan())

    async def _act(self, driver, what):
        if not isinstance(what, Scan):
            await super()._act(driver, what)
            return
        while True:
            entry = await self._entry(driver)
            if entry is None:
                return
            self.taken += 1
            await self._take(driver, entry)

    async def _entry(self, driver):
        size = 1 << COMPLETION_LOG2
        place = COMPLETIONS + 32 * (self.taken % size)
        row = await driver.load("dram", place // BEAT)
        raw = row.to_bytes(BEAT, "little")[place % BEAT :][:32]
        view = unpack(RingCompletion, raw)
        if view.phase != (self.taken // size + 1) % 2:
            return None
        names = ("ring", "consumed", "words", "first_bad", "landed", "head", "status", "flags")
        return {name: int(getattr(view, name)) for name in names}

    async def _take(self, driver, entry):
        """Read the words, and write that they and the entry were taken, edges apart."""
        self.entries.append(entry)
        ring, words = entry["ring"], self.ring_words.setdefault(entry["ring"], [])
        base = self.result_bytes + ring * RING_BYTES
        for number in range(entry["landed"] - entry["words"], entry["landed"]):
            place = base + 8 * number % RING_BYTES
            row = await driver.load("results", place // BEAT)
            words.append(row >> 8 * (place % BEAT) & (1 << 64) - 1)
        edge = self.edge + 5 + 4 * (self.taken % 8)
        taken = ring_offset(ring, RingRegister.TAKEN)
        self.later(edge, Write(taken, entry["landed"]))
        self.later(edge + 2, Write(CardRegister.COMPLETION_HEAD, self.taken % 4))


def ring_story(seed=5):
    """Three rings with batches that wrap, a bad descriptor, single launches in between.

    Returns the scenario, the rings' launches in order of each ring, the single launches, actions.
    """
    rng = np.random.default_rng(seed)
    scenario = GatherScenario(max_fan_out=64)
    scenario.store(0x8000, rng.integers(0, 1 << 40, 1024, dtype=np.uint64).tobytes())
    rings = [Ring(0x1000, 3), Ring(0x2000, 4), Ring(0x3000, 5)]

    def descriptors(count, key):
        return [
            {
                "mode": GatherMode.DRAW if (key + n) % 3 else GatherMode.DRAW_DISTINCT,
                "fan_out": 1 + int(rng.integers(0, 40)),
                "degree": int(rng.integers(0, 300)),
                "key": key + n,
                "list_address": 0x8000 + 8 * int(rng.integers(0, 700)),
            }
            for n in range(count)
        ]

    for number, ring in enumerate(rings):
        scenario.launch(ring.base, descriptors(ring.size, 100 * number))
    # Wrong magic, in the middle of the second ring's batch.
    scenario.store(rings[1].base + 32 * 5, b"\x46")
    scenario.launch(0x4000, descriptors(7, 900))
    single = scenario.launches[-1]
    spans = [(base, base + 0x400) for base in (0x1000, 0x2000, 0x3000, 0x4000)]
    staged = pieces(scenario, [*spans, (0x8000, 0xA000)])
    actions = [(10 + 200 * n, piece) for n, piece in enumerate(staged)]
    edge = actions[-1][0] + 200
    writes = set_up(rings, completions=COMPLETIONS, completion_log2=COMPLETION_LOG2)
    writes.append((CardRegister.CONTROL, 1))
    actions += [(edge + n, Write(*write)) for n, write in enumerate(writes)]
    begin = edge + 60
    launches = [[], [], []]

    def bell(at, number, count):
        ring = rings[number]
        first = launches[number]
        for index, run in ring.runs_to((ring.head + count) % ring.size, ring.size):
            first.append(Launch(ring.base + 32 * index, run))
        ring.head = (ring.head + count) % ring.size
        actions.append((begin + at, Write(ring_offset(number, RingRegister.TAIL), ring.head)))

    bell(0, 0, 6)
    bell(1, 1, 11)
    bell(2, 2, 31)
    actions.append((begin + 10, Start(single.address, single.count, 1)))
    actions.append((begin + 1100, Start(single.address, single.count, 2)))
    bell(2500, 0, 5)
    bell(2501, 1, 9)
    return scenario, launches, single, actions


def told(player):
    """What came of the story, as it goes into a file."""
    return {
        "events": player.events,
        "results": player.results,
        "entries": player.entries,
        "ring_words": [player.ring_words[ring] for ring in sorted(player.ring_words)],
        "counters": player.counters,
    }


def expected_words(scenario, launches):
    """Result words of launches, one after the other."""
    return [word for launch in launches for word in reference(scenario, launch)[0]]
