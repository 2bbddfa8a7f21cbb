"""Queues of flash commands, one a LUN, their issue and completion on the cores."""

from collections.abc import Generator
from functools import partial
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.depths import DepthLog
from firmware_model.dma import Dram
from firmware_model.events import Errand
from firmware_model.flash_choice import FlashOrder, channel_queues
from firmware_model.flash_queues import ChannelQueues, FlashClass, Read, WayQueues
from firmware_model.flash_steps import FlashSteps
from firmware_model.parameters import Task
from firmware_model.read_retry import ReadRetry
from firmware_model.way_reset import WayReset
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause, FlashPort, FlashResult, Kernel, latest
from rtl.contract.page import PageLayout
from rtl.contract.striping import PhysicalPage

__all__ = ["FlashScheduler"]


class FlashScheduler:
    """Issues page reads to the flash channels and brings their data into the SSD's DRAM.

    A read waits in the queue of its LUN. Which one is a channel's next command, of those for LUNs
    with room, is the choice of its :class:`ChannelQueues`; no step is spent on a full LUN.
    Queueing a read costs a step; so do its issue and its completion (:class:`FlashSteps`), and only
    after the latter is there room in the LUN.

    With ``read_retries`` a page that could not be corrected holds its way: no command is given to
    its LUNs, those under way are waited for, then a :class:`ReadRetry` reads all of their bad pages
    again at other levels, and the way goes on at level 0.

    A read whose LUN has not become ready in time (the channel's watchdog) brings nothing. It holds
    its way, too, which is then reset by a :class:`WayReset`.
    """

    def __init__(
        self,
        kernel: Kernel,
        flash: FlashPort,
        layout: PageLayout,
        cores: Cores,
        dram: Dram,
        counters: Counters,
        *,
        read_retries: int = 0,
        order: FlashOrder,
    ) -> None:
        self._env = kernel.env
        self._layout = layout
        self._counters = counters
        self._channels = tuple(
            channel_queues(self._env, flash.ways, flash.luns, order) for _ in range(flash.channels)
        )
        queues = self._channels[0]
        self._queueing = cores.routine(Task.TRANSLATE, queues.routines.queue)
        self._steps = FlashSteps(flash, layout, cores, dram, counters, queues)
        self._retry = ReadRetry(flash, cores, self._steps, read_retries, counters)
        self._reset = WayReset(flash, cores, counters)
        for channel in self._channels:
            self._env.process(self._issue(channel))

    def depths(self) -> dict[str, DepthLog]:
        """Of each channel: commands that have not been given to it."""
        return {f"flash channel {n}": channel.waiting for n, channel in enumerate(self._channels)}

    def read(
        self,
        place: PhysicalPage,
        pair: int,
        pairs: int,
        cause: Cause,
        *,
        request: int,
        kind: FlashClass = FlashClass.BACKGROUND,
    ) -> Generator[Any, Any, tuple[bytes | None, Cause]]:
        """Read ``pairs`` codeword pairs from pair ``pair`` on.

        Returns the raw codewords, or None where they could not be corrected, or did not come.
        Whatever the flash port raises (a page never written) is an error of the run.
        """
        size = self._layout.pair_bytes
        order = Read(place, pair * size, pairs * size, cause, request, self._env.event(), kind=kind)
        result: tuple[bytes | None, Cause] = yield from self._queue(order)
        return result

    def read_as_it_is(
        self, place: PhysicalPage, column: int, length: int, cause: Cause, *, request: int
    ) -> Generator[Any, Any, tuple[FlashResult, Cause]]:
        """Read raw bytes from any codeword on, and take what comes, wrong bits included."""
        order = Read(place, column, length, cause, request, self._env.event(), is_plain=True)
        result: tuple[FlashResult, Cause] = yield from self._queue(order)
        return result

    def _queue(self, order: Read) -> Generator[Any, Any, Any]:
        """Spend the step that queues a command, and wait for its end."""
        channel = self._channels[order.place.channel]
        work = partial(channel.queue_work, order.place, order.kind)
        order.cause = yield self._queueing.step_by_state(order.cause, work, request=order.request)
        self._counters.lun_full += not channel.put(order)
        return (yield order.done)

    def carry_out(
        self,
        operation: ChannelOperation,
        place: PhysicalPage,
        cause: Cause,
        *,
        request: int,
        data: bytes = b"",
    ) -> Generator[Any, Any, tuple[FlashResult, Cause]]:
        """Queue a program or an erase by a step, and wait for its end.

        Steps that queue are taken in the order in which they are asked for, and commands of a LUN
        are carried out in the order in which they are queued.
        """
        order = Read(place, 0, 0, cause, request, self._env.event(), operation, data)
        result: tuple[FlashResult, Cause] = yield from self._queue(order)
        return result

    def _issue(self, channel: ChannelQueues) -> Generator[Any, Any, None]:
        issued: list[Cause] = []
        while True:
            if not channel.has_work:
                channel.news = self._env.event()
                yield channel.news
                continue
            order, lun = channel.take()
            self._counters.lun_full += channel.has_more(lun) and lun.full
            freed = [lun.freed] if lun.freed is not None else []
            page, cause = yield from self._steps.issue(
                order, latest([order.cause, *freed, *issued]), channel.issue_work(lun)
            )
            issued = [cause]
            Errand(self._env, self._complete(channel, order, page))

    def _complete(
        self, channel: ChannelQueues, order: Read, event: Any
    ) -> Generator[Any, Any, None]:
        way = channel.lun(order.place).way
        page, cause = yield from self._steps.complete(
            order, event, partial(channel.completion_work, order.place)
        )
        channel.end(order.place, cause)
        if order.is_plain or order.operation != ChannelOperation.READ:
            if page.status == ChannelStatus.TIMEOUT:
                raise RuntimeError(f"A LUN must become ready before the watchdog ends {order}")
            order.done.succeed((page, cause))
        elif page.status == ChannelStatus.TIMEOUT:
            way.hung = order
            channel.hold(way)
            order.done.succeed((None, cause))
        elif page.status == ChannelStatus.UNCORRECTABLE and self._retry.levels:
            way.failed.append(order)
            channel.hold(way)
        else:
            good = page.status == ChannelStatus.OK
            order.done.succeed((page.data if good else None, cause))
        if way.held and way.is_idle:
            self._env.process(self._recover(channel, way, cause))

    def _recover(
        self, channel: ChannelQueues, way: WayQueues, cause: Cause
    ) -> Generator[Any, Any, None]:
        """Reset a way that hangs, and read its bad pages again.

        ``cause`` is the last completion of what was under way.
        """
        hung, way.hung = way.hung, None
        if hung is not None:
            cause = yield from self._reset.run(hung, cause)
        orders, way.failed = way.failed, []
        if orders:
            cause = yield from self._retry.recover(orders, cause)
        channel.release(way, cause)
