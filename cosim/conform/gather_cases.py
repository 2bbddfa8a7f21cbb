"""The cases that a gather unit is judged by."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cosim.conform.gather_lists import (
    GatherLimits,
    Room,
    bad_descriptors,
    boundaries,
    bus_errors,
    empty,
    everything,
    fan_outs,
    long_launch,
    long_lists,
    not_offered,
    of_mode,
    short_launches,
    unaligned,
)
from cosim.conform.gather_player import GatherPlay
from cosim.conform.gather_scenario import GatherScenario
from rtl.contract.gather import GatherMode

__all__ = ["CASES", "GatherCase", "scenario_of"]


@dataclass(frozen=True, kw_only=True)
class GatherCase:
    """Launches, how they are played, and what of the unit they need.

    ``modes``: without one of them the case is not offered, and all that is judged is that its
    descriptors are refused. ``scenario`` makes the launches for a unit's limits and a beat's bytes.
    """

    name: str
    title: str
    scenario: Callable[[Room], GatherScenario]
    play: GatherPlay = field(default_factory=GatherPlay)
    modes: tuple[int, ...] = ()

    def is_offered(self, limits: GatherLimits) -> bool:
        return all(mode in limits.modes for mode in self.modes)


STREAMS = ("launches", "ar", "r", "results", "done")
ALL_STALLS = GatherPlay(pauses=dict.fromkeys(STREAMS, 4), latency=3, reorders=True, seed=2)

CASES: tuple[GatherCase, ...] = (
    *(
        GatherCase(
            name=f"{mode.name.lower().replace('_', '-')}-{1 << id_log2}-byte-ids",
            title=f"{mode.name}, ids of {1 << id_log2} bytes, lists of 1 to 3001 ids",
            scenario=of_mode(mode, id_log2),
            modes=(mode,),
        )
        for mode in GatherMode
        for id_log2 in (2, 3)
    ),
    GatherCase(name="unaligned", title="lists at every id-aligned address", scenario=unaligned),
    GatherCase(name="boundaries", title="across 4 KB boundaries", scenario=boundaries),
    GatherCase(name="empty", title="empty lists and launches", scenario=empty),
    GatherCase(name="fan-outs", title="fan-outs to the largest, and beyond", scenario=fan_outs),
    GatherCase(name="long-lists", title="degrees to 2^32 - 1, far away", scenario=long_lists),
    GatherCase(name="bad-descriptors", title="refused descriptors", scenario=bad_descriptors),
    GatherCase(name="bus-errors", title="SLVERR and DECERR", scenario=bus_errors),
    GatherCase(name="everything", title="all of it at random", scenario=everything(1)),
    *(
        GatherCase(
            name=f"stalls-{name}",
            title=f"long pauses at {name} alone",
            scenario=everything(3 + number, targets=12),
            play=GatherPlay(pauses={name: 24}, seed=number),
        )
        for number, name in enumerate(STREAMS)
    ),
    GatherCase(
        name="stalls-all", title="pauses at every port", scenario=everything(2), play=ALL_STALLS
    ),
    GatherCase(
        name="slow-memory", title="answers after 60 clocks", scenario=everything(20, targets=12),
        play=GatherPlay(latency=60),
    ),
    GatherCase(
        name="out-of-order", title="answers out of order across IDs", scenario=everything(21),
        play=GatherPlay(latency=20, reorders=True),
    ),
    GatherCase(name="back-to-back", title="launches back to back", scenario=short_launches),
    GatherCase(
        name="back-to-back-stalls", title="the same, with pauses", scenario=short_launches,
        play=ALL_STALLS,
    ),
    GatherCase(
        name="abort", title="launches given up, and the next one whole", scenario=long_launch,
        play=GatherPlay(aborts={0: 1, 2: 40, 4: 150, 6: 400}),
    ),
    GatherCase(
        name="abort-stalls", title="the same, with pauses", scenario=long_launch,
        play=replace(ALL_STALLS, aborts={0: 3, 2: 90, 4: 333, 6: 1000}),
    ),
    GatherCase(
        name="abort-errors", title="given up among refused lists and failed reads",
        scenario=everything(22), play=GatherPlay(latency=9, aborts={0: 60}),
    ),
)  # fmt: skip
"""In the order in which they run. Stamps, handshakes and AXI rules are judged in all of them."""


def scenario_of(case: GatherCase, room: Room) -> GatherScenario:
    """Launches of ``case``; where it is not offered, some that must be refused."""
    if case.is_offered(room.limits):
        return case.scenario(room)
    missing = next(mode for mode in case.modes if mode not in room.limits.modes)
    return not_offered(missing)(room)
