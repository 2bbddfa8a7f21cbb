"""NVMe driver: one queue pair in host memory, binary entries, interrupts.

Ref: NVM Express Base Specification 1.4, sections 4.1 (queues), 4.3 (PRP lists), 4.6 (completion).
"""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from host.costs import HostCpu
from host.errors import DeviceError, NvmeError
from host.slots import Slots
from rtl.contract.codec import byte_size, pack, unpack
from rtl.contract.kernel import Cause, HostPort, Kernel, latest
from rtl.contract.nvme import (
    PAGE_BYTES,
    CompletionEntry,
    Opcode,
    Status,
    SubmissionEntry,
    doorbell_offset,
)

__all__ = ["Command", "Completion", "NvmeDriver", "PrpList", "status_name"]

SQE_BYTES = byte_size(SubmissionEntry)
CQE_BYTES = byte_size(CompletionEntry)
PRPS_PER_PAGE = PAGE_BYTES // 8


@dataclass(frozen=True, kw_only=True)
class Command:
    """One I/O command as its submitter sees it.

    ``blocks`` is the number of logical blocks, from 1; 0 where the command names none (NLB = 0).
    """

    opcode: int
    prp1: int
    prp2: int = 0
    lba: int = 0
    blocks: int = 0
    cdw12: int = 0
    """Bits of command dword 12 beside NLB."""
    label: str = ""
    """What errors call the command."""

    def encode(self, cid: int, namespace: int, request: int = 0) -> bytes:
        """Queue entry; ``request`` is the mini-batch that the device's spans are for."""
        return pack(
            SubmissionEntry,
            opcode=self.opcode,
            cid=cid,
            nsid=namespace,
            cdw3=request,
            prp1=self.prp1,
            prp2=self.prp2,
            cdw10=self.lba & 0xFFFF_FFFF,
            cdw11=self.lba >> 32,
            cdw12=self.cdw12 | max(self.blocks - 1, 0),
        )

    def __str__(self) -> str:
        try:
            name = Opcode(self.opcode).name
        except ValueError:
            name = f"opcode {self.opcode:#04x}"
        what = f" of {self.blocks} blocks from {self.lba}" if self.blocks else ""
        return f"{self.label or name}{what}"


@dataclass(frozen=True)
class Completion:
    """How a command ended; ``cause`` is the end of its ``host.complete``."""

    command: Command
    status: int
    result: int
    cause: Cause

    def check(self) -> Cause:
        """Return the cause; raises :exc:`NvmeError` unless the status is success."""
        if self.status != Status.SUCCESS:
            raise NvmeError(self.status, status_name(self.status), str(self.command))
        return self.cause


def status_name(status: int) -> str:
    """Name of a status code in the contract, or its hexadecimal digits."""
    try:
        return str(Status(status).name)
    except ValueError:
        return f"status {status:#05x}"


class PrpList:
    """PRP1, PRP2 and, for more than two pages, PRP lists in host memory.

    Attributes
    ----------
    prp1, prp2
        What the command carries.

    Raises
    ------
    ValueError
        If there is no page, or one beside the first is not page-aligned.
    """

    def __init__(self, memory: Any, pages: Sequence[int]) -> None:
        if not pages or any(page % PAGE_BYTES for page in pages[1:]):
            raise ValueError(
                "pages must be at least one, all but the first aligned to "
                f"{PAGE_BYTES}, not {[hex(page) for page in pages[:4]]}"
            )
        self.prp1 = pages[0]
        self.prp2 = 0
        self._memory = memory
        self._lists: list[int] = []
        if len(pages) == 2:
            self.prp2 = pages[1]
        elif len(pages) > 2:
            self.prp2 = self._write(list(pages[1:]))

    def _write(self, entries: list[int]) -> int:
        """Write list pages, the last entry of a full one leading to the next; returns the first."""
        address: int = self._memory.allocate(PAGE_BYTES, PAGE_BYTES)
        self._lists.append(address)
        if len(entries) > PRPS_PER_PAGE:
            cut = PRPS_PER_PAGE - 1
            entries = [*entries[:cut], self._write(entries[cut:])]
        self._memory.store(address, b"".join(entry.to_bytes(8, "little") for entry in entries))
        return address

    def release(self) -> None:
        """Give the list pages back."""
        for address in self._lists:
            self._memory.release(address)
        self._lists = []


class NvmeDriver:
    """One submission and one completion queue of equal depth, and their interrupt.

    A command id is used again only after its completion was taken. At most ``depth`` - 1 commands
    are outstanding; further submitters wait, first come first served.

    Parameters
    ----------
    depth
        Entries of each queue, 2 to 65,536.
    queue
        Queue identifier, from 1 (0 is the admin queue).
    vector
        Of its interrupts.

    Attributes
    ----------
    sq_address, cq_address
        Where the queues lie; the device is told before it starts.
    cpu
        The core that submits and takes interrupts.
    submitted, interrupts
        Event counts.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """

    def __init__(
        self,
        kernel: Kernel,
        port: HostPort,
        cpu: HostCpu,
        *,
        depth: int = 256,
        queue: int = 1,
        namespace: int = 1,
        vector: int = 0,
    ) -> None:
        if not 2 <= depth <= 1 << 16:
            raise ValueError(f"depth must be 2 to 65536, not {depth!r}")
        if not 1 <= queue < 1 << 16:
            raise ValueError(f"queue must be 1 to 65535, not {queue!r}")
        self.depth = depth
        self.queue = queue
        self.cpu = cpu
        self.memory = port.memory
        self.sq_address = port.memory.allocate(depth * SQE_BYTES, PAGE_BYTES)
        self.cq_address = port.memory.allocate(depth * CQE_BYTES, PAGE_BYTES)
        port.memory.store(self.cq_address, bytes(depth * CQE_BYTES))
        self.submitted = 0
        self.interrupts = 0
        self._kernel = kernel
        self._port = port
        self._namespace = namespace
        self._vector = vector
        self._tags = Slots(kernel, depth - 1, "depth - 1")
        self._free_ids = deque(range(depth - 1))
        self._active: dict[int, tuple[Command, Any, int]] = {}
        self._sq_tail = 0
        self._cq_head = 0
        self._phase = 1
        kernel.env.process(self._serve_interrupts())

    @property
    def full_waits(self) -> int:
        """Submitters that found the queue full."""
        return self._tags.waits

    def submit(
        self, command: Command, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, tuple[Any, Cause]]:
        """Queue a command and ring the doorbell; returns (event, cause), not waiting for its end.

        The event's value is a :class:`Completion`.
        """
        cause = yield from self._tags.acquire(cause)
        costs = self.cpu.costs
        cause = yield from self.cpu.work("submit", costs.submit_ps, cause, request=request)
        cid = self._free_ids.popleft()
        event = self._kernel.env.event()
        self._active[cid] = (command, event, request)
        entry = command.encode(cid, self._namespace, request)
        self._port.memory.store(self.sq_address + self._sq_tail * SQE_BYTES, entry)
        self._sq_tail = (self._sq_tail + 1) % self.depth
        self.submitted += 1
        offset = doorbell_offset(self.queue, completion=False)
        cause = yield from self._port.doorbell(offset, self._sq_tail, cause, request=request)
        return event, cause

    def execute(
        self, command: Command, cause: Cause, *, request: int = 0
    ) -> Generator[Any, Any, Cause]:
        """Submit a command and wait for its end.

        Raises
        ------
        NvmeError
            If its status is not success.
        """
        event, _ = yield from self.submit(command, cause, request=request)
        completion: Completion = yield event
        return completion.check()

    def _serve_interrupts(self) -> Generator[Any, Any, None]:
        last: Cause | None = None
        while True:
            arrived: Cause = yield self._port.next_interrupt(self._vector)
            # One that arrived while the handler was busy is taken when the handler is done.
            cause = arrived if last is None else latest((arrived, last))
            self.interrupts += 1
            last = yield from self._handle_interrupt(cause)

    def _handle_interrupt(self, cause: Cause) -> Generator[Any, Any, Cause]:
        costs = self.cpu.costs
        request = self._pending_request()
        cause = yield from self.cpu.work("interrupt", costs.interrupt_ps, cause, request=request)
        taken = False
        while (entry := self._next_entry()) is not None:
            taken = True
            command, event, request = self._retire(entry)
            cause = yield from self.cpu.work("complete", costs.complete_ps, cause, request=request)
            self._free_ids.append(int(entry.cid))
            self._tags.release(cause)
            event.succeed(Completion(command, int(entry.status.status), int(entry.result), cause))
        if taken:
            offset = doorbell_offset(self.queue, completion=True)
            cause = yield from self._port.doorbell(offset, self._cq_head, cause, request=request)
        return cause

    def _peek(self) -> Any:
        raw = self._port.memory.load(self.cq_address + self._cq_head * CQE_BYTES, CQE_BYTES)
        entry = unpack(CompletionEntry, raw)
        return entry if int(entry.status.phase) == self._phase else None

    def _pending_request(self) -> int:
        """Request of the entry that the interrupt announces; 0 if it was taken already."""
        entry = self._peek()
        if entry is None or int(entry.cid) not in self._active:
            return 0
        return self._active[int(entry.cid)][2]

    def _next_entry(self) -> Any:
        entry = self._peek()
        if entry is not None:
            self._cq_head = (self._cq_head + 1) % self.depth
            if self._cq_head == 0:
                self._phase ^= 1
        return entry

    def _retire(self, entry: Any) -> tuple[Command, Any, int]:
        if int(entry.sqid) != self.queue or int(entry.cid) not in self._active:
            raise DeviceError(
                f"completion must name queue {self.queue} and an outstanding command, "
                f"not queue {int(entry.sqid)} and command {int(entry.cid)}"
            )
        return self._active.pop(int(entry.cid))
