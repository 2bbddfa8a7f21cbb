"""Pages through the page reader of the firmware, one after the other, and nothing else."""

from collections.abc import Generator
from functools import cached_property
from typing import Any

from cosim.bench.firmware import Ssd
from cosim.bench.timed_flash import TimedFlash
from firmware_model.parameters import Task

__all__ = ["EqualPages", "read_pages"]


class EqualPages(TimedFlash):
    """Pages that are all like page 0, so that no time of the machine goes into making them."""

    @cached_property
    def _first(self) -> bytes:
        return super().page(0)

    def page(self, page: int) -> bytes:
        return self._first


def read_pages(ssd: Ssd, pages: int) -> None:
    """Have the firmware read the first ``pages`` pages, as many at a time as its job table holds.

    Each is a job: translation, a frame of the page buffer, a flash read, a release. No command
    comes to the device and none of its data leaves it.
    """
    env, reader = ssd.kernel.env, ssd.device.reader
    everything = (1 << ssd.layout.codewords // 2) - 1
    order = iter(range(pages))

    def worker() -> Generator[Any, Any, None]:
        cause = ssd.kernel.origin("firmware", "firmware.start")
        for page in order:
            cause = yield from reader.admit(cause, request=0)
            frame, cause = yield from reader.fetch(page, everything, cause, request=0, whole=True)
            cause = yield from reader.finish(frame, Task.GATHER, cause, request=0)

    before = ssd.device.counts()["flash_reads"]
    workers = [env.process(worker()) for _ in range(reader.jobs.capacity)]
    env.run(until=env.all_of(workers))
    found = ssd.device.counts()["flash_reads"] - before
    if found != pages:
        raise AssertionError(f"Each of {pages} pages must be read from flash, not {found} of them")
