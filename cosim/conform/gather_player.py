"""Plays launches into a gather unit, clock by clock, and judges all that it does at its ports."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cosim.conform.gather_agents import ReadMemory, StreamRule, known, pauses
from cosim.conform.gather_scenario import (
    DESCRIPTOR_BYTES,
    GatherScenario,
    Launch,
    given_up,
    reference,
    targets,
)
from cosim.conform.wires import Broken, Driver, Wires
from cosim.units.fields import FieldReader
from rtl.contract.codec import pack
from rtl.contract.gather import GatherDone, GatherLaunch, GatherStatus

__all__ = ["GatherPlay", "GatherPlayer", "LaunchRecord"]

RESET_CLOCKS = 4
MOST_AFTER_ABORT = 64
"""Reads that a unit may still ask for: those that were on their way to the bus."""
REST_CLOCKS = 24
"""After the last launch: nothing may come any more."""
WORD_BITS = 64
CONTROLS = ("launches__ready", "m_axi_arvalid", "m_axi_rready", "results__valid", "done__valid")
_DONE = FieldReader(GatherDone)


@dataclass(frozen=True, kw_only=True)
class GatherPlay:
    """How launches are played, and what the memory does.

    ``pauses``: the longest pause of ``launches``, ``ar``, ``r``, ``results``, ``done``, in clocks.
    ``aborts``: launch number -> in which of its clocks in the unit it is given up. ``jumps``: the
    edge number skips over clocks in which the unit rests, as it does where clocks stop.
    ``patience``: clocks without anything handed over after which the unit is said to hang.
    """

    pauses: Mapping[str, int] = field(default_factory=dict)
    latency: int = 2
    reorders: bool = False
    aborts: Mapping[int, int] = field(default_factory=dict)
    jumps: bool = True
    patience: int = 2000
    seed: int = 1


@dataclass
class LaunchRecord:
    """What became of a launch; edges are edge numbers, -1 before they are known."""

    number: int
    launch: Launch
    words: list[int]
    """Expected."""
    status: int
    tag: int
    found: list[int] = field(default_factory=list)
    accepted: int = -1
    first: int = -1
    last: int = -1
    aborted: int = -1
    is_whole: bool = False
    """Its last word has been delivered, or there is none."""


class GatherPlayer:
    """One scenario, from reset to rest.

    Raises :exc:`Broken` at the clock in which the unit breaks a rule or gives a wrong word.
    ``edge`` is the edge that ends the clock, and ``steps`` counts clocks.
    """

    def __init__(
        self, driver: Driver, ports: Mapping[str, tuple[bool, int]], scenario: GatherScenario,
        play: GatherPlay,
    ) -> None:  # fmt: skip
        self.steps = 0
        self.edge = 1
        self.records: list[LaunchRecord] = []
        self._driver = driver
        self._play = play
        self._scenario = scenario
        self._rng = rng = random.Random(play.seed)
        self._wires = wires = Wires(ports)
        _, bits = ports["results__payload"]
        self._result_words = bits // WORD_BITS
        self.memory = ReadMemory(
            wires, scenario, latency=play.latency, reorders=play.reorders,
            ar_pause=play.pauses.get("ar", 0), r_pause=play.pauses.get("r", 0), rng=rng,
        )  # fmt: skip
        self._rules = [
            StreamRule(wires, name, f"{name}__valid", f"{name}__ready", [f"{name}__payload"])
            for name in ("results", "done")
        ]
        self._launches = pauses(play.pauses.get("launches", 0), rng)
        self._results = pauses(play.pauses.get("results", 0), rng)
        self._ends = pauses(play.pauses.get("done", 0), rng)
        for number, launch in enumerate(scenario.launches):
            words, status = reference(scenario, launch)
            tag = rng.getrandbits(16)
            self.records.append(LaunchRecord(number, launch, words, status, tag))
        self._offered = 0
        self._inside: LaunchRecord | None = None
        self._clocks_inside = 0
        self._asked = 0
        """Reads that had been asked for when the launch inside was given up."""
        self._was_aborted = False
        """The last launch that ended was given up, so that reads of it may still be on the bus."""
        self._idle = 0

    async def play(self) -> None:
        """Reset the unit, play all launches, and watch it come to rest."""
        await self._reset()
        rest = 0
        ended = 0
        while rest < REST_CLOCKS:
            await self._step()
            ended += self._clock()
            is_over = ended == len(self.records) and not self.memory.in_flight
            rest = rest + 1 if is_over else 0

    async def _reset(self) -> None:
        for level in (0, *(1,) * RESET_CLOCKS, 0):
            self._wires.put("rst", level)
            await self._step()

    async def _step(self) -> None:
        await self._wires.step(self._driver)
        self.steps += 1

    def _clock(self) -> bool:
        """Judge one clock cycle and set the inputs of the next; whether a launch ended."""
        wires = self._wires
        known(wires, (*CONTROLS, "busy"))
        wires.put("abort", 0)
        self._watch_busy()
        for rule in self._rules:
            rule.clock()
        moved = self.memory.clock()
        moved |= self._take_words()
        ended = self._take_done()
        moved |= ended | self._offer()
        self._abort()
        self._be_patient(moved)
        self.edge += 1
        if self._inside is None and self._play.jumps and not wires["launches__valid"]:
            self.edge += self._rng.choice((0, 0, 0, 1, 1000))
        wires.put("now", self.edge)
        return ended

    def _watch_busy(self) -> None:
        is_inside, busy = self._inside is not None, self._wires["busy"]
        if is_inside and not busy:
            raise Broken("busy must be high from the clock after a launch was accepted to its end")
        if busy and not is_inside:
            raise Broken("busy must be low while no launch is in the unit")
        if not is_inside and not self._was_aborted:
            if self.memory.in_flight:
                raise Broken(f"{self.memory.in_flight} beats must be taken before the launch ends")
            if self._wires["m_axi_arvalid"]:
                raise Broken("m_axi_arvalid must be low while no launch is in the unit")
        self._clocks_inside += is_inside

    def _offer(self) -> bool:
        """Hand over launches, one after the other, each on offer as soon as the pauses let it."""
        wires = self._wires
        taken = bool(wires["launches__valid"] and wires["launches__ready"])
        if taken:
            if self._inside is not None:
                raise Broken("launches__ready must be low while a launch is in the unit")
            self._inside = self.records[self._offered]
            self._inside.accepted = self.edge
            self._inside.is_whole = not self._has_words(self._inside)
            self._clocks_inside = 0
            self._offered += 1
            wires.put("launches__valid", 0)
        may_offer = taken or not wires["launches__valid"]
        if may_offer and self._offered < len(self.records) and self._launches():
            record = self.records[self._offered]
            word = pack(
                GatherLaunch,
                descriptor_address=record.launch.address,
                count=record.launch.count,
                tag=record.tag,
            )
            wires.put("launches__payload", int.from_bytes(word, "little"))
            wires.put("launches__valid", 1)
        return taken

    @staticmethod
    def _has_words(record: LaunchRecord) -> bool:
        return record.launch.count > 0 and record.launch.address % DESCRIPTOR_BYTES == 0

    def _take_words(self) -> bool:
        wires = self._wires
        valid, ready = wires["results__valid"], wires["results__ready"]
        if valid and (self._inside is None or self._inside.is_whole):
            raise Broken("results__valid must be low: no word of a launch is left")
        if valid and ready:
            self._judge_transfer(wires["results__payload"])
        wires.put("results__ready", self._results())
        return bool(valid and ready)

    def _judge_transfer(self, payload: int) -> None:
        assert self._inside is not None
        record, most = self._inside, self._result_words
        count_bits = most.bit_length()
        count = payload >> WORD_BITS * most & (1 << count_bits) - 1
        last = payload >> WORD_BITS * most + count_bits & 1
        if not 1 <= count <= most:
            raise Broken(f"results.count must be 1 to {most}, not {count}")
        if not record.found:
            record.first = self.edge
        record.last = self.edge
        for place in range(count):
            word = payload >> WORD_BITS * place & (1 << WORD_BITS) - 1
            record.found.append(word)
            if record.aborted < 0:
                self._judge_word(record, word)
        if record.aborted < 0 and last != (len(record.found) == len(record.words)):
            where = f"after word {len(record.found)} of {len(record.words)}"
            raise Broken(f"results.last must mark the last word, not be {last} {where}")
        record.is_whole = bool(last)

    def _judge_word(self, record: LaunchRecord, word: int) -> None:
        place = len(record.found) - 1
        if place >= len(record.words):
            raise Broken(f"launch {record.number} must give {len(record.words)} words, not more")
        expected = record.words[place]
        if word == expected:
            return
        target, at = _where(record.words, place)
        what = f"the header of target {target}" if at == 0 else f"id {at - 1} of target {target}"
        raise Broken(f"{what} of launch {record.number} must be {expected:#018x}, not {word:#018x}")

    def _take_done(self) -> bool:
        wires = self._wires
        ended = bool(wires["done__valid"] and wires["done__ready"])
        if wires["done__valid"] and (self._inside is None or not self._inside.is_whole):
            raise Broken("done__valid must wait for the launch's last word")
        if ended:
            assert self._inside is not None
            self._judge_end(_DONE.all(wires["done__payload"]))
            self._was_aborted = self._inside.aborted >= 0
            self._inside = None
        wires.put("done__ready", self._ends())
        return ended

    def _judge_end(self, done: Mapping[str, int]) -> None:
        record = self._inside
        assert record is not None
        status = record.status
        if record.aborted >= 0:
            status = GatherStatus.ABORTED
            self._judge_abort(record)
        started = record.accepted
        expected = {
            "tag": record.tag,
            "status": int(status),
            "words": len(record.found),
            "started": started,
            "first": record.first if record.found else started,
            "last": record.last if record.found else started,
        }
        for name, value in expected.items():
            if done[name] != value:
                raise Broken(
                    f"done.{name} of launch {record.number} must be {value}, not {done[name]}"
                )

    def _judge_abort(self, record: LaunchRecord) -> None:
        """The first targets of the reference, each whole or ABORTED; and soon."""
        more = self.memory.requests - self._asked
        if more > MOST_AFTER_ABORT:
            raise Broken(f"launch {record.number}, given up, must not ask for {more} reads more")
        try:
            given_up(targets(record.found), targets(record.words))
        except AssertionError:
            raise Broken(
                f"launch {record.number}, given up, must give its first targets, each whole or "
                "ABORTED without ids, and an ABORTED one last if any is missing"
            ) from None

    def _abort(self) -> None:
        """Give the launch up that is inside, where the play says so.

        The order is seen at the edge that ends the clock in which ``abort`` is high; a launch all
        of whose words have left by then ends as it would have.
        """
        record = self._inside
        if record is None:
            return
        if self._wires["abort"] and not record.is_whole:
            record.aborted = self.edge
            self._asked = self.memory.requests
        if self._play.aborts.get(record.number) == self._clocks_inside:
            self._wires.put("abort", 1)

    def _be_patient(self, moved: bool) -> None:
        self._idle = 0 if moved else self._idle + 1
        if self._idle <= self._play.patience:
            return
        record = self._inside
        if record is None and self._offered == len(self.records):
            raise Broken(f"{self.memory.in_flight} beats on the bus must be taken")
        if record is None:
            raise Broken(f"the unit must take a launch within {self._play.patience} clocks")
        raise Broken(
            f"launch {record.number} hangs after {len(record.found)} words: for "
            f"{self._play.patience} clocks nothing was handed over, "
            f"with {self.memory.in_flight} beats on the bus"
        )


def _where(words: Sequence[int], place: int) -> tuple[int, int]:
    """Target and place in it of a word of the reference: 0 is its header."""
    target = begin = 0
    while True:
        length = 1 + (words[begin] & 0xFFFF_FFFF)
        if place < begin + length:
            return target, place - begin
        begin += length
        target += 1
