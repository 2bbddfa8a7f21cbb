"""NVMe front end: doorbells, fetch and decode of submission entries, completion entries."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.depths import DepthLog
from firmware_model.dma import DmaEngine
from firmware_model.dma_orders import DmaOrders
from firmware_model.nvme_queues import (
    SUBMISSION_BYTES,
    CompletionQueue,
    RoundRobin,
    SubmissionQueue,
)
from firmware_model.outcome import CommandError, Stop
from firmware_model.parameters import NvmeParameters, QueueRegisters, Task
from firmware_model.slots import Slots
from rtl.contract.codec import unpack
from rtl.contract.kernel import Cause, DevicePort, latest
from rtl.contract.nvme import (
    SAMPLING_BIT,
    Opcode,
    Status,
    SubmissionEntry,
    doorbell_offset,
)
from rtl.contract.nvme_admin import ADMIN_QUEUE

__all__ = ["Handler", "NvmeController", "QueueError", "classify"]

NAMESPACE = 1

Handler = Callable[..., Generator[Any, Any, Cause]]
ResultHandler = Callable[..., Generator[Any, Any, tuple[int, Cause]]]
"""Says dword 0 of the completion entry, too."""


class QueueError(Exception):
    """A queue does not lie in host memory: the controller cannot go on, an error of the run."""

    # Made with its message only: SimPy makes the exceptions that leave it again from their args.


def _stray(number: int, kind: str, address: int) -> QueueError:
    return QueueError(
        f"The {kind} entries of queue {number} must lie in host memory, not at {address:#x}"
    )


def classify(entry: Any, *, can_write: bool = False) -> tuple[Status, bool]:
    """What a ``SubmissionEntry`` is by its opcode, flags and namespace: status, and if it samples.

    The C routine ``sqe_decode`` computes the same, of a device that cannot write.
    """
    sampling = bool(entry.opcode == Opcode.WRITE and entry.cdw12 >> SAMPLING_BIT & 1)
    known = (Opcode.READ, Opcode.FLUSH, *([Opcode.WRITE] if can_write else []))
    if not sampling and entry.opcode not in known:
        return Status.INVALID_OPCODE, sampling
    if entry.flags.fuse or entry.flags.psdt:
        return Status.INVALID_FIELD, sampling
    if entry.nsid != NAMESPACE:
        return Status.INVALID_NAMESPACE, sampling
    return Status.SUCCESS, sampling


@dataclass(eq=False)
class _Active:
    """A command in the device, and its end: an event whose value is its last step."""

    stop: Stop
    done: Any


class NvmeController:
    """Fetches commands one by one, runs many at a time, posts completions.

    I/O queues share one fetcher, which takes from them round robin, and the command slots. The
    admin queue has a fetcher of its own and needs no slot, so that an Abort is heard when all slots
    are taken. Commands are independent and complete in any order. The submission head in a
    completion entry is that of its posting. A full completion queue holds completions back until
    the host rings its head doorbell. Once a completion entry is ordered, its DMA and the interrupt
    behind it are the controller's: no step waits for them.

    Parameters
    ----------
    env, cores, dma, port, counters
        What the front end runs on.
    parameters : NvmeParameters
    sampling, reading : callable
        ``serve`` of the ISP control unit and of block I/O.
    writing : callable, optional
        ``serve`` of block writes, where the device can write.

    Notes
    -----
    NVMe 1.4: doorbells 3.1.24 and 3.1.25, entries 4.2 and 4.6, arbitration 4.13. Ordinary Writes
    need a translation layer (INVALID_OPCODE without), and are on flash when they complete, so that
    Flush has nothing to do.
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
        sampling: ResultHandler,
        reading: Handler,
        writing: Handler | None = None,
    ) -> None:
        self.slots = Slots(env, "command slots", parameters.command_slots)
        self.submissions: dict[int, SubmissionQueue] = {}
        self.completions: dict[int, CompletionQueue] = {}
        self.arbiter = RoundRobin(env)
        """Of the I/O queues."""
        self._depths: list[SubmissionQueue] = []
        """Submission queues that are there, or were."""
        self.administer: ResultHandler | None = None
        """Carries out a command of the admin queue."""
        self._admin_arbiter = RoundRobin(env)
        self._env = env
        self._cores = cores
        self._dma = dma
        self._orders = DmaOrders(env, cores, dma, Task.FRONT_END)
        self._port = port
        self._counters = counters
        self._sampling = sampling
        self._reading = reading
        self._writing = writing
        self._active: dict[tuple[int, int], _Active] = {}
        env.process(self._listen())
        env.process(self._fetch(self.arbiter, self.slots))
        env.process(self._fetch(self._admin_arbiter, None))

    @property
    def completion_waits(self) -> int:
        """Completions that found their queue full."""
        return sum(queue.room.waits for queue in self.completions.values())

    def depths(self) -> dict[str, DepthLog]:
        """Of each submission queue: its entries; a number that was given again is told apart."""
        found: dict[str, DepthLog] = {}
        for queue in self._depths:
            name = f"submission queue {queue.number}"
            again = sum(one.partition(",")[0] == name for one in found)
            found[f"{name}, made again ({again})" if again else name] = queue.waits
        return found

    def attach(self, registers: QueueRegisters) -> None:
        """Begin to serve a queue pair; :exc:`ValueError` if its number is taken."""
        number = registers.number
        if number in self.submissions or number in self.completions:
            raise ValueError(f"number of a queue must be a new one, not {number}")
        self.add_completions(
            number,
            registers.completion_address,
            registers.completion_entries,
            registers.vector,
        )
        self.add_submissions(
            number, registers.submission_address, registers.submission_entries, number
        )

    def add_completions(self, number: int, address: int, entries: int, vector: int | None) -> None:
        """A completion queue with a new number; without interrupts if ``vector`` is None."""
        self.completions[number] = CompletionQueue(self._env, number, address, entries, vector)

    def add_submissions(self, number: int, address: int, entries: int, completions: int) -> None:
        """A submission queue with a new number, served from now on."""
        queue = SubmissionQueue(self._env, number, address, entries, self.completions[completions])
        self._depths.append(queue)
        self.submissions[number] = queue
        self._arbiter_of(number).add(queue)

    def remove_submissions(self, number: int, cause: Cause) -> Generator[Any, Any, Cause]:
        """Delete a submission queue: end its commands, and return when the last one has ended."""
        queue = self.submissions.pop(number)
        queue.delete()
        self._arbiter_of(number).remove(queue)
        ends = [
            self._end(active, Status.ABORTED_WITH_QUEUE)
            for (submission, _), active in self._active.items()
            if submission == number
        ]
        for end in ends:
            _, last = yield end
            cause = latest((cause, last))
        return cause

    def abort(self, number: int, cid: int, cause: Cause) -> Generator[Any, Any, tuple[bool, Cause]]:
        """End an I/O command early, if it is in the device: whether it was, when its end is posted.

        Admin commands are not ended: they are short, and an Abort could name itself.
        """
        active = self._active.get((number, cid))
        if active is None or number == ADMIN_QUEUE:
            return False, cause
        status, last = yield self._end(active, Status.ABORT_REQUESTED)
        return status == Status.ABORT_REQUESTED, latest((cause, last))

    @staticmethod
    def _end(active: _Active, status: Status) -> Any:
        if active.stop.status == Status.SUCCESS:
            active.stop.status = status
        return active.done

    def _arbiter_of(self, number: int) -> RoundRobin:
        return self._admin_arbiter if number == ADMIN_QUEUE else self.arbiter

    def _listen(self) -> Generator[Any, Any, None]:
        while True:
            offset, value, cause = yield self._port.next_doorbell()
            self._counters.doorbells += 1
            if not self._ring(offset, value, cause):
                self._counters.bad_doorbells += 1

    def _ring(self, offset: int, value: int, cause: Cause) -> bool:
        if offset % 4:
            return False
        number, is_completion = divmod((offset - doorbell_offset(0, completion=False)) // 4, 2)
        if is_completion:
            completions = self.completions.get(number)
            return completions is not None and completions.ring(value, cause)
        submissions = self.submissions.get(number)
        if submissions is None or not submissions.ring(value, cause):
            return False
        self._arbiter_of(number).rung()
        return True

    def _fetch(self, arbiter: RoundRobin, slots: Slots | None) -> Generator[Any, Any, None]:
        done: list[Cause] = []
        while True:
            queue = arbiter.choose()
            if queue is None:
                yield arbiter.wait()
                continue
            assert queue.rung_cause is not None
            cause = latest([queue.rung_cause, *done])
            if slots is not None:
                cause = yield from slots.acquire(cause)
                if queue.deleted:  # while it waited
                    slots.release(cause)
                    continue
            address = queue.head_address
            try:
                raw, cause = yield from self._orders.fetch(
                    address, SUBMISSION_BYTES, cause, kind="sqe", routine="sqe_fetch"
                )
            except CommandError:
                raise _stray(queue.number, "submission", address) from None
            queue.fetched()
            entry = unpack(SubmissionEntry, raw)
            cause = yield from self._cores.run(
                Task.FRONT_END, "sqe_decode", cause, request=int(entry.cdw3)
            )
            done = [cause]
            self._env.process(self._serve(queue, entry, cause, slots))

    def _serve(
        self, queue: SubmissionQueue, entry: Any, cause: Cause, slots: Slots | None
    ) -> Generator[Any, Any, None]:
        request, key = int(entry.cdw3), (queue.number, int(entry.cid))
        self._counters.commands += 1
        active = _Active(Stop(), self._env.event())
        if queue.deleted:
            active.stop.status = Status.ABORTED_WITH_QUEUE
        status, result = Status.SUCCESS, 0
        is_new = key not in self._active
        if is_new:
            self._active[key] = active
        try:
            if not is_new:
                raise CommandError(Status.COMMAND_ID_CONFLICT, cause)
            result, cause = yield from self._execute(queue, entry, cause, active.stop)
        except CommandError as error:
            status, cause = error.status, error.cause
            self._counters.failed_commands += 1
        if is_new:
            del self._active[key]
        cause = yield from self._complete(queue, int(entry.cid), status, result, cause, request)
        active.done.succeed((status, cause))
        if slots is not None:
            slots.release(cause)
        if queue.completions.vector is not None:
            self._port.interrupt(cause, request=request, vector=queue.completions.vector)

    def _execute(
        self, queue: SubmissionQueue, entry: Any, cause: Cause, stop: Stop
    ) -> Generator[Any, Any, tuple[int, Cause]]:
        if queue.number == ADMIN_QUEUE:
            assert self.administer is not None
            return (yield from self.administer(entry, cause))
        status, sampling = classify(entry, can_write=self._writing is not None)
        if status != Status.SUCCESS:
            raise CommandError(status, cause)
        stop.check(cause)
        if entry.opcode == Opcode.FLUSH:
            return 0, cause
        request = int(entry.cdw3)
        if sampling:
            return (yield from self._sampling(entry, cause, request=request, stop=stop))
        serve = self._reading
        if entry.opcode == Opcode.WRITE:
            assert self._writing is not None, "classify refuses it else"
            serve = self._writing
        return 0, (yield from serve(entry, cause, request=request, stop=stop))

    def _complete(
        self,
        queue: SubmissionQueue,
        cid: int,
        status: Status,
        result: int,
        cause: Cause,
        request: int,
    ) -> Generator[Any, Any, Cause]:
        completions = queue.completions
        cause = yield from completions.room.acquire(cause)
        cause = yield from self._cores.run(Task.FRONT_END, "cqe_post", cause, request=request)
        address, raw = completions.post_entry(queue, cid, status, result)
        self._counters.phase_turns += not completions.post
        try:
            return (yield from self._dma.write(address, raw, cause, request=request, kind="cqe"))
        except CommandError:
            raise _stray(queue.number, "completion", address) from None
