"""Random launches over 2^64 bytes of memory, with all that may go wrong; free of any simulator."""

import random
from collections import Counter, deque
from dataclasses import dataclass

import numpy as np

from rtl.contract.axi import BOUNDARY_BYTES, Response
from rtl.contract.codec import pack
from rtl.contract.gather import DESCRIPTOR_MAGIC, GatherDescriptor, GatherMode
from tests.scenarios.gather import DESCRIPTOR_BYTES, FAULTS, Launch

__all__ = ["CampaignMemory", "CampaignPlan", "PlannedLaunch"]

WORD_BYTES, LINE_BYTES = 8, 64
MASK = (1 << 64) - 1
FACTOR = 0x9E37_79B9_7F4A_7C15
"""Odd, so that words differ; 2^64 over the golden ratio (Knuth, TAOCP vol. 3, 6.4)."""
ZONE_SHIFT = 60
CHANGING, LINES_FAIL, PAGES_FAIL = 0xC, 0xE, 0xD
"""Top four bits of addresses at which words change from launch to launch, one line in 16 fails, or
one page in four."""


class CampaignMemory:
    """2^64 bytes: each 8-byte word is made of its own number, where nothing was stored.

    What lies in the zone ``CHANGING`` is made of the number of the launch, too.
    """

    def __init__(self):
        self._pages = {}
        self._stored = deque()
        self._launch = 0

    def store(self, launch, address, content):
        """Put bytes that a launch reads; they may cross pages, not the end of the address space."""
        end = address + len(content)
        for start in range(address - address % BOUNDARY_BYTES, end, BOUNDARY_BYTES):
            if start not in self._pages:
                self._pages[start] = bytearray(self._made(start, BOUNDARY_BYTES))
            first, last = max(start, address), min(start + BOUNDARY_BYTES, end)
            self._pages[start][first - start : last - start] = content[first - address :][
                : last - first
            ]
            self._stored.append((launch, start))

    def begin(self, launch):
        """From now on this launch runs; what was stored for those before is gone."""
        self._launch = launch
        while self._stored and self._stored[0][0] < launch:
            self._pages.pop(self._stored.popleft()[1], None)

    def read(self, address, length):
        """Bytes within a page."""
        offset = address % BOUNDARY_BYTES
        page = self._pages.get(address - offset)
        if page is not None:
            return bytes(page[offset : offset + length])
        first = address - address % WORD_BYTES
        end = address + length
        return self._made(first, end - first + -end % WORD_BYTES)[address - first :][:length]

    def _made(self, address, length):
        salt = self._launch if address >> ZONE_SHIFT == CHANGING else 0
        first = address // WORD_BYTES + (salt << 32)
        words = np.arange(length // WORD_BYTES, dtype=np.uint64) + np.uint64(first & MASK)
        words *= np.uint64(FACTOR)
        words ^= words >> np.uint64(32)
        return words.astype("<u8").tobytes()

    @staticmethod
    def response(address, length):
        """What a read of ``[address, address + length)`` is answered with."""
        zone = address >> ZONE_SHIFT
        if zone == LINES_FAIL:
            for line in range(address // LINE_BYTES, (address + length - 1) // LINE_BYTES + 1):
                draw = line * FACTOR & MASK
                draw = draw >> 40 & 63
                if draw < 4:
                    return (Response.SLVERR, Response.DECERR)[draw % 2]
        elif zone == PAGES_FAIL:
            draw = (address // BOUNDARY_BYTES * FACTOR & MASK) >> 40 & 7
            if draw < 2:
                return (Response.SLVERR, Response.DECERR)[draw]
        return Response.OKAY


@dataclass(frozen=True)
class PlannedLaunch(Launch):
    """A launch, its number, and whether and after how many clocks it is to be given up."""

    number: int = 0
    abort_after: int | None = None


class CampaignPlan:
    """Endless launches over one memory; what ``tests.scenarios.gather.reference`` needs to judge.

    Parameters
    ----------
    seed : int
        Of all choices.
    data_bits, max_fan_out, max_distinct : int
        Of the unit.
    """

    def __init__(self, seed, *, data_bits, max_fan_out, max_distinct):
        self.image = CampaignMemory()
        self.max_fan_out = max_fan_out
        self.max_distinct = max_distinct
        self.modes = tuple(GatherMode)
        self._beat_bytes = data_bits // 8
        self._rng = random.Random(seed)
        self.kinds = Counter()
        self._launches = 0
        self._lists = []
        changing = [self._place(3, zone=CHANGING, span=LINE_BYTES) for _ in range(3)]
        self._small = [*changing, self._failing_line(), self._failing_line()]

    def read(self, address, length):
        """Bytes within a page."""
        return self.image.read(address, length)

    def fails(self, address, length):
        """Whether a bus word of ``[address, address + length)`` is answered with an error."""
        first = address - address % self._beat_bytes
        end = address + length
        end += -end % self._beat_bytes
        return self.image.response(first, end - first) != Response.OKAY

    def launch(self, most):
        """The next launch, of ``most`` descriptors at most; they are in memory."""
        rng = self._rng
        number, self._launches = self._launches, self._launches + 1
        if rng.random() < 0.02:
            return PlannedLaunch(self._place(5) + rng.choice((4, 8, 16)), 1, number)
        count = 0 if rng.random() < 0.02 else min(most, rng.choice((1, 2, 3, rng.randint(4, 60))))
        size = DESCRIPTOR_BYTES * count
        address = self._place(5, span=size, errors=0.1)
        self.kinds["tables over 4 KB bounds"] += _crosses(address, size)
        table = b"".join(self._descriptor(number) for _ in range(count))
        self.image.store(number, address, table)
        abort_after = rng.choice((3, 30, 300, 1000)) if rng.random() < 0.15 else None
        if abort_after is not None:
            abort_after = rng.randint(0, abort_after)
        return PlannedLaunch(address, count, number, abort_after)

    def _place(self, align_log2, *, zone=None, span=0, errors=0.0):
        """An aligned address, often before a page's end, from which ``span`` bytes are one zone."""
        rng = self._rng
        if zone is None:
            zone = rng.randrange(CHANGING)
            if rng.random() < errors:
                zone = rng.choice((LINES_FAIL, LINES_FAIL, PAGES_FAIL))
        low = rng.getrandbits(ZONE_SHIFT - 1) >> align_log2 << align_log2
        if rng.random() < 0.3:
            before = rng.randint(0, 16) << align_log2
            low = (low | BOUNDARY_BYTES - 1) + 1 - before
        return (zone << ZONE_SHIFT) + min(low, (1 << ZONE_SHIFT) - BOUNDARY_BYTES - span)

    def _failing_line(self):
        while True:
            line = self._place(6, zone=LINES_FAIL, span=LINE_BYTES)
            if self.fails(line, LINE_BYTES):
                return line

    def _degree(self, fan_out):
        rng = self._rng
        return rng.choice(
            (
                *(0, 1, 2, fan_out - 1, fan_out, fan_out + 1, 2 * fan_out),
                *(rng.randint(3, 60), rng.randint(61, 3000), rng.randint(61, 3000)),
                *(rng.getrandbits(rng.randint(12, 32)), (1 << 32) - 1),
            )
        )

    def _fan_out(self, mode):
        rng = self._rng
        most = self.max_distinct if mode == GatherMode.DRAW_DISTINCT else self.max_fan_out
        if rng.random() < 0.02:
            return rng.choice((most, min(most, 64), rng.randint(1, most)))
        return min(most, rng.choice((1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 8, 10, 10, 15, 25)))

    def _descriptor(self, launch):
        rng = self._rng
        mode, id_log2 = rng.choice((0, 1, 2)), rng.choice((2, 3))
        fan_out = self._fan_out(mode)
        degree = self._degree(fan_out)
        fields = {
            "magic": DESCRIPTOR_MAGIC,
            "mode": mode,
            "id_log2": id_log2,
            "fan_out": fan_out,
            "degree": degree,
            "list_address": self._list(id_log2, degree),
            "key": rng.getrandbits(32),
            "positions_address": rng.getrandbits(64),
        }
        if rng.random() < 0.15:
            fields.update(degree=rng.randint(1, 8), list_address=self._small[0])
            if rng.random() < 0.3:
                rng.shuffle(self._small)
        if mode == GatherMode.EXPLICIT:
            fields["positions_address"] = self._positions(launch, fan_out, fields["degree"])
        self.kinds[f"{GatherMode(mode).name} {1 << id_log2}B"] += 1
        self.kinds["lists over 4 KB bounds"] += _crosses(
            fields["list_address"], fields["degree"] << id_log2
        )
        self.kinds["degrees above 2^31"] += fields["degree"] >> 31
        if rng.random() < 0.08:
            fields.update(rng.choice(FAULTS))
        return pack(GatherDescriptor, **fields)

    def _list(self, id_log2, degree):
        """A list's address: new, that of one before, or up to the end of the address space."""
        rng, span = self._rng, degree << id_log2
        if self._lists and rng.random() < 0.1:
            return rng.choice(self._lists) >> id_log2 << id_log2
        if rng.random() < 0.02:
            return (1 << 64) - span & MASK
        address = self._place(id_log2, span=span, errors=0.12)
        self._lists = [*self._lists[-7:], address]
        return address

    def _positions(self, launch, count, degree):
        rng = self._rng
        places = np.array([rng.randrange(max(degree, 1)) for _ in range(count)], dtype="<u4")
        if rng.random() < 0.06:
            places[rng.randrange(count)] = rng.choice((degree, (1 << 32) - 1))
        if rng.random() < 0.3:
            places.sort()
        address = self._place(2, span=4 * count, errors=0.12)
        self.kinds["positions over 4 KB bounds"] += _crosses(address, 4 * count)
        self.image.store(launch, address, places.tobytes())
        return address


def _crosses(address, size):
    return size > 0 and address // BOUNDARY_BYTES != (address + size - 1) // BOUNDARY_BYTES
