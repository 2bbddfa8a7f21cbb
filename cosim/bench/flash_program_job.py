"""What the benchmark of programs does inside the simulator: erase, saturate, take the time."""

import json
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim.bench.bench import Bench
from cosim.bench.flash_channel_case import FlashChannelCase
from cosim.bench.flash_channel_job import RandomContent
from cosim.bench.flash_program import FlashProgramCase, ProgramKind
from rtl.contract.channel import COMMANDS_PER_LUN, ChannelOperation, ChannelStatus

__all__ = ["measure"]


async def measure(dut: Any, job: dict[str, Any]) -> None:
    """Program until the window is over, and write how long it took."""
    case = FlashProgramCase(base=FlashChannelCase(**job["case"]), kind=ProgramKind(job["kind"]))
    bench = await Bench.start(dut, case.base.ssd, case.base.array)
    window = await bench.run(_Saturation(bench, case, job).run())
    report = {"pages": job["pages"], "window_ps": window}
    Path(job["result"]).write_text(json.dumps(report))


@dataclass
class _Group:
    """Pages that are programmed together: rows and images."""

    rows: list[int]
    images: list[bytes]


class _Saturation:
    """Keeps both of each LUN's places for commands filled with programs of the next pages."""

    def __init__(self, bench: Bench, case: FlashProgramCase, job: dict[str, Any]) -> None:
        self._bench = bench
        self._case = case
        self._seed: int = job["seed"]
        self._first: int = job["warm_up_pages"]
        self._last: int = job["warm_up_pages"] + job["pages"]
        self._completed = 0
        self._begin_ps = 0
        self._over = bench.kernel.env.event()

    def run(self) -> Generator[Any, Any, int]:
        """Erase what is needed, then saturate; returns the length of the window."""
        env, base = self._bench.kernel.env, self._case.base
        luns = [(way, lun) for way in range(base.ways) for lun in range(base.luns)]
        yield env.all_of([env.process(self._erase(*lun)) for lun in luns])
        for lun in luns:
            env.process(self._program(*lun))
        end_ps: int = yield self._over
        return end_ps - self._begin_ps

    @property
    def _pages_per_block(self) -> int:
        pages: int = self._case.base.array.part.pages_per_block
        return pages

    def _submit(self, operation: ChannelOperation, way: int, lun: int, **arguments: Any) -> Any:
        cause = self._bench.kernel.origin("bench", "bench.program")
        return self._bench.flash.submit(0, operation, way, lun, cause, **arguments)

    def _erase(self, way: int, lun: int) -> Generator[Any, Any, None]:
        """Erase as many blocks as could be needed if this LUN were the only one."""
        groups = -(-self._last // self._case.pages_at_once) + COMMANDS_PER_LUN
        blocks = -(-groups // self._pages_per_block) * self._case.pages_at_once
        for block in range(blocks):
            row = block * self._pages_per_block
            result = yield self._submit(ChannelOperation.ERASE, way, lun, row=row)
            self._check(result.status, "ERASE", way, lun, row)

    def _group(self, way: int, lun: int, index: int) -> _Group:
        """The pages of a LUN's confirm cycle number ``index``, and what goes into them."""
        count, per_block = self._case.pages_at_once, self._pages_per_block
        block, page = divmod(index, per_block)
        rows = [(block * count + plane) * per_block + page for plane in range(count)]
        length = self._case.base.length_bytes
        place = (way * self._case.base.luns + lun) * self._case.base.array.part.rows
        content = RandomContent(self._seed, 1 << 62)
        return _Group(rows, [content.read((place + row) * length, length) for row in rows])

    def _program(self, way: int, lun: int) -> Generator[Any, Any, None]:
        last = ChannelOperation.PROGRAM
        if self._case.kind is ProgramKind.CACHED:
            last = ChannelOperation.PROGRAM_CACHE
        under_way: deque[tuple[Any, _Group | None]] = deque()
        done: deque[_Group] = deque()
        index = 0
        while True:
            group = self._group(way, lun, index)
            for place, (row, image) in enumerate(zip(group.rows, group.images, strict=True), 1):
                if len(under_way) == COMMANDS_PER_LUN:
                    yield from self._finish(way, lun, under_way.popleft(), done)
                is_last = place == len(group.rows)
                operation = last if is_last else ChannelOperation.PROGRAM_PLANE
                event = self._submit(operation, way, lun, row=row, data=image)
                under_way.append((event, group if is_last else None))
            index += 1

    def _finish(
        self, way: int, lun: int, one: tuple[Any, _Group | None], done: deque[_Group]
    ) -> Generator[Any, Any, None]:
        """Wait for a command, count its pages, and look at those that must be in the cells."""
        event, group = one
        result = yield event
        if group is None:
            return
        self._check(result.status, "PROGRAM", way, lun, group.rows[-1])
        self._count(len(group.rows))
        done.append(group)
        if self._case.kind is not ProgramKind.CACHED or len(done) > 1:
            self._look(way, lun, done.popleft())

    def _look(self, way: int, lun: int, group: _Group) -> None:
        for row, image in zip(group.rows, group.images, strict=True):
            if self._bench.medium.sense(0, way, lun, row) != image:
                raise AssertionError(
                    f"Row {row} of LUN {lun}, way {way} must be in the cells as it was sent"
                )

    @staticmethod
    def _check(status: int, name: str, way: int, lun: int, row: int) -> None:
        if status != ChannelStatus.OK:
            raise AssertionError(
                f"{name} of row {row} of LUN {lun}, way {way} must end well, not with {status}"
            )

    def _count(self, pages: int) -> None:
        now_ps = int(self._bench.kernel.env.now)
        before, self._completed = self._completed, self._completed + pages
        if before < self._first <= self._completed:
            self._begin_ps = now_ps
        if before < self._last <= self._completed:
            self._over.succeed(now_ps)
