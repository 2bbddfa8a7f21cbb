"""Resets a way, a LUN of which has not become ready in time."""

from collections.abc import Generator
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.flash_queues import Read
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelOperation
from rtl.contract.kernel import Cause, FlashPort

__all__ = ["WayReset"]


class WayReset:
    """A step, RESET, and a step; meanwhile nobody else may use the way.

    If the way does not become ready by that either, its next command ends like the one before, and
    leads to the next reset.
    """

    def __init__(self, flash: FlashPort, cores: Cores, counters: Counters) -> None:
        self._flash = flash
        self._cores = cores
        self._counters = counters

    def run(self, order: Read, cause: Cause) -> Generator[Any, Any, Cause]:
        """Reset the way of ``order``, on account of its request; returns the last step."""
        request, place = order.request, order.place
        cause = yield from self._cores.run(Task.FLASH_ISSUE, "reset_way", cause, request=request)
        done = yield self._flash.submit(
            place.channel, ChannelOperation.RESET, place.way, 0, cause, row=0, request=request
        )
        self._counters.way_resets += 1
        return (
            yield from self._cores.run(
                Task.FLASH_COMPLETION, "reset_complete", done.cause, request=request
            )
        )
