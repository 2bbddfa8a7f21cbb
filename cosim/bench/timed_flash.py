"""Flash channels as times alone, for measurements of the firmware on the kernel without any RTL."""

from collections.abc import Generator
from typing import Any

import numpy as np

from cosim.kernel import Kernel
from cosim.medium import IdArray
from firmware_model.slots import Slots
from rtl.contract.channel import ChannelStatus
from rtl.contract.kernel import Cause, FlashResult
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage, Striping

__all__ = ["TimedFlash"]


class TimedFlash:
    """Reads of written pages: the array's time, then the bus for as long as a bound says.

    A LUN serves one command at a time, and keeps its data until the bus and a landing slot are
    free. Polls, and the decoder's latency, are not there.

    Parameters
    ----------
    kernel : Kernel
    layout, striping : PageLayout, Striping
    ids : IdArray
        What the logical pages from 0 on hold. Parity bytes are zero.
    array_ps : int
        Array time of a read.
    page_ps : int
        Bus time of a whole page.
    slots : int
        Landing slots of a channel.
    """

    def __init__(
        self,
        kernel: Kernel,
        layout: PageLayout,
        striping: Striping,
        ids: IdArray,
        *,
        array_ps: int,
        page_ps: int,
        slots: int,
    ) -> None:
        self.channels, self.ways, self.luns = striping.channels, striping.ways, striping.luns
        self.slots = slots
        self.pages = -(-ids.length_bytes // layout.page_bytes)
        self._kernel = kernel
        self._layout = layout
        self._striping = striping
        self._ids = ids
        self._array_ps = array_ps
        self._page_ps = page_ps
        env, channels = kernel.env, range(self.channels)
        self._buses = [kernel.resource(f"flash.ch{channel}") for channel in channels]
        self._landing = [Slots(env, "landing slots", slots) for _ in channels]
        self._luns: dict[tuple[int, int, int], Slots] = {}

    def read(
        self,
        channel: int,
        way: int,
        lun: int,
        row: int,
        column: int,
        length: int,
        cause: Cause,
        *,
        request: int = 0,
    ) -> Any:
        """As :meth:`rtl.contract.kernel.FlashPort.read`."""
        place = PhysicalPage(channel, way, lun, row)
        return self._kernel.env.process(self._serve(place, column, length, cause, request))

    def free(self, channel: int, slot: int, cause: Cause) -> None:
        """Give a landing slot back; they are all alike here."""
        self._landing[channel].release(cause)

    def _serve(
        self, place: PhysicalPage, column: int, length: int, cause: Cause, request: int
    ) -> Generator[Any, Any, FlashResult]:
        kernel, env = self._kernel, self._kernel.env
        lun = self._luns.setdefault(place[:3], Slots(env, "commands of a LUN", 1))
        cause = yield from lun.acquire(cause)
        start_ps = int(env.now)
        yield env.timeout(self._array_ps)
        cause = kernel.record(
            f"flash.ch{place.channel}",
            "flash.sense",
            start_ps,
            start_ps + self._array_ps,
            cause,
            request=request,
        )
        cause = yield from self._landing[place.channel].acquire(cause)
        cause = yield from self._buses[place.channel].use(
            "flash.transfer",
            self._page_ps * length // self._layout.data_bytes,
            cause,
            request=request,
            payload_bytes=length,
            kind="page",
        )
        lun.release(cause)
        data = self.page(self._striping.logical(*place))[column : column + length]
        return FlashResult(data, int(ChannelStatus.OK), 0, 0, cause)

    def page(self, page: int) -> bytes:
        """Codewords of a logical page."""
        layout = self._layout
        if page >= self.pages:
            raise ValueError(f"Page {page} must be one of the {self.pages} that are written")
        data = self._ids.read(page * layout.page_bytes, layout.page_bytes)
        words = np.zeros((layout.codewords, layout.codeword_bytes), np.uint8)
        content = np.frombuffer(data.ljust(layout.page_bytes, b"\xff"), np.uint8)
        words[:, : layout.chunk_bytes] = content.reshape(layout.codewords, layout.chunk_bytes)
        return words.tobytes()
