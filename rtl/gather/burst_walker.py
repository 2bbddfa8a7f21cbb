"""Beats of AXI4 bursts, one by one."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.axi import Burst, Response

__all__ = ["BurstWalker"]


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
