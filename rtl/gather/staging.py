# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Plays data that arrived over PCIe from the staging memory into the DRAM. Simulation only."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from rtl.axi4 import Axi4Write
from rtl.contract.axi import BOUNDARY_BYTES, Burst
from rtl.contract.gather import StageRequest
from rtl.gather.queue import Queue
from rtl.sim_memory import SimMemory

__all__ = ["StageSplitter", "StagingWriter"]


class StageRecord(data.Struct):
    """A burst asked for: ``beats`` words from ``word`` of the staging memory on.

    ``final`` closes the request ``tag``. ``void``: the request is malformed, nothing is written.
    """

    word: 32
    beats: 9
    tag: 16
    final: 1
    void: 1


class StageSplitter(wiring.Component):
    """Cuts requests into bursts that do not cross 4 KB, and judges them.

    Refused: a length of 0 or above the slot's, a length or address that is not whole bus words.

    Members: ``requests`` in; ``aw`` out; ``records`` out, one a burst, once its address is taken.
    """

    def __init__(self, axi, *, slots, slot_bytes):
        self._axi = axi
        self._slots = slots
        self._slot_bytes = slot_bytes
        super().__init__(
            {
                "requests": In(stream.Signature(StageRequest)),
                "aw": Out(stream.Signature(axi.address_payload)),
                "records": Out(stream.Signature(StageRecord)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        given, aw, record = self.requests.payload, self.aw, self.records.payload
        beat_bytes = self._axi.data_bits // 8
        shift = beat_bytes.bit_length() - 1
        page_beats = min(BOUNDARY_BYTES // beat_bytes, 256)
        done, left, beats = Signal(32), Signal(32), Signal(9)
        to_boundary, word = Signal(9), Signal(64 - shift)
        bad, final, fire = Signal(), Signal(), Signal()
        slot_base = (given.tag & (self._slots - 1)) * (self._slot_bytes // beat_bytes)
        m.d.comb += [
            bad.eq(
                (given.length == 0)
                | (given.length > self._slot_bytes)
                | (given.length[:shift] != 0)
                | (given.address[:shift] != 0)
            ),
            word.eq(given.address[shift:] + done),
            left.eq(given.length[shift:] - done),
            to_boundary.eq(page_beats - (word & (page_beats - 1))),
            beats.eq(Mux(left < to_boundary, left, to_boundary)),
            final.eq(bad | (left == beats)),
            aw.payload.addr.eq(word << shift),
            aw.payload.len.eq(beats - 1),
            aw.payload.size.eq(shift),
            aw.payload.burst.eq(Burst.INCR),
            aw.valid.eq(self.requests.valid & ~bad & self.records.ready),
            self.records.valid.eq(self.requests.valid & (bad | aw.ready)),
            record.word.eq(slot_base + done),
            record.beats.eq(beats),
            record.tag.eq(given.tag),
            record.final.eq(final),
            record.void.eq(bad),
            fire.eq(self.records.valid & self.records.ready),
            self.requests.ready.eq(fire & final),
        ]
        with m.If(fire):
            m.d.sync += done.eq(Mux(final, 0, done + beats))
        return m


class StagingWriter(wiring.Component):
    """Writes staged data to the DRAM, a beat a clock where the DRAM takes it, requests in order.

    Parameters
    ----------
    data_bits, id_bits : int
        Widths of the port; the ID is 0.
    slots, slot_bytes : int
        Staging memory: powers of two; the data of a request lies in slot ``tag`` modulo ``slots``.
    emitted : bool
        As of :class:`SimMemory`.

    Members
    -------
    requests : In(stream of StageRequest)
        What to write.
    axi : Out(Axi4Write)
        To the DRAM.
    staged, error, tag : Out
        In one clock: the request ``tag`` is over, its last response in; ``error``: it was
        malformed, or a write of it failed.
    busy : Out(1)
        A write is on its way.
    """

    def __init__(self, *, data_bits=512, id_bits=2, slots=32, slot_bytes=4096, emitted=False):
        for name, value, least in (("slots", slots, 2), ("slot_bytes", slot_bytes, data_bits // 8)):
            if not isinstance(value, int) or value < least or value & value - 1:
                raise ValueError(f"{name} must be a power of two from {least} up, not {value!r}")
        self._slots = slots
        self._slot_bytes = slot_bytes
        self._axi = Axi4Write(64, data_bits, id_bits)
        self.storage = SimMemory(
            depth=8 * slots * slot_bytes // data_bits, width=data_bits, emitted=emitted
        )
        super().__init__(
            {
                "requests": In(stream.Signature(StageRequest)),
                "axi": Out(self._axi),
                "staged": Out(1),
                "error": Out(1),
                "tag": Out(16),
                "busy": Out(1),
            }
        )

    @property
    def slots(self):
        return self._slots

    @property
    def slot_bytes(self):
        return self._slot_bytes

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        m.submodules.splitter = splitter = StageSplitter(
            self._axi, slots=self._slots, slot_bytes=self._slot_bytes
        )
        m.submodules.to_play = to_play = Queue(StageRecord, 4)
        m.submodules.to_end = to_end = Queue(StageRecord, 64)
        connect(m, flipped(self.requests), splitter.requests)
        connect(m, splitter.aw, flipped(self.axi.aw))
        record = splitter.records
        m.d.comb += [
            to_play.entries.payload.eq(record.payload),
            to_play.entries.valid.eq(record.valid & ~record.payload.void & to_end.entries.ready),
            to_end.entries.payload.eq(record.payload),
            to_end.entries.valid.eq(record.valid & to_play.entries.ready),
            record.ready.eq(to_play.entries.ready & to_end.entries.ready),
            self.busy.eq(self.requests.valid | to_end.head.valid | self.axi.w.valid),
        ]
        self._play(m, to_play.head)
        self._end(m, to_end.head)
        return m

    def _play(self, m, burst):
        """Read the words of each burst and put them on the bus."""
        w, place, move, last = self.axi.w, Signal(9), Signal(), Signal()
        m.d.comb += [
            move.eq(burst.valid & (~w.valid | w.ready)),
            last.eq(place == burst.payload.beats - 1),
            burst.ready.eq(move & last),
            self.storage.read_address.eq(burst.payload.word + place),
            self.storage.read_enable.eq(move),
            w.payload.data.eq(self.storage.read_data),
            w.payload.strb.eq(~0),
        ]
        with m.If(move):
            m.d.sync += [place.eq(Mux(last, 0, place + 1)), w.valid.eq(1), w.payload.last.eq(last)]
        with m.Elif(w.ready):
            m.d.sync += w.valid.eq(0)

    def _end(self, m, record):
        """Match responses with bursts and say when a request is over."""
        b, failed = self.axi.b, Signal()
        over, error = Signal(), Signal()
        m.d.comb += [
            b.ready.eq(record.valid & ~record.payload.void),
            over.eq(record.valid & (record.payload.void | b.valid)),
            error.eq(failed | record.payload.void | b.payload.resp[1]),
            record.ready.eq(over),
            self.staged.eq(over & record.payload.final),
            self.error.eq(error),
            self.tag.eq(record.payload.tag),
        ]
        with m.If(over):
            m.d.sync += failed.eq(error & ~record.payload.final)
