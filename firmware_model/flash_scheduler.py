"""Queues of flash reads, one a LUN, their issue and completion on the cores."""

from collections.abc import Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import Dram
from firmware_model.flash_queues import ChannelQueues, Read
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelStatus
from rtl.contract.kernel import Cause, FlashPort, Kernel, latest
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage

__all__ = ["FlashScheduler"]


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
            ChannelQueues(self._env, flash.ways, flash.luns) for _ in range(flash.channels)
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
        channel = self._channels[place.channel]
        cause = yield from self._cores.run_by_state(
            Task.TRANSLATE,
            "flash_queue",
            cause,
            channel.lun(place).queue_work,
            request=request,
        )
        size = self._layout.pair_bytes
        order = Read(place, pair * size, pairs * size, cause, request, self._env.event())
        self._counters.lun_full += not channel.put(order)
        result: tuple[bytes | None, Cause] = yield order.done
        return result

    def _issue(self, channel: ChannelQueues) -> Generator[Any, Any, None]:
        issued: list[Cause] = []
        while True:
            if not channel.ready:
                channel.news = self._env.event()
                yield channel.news
                continue
            order, lun = channel.take()
            self._counters.lun_full += bool(lun.waiting) and lun.full
            freed = [lun.freed] if lun.freed is not None else []
            cause = yield from self._cores.run(
                Task.FLASH_ISSUE,
                "flash_issue",
                latest([order.cause, *freed, *issued]),
                request=order.request,
                **lun.issue_work(),
            )
            issued = [cause]
            page = self._flash.read(
                *order.place, order.column, order.length, cause, request=order.request
            )
            self._counters.flash_reads += 1
            self._env.process(self._complete(channel, order, page))

    def _complete(
        self, channel: ChannelQueues, order: Read, event: Any
    ) -> Generator[Any, Any, None]:
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
        cause = yield from self._cores.run_by_state(
            Task.FLASH_COMPLETION,
            "flash_complete",
            cause,
            channel.lun(order.place).completion_work,
            request=order.request,
        )
        channel.end(order.place, cause)
        good = page.status == ChannelStatus.OK
        self._counters.corrected_bits += page.corrected
        self._counters.uncorrectable += not good
        order.done.succeed((page.data if good else None, cause))
