"""Data input of a die: bytes that come with DQS; simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS

__all__ = ["DieInput"]


class DieInput(wiring.Component):
    """Takes a byte at each edge of DQS, and hands them on in pairs.

    The receiver opens when DQS has been driven for tWPRE, which counts from tADL (tCCS after 85h)
    after the last address cycle on: edges before that are lost. A rising edge takes the first byte
    of a pair, a falling one the second; a pair is handed on when the next one is complete, or when
    DQS has been at rest for tWPST: a pair whose postamble was cut off is lost. The receiver closes
    when the strobe is released, or a latch enable, WE# or RE# moves. Ref: ONFI 3.1, section 4.2
    (NV-DDR2 data input) and 4.3 (tADL, tCCS, tWPRE, tWPST).

    Parameters
    ----------
    phases : int
        Transfers a clock, 1 or 2 (4: :class:`rtl.nand.die_wide_input.WideDieInput`).
    preamble, postamble : int
        Clocks of tWPRE and tWPST, at least 1.
    load_wait, load_more_wait : int
        Clocks of tADL and tCCS.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    ce_n, cle, ale, we_n, re_n, dq, dqs, dqs_oe : In
        The pins; ``dq`` is zero where nobody drives it.
    load, load_more : In(1)
        The clock in which the last address cycle is latched, after 80h or EFh, or after 85h.
    enable : In(1)
        The command and the LUN that it was addressed to take data.
    take : Out(1)
        ``pair`` is to be kept.
    pair : Out(16)
        Two bytes, the first in the low bits.
    active : Out(1)
        The strobe is driven, or was a clock ago.
    """

    def __init__(
        self, *, phases, preamble, postamble, load_wait, load_more_wait, members=None, pairs=1
    ):
        self._phases = phases
        self._preamble = preamble
        self._postamble = postamble
        self._load_wait = load_wait
        self._load_more_wait = load_more_wait
        super().__init__(
            (members or {})
            | {
                "now": In(STAMP_BITS),
                "ce_n": In(1, init=1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "re_n": In(phases, init=-1),
                "dq": In(8 * phases),
                "dqs": In(phases),
                "dqs_oe": In(1),
                "load": In(1),
                "load_more": In(1),
                "enable": In(1),
                "take": Out(1),
                "pair": Out(16 * pairs),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # All state in one register, which moves only while the strobe is driven.
        layout = {
            "active": 1,
            "level": 1,
            "open": 1,
            "rest": range(max(self._preamble, self._postamble) + 1),
            "holds": 1,
            "half": 8,
        }
        state = Signal(data.StructLayout(layout))
        self._write(m)
        opens_from = Signal(STAMP_BITS)
        with m.If(self.load | self.load_more):
            wait = Mux(self.load_more, self._load_more_wait, self._load_wait)
            m.d.sync += opens_from.eq(self.now + wait)
        is_free = ~self.cle & ~self.ale & self.we_n & self.re_n.all()
        m.d.comb += self.active.eq(state.active)
        with m.If(~self.ce_n & self.dqs_oe):
            m.d.sync += [state.active.eq(1), state.level.eq(self.dqs[-1])]
            with m.If(is_free & self.enable & (self.now >= opens_from)):
                self._receive(m, state)
            with m.Else():
                m.d.sync += [state.open.eq(0), state.rest.eq(0), state.holds.eq(0)]
        with m.Elif(state.active):
            m.d.sync += state.eq(0)
        return m

    def _write(self, m):
        """What is done with complete pairs beyond handing them on."""

    def _receive(self, m, state):
        is_open, edges = Signal(), Signal(self._phases)
        m.d.comb += [
            is_open.eq(state.open | (state.rest == self._preamble)),
            edges.eq(
                (self.dqs ^ Cat(state.level, self.dqs[:-1])) & is_open.replicate(self._phases)
            ),
        ]
        m.d.sync += state.open.eq(is_open)
        with m.If(edges.any()):
            m.d.sync += state.rest.eq(0)
            self._take_pairs(m, state, edges)
        with m.Else():
            with m.If(state.rest != max(self._preamble, self._postamble)):
                m.d.sync += state.rest.eq(state.rest + 1)
            with m.If(is_open & state.holds & (state.rest == self._postamble - 1)):
                self._take_last(m)
                m.d.sync += state.holds.eq(0)

    def _take_last(self, m):
        """Hand on the last pair."""
        m.d.comb += self.take.eq(1)

    def _take_pairs(self, m, state, edges):
        """Take bytes at ``edges``; a pair that is complete lets the one before it go."""
        half, ends, pair = state.half, 0, self.pair
        for phase in range(self._phases):
            byte, is_rise = self.dq.word_select(phase, 8), self.dqs[phase]
            is_second = edges[phase] & ~is_rise
            pair = Mux(is_second, Cat(half, byte), pair)
            half = Mux(edges[phase] & is_rise, byte, half)
            ends |= is_second
        m.d.sync += state.half.eq(half)
        with m.If(ends):
            m.d.sync += [self.pair.eq(pair), state.holds.eq(1)]
            m.d.comb += self.take.eq(state.holds)
