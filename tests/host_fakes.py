"""Small stand-ins for what the host side talks to: memory, an SSD that answers from bytes, a card.

They share no code with the host side beyond the layouts, and take their time on spans, so that
critical paths can be walked through them.
"""

import random
import struct
import zlib
from typing import NamedTuple

import simpy

from rtl.contract.kernel import P2P_BASE
from rtl.contract.mixer import positions
from rtl.contract.nvme import Opcode, Status, SubmissionEntry
from rtl.contract.sampling import distinct_positions

DRAWS = {1: positions, 2: distinct_positions}
"""By the mode of an NS_config or descriptor: positions of a list that the device draws."""


class FakeMemory:
    """Host memory; touching what is not allocated is an error."""

    def __init__(self):
        self.blocks = {}
        self._next = 0x1_0000

    def allocate(self, length, alignment=4096):
        address = -(-self._next // alignment) * alignment
        self.blocks[address] = bytearray(length)
        self._next = address + length + 4096 + 512  # nothing is adjacent, little is aligned
        return address

    def release(self, address):
        del self.blocks[address]

    def _find(self, address, length):
        for base, block in self.blocks.items():
            if base <= address and address + length <= base + len(block):
                return block, address - base
        raise AssertionError(f"{length} bytes at {address:#x} are not allocated")

    def load(self, address, length):
        block, offset = self._find(address, length)
        return bytes(block[offset : offset + length])

    def store(self, address, data):
        block, offset = self._find(address, len(data))
        block[offset : offset + len(data)] = data


class FakePort:
    """The SSD's doorbells and interrupts."""

    def __init__(self, kernel, memory, store_ps=50):
        self.kernel = kernel
        self.memory = memory
        self.store_ps = store_ps
        self.rung = simpy.Store(kernel.env)
        self.interrupts = simpy.Store(kernel.env)
        self.doorbells = []

    def doorbell(self, offset, value, cause, *, request=0):
        start = self.kernel.env.now
        yield self.kernel.env.timeout(self.store_ps)
        cause = self.kernel.record("pcie", "doorbell", start, start + self.store_ps, cause,
                                   request=request)  # fmt: skip
        self.doorbells.append((offset, value))
        self.rung.put((offset, value, cause))
        return cause

    def next_interrupt(self, vector=0):
        assert vector == 0
        return self.interrupts.get()


class FakeSsd:
    """Fetches entries from the rings and answers them, each after its own time, out of order.

    ``image`` is what block 0 and the following hold; ``service`` maps an entry to its time in ps;
    ``statuses`` maps the number of a command (from 1, as fetched) to a status to answer with.
    """

    def __init__(self, kernel, port, image=b"", lba_bytes=4096, service=None, seed=1):
        self.kernel = kernel
        self.port = port
        self.image = image
        self.lba_bytes = lba_bytes
        self.random = random.Random(seed)
        self.service = service or (lambda entry: self.random.randrange(1_000, 100_000))
        self.card = None
        self.statuses = {}
        self.entries = []
        self.configs = []
        self.in_flight = self.most_in_flight = 0
        self.corrupt = None

    def start(self, driver):
        self.driver = driver
        self.head = self.cq_tail = 0
        self.phase = 1
        self.kernel.env.process(self._serve())

    def _serve(self):
        env, driver = self.kernel.env, self.driver
        while True:
            offset, value, cause = yield self.port.rung.get()
            if offset != 0x1000 + 8 * driver.queue:
                continue
            while self.head != value:
                raw = self.port.memory.load(driver.sq_address + 64 * self.head, 64)
                self.head = (self.head + 1) % driver.depth
                entry = struct.unpack("<BBHI8xQQQ6I", raw)
                self.entries.append(raw)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                arrived = self.kernel.record("ssd", "ssd.fetch", cause.at_ps, env.now, cause)
                env.process(self._command(len(self.entries), entry, arrived))

    def _command(self, number, entry, cause):
        env = self.kernel.env
        opcode, _, cid, _nsid, _mptr, prp1, prp2, *cdw = entry
        start = env.now
        yield env.timeout(self.service(entry))
        status = self.statuses.get(number)
        if status is None:
            status = self._act(opcode, prp1, prp2, cdw)
        cause = self.kernel.record("ssd", "ssd.serve", start, env.now, cause)
        self.complete(cid, status, cause)

    def complete(self, cid, status, cause, queue=None):
        self.in_flight -= 1
        word = cid | (self.phase | status << 1) << 16
        raw = struct.pack("<IIHHI", 0, 0, self.head, queue or self.driver.queue, word)
        self.port.memory.store(self.driver.cq_address + 16 * self.cq_tail, raw)
        self.cq_tail += 1
        if self.cq_tail == self.driver.depth:
            self.cq_tail, self.phase = 0, self.phase ^ 1
        self.port.interrupts.put(cause)

    def _act(self, opcode, prp1, prp2, cdw):
        if opcode == Opcode.READ:
            size = ((cdw[2] & 0xFFFF) + 1) * self.lba_bytes
            data = self.read(cdw[0] | cdw[1] << 32, size)
            for address, part in self._pages(prp1, prp2, data):
                self._put(address, part)
            return Status.SUCCESS
        assert opcode == Opcode.WRITE
        assert cdw[2] == 1 << 25
        assert prp2 == 0
        self._sample(prp1)
        return Status.SUCCESS

    def read(self, lba, size):
        begin = lba * self.lba_bytes
        assert begin < len(self.image), "a block that was never written"
        return self.image[begin : begin + size].ljust(size, b"\0")

    def _put(self, address, data):
        if address >= P2P_BASE:
            self.card.window[address - P2P_BASE : address - P2P_BASE + len(data)] = data
        else:
            self.port.memory.store(address, data)

    def _pages(self, prp1, prp2, data):
        """Follow PRP1, PRP2 and PRP lists."""
        room = 4096 - prp1 % 4096
        yield prp1, data[:room]
        data = data[room:]
        if 0 < len(data) <= 4096:
            yield prp2, data
            return
        place = prp2
        while data:
            entry = int.from_bytes(self.port.memory.load(place, 8), "little")
            if (place + 8) % 4096 == 0 and len(data) > 4096:
                place = entry
                continue
            yield entry, data[:4096]
            data, place = data[4096:], place + 8

    def _sample(self, address):
        """Sample as the specification of NS_config says, from the bytes of the image."""
        memory = self.port.memory
        block = memory.load(address, 4096)
        (magic, version, length, crc, mode, width, targets, body_bytes, result_bytes, body_slots,
         result_slots) = struct.unpack_from("<IHHIHHIIIHH", block)  # fmt: skip
        assert (magic, version, length) == (0x4643534E, 1, 4096)
        assert crc == zlib.crc32(block[:8] + bytes(4) + block[12:])
        body = b"".join(memory.load(*piece) for piece in self._list(block[64:], body_slots))
        assert len(body) == body_bytes
        out = b""
        place = 0
        for _ in range(targets):
            lba, degree, offset, fan_out = struct.unpack_from("<QIHH", body, place)
            place += 16
            if mode in DRAWS:
                key = int.from_bytes(body[place : place + 4], "little")
                place += 4
                taken = DRAWS[mode](key, degree, fan_out).tolist()
            else:
                taken = struct.unpack_from(f"<{fan_out if degree else 0}I", body, place)
                place += 4 * len(taken)
            out += struct.pack("<I", len(taken))
            for position in taken:
                assert position < degree
                raw = self.read_at(lba * self.lba_bytes + offset + position * width, width)
                out += int.from_bytes(raw, "little").to_bytes(8, "little")
        assert place == len(body)
        assert len(out) == result_bytes
        if self.corrupt:
            out = self.corrupt(out)
        pieces = list(self._list(block[2080:], result_slots))
        assert sum(size for _, size in pieces) == len(out)
        for where, size in pieces:
            memory.store(where, out[:size])
            out = out[size:]
        self.configs.append((mode, targets, body_slots, result_slots))

    def read_at(self, offset, width):
        return self.image[offset : offset + width]

    def _list(self, slots, count):
        for index in range(count):
            address, length, flags = struct.unpack_from("<QII", slots, 16 * index)
            if flags & 1:
                assert index == count - 1
                assert length % 16 == 0
                yield from self._list(self.port.memory.load(address, length), length // 16)
            else:
                yield address, length


class FakeCard:
    """The FPGA card: a window of bytes, and a gather unit that reads them as the layout says."""

    p2p_base = P2P_BASE

    def __init__(self, kernel, window_bytes=1 << 16, step_ps=5_000):
        self.kernel = kernel
        self.window_bytes = window_bytes
        self.window = bytearray(window_bytes)
        self.step_ps = step_ps
        self.launches = []
        self.force_status = None

    def _spend(self, stage, cause, request):
        start = self.kernel.env.now
        yield self.kernel.env.timeout(self.step_ps)
        return self.kernel.record("card", stage, start, self.kernel.env.now, cause, request=request)

    def write(self, address, data, cause, *, request=0, kind="descriptor"):
        assert address % 64 == 0
        assert len(data) % 64 == 0
        assert address + len(data) <= self.window_bytes
        cause = yield from self._spend(f"card.write-{kind}", cause, request)
        self.window[address : address + len(data)] = data
        return cause

    def launch(self, descriptor_address, count, cause, *, request=0):
        cause = yield from self._spend("gather.run", cause, request)
        self.launches.append(count)
        raw = b"".join(self._target(descriptor_address + 32 * i) for i in range(count))
        status = 0 if self.force_status is None else self.force_status
        return status, raw, cause

    def fetch(self, results, cause, *, request=0):
        cause = yield from self._spend("card.fetch", cause, request)
        return results, cause

    def _target(self, address):
        magic, mode, log2, fan_out, base, degree, key, place = struct.unpack_from(
            "<BBBxHxxQIIQ", self.window, address
        )
        assert magic == 0x47
        width = 1 << log2
        assert base % width == 0
        if degree == 0:
            taken = []
        elif mode == 0:
            assert place % 4 == 0
            taken = struct.unpack_from(f"<{fan_out}I", self.window, place)
        else:
            taken = DRAWS[mode](key, degree, fan_out).tolist()
        ids = []
        for position in taken:
            assert position < degree
            where = base + position * width
            assert where + width <= self.window_bytes
            ids.append(int.from_bytes(self.window[where : where + width], "little"))
        return struct.pack(f"<II{len(ids)}Q", len(ids), 0, *ids)


def entry_fields(raw):
    """(opcode, cid, nsid, prp1, prp2, lba, cdw12) of a submission entry's 64 bytes."""
    assert len(raw) == SubmissionEntry.as_shape().size // 8
    return (raw[0], *struct.unpack_from("<HI", raw, 2), *struct.unpack_from("<QQQ", raw, 24),
            int.from_bytes(raw[48:52], "little"))  # fmt: skip


class FakeGather:
    """The gather unit on its kernel side: stages bytes into a window, launches after a while."""

    def __init__(self, kernel, window_bytes):
        self.kernel = kernel
        self.card = FakeCard(kernel, window_bytes)

    def stage(self, address, data, cause, *, request=0):
        return self.kernel.env.process(self._stage(address, data, cause, request))

    def _stage(self, address, data, cause, request):
        cause = yield from self.card.write(address, data, cause, request=request)
        return cause

    def launch(self, descriptor_address, count, cause, *, request=0):
        return self.kernel.env.process(self._launch(descriptor_address, count, cause, request))

    def _launch(self, descriptor_address, count, cause, request):
        found = yield from self.card.launch(descriptor_address, count, cause, request=request)
        return GatherResult(found[1], found[0], found[2])


class GatherResult(NamedTuple):
    words: bytes
    status: int
    cause: tuple
