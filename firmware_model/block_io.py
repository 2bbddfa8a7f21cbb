"""Ordinary reads: NVMe blocks through the page buffer to where the PRP entries point."""

from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, TypeVar

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import split
from firmware_model.dma_orders import DmaOrders
from firmware_model.flash_queues import FlashClass
from firmware_model.outcome import CommandError, Outcome, Stop, settle
from firmware_model.page_buffer import pair_mask
from firmware_model.page_reader import PageReader
from firmware_model.parameters import FirmwareParameters, Task
from rtl.contract.kernel import Cause
from rtl.contract.nvme import PAGE_BYTES, Status

__all__ = ["BlockIo", "Extent", "PrpError", "cut", "direct_pieces", "listed_pieces"]

PRP_BYTES = 8
BLOCK_COUNT_MASK = 0xFFFF
Pieces = list[tuple[int, int]]
T = TypeVar("T")


def cut(pieces: Pieces, first: int, length: int) -> Pieces:
    """The part of ``pieces`` (address, length) that holds bytes ``first`` and following."""
    part, place, end = [], 0, first + length
    for address, size in pieces:
        begin, stop = max(place, first), min(place + size, end)
        if begin < stop:
            part.append((address + begin - place, stop - begin))
        place += size
    return part


class PrpError(Exception):
    """A PRP entry does not begin where it must."""


def _require(condition: bool) -> None:
    if not condition:
        raise PrpError


def _judge(cause: Cause, rule: Callable[..., T], *arguments: Any) -> T:
    try:
        return rule(*arguments)
    except PrpError:
        raise CommandError(Status.PRP_OFFSET_INVALID, cause) from None


def direct_pieces(prp1: int, prp2: int, length: int) -> tuple[Pieces, int]:
    """Memory pieces that the two PRP entries of a command name, and the bytes left for a list.

    Raises
    ------
    PrpError
    """
    _require(prp1 % 4 == 0)
    here = min(length, PAGE_BYTES - prp1 % PAGE_BYTES)
    left = length - here
    if not left or left > PAGE_BYTES:
        return [(prp1, here)], left
    _require(prp2 % PAGE_BYTES == 0)
    return [(prp1, here), (prp2, left)], 0


def listed_pieces(entries: Iterable[int], left: int) -> tuple[Pieces, int]:
    """Memory pieces of ``left`` bytes by the entries of a PRP list, and what is left after them.

    Raises
    ------
    PrpError
    """
    pieces: Pieces = []
    for entry in entries:
        _require(entry % PAGE_BYTES == 0)
        pieces.append((entry, min(left, PAGE_BYTES)))
        left -= pieces[-1][1]
    return pieces, left


class Extent(NamedTuple):
    """``length`` bytes at ``start`` of a logical page are bytes ``place`` on of the transfer."""

    page: int
    start: int
    length: int
    place: int


class BlockIo:
    """Serves read commands, several at a time.

    Blocks of one command that lie in one flash page are one job: the page comes into the buffer and
    stays pinned until the DMA engine has sent the last of its bytes. Jobs end in any order. The
    data may go to host memory or, peer to peer, to another PCIe device. ``dma`` is that of
    :attr:`Task.BLOCK_IO`.

    Notes
    -----
    PRP entries and lists: NVMe 1.4, section 4.3; Read: section 6.9.
    """

    def __init__(
        self,
        env: Any,
        parameters: FirmwareParameters,
        cores: Cores,
        dma: DmaOrders,
        reader: PageReader,
        counters: Counters,
    ) -> None:
        self._env = env
        self._parameters = parameters
        self._cores = cores
        self._dma = dma
        self._reader = reader
        self._counters = counters

    def serve(
        self, entry: Any, cause: Cause, *, request: int, stop: Stop
    ) -> Generator[Any, Any, Cause]:
        """Carry out one read command (a ``SubmissionEntry``) up to its last data byte.

        Raises
        ------
        CommandError
            With the status for the completion entry.
        """
        self._counters.block_reads += 1
        first, length, pieces, cause = yield from self.decode(
            entry, cause, request=request, stop=stop
        )
        jobs = []
        for extent in self.extents(first, length):
            cause = yield from self._reader.admit(cause, request=request)
            parts = cut(pieces, extent.place, extent.length)
            jobs.append(self._env.process(self._job(extent, parts, cause, request)))
        return (yield from settle(self._env, cause, jobs))

    def decode(
        self, entry: Any, cause: Cause, *, request: int, stop: Stop
    ) -> Generator[Any, Any, tuple[int, int, Pieces, Cause]]:
        """First block, length in bytes and memory pieces of a command that moves blocks.

        Raises
        ------
        CommandError
            With the status of what is wrong with it.
        """
        first = int(entry.cdw10) | int(entry.cdw11) << 32
        blocks = (int(entry.cdw12) & BLOCK_COUNT_MASK) + 1
        length = blocks * self._parameters.layout.lba_bytes
        left = length - (PAGE_BYTES - int(entry.prp1) % PAGE_BYTES)
        cause = yield from self._cores.run(
            Task.BLOCK_IO,
            "block_decode",
            cause,
            request=request,
            beyond=int(left > 0),
            second=int(0 < left <= PAGE_BYTES),
        )
        if length > self._parameters.nvme.transfer_limit_bytes:
            raise CommandError(Status.INVALID_FIELD, cause)
        if first + blocks > self._parameters.nvme.namespace_blocks:
            raise CommandError(Status.LBA_OUT_OF_RANGE, cause)
        pieces, cause = yield from self._pieces(
            int(entry.prp1), int(entry.prp2), length, cause, request
        )
        stop.check(cause)
        return first, length, pieces, cause

    def extents(self, first_block: int, length: int) -> list[Extent]:
        """The parts of some bytes by their pages, in order."""
        layout = self._parameters.layout
        byte, place, extents = first_block * layout.lba_bytes, 0, []
        while place < length:
            page, start = divmod(byte + place, layout.page_bytes)
            here = min(layout.page_bytes - start, length - place)
            extents.append(Extent(page, start, here, place))
            place += here
        return extents

    def _job(
        self, extent: Extent, pieces: Pieces, cause: Cause, request: int
    ) -> Generator[Any, Any, Outcome]:
        try:
            frame, cause = yield from self._reader.fetch(
                extent.page,
                pair_mask(self._parameters.layout, extent.start, extent.length),
                cause,
                request=request,
                whole=self._parameters.block_read_whole_page,
                kind=FlashClass.HOST,
            )
        except CommandError as error:
            return Outcome(error.cause, error.status)
        parts = split(pieces, self._dma.descriptor_bytes)
        cause = yield from self._cores.run(
            Task.BLOCK_IO, "block_io", cause, request=request, piece=len(parts)
        )
        writes, start = [], extent.start
        for address, length in parts:
            data = bytes(frame.data[start : start + length])
            writes.append(self._dma.start_write(address, data, cause, request=request, kind="data"))
            start += length
        try:
            cause = yield from settle(self._env, cause, writes)
            outcome = Outcome(cause)
        except CommandError as error:
            outcome = Outcome(error.cause, error.status)
        cause = yield from self._reader.finish(frame, Task.BLOCK_IO, outcome.cause, request=request)
        return Outcome(cause, outcome.status)

    def _pieces(
        self, prp1: int, prp2: int, length: int, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[Pieces, Cause]]:
        """Memory pieces named by the two PRP entries, a PRP list fetched where there is one."""
        pieces, left = _judge(cause, direct_pieces, prp1, prp2, length)
        if left:
            more, cause = yield from self._list(prp2, left, cause, request)
            return pieces + more, cause
        return pieces, cause

    def _list(
        self, address: int, left: int, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[Pieces, Cause]]:
        """Follow a PRP list; the last entry of a full list page leads to the next one."""
        pieces: Pieces = []
        alignment = PRP_BYTES
        while left:
            if address % alignment:
                raise CommandError(Status.PRP_OFFSET_INVALID, cause)
            room = (PAGE_BYTES - address % PAGE_BYTES) // PRP_BYTES
            needed = -(-left // PAGE_BYTES)
            raw, cause = yield from self._dma.fetch(
                address, PRP_BYTES * min(room, needed), cause, request=request, kind="prp"
            )
            entries = [
                int.from_bytes(raw[at : at + PRP_BYTES], "little")
                for at in range(0, len(raw), PRP_BYTES)
            ]
            if needed > room:
                address, alignment = entries.pop(), PAGE_BYTES
            cause = yield from self._cores.run(
                Task.BLOCK_IO, "prp_parse", cause, request=request, entry=len(entries)
            )
            more, left = _judge(cause, listed_pieces, entries, left)
            pieces += more
        return pieces, cause
