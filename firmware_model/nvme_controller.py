"""NVMe front end: doorbells, fetch and decode of submission entries, completion entries."""

from collections.abc import Callable, Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import DmaEngine
from firmware_model.dma_orders import DmaOrders
from firmware_model.outcome import CommandError
from firmware_model.parameters import NvmeParameters, QueueRegisters, Task
from firmware_model.slots import Slots
from rtl.contract.codec import byte_size, pack, unpack
from rtl.contract.kernel import Cause, DevicePort, latest
from rtl.contract.nvme import (
    SAMPLING_BIT,
    CompletionEntry,
    Opcode,
    Status,
    SubmissionEntry,
    doorbell_offset,
)

__all__ = ["NvmeController", "QueueError", "QueueState", "classify"]

SUBMISSION_BYTES = byte_size(SubmissionEntry)
COMPLETION_BYTES = byte_size(CompletionEntry)
NAMESPACE = 1

Handler = Callable[..., Generator[Any, Any, Cause]]


class QueueError(Exception):
    """A queue does not lie in host memory: the controller cannot go on, an error of the run."""

    # Made with its message only: SimPy makes the exceptions that leave it again from their args.


def _stray(number: int, kind: str, address: int) -> QueueError:
    return QueueError(
        f"The {kind} entries of queue {number} must lie in host memory, not at {address:#x}"
    )


def classify(entry: Any) -> tuple[Status, bool]:
    """What a ``SubmissionEntry`` is by its opcode, flags and namespace: status, and if it samples.

    The C routine ``sqe_decode`` computes the same.
    """
    sampling = bool(entry.opcode == Opcode.WRITE and entry.cdw12 >> SAMPLING_BIT & 1)
    if not sampling and entry.opcode not in (Opcode.READ, Opcode.FLUSH):
        return Status.INVALID_OPCODE, sampling
    if entry.flags.fuse or entry.flags.psdt:
        return Status.INVALID_FIELD, sampling
    if entry.nsid != NAMESPACE:
        return Status.INVALID_NAMESPACE, sampling
    return Status.SUCCESS, sampling


class QueueState:
    """State of one queue pair in the controller."""

    def __init__(self, env: Any, registers: QueueRegisters) -> None:
        self.registers = registers
        self.head = 0
        """Next submission entry to fetch."""
        self.tail = 0
        """As last rung by the host."""
        self.post = 0
        """Place of the next completion entry."""
        self.phase = 1
        self.taken = 0
        """Completion head, as last rung by the host."""
        self.room = Slots(env, "completion queue", registers.completion_entries - 1)
        self.rung: Any = env.event()
        self.rung_cause: Cause | None = None

    @property
    def head_address(self) -> int:
        """Of the next submission entry."""
        return self.registers.submission_address + SUBMISSION_BYTES * self.head

    def fetched(self) -> None:
        """The entry at the head is taken."""
        self.head = (self.head + 1) % self.registers.submission_entries

    def post_entry(self, cid: int, status: Status) -> tuple[int, bytes]:
        """The next completion entry and its address; the place behind it is next then."""
        address = self.registers.completion_address + COMPLETION_BYTES * self.post
        raw = pack(
            CompletionEntry,
            sqhd=self.head,
            sqid=self.registers.number,
            cid=cid,
            status={"phase": self.phase, "status": int(status)},
        )
        self.post = (self.post + 1) % self.registers.completion_entries
        self.phase ^= not self.post
        return address, raw


class NvmeController:
    """Fetches commands one by one from each queue, runs many at a time, posts completions.

    Commands are independent and complete in any order. The submission head in a completion entry
    is that of its posting. A full completion queue holds completions back until the host rings its
    head doorbell. Once a completion entry is ordered, its DMA and the interrupt behind it are the
    controller's: no step waits for them.

    Parameters
    ----------
    env, cores, dma, port, counters
        What the front end runs on.
    parameters : NvmeParameters
    sampling, reading : callable
        ``serve`` of the ISP control unit and of block I/O.

    Notes
    -----
    NVMe 1.4: doorbells 3.1.24 and 3.1.25, entries 4.2 and 4.6. Only the I/O queues exist, set up
    as if by admin commands; ordinary Writes are not supported (INVALID_OPCODE), Flush has nothing
    to do.
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        dma: DmaEngine,
        port: DevicePort,
        parameters: NvmeParameters,
        counters: Counters,
        *,
        sampling: Handler,
        reading: Handler,
    ) -> None:
        self.slots = Slots(env, "command slots", parameters.command_slots)
        self.queues: dict[int, QueueState] = {}
        self._env = env
        self._cores = cores
        self._dma = dma
        self._orders = DmaOrders(env, cores, dma, Task.FRONT_END)
        self._port = port
        self._counters = counters
        self._sampling = sampling
        self._reading = reading
        self._doorbells: dict[int, Callable[[int, Cause], bool]] = {}
        env.process(self._listen())

    def attach(self, registers: QueueRegisters) -> None:
        """Begin to serve a queue pair; :exc:`ValueError` if its number is taken."""
        number = registers.number
        if number in self.queues:
            raise ValueError(f"number of a queue must be a new one, not {number}")
        queue = QueueState(self._env, registers)
        self.queues[number] = queue
        self._doorbells[doorbell_offset(number, completion=False)] = lambda value, cause: (
            self._ring_tail(queue, value, cause)
        )
        self._doorbells[doorbell_offset(number, completion=True)] = lambda value, cause: (
            self._ring_head(queue, value, cause)
        )
        self._env.process(self._fetch(queue))

    def _listen(self) -> Generator[Any, Any, None]:
        while True:
            offset, value, cause = yield self._port.next_doorbell()
            self._counters.doorbells += 1
            ring = self._doorbells.get(offset)
            if ring is None or not ring(value, cause):
                self._counters.bad_doorbells += 1

    def _ring_tail(self, queue: QueueState, value: int, cause: Cause) -> bool:
        if not 0 <= value < queue.registers.submission_entries:
            return False
        queue.tail = value
        queue.rung_cause = cause
        if not queue.rung.triggered:
            queue.rung.succeed()
        return True

    def _ring_head(self, queue: QueueState, value: int, cause: Cause) -> bool:
        entries = queue.registers.completion_entries
        moved = (value - queue.taken) % entries
        used = (queue.post - queue.taken) % entries
        if not 0 <= value < entries or moved > used:
            return False
        if moved:
            queue.taken = value
            queue.room.release(cause, moved)
        return True

    def _fetch(self, queue: QueueState) -> Generator[Any, Any, None]:
        registers = queue.registers
        done: list[Cause] = []
        while True:
            if queue.head == queue.tail:
                queue.rung = self._env.event()
                yield queue.rung
                continue
            assert queue.rung_cause is not None
            cause = yield from self.slots.acquire(latest([queue.rung_cause, *done]))
            address = queue.head_address
            try:
                raw, cause = yield from self._orders.fetch(
                    address, SUBMISSION_BYTES, cause, kind="sqe", routine="sqe_fetch"
                )
            except CommandError:
                raise _stray(registers.number, "submission", address) from None
            queue.fetched()
            entry = unpack(SubmissionEntry, raw)
            cause = yield from self._cores.run(
                Task.FRONT_END, "sqe_decode", cause, request=int(entry.cdw3)
            )
            done = [cause]
            self._env.process(self._serve(queue, entry, cause))

    def _serve(self, queue: QueueState, entry: Any, cause: Cause) -> Generator[Any, Any, None]:
        request = int(entry.cdw3)
        self._counters.commands += 1
        status = Status.SUCCESS
        try:
            cause = yield from self._execute(entry, cause, request)
        except CommandError as error:
            status, cause = error.status, error.cause
            self._counters.failed_commands += 1
        cause = yield from self._complete(queue, int(entry.cid), status, cause, request)
        self.slots.release(cause)
        self._port.interrupt(cause, request=request)

    def _execute(self, entry: Any, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        status, sampling = classify(entry)
        if status != Status.SUCCESS:
            raise CommandError(status, cause)
        if entry.opcode == Opcode.FLUSH:
            return cause
        serve = self._sampling if sampling else self._reading
        return (yield from serve(entry, cause, request=request))

    def _complete(
        self, queue: QueueState, cid: int, status: Status, cause: Cause, request: int
    ) -> Generator[Any, Any, Cause]:
        cause = yield from queue.room.acquire(cause)
        cause = yield from self._cores.run(Task.FRONT_END, "cqe_post", cause, request=request)
        address, raw = queue.post_entry(cid, status)
        self._counters.phase_turns += not queue.post
        try:
            return (yield from self._dma.write(address, raw, cause, request=request, kind="cqe"))
        except CommandError:
            raise _stray(queue.registers.number, "completion", address) from None
