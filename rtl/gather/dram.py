# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Simulation DRAM: two AXI4 ports on one device with honest latency and bandwidth."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.axi4 import Axi4Read, Axi4Write
from rtl.contract.axi import Burst, Response
from rtl.contract.dram import DramTimes
from rtl.contract.gather import AXI_ID_BITS
from rtl.gather.dram_planner import TIME_BITS, DramPlanner
from rtl.gather.queue import Queue
from rtl.sim_memory import SimMemory

__all__ = ["BurstWalker", "SimDram"]


class BurstWalker(wiring.Component):
    """Walks through the beats of AXI4 bursts, one a clock, bursts back to back.

    Answers itself only for what is wrong with the burst: SLVERR where it is FIXED, WRAP or made of
    beats narrower than the bus (single beats may be narrow), DECERR where the beat is outside the
    window.

    Members: ``bursts`` in (an address payload); ``beats`` out: word (number of the bus word in the
    window), last, id, resp.
    """

    def __init__(self, axi, window_bytes):
        self._axi = axi
        self._window_bytes = window_bytes
        words = 8 * window_bytes // axi.data_bits
        beat = data.StructLayout(
            {"word": (words - 1).bit_length(), "last": 1, "id": axi.id_bits, "resp": 2}
        )
        super().__init__(
            {
                "bursts": In(stream.Signature(axi.address_payload)),
                "beats": Out(stream.Signature(beat)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        burst = Signal(self._axi.address_payload)
        valid, fire, wrong = Signal(), Signal(), Signal()
        response = Signal(Response)
        beat, lane_bits = self.beats.payload, (self._axi.data_bits // 8 - 1).bit_length()
        word = burst.addr[lane_bits:]
        m.d.comb += [
            fire.eq(valid & self.beats.ready),
            self.beats.valid.eq(valid),
            self.bursts.ready.eq(~valid | (fire & beat.last)),
            beat.word.eq(word),
            beat.last.eq(burst.len == 0),
            beat.id.eq(burst.id),
            beat.resp.eq(response),
        ]
        with m.If(wrong):
            m.d.comb += response.eq(Response.SLVERR)
        with m.Elif(word >= self._window_bytes >> lane_bits):
            m.d.comb += response.eq(Response.DECERR)
        with m.If(fire):
            m.d.sync += [
                valid.eq(~beat.last),
                burst.len.eq(burst.len - 1),
                burst.addr.eq(Cat(burst.addr[:lane_bits], word + 1)),
            ]
        with m.If(self.bursts.valid & self.bursts.ready):
            given = self.bursts.payload
            narrow = given.size != lane_bits
            m.d.sync += [
                burst.eq(given),
                valid.eq(1),
                wrong.eq(
                    (given.size > lane_bits)
                    | ((given.len != 0) & (narrow | (given.burst != Burst.INCR)))
                ),
            ]
        return m


class SimDram(wiring.Component):
    """AXI4 memory for simulation: a window of storage behind a modelled DDR4 channel.

    Each beat is one access. The two ports take turns where both want one in a clock. Writes are in
    the storage when their data is taken; responses come, in order, at the first clock edge at or
    after the end that :class:`DramPlanner` gives. Errors (see :class:`BurstWalker`) cost no DRAM
    time.

    Parameters
    ----------
    data_bits, id_bits : int
        Widths of the ports; 64 address bits.
    window_bytes : int
        Storage, from address 0; a power of two of whole rows.
    period_ps : int
        Clock period, even.
    times : DramTimes
        The device.
    depth : int
        Accesses that can be waiting for their end, in each direction; a power of two.
    emitted : bool
        As of :class:`SimMemory`.

    Members
    -------
    now : In(48)
        Edge number.
    read : In(Axi4Read)
        Read port.
    write : In(Axi4Write)
        Write port.
    busy : Out(1)
        Something is to be done or on its way.
    tie, hit, miss : Out(1)
        One clock each: both ports wanted the device; an access found its row open, or did not.
    refreshes : Out(32)
        Refreshes that an access came after.
    """

    def __init__(
        self,
        *,
        period_ps,
        times,
        data_bits=512,
        id_bits=AXI_ID_BITS,
        window_bytes=1 << 24,
        depth=64,
        emitted=False,
    ):
        if not isinstance(period_ps, int) or period_ps < 2 or period_ps % 2:
            raise ValueError(f"Clock period must be an even number of ps, not {period_ps!r}")
        if not isinstance(times, DramTimes):
            raise TypeError(f"Times must be DramTimes, not {times!r}")
        least = 2 * times.row_bytes
        if (
            not isinstance(window_bytes, int)
            or window_bytes < least
            or (window_bytes & window_bytes - 1)
        ):
            raise ValueError(
                f"DRAM window must be a power of two of bytes from {least} up, not {window_bytes!r}"
            )
        self._period_ps = period_ps
        self._times = times
        self._window_bytes = window_bytes
        self._depth = depth
        self._axi_read = Axi4Read(64, data_bits, id_bits)
        self._axi_write = Axi4Write(64, data_bits, id_bits)
        self.storage = SimMemory(
            depth=8 * window_bytes // data_bits, width=data_bits, emitted=emitted
        )
        super().__init__(
            {
                "now": In(48),
                "read": In(self._axi_read),
                "write": In(self._axi_write),
                **dict.fromkeys(("busy", "tie", "hit", "miss"), Out(1)),
                "refreshes": Out(32),
            }
        )

    @property
    def window_bytes(self):
        return self._window_bytes

    @property
    def period_ps(self):
        return self._period_ps

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        m.submodules.planner = planner = DramPlanner(self._times)
        m.submodules.reads = reads = BurstWalker(self._axi_read, self._window_bytes)
        m.submodules.writes = writes = BurstWalker(self._axi_write, self._window_bytes)
        entry = data.StructLayout({"done": TIME_BITS, "beat": reads.beats.payload.shape()})
        m.submodules.read_queue = read_queue = Queue(entry, self._depth)
        m.submodules.write_queue = write_queue = Queue(entry, self._depth)
        connect(m, reads.bursts, wiring.flipped(self.read.ar))
        connect(m, writes.bursts, wiring.flipped(self.write.aw))
        time = Signal(TIME_BITS)
        m.d.comb += [
            time.eq(self.now * self._period_ps),
            planner.time.eq(time),
            self.refreshes.eq(planner.refreshes),
        ]
        self._admit(m, planner, reads.beats, writes.beats, read_queue, write_queue)
        answering = self._answer(m, time, read_queue, write_queue)
        m.d.comb += self.busy.eq(
            reads.beats.valid
            | writes.beats.valid
            | read_queue.head.valid
            | write_queue.head.valid
            | answering
        )
        return m

    def _admit(self, m, planner, reads, writes, read_queue, write_queue):
        """Give the device to one beat a clock, plan it, store what it writes."""
        wants_read, wants_write, read_turn = Signal(), Signal(), Signal(init=1)
        read, write = Signal(), Signal()
        lane_bits = (self._axi_read.data_bits // 8 - 1).bit_length()
        beat, good = Signal(reads.payload.shape()), Signal()
        m.d.comb += [
            wants_read.eq(reads.valid & read_queue.entries.ready),
            wants_write.eq(writes.valid & self.write.w.valid & write_queue.entries.ready),
            read.eq(wants_read & (read_turn | ~wants_write)),
            write.eq(wants_write & ~read),
            reads.ready.eq(read),
            writes.ready.eq(write),
            self.write.w.ready.eq(write),
            beat.eq(Mux(write, writes.payload, reads.payload)),
            good.eq(beat.resp == Response.OKAY),
            planner.enable.eq((read | write) & good),
            planner.write.eq(write),
            planner.address.eq(beat.word << lane_bits),
            self.tie.eq(wants_read & wants_write),
            self.hit.eq(planner.enable & planner.hit),
            self.miss.eq(planner.enable & ~planner.hit),
            self.storage.write_address.eq(beat.word),
            self.storage.write_data.eq(self.write.w.payload.data),
            self.storage.write_mask.eq(self.write.w.payload.strb),
            self.storage.write_enable.eq(write & good),
        ]
        for queue, fire in ((read_queue, read), (write_queue, write)):
            m.d.comb += [
                queue.entries.valid.eq(fire),
                queue.entries.payload.beat.eq(beat),
                queue.entries.payload.done.eq(Mux(good, planner.done, planner.time)),
            ]
        with m.If(self.tie):
            m.d.sync += read_turn.eq(write)
        return read, write

    def _answer(self, m, time, read_queue, write_queue):
        """Give responses when they are due; returns whether one is waiting to be taken."""
        r, b = self.read.r, self.write.b
        head, r_move, b_move = read_queue.head, Signal(), Signal()
        held = Signal(self._axi_read.data_payload)
        m.d.comb += [
            r_move.eq(head.valid & (head.payload.done <= time) & (~r.valid | r.ready)),
            head.ready.eq(r_move),
            self.storage.read_address.eq(head.payload.beat.word),
            self.storage.read_enable.eq(r_move & ~head.payload.beat.resp[1]),
            r.payload.eq(held),
            r.payload.data.eq(self.storage.read_data),
        ]
        with m.If(r_move):
            m.d.sync += [
                r.valid.eq(1),
                held.last.eq(head.payload.beat.last),
                held.id.eq(head.payload.beat.id),
                held.resp.eq(head.payload.beat.resp),
            ]
        with m.Elif(r.ready):
            m.d.sync += r.valid.eq(0)
        ends = write_queue.head
        failed = Signal(2)
        worst = Signal(2)
        m.d.comb += [
            worst.eq(Mux(failed != 0, failed, ends.payload.beat.resp)),
            b_move.eq(
                ends.valid
                & (ends.payload.done <= time)
                & (~ends.payload.beat.last | ~b.valid | b.ready)
            ),
            ends.ready.eq(b_move),
        ]
        with m.If(b.ready):
            m.d.sync += b.valid.eq(0)
        with m.If(b_move):
            m.d.sync += failed.eq(Mux(ends.payload.beat.last, 0, worst))
            with m.If(ends.payload.beat.last):
                m.d.sync += [
                    b.valid.eq(1),
                    b.payload.resp.eq(worst),
                    b.payload.id.eq(ends.payload.beat.id),
                ]
        return r.valid | b.valid
