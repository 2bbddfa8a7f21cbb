"""Bursts: RE# asks a die for bytes and what comes back is captured; DQS hands bytes to a die."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ReadBurst", "ReadCapture", "WriteBurst"]


def strobe_pattern(left, phases):
    """Strobe levels of the clock that moves the first of ``left`` bytes."""
    if phases == 1:
        return ~left[0]
    if phases == 2:
        return Const(0b01, 2)
    return Mux(left == 2, 0b0001, 0b0101)


def read_wait(burst, timing):
    """What a burst that starts waits for: clocks less the two that it takes to begin."""
    gap = Mux(burst.is_status, timing.status_gap, timing.data_gap)
    if timing.part.extended is not None:
        gap = Mux(burst.is_output, timing.output_gap, gap)
    return gap - 2


def write_wait(burst, timing):
    """The same of a burst to a die."""
    return Mux(burst.is_more, timing.load_more_gap, timing.load_gap) - 2


class ReadBurst(wiring.Component):
    """Drives RE# through one burst that never pauses: gap, preamble, data edges, postamble.

    Parameters
    ----------
    timing : BusTiming
        Lengths of the gaps, ``preamble`` and ``postamble``.
    phases : int
        Transfers a clock: 1, 2 or 4.

    Members
    -------
    start : In(1)
        The clock in which the last command or address cycle is being latched.
    is_status, is_output : In(1)
        With ``start``: wait for tWHR rather than for tCCS; wait from CE# low, with no cycle before.
    length : In(16)
        With ``start``: bytes, even and not zero.
    re_n : Out(phases)
        Read enable, a register.
    began : Out(1)
        Strobe in the clock before the edge at which RE# falls.
    done : Out(1)
        Strobe in the clock before the edge at which RE# goes idle; CE# must rise at that edge.
    """

    def __init__(self, timing, phases=2):
        self._timing = timing
        self._phases = phases
        super().__init__(
            {
                "start": In(1),
                "is_status": In(1),
                "is_output": In(1),
                "length": In(16),
                "re_n": Out(phases, init=(1 << phases) - 1),
                "began": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        gaps = (timing.status_gap, timing.data_gap, timing.output_gap)
        longest = max(*gaps, timing.preamble, timing.postamble)
        wait = Signal(range(longest))
        left = Signal(16)
        is_final = left <= self._phases
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += left.eq(self.length)
                m.d.sync += wait.eq(read_wait(self, timing))
                m.next = "GAP"
            with m.State("GAP"), m.If(wait == 0):
                m.d.comb += self.began.eq(1)
                m.d.sync += [self.re_n.eq(0), wait.eq(timing.preamble - 1)]
                m.next = "PREAMBLE"
            with m.State("PREAMBLE"), m.If(wait == 0):
                m.d.sync += self.re_n.eq(strobe_pattern(left, self._phases))
                m.next = "DATA"
            with m.State("DATA"):
                m.d.sync += left.eq(left - self._phases)
                with m.If(is_final):
                    m.d.sync += [self.re_n.eq(0), wait.eq(timing.postamble - 1)]
                    m.next = "POSTAMBLE"
                with m.Else():
                    m.d.sync += self.re_n.eq(strobe_pattern(left - self._phases, self._phases))
            with m.State("POSTAMBLE"), m.If(wait == 0):
                m.d.comb += self.done.eq(1)
                m.d.sync += self.re_n.eq(~Const(0, self._phases))
                m.next = "IDLE"
        return m


class ReadCapture(wiring.Component):
    """Takes bytes where DQS changes and hands them on as words, one clock later.

    Parameters
    ----------
    phases : int
        Transfers a clock, and bytes of a word.

    Members
    -------
    start : In(1)
        A burst of ``length`` bytes has been asked for; DQS is still at rest.
    dq_i, dqs_i : In
        As in :class:`PhySignature`.
    busy : Out(1)
        Bytes are still to come.
    valid, word, last : Out
        A word, phase 0 in its low byte. With four phases the last word may be half full.
    """

    def __init__(self, phases=2):
        self._phases = phases
        super().__init__(
            {
                "start": In(1),
                "length": In(16),
                "dq_i": In(8 * phases),
                "dqs_i": In(phases),
                "busy": Out(1),
                "valid": Out(1),
                "word": Out(8 * phases),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left = Signal(16)
        before = Signal()
        changed = Signal()
        levels = Cat(before, self.dqs_i)
        m.d.comb += changed.eq((levels[:-1] ^ self.dqs_i).any())
        m.d.comb += self.busy.eq(left != 0)
        m.d.sync += [self.valid.eq(0), self.last.eq(0)]
        with m.If(self.start):
            m.d.sync += [left.eq(self.length), before.eq(0)]
        with m.Elif(self.busy):
            m.d.sync += before.eq(self.dqs_i[-1])
            with m.If(changed):
                m.d.sync += [
                    self.valid.eq(1),
                    self.word.eq(self.dq_i),
                    self.last.eq(left <= self._phases),
                    left.eq(Mux(left <= self._phases, 0, left - self._phases)),
                ]
        return m


class WriteBurst(wiring.Component):
    """Drives DQS and DQ through one burst that never pauses: gap, preamble, data, postamble.

    Parameters
    ----------
    timing : BusTiming
        Lengths of the gaps, ``write_preamble`` and ``write_postamble``; of an extended part.
    phases : int
        Transfers a clock: 1, 2 or 4. With four the last word may be half full.

    Members
    -------
    start : In(1)
        The clock in which the last address cycle is being latched.
    is_more : In(1)
        With ``start``: wait for tCCS (after 85h) rather than for tADL.
    length : In(16)
        With ``start``: bytes, even and not zero.
    data : In(stream.Signature(8 * phases))
        Bytes, phase 0 in the low bits. The preamble waits for the first word; from then on a word
        must be there in each clock in which ``data`` is ready.
    dq_o, dq_oe, dqs_o, dqs_oe : Out
        As in :class:`PhySignature`; registers. DQ is driven with the data only.
    done : Out(1)
        Strobe in the clock before the edge at which DQS is released.
    """

    def __init__(self, timing, phases=2):
        self._timing = timing
        self._phases = phases
        super().__init__(
            {
                "start": In(1),
                "is_more": In(1),
                "length": In(16),
                "data": In(stream.Signature(8 * phases)),
                "dq_o": Out(8 * phases),
                "dq_oe": Out(1),
                "dqs_o": Out(phases),
                "dqs_oe": Out(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        gaps = (timing.load_gap, timing.load_more_gap)
        wait = Signal(range(max(*gaps, timing.write_preamble, timing.write_postamble)))
        left = Signal(16)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.If(self.data.ready):
            rest = Mux(left < self._phases, 0, left - self._phases)
            m.d.sync += [
                self.dq_o.eq(self.data.payload),
                self.dq_oe.eq(1),
                self.dqs_o.eq(strobe_pattern(left, self._phases)),
                left.eq(rest),
            ]
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += left.eq(self.length)
                m.d.sync += wait.eq(write_wait(self, timing))
                m.next = "GAP"
            with m.State("GAP"), m.If((wait == 0) & self.data.valid):
                m.d.sync += [self.dqs_oe.eq(1), wait.eq(timing.write_preamble - 1)]
                m.next = "PREAMBLE"
            with m.State("PREAMBLE"), m.If(wait == 0):
                m.d.comb += self.data.ready.eq(1)
                m.next = "DATA"
            with m.State("DATA"):
                with m.If(left != 0):
                    m.d.comb += self.data.ready.eq(1)
                with m.Else():
                    m.d.sync += [self.dq_oe.eq(0), self.dqs_o.eq(0)]
                    m.d.sync += wait.eq(timing.write_postamble - 1)
                    m.next = "POSTAMBLE"
            with m.State("POSTAMBLE"), m.If(wait == 0):
                m.d.comb += self.done.eq(1)
                m.d.sync += self.dqs_oe.eq(0)
                m.next = "IDLE"
        return m
