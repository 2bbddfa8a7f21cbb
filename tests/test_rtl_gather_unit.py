# amaranth: UnusedElaboratable=no
"""The gather unit of a co-simulation behind its mailboxes, its clock running or stopped."""

import pytest
from amaranth.hdl import ClockDomain, Module, Value
from amaranth.sim import Simulator

from rtl.contract.gather import GatherMode, GatherStatus, ViolationSource
from rtl.gather.unit import GatherSimUnit
from tests.scenarios.gather import GatherScenario, reference
from tests.scenarios.gather_unit import SIZES, UNIT, Stage, Start, UnitPlayer, pieces, story

pytestmark = pytest.mark.slow


class AmaranthDriver:
    """The unit in Amaranth's simulator, its clock made by hand."""

    def __init__(self, ctx, unit, clock):
        self._ctx = ctx
        self._unit = unit
        self._clock = clock
        self._memories = {
            "stage": unit.staging.storage.data,
            "results": unit.landing.storage.data,
            "dram": unit.dram.storage.data,
        }

    async def set(self, port, word):
        self._ctx.set(Value.cast(getattr(self._unit, port)), word)

    async def get(self, port):
        return self._ctx.get(Value.cast(getattr(self._unit, port)))

    async def clock(self, edge):
        self._ctx.set(self._unit.now, edge)
        self._ctx.set(self._clock, 1)
        self._ctx.set(self._clock, 0)

    async def store(self, memory, row, word):
        self._ctx.set(self._memories[memory][row], word)

    async def load(self, memory, row):
        return int(self._ctx.get(self._memories[memory][row]))


def play(actions, *, stop=True, free_after=None, player=UnitPlayer, **parameters):
    """Play actions in Amaranth's simulator; returns the player, one of class ``player``."""
    sizes = {name: parameters.get(name, value) for name, value in SIZES.items()}
    player = player(actions=[*actions], stop=stop, free_after=free_after, **sizes)
    domain, m = ClockDomain("sync"), Module()
    m.domains.sync = domain
    m.submodules.unit = unit = GatherSimUnit(**{**UNIT, **parameters})

    async def bench(ctx):
        await player.play(AmaranthDriver(ctx, unit, domain.clk))

    sim = Simulator(m)
    sim.add_testbench(bench)
    sim.run()
    return player


@pytest.fixture(scope="module")
def told():
    """The story on a stopping clock: the scenario and what came of it."""
    scenario, actions = story()
    return scenario, play(actions, free_after=777)


def test_staged_data_is_gathered(told):
    scenario, bench = told
    assert bench.results == [reference(scenario, launch)[0] for launch in scenario.launches]
    staged = [event["staged"] for event in bench.events if "staged" in event]
    assert staged == [(tag, 0) for tag in range(28)]
    assert not [event for event in bench.events if "violation" in event]


def test_a_stopped_clock_changes_nothing(told):
    _, stopped = told
    running = play(story()[1], stop=False, free_after=777)
    assert stopped.events == running.events
    assert stopped.counters == running.counters
    assert stopped.edges < running.edges * 0.7


def test_the_story_reaches_every_counter(told):
    _, bench = told
    counters = bench.counters
    assert counters["launches"] == 2
    assert counters["descriptors"] == 24
    assert counters["empty"] == 6
    ids = sum(len(words) - 12 for words in bench.results)
    assert counters["id_reads"] + counters["merges"] == counters["ids"] == ids
    assert counters["words"] == sum(map(len, bench.results))
    # Two descriptors a beat, at the beginning of one.
    assert counters["beats"] == counters["id_reads"] + 12
    ends = [event["done"] for event in bench.events if "done" in event]
    # Told at the edge after its last word.
    assert counters["busy"] == sum(last - started + 1 for *_, started, _, last in ends)
    parts = ("transfers", "output_stalls", "memory_stalls", "gaps")
    assert counters["busy"] == sum(counters[name] for name in parts)
    idle = {name for name, count in counters.items() if count == 0}
    # No descriptor is bad here, and the landing always takes a word at once.
    assert idle == {"bad_descriptors", "output_stalls"}


def test_the_next_launch_waits_for_its_memory(told):
    _, bench = told
    (first_edge, first), (_, second) = [(e["edge"], e["done"]) for e in bench.events if "done" in e]
    assert first[5] <= first_edge
    # Freed at edge + 777; seen there, and the launch starts in the clock after.
    assert second[3] == first_edge + 777 + 1


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
    return play(actions, **parameters)


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
    bench = play(actions, launch_depth=4 if launches == 5 else 8)
    assert [e["done"][:3] for e in bench.events if "done" in e] == [(0, GatherStatus.OK, 0)]
    assert not [e for e in bench.events if "violation" in e]
    actions = [(10 + n, Start(0x1000, 0, n)) for n in range(6)]
    bench = play(actions, launch_depth=4)
    assert [e["violation"] for e in bench.events if "violation" in e] == [
        (ViolationSource.MAILBOX, 1)
    ]


def test_staging_requests_beyond_the_queue_are_a_violation():
    # One is in the splitter's hands while it waits: four slots take a burst of requests, not nine.
    actions = [(10 + n, Stage(0x1000, bytes(1024), n % 4)) for n in range(12)]
    bench = play(actions)
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
    bench = play(actions)
    assert [event["staged"] for event in bench.events] == [(3, 1), (4, 0)]


def test_two_things_at_one_edge_share_an_event():
    """A launch's end and a staging request's, brought together by moving one of them."""

    def ends(at):
        actions = [(100, Start(0x1000, 0, 1)), (at, Stage(0x1000, b"", 7, 0))]
        return play(actions).events

    events = [ends(at) for at in range(99, 103)]
    (shared,) = [pair for pair in events if len(pair) == 1]
    assert set(shared[0]) == {"edge", "done", "staged"}
    assert sum(len(pair) == 2 for pair in events) == 3


def test_staging_across_4_kb_keeps_the_protocol():
    actions = [(10, Stage(0x1E00, bytes(range(256)) * 4, 1)), (14, Stage(0x3000, bytes(64), 2))]
    bench = play(actions)
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
