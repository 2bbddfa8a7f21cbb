"""Queues of flash reads, one a LUN, their issue and completion on the cores."""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import Dram
from firmware_model.parameters import Task
from rtl.contract.channel import COMMANDS_PER_LUN, ChannelStatus
from rtl.contract.kernel import Cause, FlashPort, Kernel, latest
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage

__all__ = ["FlashScheduler"]


@dataclass(eq=False)
class _Read:
    place: PhysicalPage
    column: int
    length: int
    cause: Cause
    request: int
    done: Any


class _Lun:
    """Reads waiting for one LUN, and how many commands it has."""

    def __init__(self) -> None:
        self.waiting: deque[_Read] = deque()
        self.outstanding = 0
        self.freed: Cause | None = None
        """The completion that last made room."""

    @property
    def full(self) -> bool:
        return self.outstanding == COMMANDS_PER_LUN


class _Channel:
    """LUNs of one channel; ``ready`` are those that have both a read waiting and room for it."""

    def __init__(self, env: Any, ways: int, luns: int) -> None:
        self.luns = {(way, lun): _Lun() for way in range(ways) for lun in range(luns)}
        self.ready: deque[_Lun] = deque()
        self.news = env.event()

    def make_ready(self, lun: _Lun) -> None:
        self.ready.append(lun)
        if not self.news.triggered:
            self.news.succeed()


class FlashScheduler:
    """Issues page reads to the flash channels and brings their data into the SSD's DRAM.

    A read waits in the queue of its LUN. LUNs that have room and a read form a ring, from which the
    channel's next command is taken; a full LUN is not in the ring, so that no step is spent on it.
    Queueing a read costs a step, and so does each command on the core that issues it. A page moves
    from its landing slot to DRAM by the channel's own DMA, without a core. Then the core that finds
    the completion spends a step on it, and only now counts room in the LUN.
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
        self._channels = tuple(
            _Channel(self._env, flash.ways, flash.luns) for _ in range(flash.channels)
        )
        for channel in self._channels:
            self._env.process(self._issue(channel))

    def read(
        self, place: PhysicalPage, pair: int, pairs: int, cause: Cause, *, request: int
    ) -> Generator[Any, Any, tuple[bytes | None, Cause]]:
        """Read ``pairs`` codeword pairs from pair ``pair`` on.

        Returns the raw codewords, or None where they could not be corrected. Whatever the flash
        port raises (a page never written) is an error of the run.
        """
        cause = yield from self._cores.run(Task.TRANSLATE, "flash_queue", cause, request=request)
        size = self._layout.pair_bytes
        order = _Read(place, pair * size, pairs * size, cause, request, self._env.event())
        channel = self._channels[place.channel]
        lun = channel.luns[place.way, place.lun]
        lun.waiting.append(order)
        if lun.full:
            self._counters.lun_full += 1
        elif len(lun.waiting) == 1:
            channel.make_ready(lun)
        result: tuple[bytes | None, Cause] = yield order.done
        return result

    def _issue(self, channel: _Channel) -> Generator[Any, Any, None]:
        issued: list[Cause] = []
        while True:
            if not channel.ready:
                channel.news = self._env.event()
                yield channel.news
                continue
            lun = channel.ready.popleft()
            order = lun.waiting.popleft()
            lun.outstanding += 1
            if lun.waiting and lun.full:
                self._counters.lun_full += 1
            elif lun.waiting:
                channel.make_ready(lun)
            freed = [lun.freed] if lun.freed is not None else []
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

    def _complete(self, channel: _Channel, order: _Read, event: Any) -> Generator[Any, Any, None]:
        page = yield event
        if page.status == ChannelStatus.BAD_COMMAND:
            raise RuntimeError(f"A flash command must suit the part, not {order}")
        cause = yield from self._dram.move(
            "dram.flash-in",
            order.length // self._layout.codeword_bytes * self._layout.chunk_bytes,
            page.cause,
            request=order.request,
            kind="page",
        )
        self._flash.free(order.place.channel, page.slot, cause)
        cause = yield from self._cores.run(
            Task.FLASH_COMPLETION, "flash_complete", cause, request=order.request
        )
        lun = channel.luns[order.place.way, order.place.lun]
        if lun.full and lun.waiting:
            channel.make_ready(lun)
        lun.outstanding -= 1
        lun.freed = cause
        good = page.status == ChannelStatus.OK
        self._counters.corrected_bits += page.corrected
        self._counters.uncorrectable += not good
        order.done.succeed((page.data if good else None, cause))
