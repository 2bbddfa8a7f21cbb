"""Reads pages again at other read levels, when the code could not correct them."""

from collections.abc import Generator, Sequence
from typing import Any

from firmware_model.core import Cores
from firmware_model.counters import Counters
from firmware_model.flash_queues import Read
from firmware_model.flash_steps import FlashSteps
from firmware_model.parameters import Task
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause, FlashPort
from rtl.contract.onfi import FEATURE_BYTES, READ_LEVEL_FEATURE

__all__ = ["ReadRetry", "level_data"]


def level_data(level: int) -> bytes:
    """What SET FEATURES sends to a die, so that it senses at ``level``."""
    return bytes([level]).ljust(FEATURE_BYTES, b"\0")


class ReadRetry:
    """Goes through the read levels of a way's die, from 1 on, until all of its pages are good.

    A level is one SET FEATURES for all pages that are still bad, which are then read one after the
    other. In the end the die is back at level 0. Meanwhile nobody else may use the way.

    Parameters
    ----------
    flash : FlashPort
    cores : Cores
    steps : FlashSteps
    levels : int
        Levels to try beside 0; the last one is given up after it.
    counters : Counters
    """

    def __init__(
        self, flash: FlashPort, cores: Cores, steps: FlashSteps, levels: int, counters: Counters
    ) -> None:
        self.levels = levels
        self._flash = flash
        self._cores = cores
        self._steps = steps
        self._counters = counters

    def recover(self, orders: Sequence[Read], cause: Cause) -> Generator[Any, Any, Cause]:
        """Finish ``orders``, which failed at level 0 on one way; returns the step back to it."""
        bad = list(orders)
        for level in range(1, self.levels + 1):
            cause = yield from self._set_level(bad[0], level, cause)
            still_bad = []
            for order in bad:
                data, cause = yield from self._read_again(order, cause)
                if data is not None or level == self.levels:
                    order.done.succeed((data, cause))
                else:
                    still_bad.append(order)
            bad = still_bad
            if not bad:
                break
        return (yield from self._set_level(orders[0], 0, cause))

    def _read_again(
        self, order: Read, cause: Cause
    ) -> Generator[Any, Any, tuple[bytes | None, Cause]]:
        # The LUN has neither another read waiting nor another command.
        steps = self._steps
        event, _ = yield from steps.issue(order, cause, steps.again_issue)
        page, cause = yield from steps.complete(order, event, lambda: steps.again_complete)
        self._counters.read_retries += 1
        if page.status != ChannelStatus.OK:
            return None, cause
        self._counters.recovered_reads += 1
        return page.data, cause

    def _set_level(self, order: Read, level: int, cause: Cause) -> Generator[Any, Any, Cause]:
        """Let the die of ``order`` read at ``level``, on account of the order's request."""
        request, place = order.request, order.place
        cause = yield from self._cores.run(Task.FLASH_ISSUE, "retry_level", cause, request=request)
        done = yield self._flash.submit(
            place.channel,
            ChannelOperation.SET_FEATURES,
            place.way,
            0,
            cause,
            row=READ_LEVEL_FEATURE,
            data=level_data(level),
            request=request,
        )
        if done.status != ChannelStatus.OK:
            raise RuntimeError(f"A die must take read level {level}, not end with {done.status}")
        self._counters.read_levels_set += 1
        return (
            yield from self._cores.run(
                Task.FLASH_COMPLETION, "retry_complete", done.cause, request=request
            )
        )
