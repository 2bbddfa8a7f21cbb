"""Flash channels as times alone, for measurements of the firmware on the kernel without any RTL."""

from collections.abc import Generator
from typing import Any

import numpy as np

from cosim.kernel import Kernel
from cosim.medium import IdArray
from firmware_model.events import Errand, Pause
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
        self._words = np.zeros((layout.codewords, layout.codeword_bytes), np.uint8)
        """Codewords of a page, as they are put together: parity stays zero."""
        self._array_ps = array_ps
        self._page_ps = page_ps
        env, channels = kernel.env, range(self.channels)
        self._buses = [kernel.resource(f"flash.ch{channel}") for channel in channels]
        self._landing = [Slots(env, "landing slots", slots) for _ in channels]
        self._luns = {
            (channel, way, lun): Slots(env, "commands of a LUN", 1)
            for channel in channels
            for way in range(self.ways)
            for lun in range(self.luns)
        }

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
        place, done = PhysicalPage(channel, way, lun, row), self._kernel.env.event()
        Errand(self._kernel.env, self._serve(place, column, length, cause, request, done))
        return done

    def free(self, channel: int, slot: int, cause: Cause) -> None:
        """Give a landing slot back; they are all alike here."""
        self._landing[channel].release(cause)

    def _serve(
        self,
        place: PhysicalPage,
        column: int,
        length: int,
        cause: Cause,
        request: int,
        done: Any,
    ) -> Generator[Any, Any, None]:
        kernel, env = self._kernel, self._kernel.env
        lun, bus = self._luns[place[:3]], self._buses[place.channel]
        cause = yield from lun.acquire(cause)
        start_ps = env.now
        yield Pause(env, self._array_ps)
        cause = kernel.record(
            bus.name,
            "flash.sense",
            start_ps,
            start_ps + self._array_ps,
            cause,
            request=request,
        )
        cause = yield from self._landing[place.channel].acquire(cause)
        cause = yield from bus.use(
            "flash.transfer",
            self._page_ps * length // self._layout.data_bytes,
            cause,
            request=request,
            payload_bytes=length,
            kind="page",
        )
        lun.release(cause)
        data = self.page(self._striping.logical(*place))[column : column + length]
        done.succeed(FlashResult(data, int(ChannelStatus.OK), 0, 0, cause))

    def page(self, page: int) -> bytes:
        """Codewords of a logical page."""
        layout = self._layout
        if page >= self.pages:
            raise ValueError(f"Page {page} must be one of the {self.pages} that are written")
        data = self._ids.read(page * layout.page_bytes, layout.page_bytes)
        content = np.frombuffer(data.ljust(layout.page_bytes, b"\xff"), np.uint8)
        self._words[:, : layout.chunk_bytes] = content.reshape(-1, layout.chunk_bytes)
        return self._words.tobytes()
