"""The gather unit as links and host see it: staged data and launches in, results and spans out."""

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from cosim.lockstep import LockStep, Report
from cosim.units.channel_state import UnitEngine
from cosim.units.fields import FieldReader
from cosim.units.gather_rings import RingMemory, RingPort
from cosim.units.gather_spans import RESULT_WORD_BYTES, UNIT, record_launch
from cosim.units.handover import HandOver
from cosim.units.violation import ProtocolViolation
from rtl.contract.axi import AxiRule
from rtl.contract.codec import pack
from rtl.contract.gather import GatherEvent, GatherLaunch, StageRequest, ViolationSource
from rtl.contract.gather_rings import MAX_RINGS, RING_LAUNCH
from rtl.contract.kernel import Cause
from rtl.emit_gather import RESULT_MEMORY, STAGE_MEMORY

__all__ = ["GatherPort", "GatherResult", "StagingFailed"]

_EVENT = FieldReader(GatherEvent)


class StagingFailed(Exception):
    """The card's DRAM refused data that was written to it."""


class GatherResult(NamedTuple):
    """A finished launch: its result words as bytes, its status (``GatherStatus``), its cause."""

    words: bytes
    status: int
    cause: Cause


@dataclass(eq=False, slots=True)
class _Staging:
    address: int
    data: bytes
    cause: Cause
    request: int
    ready_ps: int
    done: Any


@dataclass(eq=False, slots=True)
class _Launch:
    address: int
    count: int
    cause: Cause
    request: int
    ready_ps: int
    done: Any


class GatherPort:
    """The gather unit with its DRAM; see ``cosim.fpga_card.GatherPort``.

    A staging request waits for one of the unit's staging slots, a launch for the end of the one
    before it; both name the span that released them. Spans of the unit ``gather``:
    ``gather.stage`` (until the last write response), and for a launch ``gather.start`` (until the
    unit takes it), ``gather.first-word``, ``gather.stream`` and ``gather.complete``.

    Parameters
    ----------
    lockstep : LockStep
        The loop; the unit is attached to it.
    engine : UnitEngine
        Where it runs, as unit number ``unit``.
    period_ps : int
        Of the unit's clock.
    stage_slots, stage_slot_bytes : int
        The unit's staging memory; the slots are a power of two.
    rings : RingMemory, optional
        Of a unit with descriptor rings.
    """

    def __init__(
        self,
        lockstep: LockStep,
        engine: UnitEngine,
        *,
        unit: int,
        period_ps: int,
        stage_slots: int,
        stage_slot_bytes: int,
        rings: RingMemory | None = None,
    ) -> None:
        self.stage_waits = 0
        """Staging requests that found no free slot."""
        self.launch_waits = 0
        """Launches that found another one running."""
        self.rings: RingPort | None = None
        """The unit's descriptor rings."""
        if rings is not None:
            self.rings = RingPort(lockstep, engine, unit=unit, period_ps=period_ps, memory=rings)
        self._lockstep = lockstep
        self._kernel = lockstep.kernel
        self._env = lockstep.kernel.env
        self._period_ps = period_ps
        self._slot_bytes = stage_slot_bytes
        self._launch_box = engine.mailbox(unit, "launch")
        self._launch_toggle = engine.mailbox(unit, "launch_toggle")
        self._stage_box = engine.mailbox(unit, "stage")
        self._stage_toggle = engine.mailbox(unit, "stage_toggle")
        self._result_free = engine.mailbox(unit, "result_free")
        self._abort_box = engine.mailbox(unit, "abort")
        self._stage_memory = engine.memory(unit, STAGE_MEMORY)
        self._result_memory = engine.memory(unit, RESULT_MEMORY)
        self._free_slots = deque(range(stage_slots))
        self._staged: dict[int, _Staging] = {}
        self._stage_queue: deque[_Staging] = deque()
        self._stage_over = HandOver(lockstep, period_ps)
        self._launch_over = HandOver(lockstep, period_ps)
        self._abort_over = HandOver(lockstep, period_ps)
        self._running: _Launch | None = None
        self._launch_queue: deque[_Launch] = deque()
        lockstep.attach([unit], self._deliver, self._outstanding)

    @property
    def hand_over_waits(self) -> int:
        """Staging requests and launches that came in the same clock period as another one."""
        return self._stage_over.delayed + self._launch_over.delayed

    @property
    def is_running(self) -> bool:
        """A launch has been handed over and has not ended."""
        return self._running is not None

    def stage(self, address: int, data: bytes, cause: Cause, *, request: int = 0) -> Any:
        """As in the protocol; ``data`` is at most a slot, :exc:`ValueError` otherwise."""
        if not 0 < len(data) <= self._slot_bytes:
            raise ValueError(f"Staged data must be 1 to {self._slot_bytes} bytes, not {len(data)}")
        now = int(self._env.now)
        staging = _Staging(address, data, cause, request, now, self._env.event())
        if self._free_slots:
            self._start_staging(staging)
        else:
            self.stage_waits += 1
            self._stage_queue.append(staging)
        return staging.done

    def launch(self, descriptor_address: int, count: int, cause: Cause, *, request: int = 0) -> Any:
        """As in the protocol; the event's value is a :class:`GatherResult`."""
        now = int(self._env.now)
        launch = _Launch(descriptor_address, count, cause, request, now, self._env.event())
        if self._running is None:
            self._start_launch(launch)
        else:
            self.launch_waits += 1
            self._launch_queue.append(launch)
        return launch.done

    def abort(self) -> None:
        """Give up the launch that is running, which then ends with ABORTED; others wait on.

        A launch all of whose words have left ends as it would have.
        """
        if self._running is not None:
            self._abort_over.put(self._abort_box.flip)

    def _start_staging(self, staging: _Staging) -> None:
        slot = self._free_slots.popleft()
        self._staged[slot] = staging
        word = pack(StageRequest, address=staging.address, length=len(staging.data), tag=slot)
        first = slot * self._slot_bytes // self._stage_memory.word_bytes

        def write() -> None:
            self._stage_memory.write(first, staging.data)
            self._stage_box.set(int.from_bytes(word, "little"))
            self._stage_toggle.flip()

        self._stage_over.put(write)

    def _start_launch(self, launch: _Launch) -> None:
        self._running = launch
        word = pack(GatherLaunch, descriptor_address=launch.address, count=launch.count)

        def write() -> None:
            self._launch_box.set(int.from_bytes(word, "little"))
            self._launch_toggle.flip()

        self._launch_over.put(write)

    def _deliver(self, report: Report) -> None:
        fields = _EVENT.all(report.word)
        if fields["violation_valid"]:
            raise ProtocolViolation(_describe(report.edge_ps, fields["violation_rule"]))
        if fields["staged_valid"]:
            self._end_staging(report.edge_ps, fields)
        tag = fields["done.tag"] if fields["done_valid"] else 0
        if self.rings is not None and tag & RING_LAUNCH:
            self.rings.end_run(tag % MAX_RINGS, fields, report.edge_ps)
        elif fields["done_valid"]:
            self._end_launch(report.edge_ps, fields)
        if self.rings is not None and fields["interrupt_valid"]:
            self.rings.interrupt(fields["interrupt_cause"], report.edge_ps)

    def _end_staging(self, edge_ps: int, fields: dict[str, int]) -> None:
        slot = fields["staged_tag"]
        staging = self._staged.pop(slot)
        if fields["staged_error"]:
            raise StagingFailed(
                f"At {edge_ps} ps the card's DRAM must take {len(staging.data)} bytes at "
                f"{staging.address:#x}, and refused"
            )
        done = self._kernel.record(
            UNIT,
            "gather.stage",
            staging.cause.at_ps,
            edge_ps,
            staging.cause,
            request=staging.request,
            ready_ps=staging.ready_ps,
            payload_bytes=len(staging.data),
            kind="stage",
        )
        self._free_slots.append(slot)
        if self._stage_queue:
            waiting = self._stage_queue.popleft()
            waiting.cause = done
            self._start_staging(waiting)
        staging.done.succeed(done)

    def _end_launch(self, edge_ps: int, fields: dict[str, int]) -> None:
        launch = self._running
        if launch is None:
            raise RuntimeError(f"At {edge_ps} ps the gather unit ended a launch that nobody made")
        length = fields["done.words"] * RESULT_WORD_BYTES
        words = self._result_memory.read(0, length)
        cause = record_launch(
            self._kernel,
            self._period_ps,
            fields,
            edge_ps,
            launch.cause,
            request=launch.request,
            ready_ps=launch.ready_ps,
        )
        if self.rings is not None:
            self.rings.released(cause)
        self._lockstep.post(self._result_free.flip)
        self._running = None
        if self._launch_queue:
            waiting = self._launch_queue.popleft()
            waiting.cause = cause
            self._start_launch(waiting)
        launch.done.succeed(GatherResult(words, fields["done.status"], cause))

    def _outstanding(self) -> list[str]:
        staging = [
            f"staging of {len(s.data)} bytes at {s.address:#x}" for s in self._staged.values()
        ]
        if self._running is not None:
            staging.append(f"gather launch of {self._running.count} descriptors")
        return staging


def _describe(edge_ps: int, rule: int) -> str:
    source = ViolationSource(rule >> 4)
    number = rule & 15
    name = f"rule {number}"
    if source in (ViolationSource.READ_PORT, ViolationSource.WRITE_PORT):
        name = f"rule {number} ({AxiRule(number).name})"
    return f"At {edge_ps} ps in the gather unit, {source.name}: {name} was broken"
