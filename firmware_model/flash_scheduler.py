"""Queues of flash reads, one a channel, their issue and completion on the cores."""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import Dram
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelStatus
from rtl.contract.kernel import Cause, FlashPort, Kernel, latest
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage

__all__ = ["FlashScheduler"]

LUN_DEPTH = 2
"""Commands of a LUN that the channel controller holds: one active, one pending."""


@dataclass(eq=False)
class _Read:
    place: PhysicalPage
    column: int
    length: int
    cause: Cause
    request: int
    done: Any


class _Channel:
    """Reads waiting for one channel, and how many commands each LUN has."""

    def __init__(self, env: Any) -> None:
        self.waiting: deque[_Read] = deque()
        self.outstanding: dict[tuple[int, int], int] = {}
        self.freed: dict[tuple[int, int], Cause] = {}
        self.news = env.event()

    def notify(self) -> None:
        if not self.news.triggered:
            self.news.succeed()


class FlashScheduler:
    """Issues page reads to the flash channels and brings their data into the SSD's DRAM.

    A read waits in its channel's queue until its LUN has room; a read whose LUN is full is passed
    over by later ones to other LUNs. Each command costs a step on the core that issues it, and one
    on the core that finds its completion. Then the data moves from the landing buffer to DRAM, and
    the landing slot is free again.
    """

    def __init__(
        self,
        kernel: Kernel,
        flash: FlashPort,
        layout: PageLayout,
        cores: Cores,
        dram: Dram,
        counters: Counters,
    ) -> None:
        self._env = kernel.env
        self._flash = flash
        self._layout = layout
        self._cores = cores
        self._dram = dram
        self._counters = counters
        self._channels = tuple(_Channel(self._env) for _ in range(flash.channels))
        for number in range(flash.channels):
            self._env.process(self._issue(number))

    def read(
        self, place: PhysicalPage, pair: int, pairs: int, cause: Cause, *, request: int
    ) -> Generator[Any, Any, tuple[bytes | None, Cause]]:
        """Read ``pairs`` codeword pairs from pair ``pair`` on.

        Returns the raw codewords, or None where they could not be corrected. Whatever the flash
        port raises (a page never written) is an error of the run.
        """
        size = self._layout.pair_bytes
        order = _Read(place, pair * size, pairs * size, cause, request, self._env.event())
        channel = self._channels[place.channel]
        channel.waiting.append(order)
        channel.notify()
        result: tuple[bytes | None, Cause] = yield order.done
        return result

    def _issue(self, number: int) -> Generator[Any, Any, None]:
        channel = self._channels[number]
        issued: list[Cause] = []
        while True:
            order = self._next(channel)
            if order is None:
                channel.news = self._env.event()
                yield channel.news
                continue
            lun = order.place.way, order.place.lun
            channel.outstanding[lun] = channel.outstanding.get(lun, 0) + 1
            freed = [channel.freed[lun]] if lun in channel.freed else []
            cause = yield from self._cores.run(
                Task.FLASH_ISSUE,
                "flash_issue",
                latest([order.cause, *freed, *issued]),
                request=order.request,
            )
            issued = [cause]
            page = self._flash.read(
                *order.place, order.column, order.length, cause, request=order.request
            )
            self._counters.flash_reads += 1
            self._env.process(self._complete(channel, order, page))

    def _next(self, channel: _Channel) -> _Read | None:
        """Oldest read whose LUN has room, removed from the queue."""
        for index, order in enumerate(channel.waiting):
            if channel.outstanding.get((order.place.way, order.place.lun), 0) < LUN_DEPTH:
                del channel.waiting[index]
                return order
            self._counters.lun_full += 1
        return None

    def _complete(self, channel: _Channel, order: _Read, event: Any) -> Generator[Any, Any, None]:
        page = yield event
        if page.status == ChannelStatus.BAD_COMMAND:
            raise RuntimeError(f"A flash command must suit the part, not {order}")
        cause = yield from self._cores.run(
            Task.FLASH_COMPLETION, "flash_complete", page.cause, request=order.request
        )
        lun = order.place.way, order.place.lun
        channel.outstanding[lun] -= 1
        channel.freed[lun] = cause
        channel.notify()
        data: bytes | None = None
        if page.status == ChannelStatus.OK:
            data = page.data
            cause = yield from self._dram.move(
                "dram.flash-in",
                order.length // self._layout.codeword_bytes * self._layout.chunk_bytes,
                cause,
                request=order.request,
                kind="page",
            )
        else:
            self._counters.uncorrectable += 1
        self._flash.free(order.place.channel, page.slot, cause)
        order.done.succeed((data, cause))
