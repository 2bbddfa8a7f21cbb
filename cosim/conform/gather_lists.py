"""Lists and launches of the cases that a gather unit is judged by, made for what it offers."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cosim.conform.gather_scenario import (
    DESCRIPTOR_BYTES,
    FAULTS,
    GatherScenario,
    Launch,
    random_scenario,
)
from rtl.contract.axi import BOUNDARY_BYTES
from rtl.contract.gather import MAX_DISTINCT, MAX_FAN_OUT, GatherMode

__all__ = [
    "GatherLimits",
    "Room",
    "bad_descriptors",
    "boundaries",
    "bus_errors",
    "empty",
    "everything",
    "fan_outs",
    "long_launch",
    "long_lists",
    "not_offered",
    "of_mode",
    "short_launches",
    "unaligned",
]

TABLE, POSITIONS, LISTS = 0x1000, 0x8000, 0x1_0000
FAR = range(1 << 40, (1 << 40) + (1 << 36))


@dataclass(frozen=True, kw_only=True)
class GatherLimits:
    """What a unit offers; it refuses all else with BAD_DESCRIPTOR."""

    max_fan_out: int = MAX_FAN_OUT
    max_distinct: int = MAX_DISTINCT
    modes: tuple[int, ...] = tuple(GatherMode)

    def most(self, mode: int) -> int:
        """Largest fan-out of a mode."""
        return self.max_distinct if mode == GatherMode.DRAW_DISTINCT else self.max_fan_out


@dataclass(frozen=True, kw_only=True)
class Room:
    """A unit's limits and the width of its bus, with an empty scenario for them."""

    limits: GatherLimits
    beat_bytes: int

    def empty(self) -> GatherScenario:
        return GatherScenario(
            max_fan_out=self.limits.max_fan_out,
            max_distinct=self.limits.max_distinct,
            modes=self.limits.modes,
            beat_bytes=self.beat_bytes,
        )

    def filled(self, seed: int) -> GatherScenario:
        """The upper half holds random bytes."""
        scenario = self.empty()
        half = scenario.size // 2
        values = np.random.default_rng(seed).integers(0, 256, half, dtype=np.uint8)
        scenario.store(half, values.tobytes())
        return scenario

    @property
    def mode(self) -> int:
        """A mode that the unit offers, to be used where any will do."""
        return int(
            GatherMode.DRAW if GatherMode.DRAW in self.limits.modes else self.limits.modes[0]
        )


class Lists:
    """Descriptors being collected; positions are stored one behind the other."""

    def __init__(self, scenario: GatherScenario, seed: int) -> None:
        self.scenario = scenario
        self.descriptors: list[dict[str, int]] = []
        self._rng = random.Random(seed)
        self._spare = POSITIONS

    def add(
        self,
        mode: int,
        *,
        degree: int,
        fan_out: int,
        address: int = LISTS,
        id_log2: int = 3,
        places: Sequence[int] | None = None,
        gap: int = 0,
        **fields: int,
    ) -> None:
        """One more descriptor; explicit positions are drawn where they are not given."""
        if mode == GatherMode.EXPLICIT:
            self._spare += 4 * gap
            if places is None:
                places = [self._rng.randrange(max(degree, 1)) for _ in range(fan_out)]
            self.scenario.store(self._spare, np.array(places, dtype="<u4").tobytes())
            fields.setdefault("positions_address", self._spare)
            self._spare += 4 * len(places)
        self.descriptors.append(
            {
                "mode": int(mode),
                "degree": degree,
                "fan_out": fan_out,
                "list_address": address,
                "id_log2": id_log2,
                "key": self._rng.getrandbits(32),
                **fields,
            }
        )

    def launch(self, table: int = TABLE) -> None:
        self.scenario.launch(table, self.descriptors)
        self.descriptors = []


def of_mode(mode: int, id_log2: int) -> Callable[[Room], GatherScenario]:
    """One mode and width of ids, degrees below and above the fan-out."""

    def scenario(room: Room) -> GatherScenario:
        lists = Lists(room.filled(1), 1)
        most = room.limits.most(mode)
        for degree in (1, 2, 3, 7, 24, 25, 26, 100, 1000, 3001):
            for fan_out in (1, 5, 25):
                lists.add(mode, degree=degree, fan_out=min(fan_out, most), id_log2=id_log2)
        lists.launch()
        return lists.scenario

    return scenario


def unaligned(room: Room) -> GatherScenario:
    """Each id-aligned place in a bus word, both widths of ids."""
    lists = Lists(room.filled(2), 2)
    for id_log2 in (2, 3):
        for offset in range(0, room.beat_bytes, 1 << id_log2):
            lists.add(
                room.mode, degree=40, fan_out=min(6, room.limits.most(room.mode)),
                address=LISTS + 0x200 + offset, id_log2=id_log2,
            )  # fmt: skip
    lists.launch()
    return lists.scenario


def boundaries(room: Room) -> GatherScenario:
    """Lists, positions and descriptors on both sides of multiples of 4 KB."""
    lists = Lists(room.filled(3), 3)
    for number, mode in enumerate(room.limits.modes):
        for id_log2 in (2, 3):
            edge = LISTS + BOUNDARY_BYTES * (1 + number)
            lists.add(
                mode, degree=24, fan_out=min(24, room.limits.most(mode)),
                address=edge - (12 << id_log2), id_log2=id_log2,
                gap=(BOUNDARY_BYTES - 48) // 4,
            )  # fmt: skip
    count = len(lists.descriptors)
    descriptors = lists.descriptors
    lists.launch(TABLE - DESCRIPTOR_BYTES * (count // 2))
    lists.descriptors = descriptors
    lists.launch(2 * TABLE - DESCRIPTOR_BYTES)
    return lists.scenario


def empty(room: Room) -> GatherScenario:
    """Empty lists among others, and launches of nothing."""
    lists = Lists(room.filled(4), 4)
    few = min(3, room.limits.most(room.mode))
    for mode in room.limits.modes:
        for degree in (0, 0, 5, 0):
            lists.add(mode, degree=degree, fan_out=few)
    lists.launch()
    lists.launch(TABLE + 0x800)
    lists.add(room.mode, degree=0, fan_out=few)
    lists.launch(TABLE + 0xA00)
    lists.add(room.mode, degree=9, fan_out=few)
    lists.launch(TABLE + 0xC00)
    return lists.scenario


def fan_outs(room: Room) -> GatherScenario:
    """Every mode up to its largest fan-out, and refused beyond it."""
    lists = Lists(room.filled(5), 5)
    for mode in room.limits.modes:
        most = room.limits.most(mode)
        for fan_out in dict.fromkeys((1, 2, most // 2, most - 1, most, most + 1, most)):
            if fan_out > 0:
                lists.add(mode, degree=4000, fan_out=fan_out)
                lists.add(mode, degree=most + 1, fan_out=fan_out, id_log2=2)
    lists.launch()
    return lists.scenario


def long_lists(room: Room) -> GatherScenario:
    """Degrees up to 2^32 - 1, at addresses beyond 2^40."""
    scenario = room.empty()
    scenario.far = FAR
    lists = Lists(scenario, 6)
    for mode in room.limits.modes:
        for degree in (1 << 31, (1 << 32) - 1):
            for id_log2 in (2, 3):
                lists.add(
                    mode, degree=degree, fan_out=min(12, room.limits.most(mode)),
                    address=FAR.start + 0x1238, id_log2=id_log2,
                )  # fmt: skip
    lists.launch()
    return scenario


def _faults(limits: GatherLimits) -> list[Mapping[str, int]]:
    """:data:`FAULTS`, with the fan-outs and modes that a unit does not offer."""
    own: list[Mapping[str, int]] = []
    for fault in FAULTS:
        mode = fault.get("mode", limits.modes[0])
        if fault.get("fan_out", 0) > 64:
            if mode in limits.modes:
                own.append({**fault, "fan_out": limits.most(mode) + 1})
        elif mode in limits.modes or set(fault) == {"mode"}:
            own.append(fault)
    own += [{"mode": mode} for mode in GatherMode if mode not in limits.modes]
    return own


def bad_descriptors(room: Room) -> GatherScenario:
    """Each fault between good lists; a position beyond its list; a launch that is not aligned."""
    lists = Lists(room.filled(7), 7)
    few = min(4, room.limits.most(room.mode))
    for fault in _faults(room.limits):
        lists.add(room.mode, degree=50, fan_out=few)
        lists.descriptors.append({**lists.descriptors[-1], **fault})
    if GatherMode.EXPLICIT in room.limits.modes:
        for places in ([50, 1, 2], [1, 50, 2], [1, 2, 0xFFFF_FFFF]):
            count = min(3, room.limits.max_fan_out)
            lists.add(GatherMode.EXPLICIT, degree=50, fan_out=count, places=places[-count:])
    lists.add(room.mode, degree=50, fan_out=few)
    lists.launch()
    scenario = lists.scenario
    scenario.launches += [Launch(TABLE + 8, 3), Launch(TABLE, 5)]
    return scenario


def bus_errors(room: Room) -> GatherScenario:
    """Descriptors, positions and ids that the bus answers with SLVERR or DECERR, between others."""
    lists = Lists(room.filled(8), 8)
    scenario = lists.scenario
    for mode in room.limits.modes:
        few = min(8, room.limits.most(mode))
        for number in range(6):
            lists.add(mode, degree=64, fan_out=few, address=LISTS + 0x1000 * (number % 3), gap=16)
    scenario.faulty = [
        range(LISTS + 0x1040, LISTS + 0x1080),
        range(TABLE + 4 * DESCRIPTOR_BYTES, TABLE + 5 * DESCRIPTOR_BYTES),
        range(POSITIONS + 0x180, POSITIONS + 0x184),
    ]
    lists.launch()
    beyond = scenario.size - DESCRIPTOR_BYTES
    scenario.launches += [Launch(beyond, 3), Launch(TABLE, 3)]
    return scenario


def everything(seed: int, targets: int = 24) -> Callable[[Room], GatherScenario]:
    """Everything at random, refused descriptors and reads that fail included."""

    def scenario(room: Room) -> GatherScenario:
        made = random_scenario(
            seed, targets=targets, scenario=room.empty(), faults=_faults(room.limits)
        )
        lists = range(made.size // 2, made.size, 2048)
        made.faulty += [range(start, start + 64) for start in lists]
        return made

    return scenario


def short_launches(room: Room) -> GatherScenario:
    """Many launches of a few lists, back to back."""
    lists = Lists(room.filled(9), 9)
    modes = room.limits.modes
    for number in range(24):
        for _ in range(number % 4):
            mode = modes[number % len(modes)]
            lists.add(mode, degree=30 * (number % 3), fan_out=min(3, room.limits.most(mode)))
        lists.launch(TABLE + 0x100 * number)
    return lists.scenario


def long_launch(room: Room) -> GatherScenario:
    """A launch of many lists, and one of a few behind it; four times."""
    lists = Lists(room.filled(10), 10)
    few = min(20, room.limits.most(room.mode))
    for _ in range(60):
        lists.add(room.mode, degree=900, fan_out=few)
    lists.launch()
    lists.add(room.mode, degree=900, fan_out=few)
    lists.launch(0x6000)
    lists.scenario.launches *= 4
    return lists.scenario


def not_offered(mode: int) -> Callable[[Room], GatherScenario]:
    """Descriptors that are right but for their mode."""

    def scenario(room: Room) -> GatherScenario:
        lists = Lists(room.filled(11), 11)
        for id_log2 in (2, 3):
            lists.add(mode, degree=50, fan_out=1, id_log2=id_log2)
        lists.launch()
        return lists.scenario

    return scenario
