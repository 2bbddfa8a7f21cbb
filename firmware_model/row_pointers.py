"""Finds the lists of a chain's targets by row pointers, in the SSD's DRAM or on its flash."""

from collections.abc import Generator
from typing import Any, Protocol

from firmware_model.chain import Chain, Hop, entry_of
from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.ns_config import Entry, NsConfig, Refusal
from firmware_model.outcome import CommandError
from firmware_model.page_buffer import pair_mask
from firmware_model.page_reader import PageReader
from firmware_model.parameters import FirmwareParameters, Task
from rtl.contract.kernel import Cause
from rtl.contract.ns_config import POINTER_BYTES, RowPointers

__all__ = ["Found", "RowPointerReader", "RowTable"]

Found = Generator[Any, Any, tuple[Entry, Cause]]
PAIR_BYTES = 2 * POINTER_BYTES


class RowTable(Protocol):
    """Row pointers as they lie in DRAM: one more of them than nodes, and may be computed."""

    def __len__(self) -> int: ...

    def __getitem__(self, node: Any) -> Any: ...


class RowPointerReader:
    """Makes the body entry of a target out of its row pointer and the next one.

    In DRAM both are loaded by the step ``row_entry``. Pages of row pointers on flash go through
    ``reader``, a page buffer of their own beside that of the edge lists, so that neither drives out
    pages of the other; where the two pointers lie in two pages, a step ``row_start`` keeps the
    first one.

    Attributes
    ----------
    table : RowTable, optional
        Those in DRAM.
    """

    def __init__(
        self,
        parameters: FirmwareParameters,
        cores: Cores,
        reader: PageReader,
        counters: Counters,
    ) -> None:
        self.table: RowTable | None = None
        self._parameters = parameters
        self._cores = cores
        self._reader = reader
        self._counters = counters

    @property
    def table_nodes(self) -> int:
        """Nodes of the row pointers in DRAM; 0 where there are none."""
        return 0 if self.table is None else len(self.table) - 1

    def find(
        self, node: int, hop: Hop, config: NsConfig, chain: Chain, cause: Cause, *, request: int
    ) -> Found:
        """The body entry for the list of ``node``.

        Raises
        ------
        CommandError
            LBA_OUT_OF_RANGE if the row pointers are none of a list, or that of a failed flash read.
        """
        self._counters.row_lookups += 1
        if chain.row_pointers is RowPointers.DRAM:
            assert self.table is not None, "the header has been checked"
            start, end = int(self.table[node]), int(self.table[node + 1])
            cause = yield from self._entry_step(cause, request)
        else:
            start, end, cause = yield from self._from_flash(node, chain, cause, request)
        try:
            entry = entry_of(
                start,
                end,
                hop.fan_out,
                config,
                chain,
                lba_bytes=self._parameters.layout.lba_bytes,
            )
        except Refusal as refusal:
            raise CommandError(refusal.status, cause) from None
        return entry, cause

    def _entry_step(self, cause: Cause, request: int) -> Generator[Any, Any, Cause]:
        return self._cores.run(Task.ISP_CONTROL, "row_entry", cause, request=request)

    def _from_flash(
        self, node: int, chain: Chain, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[int, int, Cause]]:
        """Both row pointers, and the end of the step that has made an entry of them."""
        layout = self._parameters.layout
        byte = chain.pointer_lba * layout.lba_bytes + POINTER_BYTES * node
        page, start = divmod(byte, layout.page_bytes)
        raw = b""
        if start + PAIR_BYTES > layout.page_bytes:
            raw, cause = yield from self._page(
                page, start, POINTER_BYTES, "row_start", cause, request
            )
            page, start = page + 1, 0
        rest, cause = yield from self._page(
            page, start, PAIR_BYTES - len(raw), "row_entry", cause, request
        )
        raw += rest
        first, last = raw[:POINTER_BYTES], raw[POINTER_BYTES:]
        return int.from_bytes(first, "little"), int.from_bytes(last, "little"), cause

    def _page(
        self, page: int, start: int, length: int, routine: str, cause: Cause, request: int
    ) -> Generator[Any, Any, tuple[bytes, Cause]]:
        """Bytes of a page, loaded by a step ``routine`` while the page is pinned."""
        cause = yield from self._reader.admit(cause, request=request)
        frame, cause = yield from self._reader.fetch(
            page,
            pair_mask(self._parameters.layout, start, length),
            cause,
            request=request,
            whole=self._parameters.sampling_whole_page,
        )
        cause = yield from self._cores.run(Task.ISP_CONTROL, routine, cause, request=request)
        raw = bytes(frame.data[start : start + length])
        cause = yield from self._reader.finish(frame, Task.ISP_CONTROL, cause, request=request)
        return raw, cause
