# amaranth: UnusedElaboratable=no
"""The gather unit of a co-simulation behind its mailboxes, its clock running or stopped."""

from dataclasses import dataclass

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import data
from amaranth.sim import Simulator

from rtl.contract.dram import DramTimes
from rtl.contract.gather import GatherCounters, GatherMode, GatherStatus, ViolationSource
from rtl.gather.unit import NEVER, GatherSimUnit
from tests.scenarios.gather import GatherScenario, random_scenario, reference

TIMES = DramTimes(banks=4, row_bytes=2048, t_refi_ps=1_000_000, t_rfc_ps=100_000)
BEAT = 64
UNIT = {
    "times": TIMES,
    "window_bytes": 1 << 17,
    "stage_slots": 4,
    "stage_slot_bytes": 1024,
    "result_bytes": 1 << 14,
}


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


class Free:
    """Give the result memory back."""


class UnitBench:
    """Plays actions into the unit, edge by edge, and keeps its events with their edges.

    With ``stop`` the clock stands still while the unit is quiet, as the co-simulation's clock does.
    An action (edge, what) is seen at that edge; ``on_event`` gives further ones.
    """

    def __init__(self, actions, *, stop, on_event=None, **parameters):
        self.unit = GatherSimUnit(**{**UNIT, **parameters})
        self._actions = sorted(actions, key=lambda action: action[0])
        self._stop = stop
        self._on_event = on_event or (lambda edge, event: [])
        self.events, self.results = [], []
        self.edges = 0

    def run(self, limit_edges=30_000):
        self._domain = ClockDomain("sync")
        m = Module()
        m.domains.sync = self._domain
        m.submodules.unit = self.unit
        self._limit = limit_edges
        sim = Simulator(m)
        sim.add_testbench(self._play)
        sim.run()
        return self

    async def _play(self, ctx):
        edge, toggle = 1, 0
        self._toggles = {"launch_toggle": 0, "stage_toggle": 0, "result_free": 0}
        while True:
            while self._actions and self._actions[0][0] <= edge:
                self._act(ctx, self._actions.pop(0)[1])
            if ctx.get(self.unit.quiet):
                if not self._actions:
                    break
                if self._stop:
                    assert ctx.get(self.unit.wake_edge) == NEVER
                    edge = self._actions[0][0]
                    continue
            ctx.set(self.unit.now, edge)
            ctx.set(self._domain.clk, 1)
            ctx.set(self._domain.clk, 0)
            self.edges += 1
            assert self.edges < self._limit, "the unit does not come to rest"
            if ctx.get(self.unit.event_toggle) != toggle:
                toggle ^= 1
                self._event(ctx, edge)
            edge += 1
        self.counters = {
            name: int(ctx.get(self.unit.counters[name]))
            for name, _ in data.Layout.cast(GatherCounters)
        }

    def _act(self, ctx, what):
        unit = self.unit
        if isinstance(what, Stage):
            storage, slots = unit.staging.storage, unit.staging.slots
            base = what.tag % slots * unit.staging.slot_bytes // BEAT
            for n in range(0, len(what.data), BEAT):
                word = int.from_bytes(what.data[n : n + BEAT], "little")
                ctx.set(storage.data[base + n // BEAT], word)
            length = len(what.data) if what.length is None else what.length
            ctx.set(unit.stage, {"address": what.address, "length": length, "tag": what.tag})
            self._flip(ctx, "stage_toggle")
        elif isinstance(what, Start):
            fields = {"descriptor_address": what.address, "count": what.count, "tag": what.tag}
            ctx.set(unit.launch, fields)
            self._flip(ctx, "launch_toggle")
        else:
            self._flip(ctx, "result_free")

    def _flip(self, ctx, name):
        self._toggles[name] ^= 1
        ctx.set(getattr(self.unit, name), self._toggles[name])

    def _event(self, ctx, edge):
        event = ctx.get(self.unit.event)
        seen = {"edge": edge}
        if event.done_valid:
            done = event.done
            seen["done"] = (done.tag, done.status, done.words, done.started, done.first, done.last)
            self.results.append(self._words(ctx, done.words))
        if event.staged_valid:
            seen["staged"] = (event.staged_tag, event.staged_error)
        if event.violation_valid:
            seen["violation"] = (event.violation_rule >> 4, event.violation_rule & 15)
        assert len(seen) > 1, "an event that says nothing"
        self.events.append(seen)
        self._actions = sorted(
            [*self._actions, *self._on_event(edge, seen)], key=lambda action: action[0]
        )

    def _words(self, ctx, count):
        storage = self.unit.landing.storage
        image = b"".join(
            int(ctx.get(storage.data[row])).to_bytes(BEAT, "little")
            for row in range(min(-(-8 * count // BEAT), storage.depth))
        )
        return np.frombuffer(image, dtype="<u8")[:count].tolist()


def pieces(scenario, spans, size=1024):
    """Stage actions that carry the scenario's image, in pieces of a slot, every so many edges."""
    tag = 0
    for start, stop in spans:
        for address in range(start, stop, size):
            yield Stage(address, bytes(scenario.image[address : address + size]), tag)
            tag += 1


def story(*, stop, seed=3, gap=300):
    """Stage an image piece by piece, then launch twice while other pieces are still coming."""
    scenario = random_scenario(seed, targets=12, errors=False)
    scenario.store_list(0x14000, range(128), 8)
    half = scenario.size // 2
    spans = [(0, 0x2000), (0x8000, 0xA000), (half, half + 0x2000)]
    rng = np.random.default_rng(seed)
    descriptors = []
    for number in range(12):
        degree = int(rng.choice([0, 5, 60, 500]))
        descriptors.append(
            {
                "mode": GatherMode.DRAW,
                "fan_out": 10,
                "degree": degree,
                "key": number,
                "list_address": half + 8 * int(rng.integers(0, 500)),
            }
        )
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

    def on_event(edge, event):
        return [(edge + 777, Free)] if "done" in event else []

    bench = UnitBench([*actions], stop=stop, on_event=on_event).run()
    return scenario, bench


def test_staged_data_is_gathered_and_a_stopped_clock_changes_nothing():
    scenario, stopped = story(stop=True)
    _, running = story(stop=False)
    assert stopped.events == running.events
    assert stopped.counters == running.counters
    assert stopped.edges < running.edges * 0.7
    assert stopped.results == [reference(scenario, launch)[0] for launch in scenario.launches]
    assert all(error == 0 for _, error in (e["staged"] for e in stopped.events if "staged" in e))
    assert [e["staged"][0] for e in stopped.events if "staged" in e] == list(range(28))
    counters = stopped.counters
    assert counters["launches"] == 2
    assert counters["descriptors"] == 24
    assert counters["id_reads"] == sum(len(words) - 12 for words in stopped.results)
    for name in (
        "empty",
        "ties",
        "row_hits",
        "row_misses",
        "refreshes",
        "quiet_entries",
        "outstanding_full",
    ):
        assert counters[name] > 0, name


def test_the_next_launch_waits_for_its_memory():
    _, bench = story(stop=True)
    (first_edge, first), (_, second) = [(e["edge"], e["done"]) for e in bench.events if "done" in e]
    started = second[3]
    assert first[5] <= first_edge
    # Freed at edge + 777; seen there, and the launch starts in the clock after.
    assert started == first_edge + 777 + 1


def draw(fan_out, degree=64, **fields):
    return {
        "mode": GatherMode.DRAW,
        "fan_out": fan_out,
        "degree": degree,
        "list_address": 0x8000,
        **fields,
    }


def stage_and_launch(scenario, count=None, **parameters):
    spans = [(0x1000, 0x1400), (0x8000, 0x8400)]
    actions = [(10 + 100 * n, piece) for n, piece in enumerate(pieces(scenario, spans))]
    actions.append((400, Start(0x1000, count or scenario.launches[0].count, 5)))
    return UnitBench(actions, stop=True, **parameters).run()


def test_more_results_than_the_landing_holds_are_a_violation():
    scenario = GatherScenario()
    scenario.launch(0x1000, [draw(40) for _ in range(7)])
    bench = stage_and_launch(scenario, result_bytes=256 * 8)
    violations = [event["violation"] for event in bench.events if "violation" in event]
    assert violations
    assert set(violations) == {(ViolationSource.LANDING, 1)}
    assert bench.results[0] == reference(scenario, scenario.launches[0])[0][:256]


def test_exactly_full_landing_is_none():
    scenario = GatherScenario()
    scenario.launch(0x1000, [draw(31) for _ in range(8)])
    bench = stage_and_launch(scenario, result_bytes=256 * 8)
    assert not [event for event in bench.events if "violation" in event]
    assert bench.results == [reference(scenario, scenario.launches[0])[0]]


@pytest.mark.parametrize("launches", [4, 5])
def test_launches_beyond_the_queue_are_a_violation(launches):
    actions = [(10 + n, Start(0x1000, 0, n)) for n in range(launches)]
    # The first is taken from the queue as it comes; its memory is never freed.
    bench = UnitBench(actions, stop=True, launch_depth=4 if launches == 5 else 8).run()
    assert [e["done"][:3] for e in bench.events if "done" in e] == [(0, GatherStatus.OK, 0)]
    assert not [e for e in bench.events if "violation" in e]
    actions = [(10 + n, Start(0x1000, 0, n)) for n in range(6)]
    bench = UnitBench(actions, stop=True, launch_depth=4).run()
    assert [e["violation"] for e in bench.events if "violation" in e] == [
        (ViolationSource.MAILBOX, 1)
    ]


def test_staging_requests_beyond_the_queue_are_a_violation():
    # One is in the splitter's hands while it waits: four slots take a burst of requests, not nine.
    actions = [(10 + n, Stage(0x1000, bytes(1024), n % 4)) for n in range(12)]
    bench = UnitBench(actions, stop=True).run()
    assert (ViolationSource.MAILBOX, 2) in [e.get("violation") for e in bench.events]


@pytest.mark.parametrize(
    ("address", "length"),
    [(0x1000, 0), (0x1000, 1088), (0x1000, 65), (0x1020, 64), (1 << 17, 64), ((1 << 17) - 64, 128)],
)
def test_staging_request_that_cannot_be(address, length):
    actions = [
        (10, Stage(address, bytes(1024), 3, length)),
        (12, Stage(0x1000, bytes(64), 4)),
    ]
    bench = UnitBench(actions, stop=True).run()
    assert [event["staged"] for event in bench.events] == [(3, 1), (4, 0)]


def test_two_things_at_one_edge_share_an_event():
    """A launch's end and a staging request's, brought together by moving one of them."""

    def ends(at):
        actions = [(100, Start(0x1000, 0, 1)), (at, Stage(0x1000, b"", 7, 0))]
        return UnitBench(actions, stop=True).run().events

    events = [ends(at) for at in range(99, 103)]
    (shared,) = [pair for pair in events if len(pair) == 1]
    assert set(shared[0]) == {"edge", "done", "staged"}
    assert sum(len(pair) == 2 for pair in events) == 3


def test_staging_across_4_kb_keeps_the_protocol():
    actions = [(10, Stage(0x1E00, bytes(range(256)) * 4, 1)), (14, Stage(0x3000, bytes(64), 2))]
    bench = UnitBench(actions, stop=True).run()
    assert [event["staged"] for event in bench.events] == [(1, 0), (2, 0)]
    assert bench.counters["row_hits"] + bench.counters["row_misses"] == 17


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage_slots": 3}, "slots must be a power of two from 2 up, not 3"),
        ({"stage_slot_bytes": 32}, "slot_bytes must be a power of two from 64 up, not 32"),
        (
            {"result_bytes": 100},
            "Result capacity must be a power of two of bytes from 128 up, not 100",
        ),
    ],
)
def test_refuses_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        GatherSimUnit(**{**UNIT, **change})
