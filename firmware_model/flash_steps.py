"""One flash read from its issue to its completion, on the cores."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.dma import Dram
from firmware_model.flash_queues import ChannelQueues, Read
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause, FlashPort, PageRead
from rtl.contract.page import PageLayout

__all__ = ["FlashSteps"]


class FlashSteps:
    """Steps that each command takes, whoever has decided on it.

    The command costs a step on the core that issues it. A page that is read moves from its landing
    slot to the SSD's DRAM by the channel's own DMA, without a core. Then the core that finds the
    completion spends a step on it. ``queues`` tell what the steps are called.
    """

    def __init__(
        self,
        flash: FlashPort,
        layout: PageLayout,
        cores: Cores,
        dram: Dram,
        counters: Counters,
        queues: ChannelQueues,
    ) -> None:
        self._issue = cores.routine(Task.FLASH_ISSUE, queues.routines.issue)
        self._complete = cores.routine(Task.FLASH_COMPLETION, queues.routines.complete)
        self.again_issue, self.again_complete = queues.again
        self._flash = flash
        self._layout = layout
        self._dram = dram
        self._counters = counters

    def issue(
        self, order: Read, cause: Cause, work: Mapping[str, int]
    ) -> Generator[Any, Any, tuple[Any, Cause]]:
        """Give the command to the channel; returns the event of its end, and the step.

        ``work`` is what the cost of the issue depends on.
        """
        cause = yield self._issue.step(cause, request=order.request, **work)
        if order.operation == ChannelOperation.READ:
            page = self._flash.read(
                *order.place, order.column, order.length, cause, request=order.request
            )
            self._counters.flash_reads += 1
            return page, cause
        channel, way, lun, row = order.place
        done = self._flash.submit(
            channel,
            order.operation,
            way,
            lun,
            cause,
            row=row,
            column=order.column,
            data=order.data,
            request=order.request,
        )
        return done, cause

    def complete(
        self, order: Read, event: Any, work: Callable[[], dict[str, int]]
    ) -> Generator[Any, Any, tuple[PageRead, Cause]]:
        """Wait for the page, move it to DRAM, and take notice of it.

        ``work`` tells at the step's beginning what the cost of the completion depends on.
        """
        page: PageRead = yield event
        if page.status == ChannelStatus.BAD_COMMAND:
            raise RuntimeError(f"A flash command must suit the part, not {order}")
        cause = page.cause
        if order.operation == ChannelOperation.READ and page.status != ChannelStatus.TIMEOUT:
            cause = yield from self._dram.move(
                "dram.flash-in",
                self._payload_bytes(order),
                cause,
                request=order.request,
                kind="page",
            )
            self._flash.free(order.place.channel, page.slot, cause)
        cause = yield self._complete.step_by_state(cause, work, request=order.request)
        self._counters.corrected_bits += page.corrected
        self._counters.uncorrectable += page.status == ChannelStatus.UNCORRECTABLE
        return page, cause

    def _payload_bytes(self, order: Read) -> int:
        """Data of the host among what was read: neither parity nor the metadata codeword."""
        layout = self._layout
        end = min(order.column + order.length, layout.data_bytes)
        words: int = max(0, end - order.column) // layout.codeword_bytes
        return words * int(layout.chunk_bytes)
