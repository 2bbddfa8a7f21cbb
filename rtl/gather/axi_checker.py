"""Protocol checkers that sit on an AXI4 port and never sleep. Simulation only."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.contract.axi import BOUNDARY_BYTES, AxiRule, Burst

__all__ = ["AxiOrderChecker", "AxiReadChecker", "AxiWriteChecker", "BurstLedger", "HoldWatch"]


class HoldWatch(wiring.Component):
    """Sees a stream withdraw or change an offer before it was taken.

    Members: ``payload``, ``valid``, ``ready`` in; ``broken`` out, in the clock of the change.
    """

    def __init__(self, shape):
        super().__init__({"payload": In(shape), "valid": In(1), "ready": In(1), "broken": Out(1)})

    def elaborate(self, platform):
        m = Module()
        held, before = Signal(), Signal.like(Value.cast(self.payload))
        payload = Value.cast(self.payload)
        m.d.comb += self.broken.eq(held & (~self.valid | (payload != before)))
        m.d.sync += held.eq(self.valid & ~self.ready)
        with m.If(self.valid & ~self.ready & ~held):
            m.d.sync += before.eq(payload)
        return m


class BurstLedger(wiring.Component):
    """Lengths of the bursts in flight of one ID, and the place of each beat in them.

    Members
    -------
    open, length : In
        A burst of ``length`` + 1 beats is asked for.
    beat : In(1)
        A beat is seen.
    expected, last : Out(1)
        A burst is open, and its last beat is the next.
    full : Out(1)
        No more bursts can be followed.
    """

    open: In(1)
    length: In(8)
    beat: In(1)
    expected: Out(1)
    last: Out(1)
    full: Out(1)

    def __init__(self, depth):
        self._depth = depth
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.lengths = lengths = memory.Memory(shape=8, depth=self._depth, init=[])
        write, read = lengths.write_port(), lengths.read_port(domain="comb")
        first, level, place = (
            Signal(range(self._depth)),
            Signal(range(self._depth + 1)),
            Signal(8),
        )
        put, move, take = Signal(), Signal(), Signal()
        m.d.comb += [
            self.full.eq(level == self._depth),
            self.expected.eq(level != 0),
            self.last.eq(place == read.data),
            put.eq(self.open & ~self.full),
            move.eq(self.beat & self.expected),
            take.eq(move & self.last),
            write.en.eq(put),
            write.addr.eq(first + level),
            write.data.eq(self.length),
            read.addr.eq(first),
        ]
        with m.If(move):
            m.d.sync += place.eq(Mux(take, 0, place + 1))
        with m.If(take):
            m.d.sync += first.eq(first + 1)
        m.d.sync += level.eq(level + put - take)
        return m


def watch(m, name, channel):
    """Put a :class:`HoldWatch` on a stream; returns its verdict."""
    m.submodules[name] = hold = HoldWatch(channel.payload.shape())
    m.d.comb += [
        hold.payload.eq(channel.payload),
        hold.valid.eq(channel.valid),
        hold.ready.eq(channel.ready),
    ]
    return hold.broken


def crosses(request):
    """Whether a burst leaves the 4 KB block that it starts in."""
    beats = (request.addr[:12] >> request.size) + request.len + 1
    return (request.burst == Burst.INCR) & (beats > BOUNDARY_BYTES >> request.size)


def report(m, rule, findings):
    """Name the first rule of ``findings`` that is broken."""
    for number, (name, broken) in enumerate(findings):
        with m.If(broken) if number == 0 else m.Elif(broken):
            m.d.comb += rule.eq(name)


class AxiReadChecker(wiring.Component):
    """Passes a read port through and names the first rule broken in each clock.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    depth : int
        Bursts in flight of each ID that can be followed; a power of two.

    Members
    -------
    manager : In(Axi4Read)
        Where requests come from.
    subordinate : Out(Axi4Read)
        Where they go.
    rule : Out(4)
        An :class:`AxiRule`, NONE while all is well.
    """

    def __init__(self, axi, *, depth=128):
        self._axi = axi
        self._depth = depth
        super().__init__({"manager": In(axi), "subordinate": Out(axi), "rule": Out(4)})

    def elaborate(self, platform):
        m = Module()
        connect(m, flipped(self.manager), flipped(self.subordinate))
        ar, r = self.manager.ar, self.manager.r
        request, answer = Signal(), Signal()
        m.d.comb += [request.eq(ar.valid & ar.ready), answer.eq(r.valid & r.ready)]
        full, unrequested, last_wrong = 0, 0, 0
        for id in range(1 << self._axi.id_bits):
            m.submodules[f"ledger{id}"] = ledger = BurstLedger(self._depth)
            mine = answer & (r.payload.id == id)
            m.d.comb += [
                ledger.open.eq(request & (ar.payload.id == id)),
                ledger.length.eq(ar.payload.len),
                ledger.beat.eq(mine),
            ]
            full |= ledger.open & ledger.full
            unrequested |= mine & ~ledger.expected
            last_wrong |= mine & ledger.expected & (r.payload.last != ledger.last)
        report(
            m,
            self.rule,
            [
                (AxiRule.ADDRESS_UNSTABLE, watch(m, "ar_watch", ar)),
                (AxiRule.DATA_UNSTABLE, watch(m, "r_watch", r)),
                (AxiRule.CROSSES_BOUNDARY, request & crosses(ar.payload)),
                (AxiRule.UNREQUESTED, unrequested),
                (AxiRule.LAST_WRONG, last_wrong),
                (AxiRule.TOO_MANY, full),
            ],
        )
        return m


class AxiOrderChecker(wiring.Component):
    """Sees whether the beats of each ID come in the order in which they were asked for.

    The bus does not tell that of single beats, so a memory model must number them.

    Parameters
    ----------
    axi : Axi4Read
        Signature of the port.
    bits : int
        Width of a number.

    Members
    -------
    taken : In(1)
        A beat is taken in this clock.
    id, order : In
        Its ID, and its number among the beats of that, from 0.
    rule : Out(4)
        REORDERED if it is not the next.
    """

    def __init__(self, axi, bits):
        self._id_bits = axi.id_bits
        self._bits = bits
        super().__init__({"taken": In(1), "id": In(axi.id_bits), "order": In(bits), "rule": Out(4)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.counts = counts = memory.Memory(
            shape=self._bits, depth=1 << self._id_bits, init=[]
        )
        read, write = counts.read_port(domain="comb"), counts.write_port()
        m.d.comb += [
            read.addr.eq(self.id),
            write.addr.eq(self.id),
            write.data.eq(read.data + 1),
            write.en.eq(self.taken),
        ]
        with m.If(self.taken & (read.data != self.order)):
            m.d.comb += self.rule.eq(AxiRule.REORDERED)
        return m


class AxiWriteChecker(wiring.Component):
    """As :class:`AxiReadChecker`, for a write port.

    Stricter than AXI4 in one thing: write data must not come before its address.
    """

    def __init__(self, axi, *, depth=128):
        self._axi = axi
        self._depth = depth
        super().__init__({"manager": In(axi), "subordinate": Out(axi), "rule": Out(4)})

    def elaborate(self, platform):
        m = Module()
        connect(m, flipped(self.manager), flipped(self.subordinate))
        aw, w, b = self.manager.aw, self.manager.w, self.manager.b
        m.submodules.ledger = ledger = BurstLedger(self._depth)
        m.submodules.owners = owners = memory.Memory(
            shape=self._axi.id_bits, depth=self._depth, init=[]
        )
        write, read = owners.write_port(), owners.read_port(domain="comb")
        written = Signal()
        m.d.comb += [
            ledger.open.eq(aw.valid & aw.ready),
            ledger.length.eq(aw.payload.len),
            ledger.beat.eq(w.valid & w.ready),
            written.eq(ledger.beat & ledger.expected & ledger.last),
            write.en.eq(ledger.open),
            write.data.eq(aw.payload.id),
        ]
        with m.If(ledger.open):
            m.d.sync += write.addr.eq(write.addr + 1)
        with m.If(written):
            m.d.sync += read.addr.eq(read.addr + 1)
        answer, unrequested = b.valid & b.ready, ledger.beat & ~ledger.expected
        for id in range(1 << self._axi.id_bits):
            due = Signal(range(self._depth + 1), name=f"due{id}")
            mine = answer & (b.payload.id == id)
            unrequested |= mine & (due == 0)
            m.d.sync += due.eq(due + (written & (read.data == id)) - (mine & (due != 0)))
        report(
            m,
            self.rule,
            [
                (AxiRule.ADDRESS_UNSTABLE, watch(m, "aw_watch", aw)),
                (AxiRule.DATA_UNSTABLE, watch(m, "w_watch", w)),
                (AxiRule.RESPONSE_UNSTABLE, watch(m, "b_watch", b)),
                (AxiRule.CROSSES_BOUNDARY, ledger.open & crosses(aw.payload)),
                (AxiRule.UNREQUESTED, unrequested),
                (
                    AxiRule.LAST_WRONG,
                    ledger.beat & ledger.expected & (w.payload.last != ledger.last),
                ),
                (AxiRule.TOO_MANY, ledger.open & ledger.full),
            ],
        )
        return m
