"""Plain-SimPy stand-ins for the world around the firmware: flash, PCIe port, host.

Latencies are fixed; the flash pages are real images (data, parity, metadata). Every interval is a
span with its cause, as in the real thing, so that critical paths can be walked.
"""

from collections import Counter

import simpy

from cosim.medium import FlashMedium
from firmware_model.parameters import QueueRegisters
from rtl.contract.channel import COMMANDS_PER_LUN, ChannelOperation, ChannelStatus
from rtl.contract.codec import pack, unpack
from rtl.contract.kernel import P2P_BASE, BusError, PageRead
from rtl.contract.nvme import CompletionEntry, SubmissionEntry, doorbell_offset
from rtl.contract.onfi import READ_LEVEL_FEATURE

__all__ = ["FakeDevicePort", "FakeFlash", "FakeHost", "FakeMemory"]


class FakeMemory:
    """Sparse host memory: allocations that never touch, with a guard page between them."""

    def __init__(self):
        self._next = 0x10_0000
        self._pieces = {}

    def allocate(self, length, alignment=4096):
        address = -(-self._next // alignment) * alignment
        self._pieces[address] = bytearray(length)
        self._next = address + length + 4096
        return address

    def release(self, address):
        del self._pieces[address]

    def _find(self, address, length):
        for start, data in self._pieces.items():
            if start <= address and address + length <= start + len(data):
                return data, address - start
        raise BusError(f"{length} bytes at {address:#x} are not host memory")

    def load(self, address, length):
        data, at = self._find(address, length)
        return bytes(data[at : at + length])

    def store(self, address, data):
        into, at = self._find(address, len(data))
        into[at : at + len(data)] = data


class FakeFlash:
    """Dies with one read time, a bus a channel, landing slots; pages from a :class:`FlashMedium`.

    Waits within a channel are spans of the command that waits, as with the real controller.
    ``orders`` lists (channel, way, lun, row, column, length) of every read; a read of a place
    (channel, way, lun, row) in ``uncorrectable`` ends with that status. A read of one in
    ``hanging`` ends without data, as do all others of its LUN until a reset of the way. ``freed``
    are the causes of the slots given back.
    """

    def __init__(self, kernel, medium: FlashMedium, *, read_ps=50_000_000, byte_ps=5_000, slots=2):
        striping = medium.striping
        self.channels, self.ways, self.luns = striping.channels, striping.ways, striping.luns
        self.slots = slots
        self.orders = []
        self.freed = []
        self.uncorrectable = {}
        """Pages by the first read level at which they are good."""
        self.hanging = set()
        self.lost = set()
        """LUNs that do nothing but a reset."""
        self.resets = []
        self.levels = Counter()
        self.levels_set = []
        self.order_levels = []
        self.outstanding = Counter()
        self.change_ps = {"flash.program": 200_000_000, "flash.erase": 900_000_000}
        self.changes = []
        """(stage, time, place) of programs and erases as they begin."""
        self.under_way = {}
        self._kernel = kernel
        self._medium = medium
        self._read_ps, self._byte_ps = read_ps, byte_ps
        self._dies = {}
        self._buses = [simpy.Resource(kernel.env) for _ in range(self.channels)]
        self._landing = [simpy.Store(kernel.env) for _ in range(self.channels)]
        for store in self._landing:
            store.items.extend(range(slots))

    def submit(self, channel, operation, way, lun, cause, *, row, column=0, data=b"", request=0):
        """Set a feature or reset, in the time of sensing, while the way is idle; program, erase."""
        if operation in (ChannelOperation.PROGRAM, ChannelOperation.ERASE):
            assert cause.at_ps == self._kernel.env.now
            assert column == 0
            place = channel, way, lun
            self._take(place)
            return self._kernel.env.process(self._change(place, row, data, cause, request))
        assert not any(self.outstanding[channel, way, other] for other in range(self.luns))
        if operation == ChannelOperation.RESET:
            self.resets.append((channel, way))
            self.lost -= {(channel, way, other) for other in range(self.luns)}
            return self._kernel.env.process(self._set(channel, cause, request))
        assert operation == ChannelOperation.SET_FEATURES
        assert (row, data[1:]) == (READ_LEVEL_FEATURE, bytes(3))
        self.levels[channel, way] = data[0]
        self.levels_set.append((channel, way, data[0]))
        return self._kernel.env.process(self._set(channel, cause, request))

    def _set(self, channel, cause, request):
        wait = self._kernel.env.timeout(self._read_ps)
        _, cause = yield from self._span("flash.feature", channel, cause, request, wait)
        return PageRead(b"", int(ChannelStatus.OK), 0, -1, cause)

    def read(self, channel, way, lun, row, column, length, cause, *, request=0):
        env = self._kernel.env
        assert cause.at_ps == env.now
        assert column % 2 == length % 2 == 0 < length
        place = channel, way, lun
        self._take(place)
        self.orders.append((*place, row, column, length))
        self.order_levels.append(self.levels[channel, way])
        return env.process(self._serve(place, row, column, length, cause, request))

    def _take(self, place):
        self.outstanding[place] += 1
        if self.outstanding[place] > COMMANDS_PER_LUN:
            raise RuntimeError(f"LUN {place} must have at most {COMMANDS_PER_LUN} commands")
        self._dies.setdefault(place, simpy.Resource(self._kernel.env))

    def _change(self, place, row, data, cause, request):
        """Program a page with ``data``, or erase a block; done at the end of the array's time."""
        env, channel, medium = self._kernel.env, place[0], self._medium
        stage = "flash.program" if data else "flash.erase"
        with self._dies[place].request() as die:
            _, cause = yield from self._span("flash.queue", channel, cause, request, die)
            with self._buses[channel].request() as bus:
                _, cause = yield from self._span("flash.queue", channel, cause, request, bus)
                time = env.timeout(len(data) * self._byte_ps)
                _, cause = yield from self._span("flash.command", channel, cause, request, time)
            change = (*place, row)
            self.under_way[change] = medium.spoil_page if data else medium.spoil_block
            self.changes.append((stage, int(env.now), change))
            time = env.timeout(self.change_ps[stage])
            _, cause = yield from self._span(stage, channel, cause, request, time)
            is_done = medium.program(*change, data) if data else medium.erase(*change)
            del self.under_way[change]
        self.outstanding[place] -= 1
        status = ChannelStatus.OK if is_done else ChannelStatus.FAILED
        return PageRead(b"", int(status), 0, -1, cause)

    def cut_power(self):
        """Leave noise where a program or an erase is under way; nothing goes on after it."""
        for change, spoil in self.under_way.items():
            spoil(*change)

    def _span(self, stage, channel, cause, request, event, **named):
        """Wait for ``event``, and record the wait if it took time."""
        value = yield event
        if self._kernel.env.now > cause.at_ps:
            cause = self._kernel.record(
                f"flash.ch{channel}",
                stage,
                cause.at_ps,
                int(self._kernel.env.now),
                cause,
                request=request,
                **named,
            )
        return value, cause

    def _serve(self, place, row, column, length, cause, request):
        env, channel = self._kernel.env, place[0]
        image = self._medium.sense(*place, row)
        with self._dies[place].request() as die:
            _, cause = yield from self._span("flash.queue", channel, cause, request, die)
            _, cause = yield from self._span(
                "flash.sense", channel, cause, request, env.timeout(self._read_ps)
            )
            if place in self.lost or (*place, row) in self.hanging:
                self.lost.add(place)
                self.outstanding[place] -= 1
                return PageRead(b"", int(ChannelStatus.TIMEOUT), 0, -1, cause)
            slot, cause = yield from self._span(
                "flash.bus-wait", channel, cause, request, self._landing[channel].get()
            )
            with self._buses[channel].request() as bus:
                _, cause = yield from self._span("flash.bus-wait", channel, cause, request, bus)
                _, cause = yield from self._span(
                    "flash.transfer",
                    channel,
                    cause,
                    request,
                    env.timeout(length * self._byte_ps),
                    payload_bytes=length,
                    kind="page",
                )
        self.outstanding[place] -= 1
        bad = self.levels[place[:2]] < self.uncorrectable.get((*place, row), 0)
        status = ChannelStatus.UNCORRECTABLE if bad else ChannelStatus.OK
        return PageRead(image[column : column + length], int(status), 0, slot, cause)

    def free(self, channel, slot, cause):
        assert cause.at_ps == self._kernel.env.now
        assert slot not in self._landing[channel].items, "slot freed twice"
        self.freed.append(cause)
        self._landing[channel].put(slot)


class FakeDevicePort:
    """PCIe with a fixed round trip and one bandwidth a direction; P2P writes land in ``p2p``.

    Writes to host memory and interrupts are posted: they arrive a latency later, in order.
    """

    def __init__(self, kernel, memory, *, latency_ps=400_000, byte_ps=300):
        self.memory = memory
        self.p2p = FakeMemory()
        self.transfers = []
        self.interrupts = simpy.Store(kernel.env)
        self._kernel = kernel
        self._latency_ps, self._byte_ps = latency_ps, byte_ps
        self._doorbells = simpy.Store(kernel.env)
        self._up = kernel.resource("pcie.ssd.up")
        self._down = kernel.resource("pcie.ssd.down")

    def _delay(self, stage, cause, request):
        start = int(self._kernel.env.now)
        yield self._kernel.env.timeout(self._latency_ps)
        return self._kernel.record(
            "pcie.ssd", stage, start, start + self._latency_ps, cause, request=request
        )

    def read(self, address, length, cause, *, request=0, kind="data"):
        self.memory.load(address, length)
        self.transfers.append(("read", kind, address, length))
        cause = yield from self._delay("pcie.latency", cause, request)
        data = self.memory.load(address, length)
        cause = yield from self._down.use(
            "pcie.read", length * self._byte_ps, cause, request=request, payload_bytes=length
        )
        return data, cause

    def write(self, address, data, cause, *, request=0, kind="data"):
        memory = self.p2p if address >= P2P_BASE else self.memory
        at = address - P2P_BASE if address >= P2P_BASE else address
        memory.load(at, len(data))
        self.transfers.append(("write", kind, address, len(data)))
        cause = yield from self._up.use(
            "pcie.write",
            len(data) * self._byte_ps,
            cause,
            request=request,
            payload_bytes=len(data),
            kind=kind,
        )
        arrival = self._kernel.env.process(self._arrive(memory, at, data, cause, request))
        if memory is self.p2p:
            cause = yield arrival
        return cause

    def _arrive(self, memory, at, data, cause, request):
        cause = yield from self._delay("pcie.latency", cause, request)
        memory.store(at, data)
        return cause

    def interrupt(self, cause, *, request=0, vector=0):
        assert vector == 0
        assert cause.at_ps == self._kernel.env.now
        self._kernel.env.process(self._interrupt(cause, request))

    def _interrupt(self, cause, request):
        cause = yield from self._delay("pcie.latency", cause, request)
        self.interrupts.put(cause)

    def ring(self, offset, value, cause):
        self._doorbells.put((offset, value, cause))

    def next_doorbell(self):
        return self._doorbells.get()


class FakeHost:
    """One queue pair of raw entries: submits, waits for interrupts, reaps by phase tag.

    ``completions`` lists the entries (views of ``CompletionEntry``) in the order found.
    """

    def __init__(self, kernel, port, *, number=1, entries=8, completion_entries=None):
        self.kernel, self.port, self.memory = kernel, port, port.memory
        self.number, self.entries = number, entries
        self.completion_entries = completion_entries or entries
        self.submission = self.memory.allocate(64 * entries)
        self.completion = self.memory.allocate(16 * self.completion_entries)
        self.registers = QueueRegisters(
            number=number,
            submission_address=self.submission,
            submission_entries=entries,
            completion_address=self.completion,
            completion_entries=self.completion_entries,
        )
        self.tail = self.head = 0
        self.phase = 1
        self.completions = []
        self.causes = []
        self._cid = 0

    def put(self, *, ring=True, **fields):
        """Write one submission entry; returns its cid."""
        fields = {"nsid": 1, "cid": self._cid} | fields
        self._cid += 1
        return self.put_raw(pack(SubmissionEntry, **fields), ring=ring) or fields["cid"]

    def put_raw(self, raw, *, ring=True):
        self.memory.store(self.submission + 64 * self.tail, raw)
        self.tail = (self.tail + 1) % self.entries
        if ring:
            self.ring()

    def ring(self):
        cause = self.kernel.origin("host", "host.submit")
        self.port.ring(doorbell_offset(self.number, completion=False), self.tail, cause)

    def reap(self, *, acknowledge=True):
        """New completion entries, by phase tag."""
        found = []
        while True:
            raw = self.memory.load(self.completion + 16 * self.head, 16)
            entry = unpack(CompletionEntry, raw)
            if entry.status.phase != self.phase:
                break
            found.append(entry)
            self.head = (self.head + 1) % self.completion_entries
            if self.head == 0:
                self.phase ^= 1
        if found and acknowledge:
            self.acknowledge()
        self.completions += found
        return found

    def acknowledge(self):
        cause = self.kernel.origin("host", "host.acknowledge")
        self.port.ring(doorbell_offset(self.number, completion=True), self.head, cause)

    def wait(self, count, *, limit_ps=10**12):
        """Run until ``count`` more completions were found; fails at the limit, never hangs."""
        env = self.kernel.env
        wanted = len(self.completions) + count

        def reaper():
            while len(self.completions) < wanted:
                cause = yield self.port.interrupts.get()
                self.causes.append(cause)
                self.reap()

        done = env.process(reaper())
        env.run(until=env.any_of([done, env.timeout(limit_ps)]))
        assert done.triggered, f"{len(self.completions)} of {wanted} completions after the limit"
        return self.completions[-count:]
