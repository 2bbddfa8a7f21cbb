"""What surrounds a gather unit in conformance runs: memory, kernel's streams, and their rules."""

import random
from collections.abc import Callable, Sequence

from cosim.conform.gather_scenario import GatherScenario
from cosim.conform.wires import Broken, Wires
from rtl.contract.axi import BOUNDARY_BYTES, Burst, Response

__all__ = ["ReadMemory", "StreamRule", "known", "pauses"]

ERRORS = (Response.SLVERR, Response.DECERR)
REQUEST = ("addr", "len", "size", "burst", "id")


def pauses(most: int, rng: random.Random) -> Callable[[], bool]:
    """Whether a stream's end goes on in a clock: runs of up to ``most`` idle ones in between.

    ``most`` 0 is never a pause.
    """
    left = 0

    def goes_on() -> bool:
        nonlocal left
        if left:
            left -= 1
            return False
        if most and rng.random() < 0.4:
            left = rng.randint(0, most - 1)
            return False
        return True

    return goes_on


def known(wires: Wires, names: Sequence[str]) -> None:
    """Refuse outputs that are undefined."""
    for name in names:
        if not wires.is_known(name):
            raise Broken(f"{name} must be 0 or 1 after reset, not X")


class StreamRule:
    """A stream out of the block: what is on offer stays, unchanged, until it is taken."""

    def __init__(self, wires: Wires, name: str, valid: str, ready: str, fields: Sequence[str]):
        self._wires = wires
        self._name, self._valid, self._ready = name, valid, ready
        self._fields = fields
        self._held: tuple[int, ...] | None = None

    def clock(self) -> None:
        wires = self._wires
        valid = wires[self._valid]
        if not valid:
            if self._held is not None:
                raise Broken(f"{self._valid} must stay until {self._ready}; it fell")
            return
        for name in self._fields:
            if not wires.is_known(name):
                raise Broken(f"{name} must be defined while {self._valid}; it has bits that are X")
        fields = tuple(wires[name] for name in self._fields)
        if self._held is not None and fields != self._held:
            changed = [
                name
                for name, old, new in zip(self._fields, self._held, fields, strict=True)
                if old != new
            ]
            raise Broken(f"{changed[0]} must stay until {self._ready}; it changed")
        self._held = None if wires[self._ready] else fields


class ReadMemory:
    """An AXI4 read subordinate over a scenario's image, which checks what it is asked.

    Beats of one ID come in order; those of different IDs in the order of their requests, or, with
    ``reorders``, in any order and interleaved. An answer comes ``latency`` clocks after its request
    at the earliest. ``ar_pause`` and ``r_pause`` are the longest pauses of requests and beats.
    """

    def __init__(
        self,
        wires: Wires,
        scenario: GatherScenario,
        *,
        latency: int,
        reorders: bool,
        ar_pause: int,
        r_pause: int,
        rng: random.Random,
    ) -> None:
        self.requests = 0
        """Requests taken so far."""
        self.bytes_per_beat = scenario.beat_bytes
        self._wires = wires
        self._scenario = scenario
        self._latency, self._reorders = latency, reorders
        self._takes, self._gives = pauses(ar_pause, rng), pauses(r_pause, rng)
        self._rng = rng
        self._clock = 0
        self._waiting: dict[int, list[tuple[int, int, int, bool]]] = {}
        names = [f"m_axi_ar{name}" for name in REQUEST]
        self._rule = StreamRule(wires, "AR", "m_axi_arvalid", "m_axi_arready", names)

    @property
    def in_flight(self) -> int:
        """Beats that were asked for and have not been taken."""
        return sum(map(len, self._waiting.values()))

    def clock(self) -> bool:
        """One clock cycle; whether something was handed over."""
        wires = self._wires
        self._clock += 1
        self._rule.clock()
        asked = bool(wires["m_axi_arvalid"] and wires["m_axi_arready"])
        if asked:
            self._accept()
        given = bool(wires["m_axi_rvalid"] and wires["m_axi_rready"])
        if given:
            queue = self._waiting[wires["m_axi_rid"]]
            del queue[0]
            wires.put("m_axi_rvalid", 0)
        if given or not wires["m_axi_rvalid"]:
            self._answer()
        wires.put("m_axi_arready", self._takes())
        return asked or given

    def _accept(self) -> None:
        addr, length, size, burst, id = (self._wires[f"m_axi_ar{name}"] for name in REQUEST)
        if burst != Burst.INCR:
            raise Broken(f"ARBURST must be 1 (INCR), not {burst}")
        if 1 << size > self.bytes_per_beat:
            raise Broken(f"ARSIZE must be at most {self.bytes_per_beat} bytes, not 2^{size}")
        first = addr >> size << size
        end = first + ((length + 1) << size)
        if addr // BOUNDARY_BYTES != (end - 1) // BOUNDARY_BYTES:
            raise Broken(f"a burst must not cross 4 KB, as {length + 1} beats at {addr:#x} do")
        self.requests += 1
        queue = self._waiting.setdefault(id, [])
        for beat in range(length + 1):
            place = addr if beat == 0 else first + (beat << size)
            queue.append((self._clock + self._latency, place, 1 << size, beat == length))

    def _answer(self) -> None:
        ready = [id for id, queue in self._waiting.items() if queue and queue[0][0] <= self._clock]
        if not ready or not self._gives():
            return
        if self._reorders:
            id = self._rng.choice(ready)
        else:
            id = min(ready, key=lambda each: self._waiting[each][0][0])
        _, address, size, last = self._waiting[id][0]
        width = self.bytes_per_beat
        base = address - address % width
        fails = self._scenario.fails(address, size - address % size)
        # What comes with an error means nothing.
        word = self._rng.getrandbits(8 * width) if fails else None
        if word is None:
            word = int.from_bytes(self._scenario.read(base, width), "little")
        self._wires.put("m_axi_rvalid", 1)
        self._wires.put("m_axi_rdata", word)
        self._wires.put("m_axi_rresp", self._rng.choice(ERRORS) if fails else Response.OKAY)
        self._wires.put("m_axi_rlast", last)
        self._wires.put("m_axi_rid", id)
