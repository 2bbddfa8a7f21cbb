"""What a flash-channel controller is judged by, inside the simulator: stories for one channel.

Dies, bus checker and landing buffer around it are ours; the kernel keeps the array times. Every
story reads pages of random bytes, and compares all that lands with what the cells hold.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cosim.bench.bench import Bench
from cosim.bench.flash_channel_job import RandomContent
from cosim.config.load import unpack
from cosim.conform.judge import FAILED, NOT_OFFERED, PASSED, Outcome
from cosim.conform.wires import Broken
from cosim.engines.device import FlashArray
from cosim.systems.design import flash_array
from rtl.contract.channel import COMMANDS_PER_LUN, ChannelOperation, ChannelStatus
from rtl.contract.kernel import Cause

__all__ = ["CHANNEL_CASES", "ChannelCase", "play_channel"]

Steps = Generator[Any, Any, Any]
SEED = 7
ROWS = 3
"""Pages of each LUN that are read."""
HOLD_PS = 40_000_000


@dataclass(frozen=True, kw_only=True)
class ChannelCase:
    """A story, and whether a channel's design has what it needs."""

    name: str
    title: str
    story: Callable[["Channel"], Steps]
    needs: Callable[[FlashArray], bool] = lambda array: True
    stop_clocks: bool = True


class Channel:
    """One channel with its cells, seen from a story."""

    def __init__(self, bench: Bench, array: FlashArray) -> None:
        self.bench = bench
        self.array = array
        self.part = array.part
        self.layout = bench.flash.layout
        self.rng = np.random.default_rng(SEED)
        self.ends: list[list[Any]] = []
        """What completed, and when."""
        striping = bench.medium.striping
        self.luns = [(way, lun) for way in range(array.ways) for lun in range(self.part.luns)]
        size = striping.pages * self.part.page_bytes
        bench.medium.load_extent(0, RandomContent(SEED, size))
        self._begin = bench.kernel.origin("bench", "bench.start")

    def idle(self, since: Cause | None = None) -> Cause:
        """A span of the bench's own that ends now."""
        kernel, start = self.bench.kernel, since or self._begin
        return kernel.record("bench", "bench.idle", start.at_ps, int(kernel.env.now), start)

    def read(
        self, way: int, lun: int, row: int, column: int, length: int, *,
        hold_ps: int = 0, is_raw: bool = False, status: int = ChannelStatus.OK, corrected: int = 0,
        expected: bytes | None = None,
    ) -> Steps:  # fmt: skip
        """Read a piece of a page and compare it; give its landing slot back ``hold_ps`` later.

        ``expected`` is the page where it is not what the cells hold: with bits that read wrong.
        """
        env, flash = self.bench.kernel.env, self.bench.flash
        done = yield flash.submit(
            0, ChannelOperation.READ, way, lun, self.idle(),
            row=row, column=column, length=length, is_raw=is_raw,
        )  # fmt: skip
        what = f"read of way {way}, LUN {lun}, row {row}, column {column}, {length} bytes"
        self.ends.append([what, int(env.now)])
        if (done.status, done.corrected) != (status, corrected):
            raise Broken(
                f"{what}: status must be {int(status)} with {corrected} bits corrected, "
                f"not {done.status} with {done.corrected}"
            )
        image = expected or self.bench.medium.stored(0, way, lun, row)
        piece = image[column : column + length]
        if status == ChannelStatus.OK and done.data != piece:
            pairs = zip(done.data, piece, strict=True)
            place = next(n for n, (one, other) in enumerate(pairs) if one != other)
            raise Broken(
                f"{what}: byte {place} must be {piece[place]:#04x}, not {done.data[place]:#04x}"
            )
        if done.slot >= 0:
            yield env.timeout(hold_ps)
            flash.free(0, done.slot, self.idle(done.cause))

    def command(self, operation: int, way: int, lun: int, status: int, **fields: Any) -> Steps:
        """A command that moves no data to us."""
        done = yield self.bench.flash.submit(0, operation, way, lun, self.idle(), **fields)
        name = ChannelOperation(operation).name
        self.ends.append([name, int(self.bench.kernel.env.now)])
        if done.status != status:
            raise Broken(
                f"{name} of way {way}, LUN {lun}, {fields}: status must be {int(status)}, "
                f"not {done.status}"
            )

    def all_of(self, stories: Sequence[Steps]) -> Any:
        env = self.bench.kernel.env
        return env.all_of([env.process(story) for story in stories])

    def pieces(self, count: int) -> list[tuple[int, int]]:
        """Columns and lengths: all data of a page, and random runs of codeword pairs."""
        layout = self.layout
        pairs = layout.data_bytes // layout.pair_bytes
        found = [(0, layout.data_bytes)]
        for _ in range(count - 1):
            first = int(self.rng.integers(pairs))
            length = int(self.rng.integers(1, pairs - first + 1))
            found.append((first * layout.pair_bytes, length * layout.pair_bytes))
        return found


def _single(channel: Channel) -> Steps:
    for way, lun in channel.luns:
        yield from channel.read(way, lun, 0, 0, channel.layout.data_bytes)


def _pieces(channel: Channel) -> Steps:
    way, lun = channel.luns[-1]
    for row, (column, length) in enumerate(channel.pieces(8)):
        yield from channel.read(way, lun, row % ROWS, column, length)


def _streams(channel: Channel, hold_ps: int) -> Steps:
    """Two streams of reads a LUN, so that each has one active and one pending command."""

    def stream(way: int, lun: int, pieces: list[tuple[int, int]], pauses: Any) -> Steps:
        for row, (column, length) in enumerate(pieces):
            yield channel.bench.kernel.env.timeout(int(pauses[row]))
            yield from channel.read(way, lun, row, column, length, hold_ps=hold_ps)

    yield channel.all_of(
        [
            stream(way, lun, channel.pieces(ROWS), channel.rng.integers(0, 9_000_000, ROWS))
            for way, lun in channel.luns
            for _ in range(COMMANDS_PER_LUN)
        ]
    )


def _interleaved(channel: Channel) -> Steps:
    yield from _streams(channel, 0)


def _held_slots(channel: Channel) -> Steps:
    yield from _streams(channel, HOLD_PS)


def _bad_commands(channel: Channel) -> Steps:
    """Each wrong in one way, a good read behind it."""
    part, pair = channel.part, channel.layout.pair_bytes
    bad: list[tuple[int, Mapping[str, int]]] = [
        (ChannelOperation.READ, {"row": part.rows, "column": 0, "length": pair}),
        (ChannelOperation.READ, {"row": 0, "column": 1, "length": pair}),
        (ChannelOperation.READ, {"row": 0, "column": 0, "length": 0}),
        (ChannelOperation.READ, {"row": 0, "column": 0, "length": pair - 1}),
        (ChannelOperation.READ, {"row": 0, "column": pair, "length": part.raw_page_bytes}),
    ]
    if part.extended is None:
        bad.append((ChannelOperation.ERASE, {"row": 0}))
    for operation, fields in bad:
        way, lun = channel.luns[0]
        yield from channel.command(operation, way, lun, ChannelStatus.BAD_COMMAND, **fields)
        yield from channel.read(way, lun, 0, 0, pair)


def _raw(channel: Channel) -> Steps:
    """Whole raw pages, and an even piece of one, just as the die sensed them."""
    way, lun = channel.luns[0]
    channel.bench.medium.flip_bit(0, way, lun, 1, 100)
    size = channel.part.raw_page_bytes
    for column, length in ((0, size), (2, 100), (size - 64, 64)):
        yield from channel.read(way, lun, 1, column, length, is_raw=True)


def _corrected(channel: Channel) -> Steps:
    """As many wrong bits as the code corrects, and then far more."""
    code, layout = channel.array.code, channel.layout
    assert code is not None
    way, lun = channel.luns[0]
    bits = 8 * (layout.pair_bytes // 2)
    places = channel.rng.permutation(bits)
    written = channel.bench.medium.stored(0, way, lun, 0)
    for bit in places[: code.t]:
        channel.bench.medium.flip_bit(0, way, lun, 0, int(bit))
    yield from channel.read(way, lun, 0, 0, layout.data_bytes, corrected=code.t, expected=written)
    for bit in places[: 3 * code.t]:
        channel.bench.medium.flip_bit(0, way, lun, 1, int(bit))
    yield from channel.read(
        way, lun, 1, 0, layout.pair_bytes, status=ChannelStatus.UNCORRECTABLE
    )  # fmt: skip
    yield from channel.read(way, lun, 2, 0, layout.data_bytes)


def _programs(channel: Channel) -> Steps:
    """A block of each LUN erased, its first page programmed, and read back; all at once."""
    part = channel.part

    def one(way: int, lun: int, image: bytes) -> Steps:
        row = part.pages_per_block
        yield from channel.command(ChannelOperation.ERASE, way, lun, ChannelStatus.OK, row=row)
        yield from channel.command(
            ChannelOperation.PROGRAM, way, lun, ChannelStatus.OK, row=row, data=image
        )
        yield from channel.read(way, lun, row, 0, part.raw_page_bytes, is_raw=True)

    images = [channel.rng.bytes(part.raw_page_bytes) for _ in channel.luns]
    yield channel.all_of(
        [one(way, lun, image) for (way, lun), image in zip(channel.luns, images, strict=True)]
    )


CHANNEL_CASES = (
    ChannelCase(name="single", title="a page of each LUN, one after the other", story=_single),
    ChannelCase(name="pieces", title="codeword pairs at any column", story=_pieces),
    ChannelCase(name="interleaved", title="two reads a LUN, all LUNs at once", story=_interleaved),
    ChannelCase(
        name="running-clocks", title="the same at the same times where clocks never stop",
        story=_interleaved, stop_clocks=False,
    ),
    ChannelCase(name="held-slots", title="landing slots given back late", story=_held_slots),
    ChannelCase(name="bad-commands", title="refused commands", story=_bad_commands),
    ChannelCase(name="raw", title="raw reads", story=_raw),
    ChannelCase(
        name="correction", title="bits corrected, and too many", story=_corrected,
        needs=lambda array: array.code is not None,
    ),
    ChannelCase(
        name="programs", title="erase, program, read back", story=_programs,
        needs=lambda array: array.part.extended is not None,
    ),
)  # fmt: skip
"""In the order in which they run; the bus is judged by the checker in all of them."""


async def play_channel(dut: Any, job: Mapping[str, Any]) -> None:
    """Run one case and write its outcome, and what ended when."""
    case = next(each for each in CHANNEL_CASES if each.name == job["case"])
    ssd = unpack(job["loaded"]).platforms.ssd
    # A user's block gets pages with their parity.
    array = replace(flash_array(ssd, None, channels=1), encodes=False)
    result, message, ends, now_ps = NOT_OFFERED, "", [], 0
    if case.needs(array):
        bench = await Bench.start(dut, ssd, array, stop_clocks=case.stop_clocks)
        channel = Channel(bench, array)
        result = PASSED
        try:
            await bench.run(case.story(channel))
        except Exception as error:  # whatever ends the run tells what the controller did
            result = FAILED
            told = " ".join(str(error).split())
            message = told if isinstance(error, Broken) else f"{type(error).__name__}: {told}"
        ends, now_ps = channel.ends, int(bench.engine.now_ps)
    outcome = Outcome(case.name, case.title, result, message, now_ps, now_ps // array.period_ps)
    Path(job["result"]).write_text(json.dumps({"outcome": vars(outcome), "ends": ends}))
