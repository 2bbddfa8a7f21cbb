"""Bursts of an SDR bus: a pulse of RE# fetches each byte, a pulse of WE# hands one over."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.burst import read_wait, write_wait

__all__ = ["SdrReadBurst", "SdrReadCapture", "SdrWriteBurst"]


class SdrReadBurst(wiring.Component):
    """Drives RE# through one burst: gap, a pulse for each byte, CE# held until the last is there.

    Parameters
    ----------
    timing : SdrBusTiming
        Lengths of the gaps, ``read_low``, ``read_high`` and ``postamble``.

    Members
    -------
    start, is_status, is_output, length, began, done
        As in :class:`rtl.nand.burst.ReadBurst`; RE# is idle before ``done``.
    re_n : Out(1)
        Read enable, a register.
    falls : Out(1)
        Strobe in the clock before the edge at which RE# falls for a byte.
    """

    def __init__(self, timing):
        self._timing = timing
        super().__init__(
            {
                "start": In(1),
                "is_status": In(1),
                "is_output": In(1),
                "length": In(16),
                "re_n": Out(1, init=1),
                "falls": Out(1),
                "began": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        gaps = (timing.status_gap, timing.data_gap, timing.output_gap)
        longest = max(*gaps, timing.read_low, timing.read_high, timing.postamble)
        wait = Signal(range(longest))
        left = Signal(16)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.falls):
            m.d.sync += [self.re_n.eq(0), left.eq(left - 1), wait.eq(timing.read_low - 1)]
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += left.eq(self.length)
                m.d.sync += wait.eq(read_wait(self, timing))
                m.next = "GAP"
            with m.State("GAP"), m.If(wait == 0):
                m.d.comb += [self.began.eq(1), self.falls.eq(1)]
                m.next = "LOW"
            with m.State("LOW"), m.If(wait == 0):
                m.d.sync += [self.re_n.eq(1), wait.eq(timing.read_high - 1)]
                m.next = "HIGH"
                with m.If(left == 0):
                    m.d.sync += wait.eq(timing.postamble - 1)
                    m.next = "POSTAMBLE"
            with m.State("HIGH"), m.If(wait == 0):
                m.d.comb += self.falls.eq(1)
                m.next = "LOW"
            with m.State("POSTAMBLE"), m.If(wait == 0):
                m.d.comb += self.done.eq(1)
                m.next = "IDLE"
        return m


class SdrReadCapture(wiring.Component):
    """Takes a byte tREA after each fall of RE# and hands it on, one clock later.

    Parameters
    ----------
    response : int
        Clocks of tREA.

    Members
    -------
    start, length, dq_i, busy, valid, word, last
        As in :class:`rtl.nand.burst.ReadCapture`, with one phase.
    falls : In(1)
        As in :class:`SdrReadBurst`.
    """

    def __init__(self, response):
        self._response = response
        super().__init__(
            {
                "start": In(1),
                "length": In(16),
                "falls": In(1),
                "dq_i": In(8),
                "busy": Out(1),
                "valid": Out(1),
                "word": Out(8),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left, due = Signal(16), Signal(self._response + 1)
        m.d.comb += self.busy.eq(left != 0)
        m.d.sync += [due.eq(Cat(self.falls, due)), self.valid.eq(0), self.last.eq(0)]
        with m.If(self.start):
            m.d.sync += left.eq(self.length)
        with m.Elif(due[-1]):
            m.d.sync += [
                self.valid.eq(1),
                self.word.eq(self.dq_i),
                self.last.eq(left == 1),
                left.eq(left - 1),
            ]
        return m


class SdrWriteBurst(wiring.Component):
    """Drives WE# and DQ through the data of a command, a byte a pulse: gap, pulses.

    Parameters
    ----------
    timing : SdrBusTiming
        Lengths of the gaps, ``low`` and ``high``; of an extended part.

    Members
    -------
    start, is_more, length, data, dq_o, dq_oe
        As in :class:`rtl.nand.burst.WriteBurst`, with one phase.
    we_n : Out(1)
        Write enable, a register.
    done : Out(1)
        Strobe in the clock before the edge at which WE# may fall again.
    """

    def __init__(self, timing):
        self._timing = timing
        super().__init__(
            {
                "start": In(1),
                "is_more": In(1),
                "length": In(16),
                "data": In(stream.Signature(8)),
                "dq_o": Out(8),
                "dq_oe": Out(1),
                "we_n": Out(1, init=1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        gaps = (timing.load_gap, timing.load_more_gap)
        wait = Signal(range(max(*gaps, timing.low, timing.high)))
        left = Signal(16)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.data.ready):
            m.d.sync += [
                self.dq_o.eq(self.data.payload),
                self.dq_oe.eq(1),
                self.we_n.eq(0),
                left.eq(left - 1),
                wait.eq(timing.low - 1),
            ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += left.eq(self.length)
                m.d.sync += wait.eq(write_wait(self, timing))
                m.next = "GAP"
            with m.State("GAP"), m.If((wait == 0) & self.data.valid):
                m.d.comb += self.data.ready.eq(1)
                m.next = "LOW"
            with m.State("LOW"), m.If(wait == 0):
                m.d.sync += [self.we_n.eq(1), wait.eq(timing.high - 1)]
                m.next = "HIGH"
            with m.State("HIGH"), m.If(wait == 0):
                with m.If(left != 0):
                    m.d.comb += self.data.ready.eq(1)
                    m.next = "LOW"
                with m.Else():
                    m.d.comb += self.done.eq(1)
                    m.d.sync += self.dq_oe.eq(0)
                    m.next = "IDLE"
        return m
