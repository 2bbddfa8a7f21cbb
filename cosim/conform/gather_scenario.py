"""Lists, descriptors and what must come out of the gather unit; free of any simulator."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rtl.contract.codec import pack, unpack
from rtl.contract.gather import (
    DESCRIPTOR_MAGIC,
    GatherDescriptor,
    GatherMode,
    GatherStatus,
    ResultHeader,
)
from rtl.contract.mixer import positions
from rtl.contract.sampling import distinct_positions

__all__ = [
    "DESCRIPTOR_BYTES",
    "FAULTS",
    "GatherScenario",
    "Launch",
    "given_up",
    "random_scenario",
    "reference",
    "targets",
]

DESCRIPTOR_BYTES = 32
DRAWS: dict[int, Any] = {
    GatherMode.DRAW: positions,
    GatherMode.DRAW_DISTINCT: distinct_positions,
}
WORD_BYTES = 8
_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Launch:
    """``count`` descriptors at ``address``."""

    address: int
    count: int


@dataclass
class GatherScenario:
    """A DRAM image being filled, and the launches that run over it.

    Reads that touch a byte in ``faulty`` (address ranges), or beyond the image, fail on the bus.
    All of ``far`` can be read without having been stored: each 64-bit word of it is a hash of its
    address. ``modes`` are those that the unit offers.
    """

    size: int = 1 << 17
    max_fan_out: int = 256
    max_distinct: int = 64
    beat_bytes: int = 64
    faulty: list[range] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    modes: Sequence[int] = tuple(GatherMode)
    far: range = range(0)

    def __post_init__(self) -> None:
        self.image = bytearray(self.size)

    def store(self, address: int, data: bytes) -> None:
        self.image[address : address + len(data)] = data

    def read(self, address: int, length: int) -> bytes:
        """Bytes at ``address``, all of them in the image or all in ``far``."""
        if address < self.size:
            return bytes(self.image[address : address + length])
        first = address // WORD_BYTES
        last = (address + length - 1) // WORD_BYTES
        words = (_far_word(word * WORD_BYTES) for word in range(first, last + 1))
        whole = b"".join(word.to_bytes(WORD_BYTES, "little") for word in words)
        return whole[address % WORD_BYTES :][:length]

    def store_list(self, address: int, ids: Sequence[int], id_bytes: int) -> None:
        self.store(address, np.asarray(ids, dtype=f"<u{id_bytes}").tobytes())

    def launch(self, address: int, descriptors: Sequence[Mapping[str, int]]) -> None:
        """Store ``descriptors`` (fields; magic and id_log2 have defaults) and launch them."""
        for number, fields in enumerate(descriptors):
            whole = {"magic": DESCRIPTOR_MAGIC, "id_log2": 3, **fields}
            self.store(address + DESCRIPTOR_BYTES * number, pack(GatherDescriptor, **whole))
        self.launches.append(Launch(address, len(descriptors)))

    def fails(self, address: int, length: int) -> bool:
        """Whether a bus word of ``[address, address + length)`` answers with an error."""
        first = address - address % self.beat_bytes
        last = address + length - 1
        last += self.beat_bytes - 1 - last % self.beat_bytes
        if first in self.far and last in self.far:
            return False
        return last >= self.size or any(
            first < bad.stop and bad.start <= last for bad in self.faulty
        )


def _far_word(address: int) -> int:
    """Splitmix64's finaliser, so that neighbouring words have nothing in common."""
    word = (address ^ address >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


def reference(scenario: GatherScenario, launch: Launch) -> tuple[list[int], int]:
    """What ``launch`` must give: (words, status), from the image alone."""
    if launch.address % DESCRIPTOR_BYTES:
        return [], GatherStatus.BAD_DESCRIPTOR
    words: list[int] = []
    outcome: int = GatherStatus.OK
    for number in range(launch.count):
        status, ids = _target(scenario, launch.address + DESCRIPTOR_BYTES * number)
        words.append(int.from_bytes(pack(ResultHeader, count=len(ids), status=status), "little"))
        words += ids
        outcome = outcome or status
    return words, outcome


def targets(words: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Result words cut into targets: (status, ids)."""
    cut: list[tuple[int, list[int]]] = []
    place = 0
    while place < len(words):
        head = unpack(ResultHeader, words[place].to_bytes(8, "little"))
        cut.append((int(head.status), list(words[place + 1 : place + 1 + head.count])))
        place += 1 + head.count
    assert place == len(words)
    return cut


def given_up(
    found: Sequence[tuple[int, list[int]]], expected: Sequence[tuple[int, list[int]]]
) -> int:
    """How many targets of a launch that was given up are ABORTED; those before are ``expected``.

    At least one is, unless all had been requested by then; the last stands for all behind it.
    """
    if found == expected:
        return 0
    aborted: tuple[int, list[int]] = (GatherStatus.ABORTED, [])
    places = [place for place, one in enumerate(found) if one == aborted]
    for place, one in enumerate(found):
        assert place in places or one == expected[place], place
    assert places
    assert len(found) == len(expected) or found[-1] == aborted
    return len(places)


def _target(scenario: GatherScenario, address: int) -> tuple[int, list[int]]:
    if scenario.fails(address, DESCRIPTOR_BYTES):
        return GatherStatus.BUS_ERROR, []
    given = unpack(GatherDescriptor, scenario.read(address, DESCRIPTOR_BYTES))
    if not _well_formed(given, scenario):
        return GatherStatus.BAD_DESCRIPTOR, []
    id_bytes = 1 << given.id_log2
    ids: list[int] = []
    if given.degree == 0:
        return GatherStatus.OK, []
    if given.mode in DRAWS:
        drawn = DRAWS[given.mode](given.key, given.degree, given.fan_out)
        places = [(True, int(p)) for p in drawn]
    else:
        places = [
            _position(scenario, given.positions_address + 4 * n) for n in range(given.fan_out)
        ]
    status: int = GatherStatus.OK
    for readable, place in places:
        at = given.list_address + id_bytes * place
        if not readable:
            failure: int = GatherStatus.BUS_ERROR
        elif place >= given.degree:
            failure = GatherStatus.BAD_DESCRIPTOR
        elif scenario.fails(at, id_bytes):
            failure = GatherStatus.BUS_ERROR
        else:
            failure = GatherStatus.OK
            ids.append(int.from_bytes(scenario.read(at, id_bytes), "little"))
        status = status or failure
    return (status, []) if status else (status, ids)


def _position(scenario: GatherScenario, address: int) -> tuple[bool, int]:
    if scenario.fails(address, 4):
        return False, 0
    return True, int.from_bytes(scenario.read(address, 4), "little")


def _well_formed(given: Any, scenario: GatherScenario) -> bool:
    if given.magic != DESCRIPTOR_MAGIC or given.id_log2 not in (2, 3):
        return False
    if given.mode not in scenario.modes:
        return False
    distinct = given.mode == GatherMode.DRAW_DISTINCT
    most = scenario.max_distinct if distinct else scenario.max_fan_out
    if not 1 <= given.fan_out <= most or given.list_address % (1 << given.id_log2):
        return False
    if given.list_address + (given.degree << given.id_log2) > 1 << 64:
        return False
    if given.mode in DRAWS:
        return True
    end = given.positions_address + 4 * given.fan_out
    return bool(given.positions_address % 4 == 0 and end <= 1 << 64)


FAULTS: tuple[dict[str, int], ...] = (
    {"magic": 0x46},
    {"mode": 3},
    {"id_log2": 1},
    {"id_log2": 4},
    {"fan_out": 0},
    {"fan_out": 257},
    {"mode": 2, "fan_out": 65},
    {"list_address": 0x1004},
    {"mode": 0, "positions_address": 0x2002},
    {"list_address": (1 << 64) - 8, "degree": 2},
    {"mode": 0, "positions_address": (1 << 64) - 4, "fan_out": 2},
)
"""Changes that each make a well-formed 8-byte descriptor a refused one."""


def random_scenario(
    seed: int,
    *,
    targets: int = 40,
    launches: int = 2,
    errors: bool = True,
    scenario: GatherScenario | None = None,
    faults: Sequence[Mapping[str, int]] = FAULTS,
) -> GatherScenario:
    """Random lists, both id widths, all modes, empty lists, straddles, and (``errors``) ``faults``.

    Lists lie at any id-aligned address of the upper half of the image; descriptors and positions in
    the lower half, so that both cross 4 KB boundaries. They keep to the modes and fan-outs of
    ``scenario``, an empty one, where it is given.
    """
    rng = random.Random(seed)
    scenario = scenario or GatherScenario()
    half = scenario.size // 2
    values = np.random.default_rng(seed).integers(0, 256, half, dtype=np.uint8)
    scenario.store(half, values.tobytes())
    if errors:
        scenario.faulty = [range(start, start + 64) for start in (half + 0x4000, 0x9000)]
    table, spare = 0x0FE0, 0x8000
    for _ in range(launches):
        descriptors = []
        for _ in range(targets):
            fields, spare = _random_descriptor(rng, scenario, half, spare)
            if errors and rng.random() < 0.15:
                fields.update(rng.choice(faults))
            descriptors.append(fields)
        scenario.launch(table, descriptors)
        table += DESCRIPTOR_BYTES * (targets + rng.randint(0, 3))
    return scenario


def _random_descriptor(
    rng: random.Random, scenario: GatherScenario, half: int, spare: int
) -> tuple[dict[str, int], int]:
    id_log2 = rng.choice([2, 3])
    degree = rng.choice([0, 1, 2, rng.randint(3, 60), rng.randint(61, 3000)])
    fan_out = rng.choice([1, 2, 5, 10, 25, 40])
    room = (half - (degree << id_log2)) >> id_log2
    mode = rng.choice(list(scenario.modes))
    most = scenario.max_distinct if mode == GatherMode.DRAW_DISTINCT else scenario.max_fan_out
    fields = {
        "mode": int(mode),
        "id_log2": id_log2,
        "fan_out": min(fan_out, most),
        "degree": degree,
        "list_address": half + (rng.randrange(room) << id_log2),
        "key": rng.getrandbits(32),
    }
    if mode == GatherMode.EXPLICIT:
        spare += 4 * rng.randint(0, 20)
        fields["positions_address"] = spare
        places = [rng.randrange(max(degree, 1)) for _ in range(fields["fan_out"])]
        if rng.random() < 0.1:
            places[rng.randrange(len(places))] = degree
        scenario.store(spare, np.array(places, dtype="<u4").tobytes())
        spare += 4 * fields["fan_out"]
    return fields, spare
