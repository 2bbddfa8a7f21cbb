"""Read bursts: the RE# pattern that asks a die for bytes, and the capture of what comes back."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ReadBurst", "ReadCapture"]


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
    is_status : In(1)
        With ``start``: wait for tWHR rather than for tCCS.
    length : In(16)
        With ``start``: bytes, even and not zero.
    re_n : Out(phases)
        Read enable, a register.
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
                "length": In(16),
                "re_n": Out(phases, init=(1 << phases) - 1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        longest = max(timing.status_gap, timing.data_gap, timing.preamble, timing.postamble)
        wait = Signal(range(longest))
        left = Signal(16)
        is_final = left <= self._phases
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += left.eq(self.length)
                m.d.sync += wait.eq(Mux(self.is_status, timing.status_gap, timing.data_gap) - 2)
                m.next = "GAP"
            with m.State("GAP"), m.If(wait == 0):
                m.d.sync += [self.re_n.eq(0), wait.eq(timing.preamble - 1)]
                m.next = "PREAMBLE"
            with m.State("PREAMBLE"), m.If(wait == 0):
                m.d.sync += self.re_n.eq(self._pattern(left))
                m.next = "DATA"
            with m.State("DATA"):
                m.d.sync += left.eq(left - self._phases)
                with m.If(is_final):
                    m.d.sync += [self.re_n.eq(0), wait.eq(timing.postamble - 1)]
                    m.next = "POSTAMBLE"
                with m.Else():
                    m.d.sync += self.re_n.eq(self._pattern(left - self._phases))
            with m.State("POSTAMBLE"), m.If(wait == 0):
                m.d.comb += self.done.eq(1)
                m.d.sync += self.re_n.eq(~Const(0, self._phases))
                m.next = "IDLE"
        return m

    def _pattern(self, left):
        """RE# levels of the clock that asks for the first of ``left`` bytes."""
        if self._phases == 1:
            return ~left[0]
        if self._phases == 2:
            return Const(0b01, 2)
        return Mux(left == 2, 0b0001, 0b0101)


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
