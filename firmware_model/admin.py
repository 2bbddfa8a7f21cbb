"""Admin commands: queues made and deleted, Identify, features, Abort."""

from collections.abc import Generator
from typing import Any

from firmware_model.admin_state import AdminState, Refused, admin_counts
from firmware_model.core import Cores
from firmware_model.dma import DmaEngine, split
from firmware_model.dma_orders import DmaOrders
from firmware_model.identify import ABORTS, identify
from firmware_model.nvme_controller import NvmeController
from firmware_model.outcome import CommandError, settle
from firmware_model.parameters import FirmwareParameters, Task
from rtl.contract.codec import unpack
from rtl.contract.kernel import Cause
from rtl.contract.nvme import PAGE_BYTES, Status
from rtl.contract.nvme_admin import (
    IDENTIFY_BYTES,
    AbortTarget,
    AdminOpcode,
    CompletionQueueFlags,
    QueueAndSize,
)

__all__ = ["AdminCommands"]


class AdminCommands:
    """Carries out the commands of the admin queue, for which it tells the controller what to do.

    Parameters
    ----------
    env, cores, dma
        What they run on.
    parameters : FirmwareParameters
    controller : NvmeController

    Notes
    -----
    A command is judged by one step, ``admin_command``. Identify then sends its data as any other
    transfer. A deleted submission queue's commands end with ABORTED_WITH_QUEUE, and an Abort
    completes when the command that it names has: its dword 0 is 0 if that ended with
    ABORT_REQUESTED. Ref: NVMe 1.4, sections 5.1 and 5.6.
    """

    def __init__(
        self,
        env: Any,
        cores: Cores,
        dma: DmaEngine,
        parameters: FirmwareParameters,
        controller: NvmeController,
    ) -> None:
        self.state = AdminState(parameters.nvme.io_queues, parameters.nvme.queue_entries)
        self._env = env
        self._cores = cores
        self._orders = DmaOrders(env, cores, dma, Task.FRONT_END)
        self._parameters = parameters
        self._controller = controller
        self._aborts = 0

    def serve(self, entry: Any, cause: Cause) -> Generator[Any, Any, tuple[int, Cause]]:
        """Carry out a ``SubmissionEntry``; returns dword 0 of its completion.

        Raises
        ------
        CommandError
        """
        request = int(entry.cdw3)
        cause = yield from self._cores.run(
            Task.FRONT_END, "admin_command", cause, request=request, **admin_counts(entry)
        )
        try:
            result = self.state.execute(entry)
        except Refused as refused:
            raise CommandError(refused.status, cause) from None
        match int(entry.opcode):
            case AdminOpcode.CREATE_COMPLETION_QUEUE:
                self._create_completions(entry)
            case AdminOpcode.CREATE_SUBMISSION_QUEUE:
                number, entries = self._named(entry)
                self._controller.add_submissions(
                    number, int(entry.prp1), entries, self.state.completion_of[number]
                )
            case AdminOpcode.DELETE_SUBMISSION_QUEUE:
                number, _ = self._named(entry)
                cause = yield from self._controller.remove_submissions(number, cause)
            case AdminOpcode.DELETE_COMPLETION_QUEUE:
                del self._controller.completions[self._named(entry)[0]]
            case AdminOpcode.SET_FEATURES:
                self._controller.arbiter.burst = self.state.commands_in_a_row
            case AdminOpcode.IDENTIFY:
                cause = yield from self._identify(entry, cause, request)
            case AdminOpcode.ABORT:
                result, cause = yield from self._abort(entry, cause)
        return result, cause

    @staticmethod
    def _named(entry: Any) -> tuple[int, int]:
        """Number and entries of the queue that a command makes or deletes."""
        named = unpack(QueueAndSize, int(entry.cdw10).to_bytes(4, "little"))
        return int(named.number), int(named.size) + 1

    def _create_completions(self, entry: Any) -> None:
        number, entries = self._named(entry)
        flags = unpack(CompletionQueueFlags, int(entry.cdw11).to_bytes(4, "little"))
        vector = int(flags.vector) if int(flags.interrupts) else None
        self._controller.add_completions(number, int(entry.prp1), entries, vector)

    def _identify(self, entry: Any, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        what = int(entry.cdw10) & 0xFF
        data = identify(
            what, int(entry.nsid), self._parameters.nvme, self._parameters.layout.lba_bytes
        )
        first, second = int(entry.prp1), int(entry.prp2)
        here = min(PAGE_BYTES - first % PAGE_BYTES, IDENTIFY_BYTES)
        if first % 4 or (here < IDENTIFY_BYTES and second % PAGE_BYTES):
            raise CommandError(Status.PRP_OFFSET_INVALID, cause)
        pieces = [(first, here)]
        if here < IDENTIFY_BYTES:
            pieces.append((second, IDENTIFY_BYTES - here))
        writes, done = [], 0
        for address, length in split(pieces, self._orders.descriptor_bytes):
            cause = yield from self._cores.run(Task.FRONT_END, "dma_setup", cause, request=request)
            writes.append(
                self._orders.start_write(
                    address, data[done : done + length], cause, request=request, kind="identify"
                )
            )
            done += length
        return (yield from settle(self._env, cause, writes))

    def _abort(self, entry: Any, cause: Cause) -> Generator[Any, Any, tuple[int, Cause]]:
        if self._aborts == ABORTS:
            raise CommandError(Status.ABORT_LIMIT_EXCEEDED, cause)
        target = unpack(AbortTarget, int(entry.cdw10).to_bytes(4, "little"))
        self._aborts += 1
        aborted, cause = yield from self._controller.abort(
            int(target.submission_queue), int(target.cid), cause
        )
        self._aborts -= 1
        return int(not aborted), cause
