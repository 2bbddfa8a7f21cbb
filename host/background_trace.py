"""A block trace of another process, replayed on the same SSD while mini-batches are sampled."""

from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

import numpy as np

from host.background import Load
from host.block_write import write_blocks
from host.driver import NvmeDriver
from host.formats.mqsim import BlockRequest
from rtl.contract.kernel import BACKGROUND_REQUEST, Cause, Kernel, latest

__all__ = ["Area", "BlockCommand", "TraceLoad", "block_commands"]


class Area(NamedTuple):
    """Blocks ``first`` and following, ``blocks`` of them."""

    first: int
    blocks: int


class BlockCommand(NamedTuple):
    """A request in logical blocks, within the area that it is for."""

    arrival_ps: int
    lba: int
    blocks: int
    is_write: bool


def block_commands(
    requests: Iterable[BlockRequest],
    lba_bytes: int,
    *,
    reads: Area,
    writes: Area,
    wraps: bool,
    most_blocks: int,
) -> tuple[BlockCommand, ...]:
    """Widen requests to whole blocks, and put them where they may go.

    Addresses of the trace are taken from the first block of ``reads`` or ``writes`` on. What lies
    beyond is taken modulo the places at which a request of its size can begin, if it ``wraps``.

    Raises
    ------
    ValueError
        Beginning with the request's place in its file: if it lies beyond and does not wrap, is
        longer than ``most_blocks`` or than the whole area, or is a write and there is none for it.
    """
    found = []
    for request in requests:
        area, what = (writes, "write") if request.is_write else (reads, "read")
        first = request.first_byte // lba_bytes
        blocks = -(-(request.first_byte + request.length) // lba_bytes) - first
        if not area.blocks:
            raise ValueError(f"{request.place}: must be a read, as there is no write_area")
        most = min(most_blocks, area.blocks)
        if blocks > most:
            raise ValueError(
                f"{request.place}: a {what} must be at most {most} blocks of {lba_bytes} bytes "
                f"(what a command may transfer, and its area has), not {blocks}"
            )
        places = area.blocks - blocks + 1
        if first >= places and not wraps:
            raise ValueError(
                f"{request.place}: a {what} must end within the {area.blocks} blocks of "
                f"{lba_bytes} bytes that are for it, not at block {first + blocks}"
            )
        lba = area.first + first % places
        found.append(BlockCommand(request.arrival_ps, lba, blocks, request.is_write))
    return tuple(found)


class TraceLoad(Load):
    """Requests that arrive when the trace says so, however many are under way.

    A request waits for a place in the queue, and a write for earlier ones of the same blocks. Its
    latency is counted from its arrival. What has not arrived by the end is left out.
    """

    def __init__(
        self,
        kernel: Kernel,
        driver: NvmeDriver,
        commands: Iterable[BlockCommand],
        lba_bytes: int,
        expected: Callable[[int, int], bytes],
        *,
        seed: int,
    ) -> None:
        super().__init__(kernel, driver, lba_bytes)
        self._commands = tuple(commands)
        self._expected = expected
        self._random = np.random.default_rng(seed)
        self._under_way: list[Any] = []
        self._writers: dict[int, Any] = {}
        """The last write of each block, as a process."""
        self._written: dict[int, bytes] = {}

    def start(self) -> None:
        self._kernel.env.process(self._arrive())

    def stop(self, cause: Cause) -> Generator[Any, Any, Cause]:
        self._stopped = True
        ends = yield self._kernel.env.all_of(self._under_way)
        cause = latest((cause, *ends.values()))
        for lba, data in sorted(self._written.items()):
            cause = yield from self._compare(lba, data, cause)
        return cause

    def _arrive(self) -> Generator[Any, Any, None]:
        env = self._kernel.env
        begin_ps = int(env.now)
        for command in self._commands:
            wait_ps = begin_ps + command.arrival_ps - int(env.now)
            if wait_ps:
                yield env.timeout(wait_ps)
            if self._stopped:
                return
            cause = self._kernel.origin("host-background", "background.arrival")
            turn = self._write if command.is_write else self._read
            self._under_way.append(env.process(turn(command, cause)))

    def _read(self, command: BlockCommand, cause: Cause) -> Generator[Any, Any, Cause]:
        arrival_ps = cause.at_ps
        length = command.blocks * self._lba_bytes
        data = self._expected(command.lba * self._lba_bytes, length)
        cause = yield from self._compare(command.lba, data, cause)
        self._has_read(arrival_ps, cause)
        return cause

    def _write(self, command: BlockCommand, cause: Cause) -> Generator[Any, Any, Cause]:
        arrival_ps, size = cause.at_ps, self._lba_bytes
        data = self._random.bytes(command.blocks * size)
        blocks = range(command.lba, command.lba + command.blocks)
        earlier = [self._writers[block] for block in blocks if block in self._writers]
        mine = self._kernel.env.active_process
        self._writers |= dict.fromkeys(blocks, mine)
        if earlier:
            ends = yield self._kernel.env.all_of(earlier)
            cause = latest((cause, *ends.values()))
        cause = yield from write_blocks(
            self._driver, command.lba, data, size, cause, request=BACKGROUND_REQUEST
        )
        for place, block in enumerate(blocks):
            self._written[block] = data[place * size : (place + 1) * size]
            if self._writers[block] is mine:
                del self._writers[block]
        self._has_written(arrival_ps, cause)
        return cause
