# amaranth: UnusedElaboratable=no
"""Random waveforms of all operations, many of them illegal: the die does what its model does."""

import random
from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation
from tests.die_operations_bench import WAY, OperationPlay
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_die_luns import FOR_ALL, KINDS, RESUMES, SUSPENDS, Answer
from tests.scenarios.onfi_operations import FULL, PLANES, SUSPEND, OperationBus

pytestmark = pytest.mark.slow

CACHED = {
    ArrayOperation.READ_CACHE_RANDOM,
    ArrayOperation.READ_CACHE_SEQUENTIAL,
    ArrayOperation.PROGRAM_CACHE,
}


class RandomKernel:
    """Answers begins after a random time, in order, now and then never or with another number."""

    def __init__(self, rng, part):
        self._rng = rng
        self._part = part
        self._last = {}
        self._taken = set()

    def __call__(self, begin):
        rng = self._rng
        answers = [False] if begin.operation not in CACHED else [True, False]
        times = [1, 5, 60, 200]
        if self._part.suspend is not None:
            # The answer to a suspend comes before that to what it suspends, mostly.
            times = [60, 400, 1500] if begin.operation in KINDS else [1, 5, 20]
            answers = [rng.random() < 0.9] if begin.operation in SUSPENDS else answers
        if rng.random() < 0.05 and begin.operation != ArrayOperation.RESET:
            answers = answers[1:]
        edge, found = begin.edge, []
        if self._part.suspend is None:
            edge = max(edge, self._last.get(begin.lun, 0))
        for is_cached in answers:
            edge += rng.choice(times)
            while {(begin.lun, edge), (begin.lun, edge + 1)} & self._taken:
                edge += 2
            self._taken |= {(begin.lun, edge), (begin.lun, edge + 1)}
            if rng.random() < 0.2:
                other = Answer(lun=begin.lun, number=rng.randrange(256))
                found.append((edge - begin.edge, other))
                edge += 1
            number_of_plane = begin.row // self._part.pages_per_block % self._part.planes
            if begin.operation in FOR_ALL:
                number_of_plane = 0
            content = rng.randbytes(self._part.raw_page_bytes)
            answer = Answer(
                lun=begin.lun,
                number=begin.number,
                is_cached=is_cached,
                fail=rng.random() < 0.3,
                failc=rng.random() < 0.3,
                pages={(number_of_plane, begin.register): content},
            )
            found.append((edge - begin.edge, answer))
        self._last[begin.lun] = edge
        return found


class RandomBus:
    """Appends random acts to a waveform."""

    def __init__(self, rng, part, phases):
        self.rng = rng
        self.bus = OperationBus(part, phases=phases)

    def act(self):
        rng, bus = self.rng, self.bus
        way = rng.choice([WAY, WAY, WAY, WAY, 0])
        place = rng.randrange(bus.part.luns), rng.randrange(bus.part.rows)
        column = 2 * rng.randrange(bus.part.raw_page_bytes // 2)
        act = rng.choice([self._reads, self._reads, self._programs, self._erases, self._asks])
        act(way, *place, column)
        if rng.random() < 0.5:
            self._outputs(way, *place, column)
        bus.tick(rng.choice([1, 10, 40, 200]))

    def _reads(self, way, lun, row, column):
        rng, bus = self.rng, self.bus
        if rng.random() < 0.3:
            bus.single(way, rng.choice([0x31, 0x31, 0x3F, 0x00]))
        else:
            bus.sense(way, lun, row, column, rng.choice([0x30, 0x30, 0x31, 0x31, 0x32, 0x10]))

    def _times(self):
        """Times of a data burst, short by a clock now and then."""
        names = [name for name in ("wpre", "wpst") if self.rng.random() < 0.1]
        return {name: self.bus.limit(name) - 1 for name in names}

    def _programs(self, way, lun, row, column):
        rng, bus = self.rng, self.bus
        confirm = rng.choice([0x10, 0x10, 0x15, 0x15, 0x11, 0x30, None])
        bus.load(way, lun, row, column, rng.randbytes(2 * rng.randrange(1, 20)), **self._times())
        while rng.random() < 0.3:
            column = 2 * rng.randrange(bus.part.raw_page_bytes // 2)
            bus.load_more(column, rng.randbytes(2 * rng.randrange(1, 9)), **self._times())
        if confirm is None:
            bus.deselect()
        else:
            bus.end(confirm)

    def _erases(self, way, lun, row, column):
        self.bus.erase(way, lun, row, self.rng.choice([0xD0, 0xD0, 0xD1, 0x30]))

    def _asks(self, way, lun, row, column):
        rng, bus = self.rng, self.bus
        opcode = rng.choice([0x90, 0xEC, 0xEE, 0xEF, 0xFF])
        if opcode == 0xFF:
            bus.reset(way)
        elif opcode == 0xEF:
            bus.set_features(way, rng.randrange(256), rng.randbytes(rng.choice([2, 4, 4, 6])))
        else:
            bus.ask(way, opcode, rng.choice([0x00, 0x20, 0x47]))
        bus.tick(rng.choice([1, 100, 300]))

    def _outputs(self, way, lun, row, column):
        rng, bus = self.rng, self.bus
        count = 2 * rng.randrange(1, 8)
        act = rng.choice(["choose", "choose", "status", "78h", "resume", "burst"])
        if act == "choose":
            confirm = bus.choose(way, lun, row, column, rng.choice([0x05, 0x06]))
            bus.until(confirm + bus.limit("ccs"))
            bus.burst(count)
        elif act == "status":
            bus.status_bytes(way)
        elif act == "78h":
            bus.status_bytes(way, lun)
        else:
            if act == "resume":
                bus.single(way, 0x00)
            bus.output(way, count)


class SuspendingBus(RandomBus):
    """Work, suspends, reads and resumes of a few LUNs, in this order or another."""

    def act(self):
        rng, bus = self.rng, self.bus
        suspend = bus.part.suspend
        lun, row = rng.randrange(bus.part.luns), rng.randrange(bus.part.rows)
        kinds = (
            (0x10, suspend.program_suspend, suspend.program_resume),
            (0xD0, suspend.erase_suspend, suspend.erase_resume),
        )
        confirm, *opcodes = rng.choice(kinds)
        if confirm == 0x10:
            bus.program(WAY, lun, row, 0, b"data", confirm)
        else:
            bus.erase(WAY, lun, row, confirm)
        for opcode in opcodes:
            bus.tick(bus.limit("wb") + rng.choice([-1, 0, 1, 1, 20]))
            if rng.random() < 0.1:
                opcode = rng.choice(rng.choice(kinds))
            bus.suspend(WAY, lun, row, opcode)
            bus.tick(bus.limit("wb") + rng.choice([1, 30, 30]))
            for _ in range(rng.randrange(3)):
                act = rng.choice([self._reads, self._outputs, self._outputs, self._erases])
                act(WAY, lun, rng.randrange(bus.part.rows), 0)
                bus.tick(bus.limit("wb") + rng.choice([1, 30]))
        if rng.random() < 0.1:
            bus.reset(WAY)


@pytest.mark.parametrize("phases", [1, 2, 4])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("part", [FULL, PLANES, one_lun(PLANES)], ids=["luns", "planes", "one"])
def test_random_waveforms_agree_with_the_model(part, seed, phases):
    rng = random.Random(f"{seed} {part.luns} {part.planes} {phases}")
    t_wb_ps = rng.choice([95_000, 95_000, 400_000])
    part = replace(part, t_wb_ps=t_wb_ps, poll_first_ps=t_wb_ps)
    build = RandomBus(rng, part, phases)
    for _ in range(20):
        build.act()
    play = OperationPlay(
        build.bus, RandomKernel(rng, part), identity=b"\x98\x3c\xa5", stop=seed % 2 == 1
    ).check()
    assert len(play.begins) > 1


@pytest.mark.parametrize("phases", [1, 2])
@pytest.mark.parametrize("part", [PLANES, one_lun(FULL)], ids=["planes", "one"])
def test_random_suspends_agree_with_the_model(part, phases):
    rng = random.Random(f"{part.luns} {phases}")
    part = replace(part, suspend=SUSPEND)
    build = SuspendingBus(rng, part, phases)
    for _ in range(12):
        build.act()
    play = OperationPlay(build.bus, RandomKernel(rng, part), stop=phases == 1).check()
    found = {begin.operation for begin in play.begins}
    assert {*SUSPENDS, *RESUMES} <= found
