"""What admin commands know and change: which queues there are, and the features.

Ref: NVM Express Base Specification 1.4, section 5. The C routine ``admin_command`` does the same.
"""

from typing import Any

from rtl.contract.codec import unpack
from rtl.contract.nvme import PAGE_BYTES, Status
from rtl.contract.nvme_admin import (
    ADMIN_QUEUE,
    UNLIMITED_BURST,
    AdminOpcode,
    CompletionQueueFlags,
    Feature,
    IdentifyWhat,
    QueueAndSize,
    SubmissionQueueFlags,
)

__all__ = ["AdminState", "Refused", "admin_counts"]

BURST_MASK = 7
LOW = 0xFFFF
NAMESPACE = 1


PARTS = {
    AdminOpcode.IDENTIFY: IdentifyWhat,
    AdminOpcode.SET_FEATURES: Feature,
    AdminOpcode.GET_FEATURES: Feature,
}
"""What CDW10[7:0] chooses."""
KINDS = [
    opcode.name.lower() if part is None else f"{opcode.name}_{part.name}".lower()
    for opcode in AdminOpcode
    for part in PARTS.get(opcode, (None,))
]


def admin_counts(entry: Any) -> dict[str, int]:
    """What the cost of ``admin_command`` depends on: its kind; an unknown one is as Abort."""
    try:
        opcode = AdminOpcode(int(entry.opcode))
        parts = PARTS.get(opcode)
        part = "" if parts is None else f"_{parts(int(entry.cdw10) & 0xFF).name}"
        kind = f"{opcode.name}{part}".lower()
    except ValueError:
        kind = AdminOpcode.ABORT.name.lower()
    return {name: int(name == kind) for name in KINDS}


class Refused(Exception):
    """An admin command ends with ``status``, and has changed nothing."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


def _require(condition: bool, status: Status) -> None:
    if not condition:
        raise Refused(status)


class AdminState:
    """Judges admin commands.

    Parameters
    ----------
    io_queues : int
        I/O queues of each kind; identifiers are 1 to this, interrupt vectors 0 to this.
    most_entries : int
        Entries of an I/O queue (MQES + 1).
    """

    def __init__(self, io_queues: int, most_entries: int) -> None:
        self.io_queues = io_queues
        self.most_entries = most_entries
        self.burst = 0
        """Arbitration burst, as a power of two."""
        self.completion_of: dict[int, int] = {}
        """Completion queue of each I/O submission queue."""
        self.completion_queues: set[int] = set()

    def execute(self, entry: Any) -> int:
        """Dword 0 of the completion of a ``SubmissionEntry``; the state is as after it.

        Raises
        ------
        Refused
        """
        _require(not entry.flags.fuse and not entry.flags.psdt, Status.INVALID_FIELD)
        match int(entry.opcode):
            case AdminOpcode.CREATE_COMPLETION_QUEUE:
                self._create_completion(entry)
            case AdminOpcode.CREATE_SUBMISSION_QUEUE:
                self._create_submission(entry)
            case AdminOpcode.DELETE_SUBMISSION_QUEUE:
                number = int(entry.cdw10) & LOW
                _require(number in self.completion_of, Status.INVALID_QUEUE_IDENTIFIER)
                del self.completion_of[number]
            case AdminOpcode.DELETE_COMPLETION_QUEUE:
                number = int(entry.cdw10) & LOW
                _require(number in self.completion_queues, Status.INVALID_QUEUE_IDENTIFIER)
                in_use = number in self.completion_of.values()
                _require(not in_use, Status.INVALID_QUEUE_DELETION)
                self.completion_queues.remove(number)
            case AdminOpcode.IDENTIFY:
                self._identify(entry)
            case AdminOpcode.SET_FEATURES | AdminOpcode.GET_FEATURES:
                return self._feature(entry)
            case AdminOpcode.ABORT:
                pass
            case _:
                raise Refused(Status.INVALID_OPCODE)
        return 0

    def _create_completion(self, entry: Any) -> None:
        flags = unpack(CompletionQueueFlags, int(entry.cdw11).to_bytes(4, "little"))
        number = self._new(entry, int(flags.contiguous), self.completion_queues)
        _require(int(flags.vector) <= self.io_queues, Status.INVALID_INTERRUPT_VECTOR)
        self.completion_queues.add(number)

    def _create_submission(self, entry: Any) -> None:
        flags = unpack(SubmissionQueueFlags, int(entry.cdw11).to_bytes(4, "little"))
        number = self._new(entry, int(flags.contiguous), self.completion_of)
        completions = int(flags.completion_queue)
        _require(completions in self.completion_queues, Status.COMPLETION_QUEUE_INVALID)
        self.completion_of[number] = completions

    def _new(self, entry: Any, contiguous: int, there: Any) -> int:
        """Number of a queue that may be made."""
        wanted = unpack(QueueAndSize, int(entry.cdw10).to_bytes(4, "little"))
        number = int(wanted.number)
        _require(
            ADMIN_QUEUE < number <= self.io_queues and number not in there,
            Status.INVALID_QUEUE_IDENTIFIER,
        )
        _require(0 < int(wanted.size) < self.most_entries, Status.INVALID_QUEUE_SIZE)
        _require(contiguous == 1, Status.INVALID_FIELD)
        _require(int(entry.prp1) % PAGE_BYTES == 0, Status.PRP_OFFSET_INVALID)
        return number

    def _identify(self, entry: Any) -> None:
        what = int(entry.cdw10) & 0xFF
        if what == IdentifyWhat.NAMESPACE:
            _require(int(entry.nsid) == NAMESPACE, Status.INVALID_NAMESPACE)
        else:
            known = what in (IdentifyWhat.CONTROLLER, IdentifyWhat.ACTIVE_NAMESPACES)
            _require(known, Status.INVALID_FIELD)

    def _feature(self, entry: Any) -> int:
        sets = int(entry.opcode) == AdminOpcode.SET_FEATURES
        match int(entry.cdw10) & 0xFF:
            case Feature.ARBITRATION:
                if sets:
                    self.burst = int(entry.cdw11) & BURST_MASK
                return 0 if sets else self.burst
            case Feature.NUMBER_OF_QUEUES:
                if sets:
                    wanted = int(entry.cdw11) & LOW, int(entry.cdw11) >> 16
                    _require(LOW not in wanted, Status.INVALID_FIELD)
                    _require(not self.completion_queues, Status.COMMAND_SEQUENCE_ERROR)
                return (self.io_queues - 1) * 0x1_0001
        raise Refused(Status.INVALID_FIELD)

    @property
    def commands_in_a_row(self) -> int:
        """Of one queue, before the next has its turn; 0 is no limit."""
        return 0 if self.burst == UNLIMITED_BURST else 1 << self.burst
