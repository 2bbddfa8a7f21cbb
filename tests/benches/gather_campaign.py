"""Random launches for the emitted gather core: cocotbext-axi is its memory, a model its judge.

Answers to one AXI ID come in the order of its requests, those to different IDs in any order, beat
by beat. Every stream stalls, launches are waiting when one ends, and some are given up.
"""

import hashlib
import itertools
import json
import logging
import os
import random
from collections import Counter, deque
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiRamRead, AxiReadBus

from rtl.contract.axi import BOUNDARY_BYTES, Burst, Response
from rtl.contract.codec import byte_size, pack, unpack
from rtl.contract.gather import GatherDone, GatherLaunch, GatherStatus
from tests.benches.gather_axi import INPUTS, PERIOD_NS
from tests.scenarios.gather import DESCRIPTOR_BYTES, given_up, reference, targets
from tests.scenarios.gather_campaign import CampaignPlan

MOST_IDLE = 30_000
"""Clocks without a word or an end of a launch after which the unit hangs."""
INPUT_BITS = ("results__ready", "done__ready", "launches__valid", "abort")
ENOUGH = 5
"""Differences after which no more are looked for."""
PACES = ((1.0, 1), (1.0, 1), (1.0, 1), (0.9, 2), (0.7, 2), (0.5, 3), (0.3, 8))
"""Share of clocks in which a stream goes on, and its longest pause."""


def pauses(seed, *, bits=1 << 17):
    """Endless pause bits, whose pace changes every few hundred clocks."""
    rng, kept = random.Random(seed), []
    while len(kept) < bits:
        share, longest = rng.choice(PACES)
        until = len(kept) + rng.randint(50, 600)
        while len(kept) < until:
            kept.append(0)
            if rng.random() > share:
                kept += [1] * rng.randint(1, longest)
    return itertools.cycle(kept)


def transfer(raw, result_words):
    """Words of a transfer of results, and whether it is its launch's last."""
    count_bits = result_words.bit_length()
    count = raw >> 64 * result_words & (1 << count_bits) - 1
    words = [raw >> 64 * number & (1 << 64) - 1 for number in range(count)]
    return words, raw >> 64 * result_words + count_bits


class CampaignRam(AxiRamRead):
    """cocotbext-axi's memory with an order across IDs of its own, and with both kinds of error.

    ``differs`` is told of each request that is not as it must be.
    """

    def __init__(self, dut, plan, seed, differs):
        bus = AxiReadBus.from_prefix(dut, "m_axi")
        super().__init__(bus, dut.clk, dut.rst, mem=bytearray(1))
        self._plan = plan
        self._differs = differs
        self._rng = random.Random(seed)
        self.responses = Counter()
        self.bursts, self.most_waiting, self.overtakes = 0, 0, 0
        self.ar_channel.queue_occupancy_limit = 64
        self.ar_channel.set_pause_generator(pauses(seed + 1))
        self.r_channel.set_pause_generator(pauses(seed + 2))

    async def _process_read(self):
        waiting, arrived = {}, 0
        while True:
            while not waiting or not self.ar_channel.empty():
                request = await self.ar_channel.recv()
                beats = deque((arrived, *beat) for beat in self._beats(request))
                waiting.setdefault(int(request.arid), deque()).extend(beats)
                arrived += 1
                self.bursts += 1
            self.most_waiting = max(self.most_waiting, sum(map(len, waiting.values())))
            oldest = min(beats[0][0] for beats in waiting.values())
            id = self._rng.choice(list(waiting))
            number, address, is_last = waiting[id].popleft()
            if not waiting[id]:
                del waiting[id]
            self.overtakes += number != oldest
            await self.r_channel.send(self._beat(id, address, is_last))

    def _beats(self, request):
        """Address of each beat of a burst, and whether it is the last."""
        address, count = int(request.araddr), int(request.arlen) + 1
        if (
            1 << int(request.arsize) != self.byte_lanes
            or int(request.arburst) != Burst.INCR
            or address % self.byte_lanes
            or address % BOUNDARY_BYTES + count * self.byte_lanes > BOUNDARY_BYTES
        ):
            self._differs(f"a request of {count} beats from {address:#x} on: {request!r}")
        return [(address + n * self.byte_lanes, n == count - 1) for n in range(count)]

    def _beat(self, id, address, is_last):
        beat = self.r_channel._transaction_obj()
        beat.rid, beat.rlast = id, is_last
        beat.rresp = self._plan.image.response(address, self.byte_lanes)
        self.responses[beat.rresp] += 1
        # What comes with an error must not be taken for data.
        content = self._plan.read(address, self.byte_lanes)
        beat.rdata = int.from_bytes(content, "little")
        return beat


class Campaign:
    """Plays launches until enough descriptors are done, and compares."""

    def __init__(self, dut, job):
        self._dut = dut
        self._job = job
        sizes = {name: job[name] for name in ("data_bits", "max_fan_out", "max_distinct")}
        self._plan = CampaignPlan(job["seed"], **sizes)
        self._rng = random.Random(job["seed"] + 100)
        self._story = hashlib.sha256()
        self._launches, self._words = deque(), []
        self._has_ended = False
        self._aborts, self._must_abort = {}, set()
        self._next, self._is_offered, self._not_before = None, False, 0
        self._given = dict.fromkeys(INPUT_BITS, 0)
        self._paces = [pauses(job["seed"] + 20 + number) for number in range(3)]
        self._clock, self._moved, self._accepted, self._ended = 0, 0, 0, 0
        self.counts, self.most = Counter(), Counter()
        self.differences = []

    async def run(self):
        dut = self._dut
        for name in INPUTS:
            getattr(dut, name).value = 0
        Clock(dut.clk, PERIOD_NS, "ns").start()
        await Timer(PERIOD_NS + 1, "ns")
        dut.rst.value = 1
        await Timer(3 * PERIOD_NS, "ns")
        dut.rst.value = 0
        self._ram = CampaignRam(dut, self._plan, self._job["seed"] + 10, self._differs)
        await self._play()
        self.counts["bursts"] = self._ram.bursts
        self.counts["overtakes"] = self._ram.overtakes
        self.most["beats waiting"] = self._ram.most_waiting
        for response, count in self._ram.responses.items():
            self.counts[f"beats {Response(response).name}"] = count

    async def _play(self):
        """One turn a clock: look at what was handed over at the edge, then set the inputs."""
        edge = RisingEdge(self._dut.clk)
        self._next = self._next_launch()
        while (self._next or self._launches) and len(self.differences) < ENOUGH:
            self._clock += 1
            self._dut.now.value = self._clock
            await edge
            self._look()
            self._set_inputs()
            if self._clock - self._moved > MOST_IDLE:
                self._differs(f"it hangs: {list(self._launches)}")
                break
        self.counts["clocks"] = self._clock

    def _look(self):
        """Whether a word, an end or a launch was handed over, in the order that they have."""
        given, dut = self._given, self._dut
        if given["results__ready"] and dut.results__valid.value:
            self._take(int(dut.results__payload.value))
        if given["abort"]:
            self._aborted()
        if given["done__ready"] and dut.done__valid.value:
            self._end(int(dut.done__payload.value))
        if given["launches__valid"] and dut.launches__ready.value:
            self._accept()

    def _set_inputs(self):
        paused = [next(pace) for pace in self._paces]
        self._set("results__ready", 1 - paused[0])
        self._set("done__ready", 1 - paused[1])
        if self._next is None:
            self._set("launches__valid", 0)
        elif not self._is_offered and not paused[2] and self._clock >= self._not_before:
            self._is_offered = True
            self._dut.launches__payload.value = int.from_bytes(self._word(self._next), "little")
            self._set("launches__valid", 1)
        elif not self._is_offered:
            self._set("launches__valid", 0)
        self._set("abort", int(bool(self._launches) and self._is_due()))

    def _set(self, name, level):
        if self._given[name] != level:
            getattr(self._dut, name).value = self._given[name] = level

    def _next_launch(self):
        left = self._job["descriptors"] - self.counts["descriptors"]
        if left <= 0:
            return None
        launch = self._plan.launch(left)
        self.counts["descriptors"] += launch.count if launch.address % DESCRIPTOR_BYTES == 0 else 0
        return launch

    @staticmethod
    def _word(launch):
        return pack(
            GatherLaunch,
            descriptor_address=launch.address,
            count=launch.count,
            tag=launch.number % (1 << 16),
        )

    def _accept(self):
        self._launches.append(self._next)
        self._next, self._is_offered = self._next_launch(), False
        self._accepted = self._moved = self._clock
        # Mostly the next one waits for the end of this one.
        is_late = self._rng.random() < (0.1 if self._launches[0].abort_after is None else 0.5)
        self._not_before = self._clock + is_late * self._rng.randint(1, 800)
        self.counts["launches"] += 1
        self.counts["launches back to back"] += self._clock - self._ended <= 2

    def _is_due(self):
        after = self._launches[0].abort_after
        return after is not None and self._clock == self._accepted + after

    def _aborted(self):
        """The abort input was high in the clock before this edge."""
        if not self._launches:
            return
        launch = self._launches[0]
        self._aborts[launch.number] = self._clock
        if launch.count and launch.address % DESCRIPTOR_BYTES == 0 and not self._has_ended:
            self._must_abort.add(launch.number)

    def _take(self, raw):
        words, is_last = transfer(raw, self._job["result_words"])
        self._moved = self._clock
        self._story.update(f"{self._clock} {raw:x} ".encode())
        if self._has_ended or not self._launches:
            self._differs("a word when none is due")
        if not 1 <= len(words) <= self._job["result_words"]:
            self._differs(f"a transfer of {len(words)} words")
        self._words += words
        self._has_ended |= bool(is_last)

    def _end(self, raw):
        self._moved = self._clock
        done = unpack(GatherDone, raw.to_bytes(byte_size(GatherDone), "little"))
        self._story.update(f"{self._clock} {raw:x} ".encode())
        if not self._launches:
            self._differs("an end when none is due")
            return
        launch = self._launches.popleft()
        expected, status = reference(self._plan, launch)
        self._judge(launch, done, expected, status)
        self._count(launch, expected)
        if launch.number in self._must_abort:
            self.counts["launches given up"] += 1
            waited = self._clock - self._aborts[launch.number]
            self.most["clocks from abort to end"] = max(
                self.most["clocks from abort to end"], waited
            )
        self._words, self._has_ended, self._ended = [], False, self._clock
        self._plan.image.begin(launch.number + 1)

    def _judge(self, launch, done, expected, status):
        if launch.number in self._must_abort:
            status = GatherStatus.ABORTED
            try:
                found = targets(self._words)
                self.counts["targets ABORTED"] += given_up(found, targets(expected))
            except (AssertionError, IndexError) as error:
                self._differs(f"launch given up {launch}: {error!r}")
        elif self._words != expected:
            place = sum(1 for _ in itertools.takewhile(
                lambda pair: pair[0] == pair[1], zip(self._words, expected, strict=False)
            ))  # fmt: skip
            self._differs(f"{launch}: word {place} of {len(expected)}")
        if self._has_ended != bool(expected):
            self._differs(f"{launch}: last word")
        found = (done.tag, done.status, done.words)
        wanted = (launch.number % (1 << 16), status, len(self._words))
        if found != wanted:
            self._differs(f"{launch}: end {found}, must be {wanted}")
        if not done.started <= done.first <= done.last < self._clock:
            self._differs(f"{launch}: times {done.started} {done.first} {done.last}")

    def _count(self, launch, expected):
        """What the launch was about, by its descriptors."""
        for status, ids in targets(expected):
            self.counts[f"targets {GatherStatus(status).name}"] += 1
            self.counts["empty targets"] += status == GatherStatus.OK and not ids
            self.counts["ids"] += len(ids)
            self.most["ids of a target"] = max(self.most["ids of a target"], len(ids))
        if not expected:
            self.counts["launches without words"] += 1

    def _differs(self, text):
        self.differences.append(f"clock {self._clock}: {text}")

    def report(self):
        """What happened."""
        return {
            "counts": dict(self.counts),
            "kinds": dict(self._plan.kinds),
            "most": dict(self.most),
            "differences": self.differences,
            "story": self._story.hexdigest(),
        }


@cocotb.test()
async def plays_a_campaign(dut):
    job = json.loads(Path(os.environ["GATHER_CAMPAIGN"]).read_text())
    logging.getLogger("cocotb").setLevel(logging.WARNING)
    campaign = Campaign(dut, job)
    await campaign.run()
    Path(job["result"]).write_text(json.dumps(campaign.report()))
