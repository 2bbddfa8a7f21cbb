"""What the flash-channel benchmark does inside the simulator: saturate, and count between pages."""

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cosim.bench.bench import Bench
from cosim.bench.flash_channel_case import FlashChannelCase
from rtl.contract.bus_causes import BusCause
from rtl.contract.channel import COMMANDS_PER_LUN
from rtl.contract.kernel import Cause, PageRead

__all__ = ["RandomContent", "measure"]

BLOCK_BYTES = 32
"""What one count of the Philox generator gives."""
COUNT_BITS = 48


@dataclass
class RandomContent:
    """Random bytes for any number of pages, made where they are read."""

    seed: int
    length_bytes: int

    def read(self, offset: int, length: int) -> bytes:
        first, last = offset // BLOCK_BYTES, -(-(offset + length) // BLOCK_BYTES)
        words = np.random.Philox(key=self.seed, counter=first).random_raw(4 * (last - first))
        skip = offset - first * BLOCK_BYTES
        return bytes(words.astype("<u8").tobytes()[skip : skip + length])


@dataclass
class _Window:
    """Counts of one channel between two of its completions."""

    warm_up_pages: int
    pages: int
    completed: int = 0
    begin_ps: int = 0
    end_ps: int = 0
    begin: list[int] = field(default_factory=list)
    clocks: list[int] = field(default_factory=list)

    def complete(self, now_ps: int, read_counts: Any) -> bool:
        """Note a completion; returns whether it ends the window."""
        self.completed += 1
        if self.completed == self.warm_up_pages:
            self.begin_ps, self.begin = now_ps, read_counts()
        if self.completed != self.warm_up_pages + self.pages:
            return False
        self.end_ps = now_ps
        self.clocks = [end - begin for end, begin in zip(read_counts(), self.begin, strict=True)]
        return True


async def measure(dut: Any, job: dict[str, Any]) -> None:
    """Read until every channel's window is over, and write each channel's clocks by cause."""
    case = FlashChannelCase(**job["case"])
    luns = case.channels * case.ways * case.luns
    bench = await Bench.start(
        dut, case.ssd, case.array, stop_clocks=False, cached_pages=2 * COMMANDS_PER_LUN * luns
    )
    striping, page_bytes = bench.medium.striping, case.array.part.page_bytes
    bench.medium.load_extent(0, RandomContent(job["seed"], striping.pages * page_bytes))
    windows = await bench.run(_Saturation(dut, bench, case, job).run())
    period_ps = case.array.period_ps
    for window in windows:
        span_ps = window.end_ps - window.begin_ps
        if sum(window.clocks) * period_ps != span_ps:
            raise AssertionError(
                f"Clocks by cause must add up to {span_ps // period_ps}, not {sum(window.clocks)}"
            )
    report = [
        {
            "window_ps": window.end_ps - window.begin_ps,
            "pages": window.pages,
            "clocks": {cause.name.lower(): window.clocks[cause] for cause in BusCause},
        }
        for window in windows
    ]
    Path(job["result"]).write_text(json.dumps(report))


class _Saturation:
    """Keeps every LUN's places for commands filled with reads of random rows."""

    def __init__(self, dut: Any, bench: Bench, case: FlashChannelCase, job: dict[str, Any]) -> None:
        self._bench = bench
        self._case = case
        self._drain_ps = job["drain_ps"]
        self._seed = job["seed"]
        self._windows = [_Window(job["warm_up_pages"], job["pages"]) for _ in range(case.channels)]
        self._counts = [
            getattr(dut, f"ch{channel}").unit.monitor.counts._handle
            for channel in range(case.channels)
        ]
        self._open = case.channels
        self._over = bench.kernel.env.event()

    def run(self) -> Generator[Any, Any, list[_Window]]:
        """Start all readers and wait for the last window."""
        env, case = self._bench.kernel.env, self._case
        for channel in range(case.channels):
            for way in range(case.ways):
                for lun in range(case.luns):
                    for place in range(COMMANDS_PER_LUN):
                        rng = np.random.default_rng([self._seed, channel, way, lun, place])
                        env.process(self._read(channel, way, lun, rng))
        yield self._over
        return self._windows

    def _read(
        self, channel: int, way: int, lun: int, rng: np.random.Generator
    ) -> Generator[Any, Any, None]:
        bench, length = self._bench, self._case.length_bytes
        env, window = bench.kernel.env, self._windows[channel]
        while True:
            row = int(rng.integers(self._case.array.part.rows))
            cause = bench.kernel.origin("bench", "bench.read")
            read: PageRead = yield bench.flash.read(channel, way, lun, row, 0, length, cause)
            if window.complete(int(env.now), lambda: self._read_counts(channel)):
                self._open -= 1
                if not self._open:
                    self._over.succeed()
            if read.data != bench.medium.stored(channel, way, lun, row)[:length]:
                raise AssertionError(
                    f"Row {row} of LUN {lun}, way {way}, channel {channel} must come back "
                    "as it is in the cells"
                )
            if self._drain_ps:
                env.process(self._drain(channel, read))
            else:
                bench.flash.free(channel, read.slot, read.cause)

    def _drain(self, channel: int, read: PageRead) -> Generator[Any, Any, None]:
        kernel = self._bench.kernel
        begin_ps = int(kernel.env.now)
        yield kernel.env.timeout(self._drain_ps)
        cause: Cause = kernel.record(
            "bench", "bench.drain", begin_ps, int(kernel.env.now), read.cause
        )
        self._bench.flash.free(channel, read.slot, cause)

    def _read_counts(self, channel: int) -> list[int]:
        word = int(self._counts[channel].get_signal_val_binstr(), 2)
        mask = (1 << COUNT_BITS) - 1
        return [word >> COUNT_BITS * cause & mask for cause in BusCause]
