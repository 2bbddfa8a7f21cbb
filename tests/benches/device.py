"""Jobs on the RTL of a tiny device: flash channels and gather unit, without firmware or host."""

import json
from pathlib import Path

import numpy as np

from cosim.bench.bench import Bench
from cosim.bench.frame import flash_array
from cosim.config.load import load_platform
from cosim.engines.device import GatherCard, device_design
from cosim.medium import IdArray
from cosim.spans import critical_path, stage_totals
from cosim.units.counters import unit_counters
from rtl.contract.codec import pack
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode, ResultHeader
from tests.scenarios.dram import DDR4

PLATFORM = "tiny"
ARRAY = flash_array(PLATFORM)
CARD = GatherCard(
    period_ps=4_000,
    times=DDR4,
    window_bytes=1 << 16,
    lanes=2,
    outstanding=4,
    result_words=2,
    stage_slots=4,
    stage_slot_bytes=1024,
)
PAGES = 64
SEED = 11


def tiny_design():
    return device_design(ARRAY, CARD)


class Device:
    """The RTL with its ports, and cells full of random ids."""

    def __init__(self, bench):
        self.bench = bench
        self.kernel = bench.kernel
        self.medium = bench.medium
        self.flash = bench.flash
        self.gather = bench.gather
        self.layout = bench.flash.layout
        self.rng = np.random.default_rng(SEED)
        words = PAGES * self.layout.page_bytes // 8
        self.medium.load_extent(0, IdArray(self.rng.integers(0, 1 << 40, size=words), 8))
        self.log = []
        self.begin = self.kernel.origin("test", "test.start")

    @classmethod
    async def start(cls, dut, *, stop_clocks=True):
        ssd = load_platform(PLATFORM)
        return cls(await Bench.start(dut, ssd, ARRAY, CARD, stop_clocks=stop_clocks))

    def _idle(self, since):
        """A span of the test's own from ``since`` to now: nothing here starts out of nothing."""
        now = int(self.kernel.env.now)
        return self.kernel.record("test", "test.idle", since.at_ps, now, since)

    def read(self, page, column, length):
        place = self.medium.striping.physical(page)
        start = self._idle(self.begin)
        read = yield self.flash.read(
            place.channel, place.way, place.lun, place.row, column, length, start
        )
        image = self.medium.sense(place.channel, place.way, place.lun, place.row)
        assert read.data == image[column : column + length], (page, column, length)
        # Hold the slot for a while, so that landing slots run out now and then.
        yield self.kernel.env.timeout(int(self.rng.integers(0, 30_000_000)))
        self.flash.free(place.channel, read.slot, self._idle(read.cause))
        path = critical_path(self.kernel.spans, read.cause, start.at_ps)
        totals = stage_totals(path)
        assert sum(totals.values()) == read.cause.at_ps - start.at_ps
        self.log.append(["read", page, column, length, read.cause.at_ps, totals])

    def reads_of_a_lun(self, reads):
        for page, column, length, pause_ps in reads:
            yield self.kernel.env.timeout(pause_ps)
            yield from self.read(page, column, length)

    def stage(self, address, data):
        start = self._idle(self.begin)
        cause = yield self.gather.stage(address, data, start)
        assert cause.at_ps == self.kernel.env.now
        self.log.append(["stage", address, cause.at_ps])

    def sample(self, lists):
        """Stage lists of ids and descriptors with explicit positions; compare the results."""
        env = self.kernel.env
        raw, expected = bytearray(1 << 13), b""
        descriptors = b""
        for index, (ids, positions) in enumerate(lists):
            list_at, positions_at = 2048 + 1024 * index, 1024 + 64 * index
            raw[list_at : list_at + 8 * len(ids)] = np.array(ids, dtype="<u8").tobytes()
            drawn = np.array(positions, dtype="<u4").tobytes()
            raw[positions_at : positions_at + len(drawn)] = drawn
            descriptors += pack(
                GatherDescriptor,
                magic=DESCRIPTOR_MAGIC,
                mode=GatherMode.EXPLICIT,
                id_log2=3,
                fan_out=len(positions),
                list_address=list_at,
                degree=len(ids),
                positions_address=positions_at,
            )
            expected += pack(ResultHeader, count=len(positions))
            expected += np.array([ids[p] for p in positions], dtype="<u8").tobytes()
        raw[: len(descriptors)] = descriptors
        size = CARD.stage_slot_bytes
        pieces = [
            env.process(self.stage(at, bytes(raw[at : at + size])))
            for at in range(0, len(raw), size)
        ]
        yield env.all_of(pieces)
        start = self._idle(self.begin)
        result = yield self.gather.launch(0, len(lists), start)
        assert result.words == expected
        assert result.cause.at_ps == env.now
        self.log.append(["launch", len(lists), result.cause.at_ps])


def random_reads(device, count):
    """Reads of every kind, for each LUN two processes' worth."""
    layout, rng = device.layout, device.rng
    lists = {}
    for _ in range(count):
        page = int(rng.integers(PAGES))
        column, length = 0, layout.data_bytes
        if rng.random() < 0.5:
            pairs = layout.data_bytes // layout.pair_bytes
            first = int(rng.integers(pairs))
            column = first * layout.pair_bytes
            length = int(rng.integers(1, pairs - first + 1)) * layout.pair_bytes
        pause_ps = int(rng.integers(0, 5)) * 3_000_000 + int(rng.integers(0, 3)) * 5_000
        place = device.medium.striping.physical(page)
        key = (place.channel, place.way, place.lun, int(rng.integers(2)))
        lists.setdefault(key, []).append((page, column, length, pause_ps))
    return [lists[key] for key in sorted(lists)]


async def mixed(dut, job):
    """Random reads on all channels while the gather unit works; writes the whole story."""
    device = await Device.start(dut, stop_clocks=job["stop_clocks"])
    env = device.kernel.env
    jobs = [
        env.process(device.reads_of_a_lun(reads)) for reads in random_reads(device, job["reads"])
    ]
    lists = [
        (device.rng.integers(0, 1 << 40, size=size).tolist(), positions)
        for size, positions in ((100, [0, 99, 50, 50]), (1, [0] * 16), (128, [127, 3]))
    ]
    jobs.append(env.process(device.sample(lists)))
    await device.bench.run(env.all_of(jobs))
    spans = [
        [span.unit, span.stage, span.start_ps, span.end_ps, span.cause, span.payload_bytes]
        for span in device.kernel.spans
    ]
    result = {
        "log": device.log,
        "spans": spans,
        "end_ps": int(env.now),
        "counters": unit_counters(device.bench.engine),
        "skips": device.bench.engine.skips,
        "delayed": sum(state.over.delayed for state in device.flash._channels),
        "stage_waits": device.gather.stage_waits,
    }
    Path(job["result"]).write_text(json.dumps(result))


async def unwritten(dut, job):
    """Read a page that holds nothing."""
    device = await Device.start(dut)
    await device.bench.run(device.read(PAGES, 0, 1024))


async def refused_staging(dut, job):
    """Stage beyond the card's window."""
    device = await Device.start(dut)
    await device.bench.run(device.stage(CARD.window_bytes, bytes(64)))
