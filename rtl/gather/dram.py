# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Simulation DRAM: two AXI4 ports on one device with honest latency and bandwidth."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out, connect

from rtl.axi4 import Axi4Read, Axi4Write
from rtl.contract.axi import Response
from rtl.contract.dram import DramTimes
from rtl.contract.gather import AXI_ID_BITS
from rtl.gather.burst_walker import BurstWalker
from rtl.gather.dram_answers import AnswerQueue
from rtl.gather.dram_planner import TIME_BITS, DramPlanner
from rtl.sim_memory import SimMemory

__all__ = ["ORDER_BITS", "SimDram"]

ORDER_BITS = 8


class SimDram(wiring.Component):
    """AXI4 memory for simulation: a window of storage behind a modelled DDR4 channel.

    Each beat is one access. Where both ports want one in a clock, one goes on for ``turn`` accesses
    of the times, then the other. Writes are in the storage when their data is taken; responses come
    at the first clock edge at or after the end that :class:`DramPlanner` gives: read beats of an ID
    in order, those of different IDs as they are done, also between the beats of a burst (AXI4
    allows it); write responses in order. Errors (see :class:`BurstWalker`) cost no DRAM time.

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
    order : Out(8)
        Number of the beat on the read port, counted from 0 for each ID as beats were asked for;
        for an :class:`AxiOrderChecker`.
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
                "order": Out(ORDER_BITS),
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
        m.submodules.planner = planner = DramPlanner(self._times, id_bits=self._axi_read.id_bits)
        m.submodules.reads = reads = BurstWalker(self._axi_read, self._window_bytes)
        m.submodules.writes = writes = BurstWalker(self._axi_write, self._window_bytes)
        fields = {name: field.shape for name, field in reads.beats.payload.shape()}
        beat = data.StructLayout({**fields, "order": ORDER_BITS})
        m.submodules.read_queue = read_queue = AnswerQueue(beat, self._depth, self._times.reorder)
        m.submodules.write_queue = write_queue = AnswerQueue(beat, self._depth, 0)
        connect(m, reads.bursts, wiring.flipped(self.read.ar))
        connect(m, writes.bursts, wiring.flipped(self.write.aw))
        time = Signal(TIME_BITS)
        m.d.comb += [
            time.eq(self.now * self._period_ps),
            # Nothing to work out in a clock without an access: that makes simulation faster.
            planner.time.eq(Mux(planner.enable, time, 0)),
            self.refreshes.eq(planner.refreshes),
        ]
        read = self._admit(m, planner, time, reads.beats, writes.beats, read_queue, write_queue)
        self._number(m, read, read_queue.entries.payload.beat)
        answering = self._answer(m, time, read_queue, write_queue)
        m.d.comb += self.busy.eq(
            reads.beats.valid
            | writes.beats.valid
            | read_queue.head.valid
            | write_queue.head.valid
            | answering
        )
        return m

    def _admit(self, m, planner, time, reads, writes, read_queue, write_queue):
        """Give the device to one beat a clock, plan it, store what it writes.

        Returns whether it is a read.
        """
        wants_read, wants_write, read_turn = Signal(), Signal(), Signal(init=1)
        read, write, taken = Signal(), Signal(), Signal(range(self._times.turn))
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
            planner.id.eq(beat.id),
            self.tie.eq(wants_read & wants_write),
            self.hit.eq(planner.enable & planner.hit),
            self.miss.eq(planner.enable & ~planner.hit),
            self.storage.write_address.eq(beat.word),
            self.storage.write_data.eq(self.write.w.payload.data),
            self.storage.write_mask.eq(self.write.w.payload.strb),
            self.storage.write_enable.eq(write & good),
        ]
        for queue, fire in ((read_queue, read), (write_queue, write)):
            entry = queue.entries.payload
            m.d.comb += [
                queue.entries.valid.eq(fire),
                *(entry.beat[name].eq(beat[name]) for name, _ in beat.shape()),
                entry.done.eq(Mux(good, planner.done, time)),
            ]
        with m.If(self.tie & (taken == self._times.turn - 1)):
            m.d.sync += [read_turn.eq(write), taken.eq(0)]
        with m.Elif(self.tie):
            m.d.sync += taken.eq(taken + 1)
        return read

    def _number(self, m, read, beat):
        """Give each read beat its number among those of its ID."""
        m.submodules.numbers = numbers = memory.Memory(
            shape=ORDER_BITS, depth=1 << self._axi_read.id_bits, init=[]
        )
        past, after = numbers.read_port(domain="comb"), numbers.write_port()
        m.d.comb += [
            past.addr.eq(beat.id),
            after.addr.eq(beat.id),
            after.data.eq(past.data + 1),
            after.en.eq(read),
            beat.order.eq(past.data),
        ]

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
                self.order.eq(head.payload.beat.order),
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
