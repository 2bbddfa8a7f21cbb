"""Data output of a die: strobes and bytes that answer RE#; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DieOutput"]


class DieOutput(wiring.Component):
    """Repeats RE#'s pattern as DQS a fixed number of clocks later, with a byte at each edge.

    A burst is what lies between the first clock with RE# low and CE# high; the levels before its
    first low one are no data. ``fetch`` is high in the clock before one in which ``word`` is used,
    as a memory with one clock of latency wants it.

    Parameters
    ----------
    phases : int
        Transfers a clock: 1, 2 or 4. With four, a clock has four edges of RE#, or two in its first
        half.
    delay : int
        Clocks from RE# to DQS (tDQSRE), at least 1.

    Members
    -------
    ce_n, re_n : In
        The pins.
    word : In(8 * phases)
        Bytes that go out if ``take`` is high.
    fetch : Out(1)
        A burst begins: the word at the current position is wanted from the next clock on.
    take : Out(1)
        ``word`` has gone out; the next one is wanted in the next clock.
    is_half : Out(1)
        Only the first two of four bytes have.
    dq_i, dqs_i, oe : Out
        The pins; zero while the die does not drive.
    active : Out(1)
        A burst is under way, or its end in flight.
    """

    def __init__(self, *, phases, delay):
        if phases not in (1, 2, 4):
            raise ValueError(f"Phases must be 1, 2 or 4, not {phases!r}")
        if not isinstance(delay, int) or delay < 1:
            raise ValueError(f"Delay must be a positive integer of clocks, not {delay!r}")
        self._phases = phases
        self._delay = delay
        super().__init__(
            {
                "ce_n": In(1, init=1),
                "re_n": In(phases, init=-1),
                "word": In(8 * phases),
                "fetch": Out(1),
                "take": Out(1),
                "is_half": Out(1),
                "dq_i": Out(8 * phases),
                "dqs_i": Out(phases),
                "oe": Out(1),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stages = [f"stage{index}" for index in range(self._delay - 1)]
        # All state in one register, which moves only while CE# is low or something is in flight: a
        # channel has many dies, and at most one of them sends.
        pattern = data.StructLayout({"driving": 1, "strobe": self._phases})
        layout = {"bursting": 1, "started": 1, "level": 1, "oe": 1, "dqs": self._phases}
        layout |= dict.fromkeys(stages, pattern) | {"dq": 8 * self._phases}
        state = Signal(data.StructLayout(layout), init={"level": 1})
        in_flight = Cat(state[name].driving for name in stages).any()
        m.d.comb += [
            self.active.eq(state.bursting | state.oe | in_flight),
            self.oe.eq(state.oe),
            self.dqs_i.eq(state.dqs),
            self.dq_i.eq(state.dq),
        ]
        with m.If(~self.ce_n | self.active):
            asked = Signal(pattern)
            m.d.comb += [
                asked.driving.eq(~self.ce_n & (state.bursting | ~self.re_n.all())),
                asked.strobe.eq(self.re_n),
            ]
            m.d.sync += state.bursting.eq(asked.driving)
            delayed = asked
            for name in stages:
                m.d.sync += state[name].eq(delayed)
                delayed = state[name]
            self._drive(m, state, delayed.driving, delayed.strobe)
        return m

    def _drive(self, m, state, driving, strobe):
        """Put out one delayed clock of the pattern."""
        edges = strobe ^ Cat(state.level, strobe[:-1])
        out = self.take.replicate(8 * self._phases)
        if self._phases == 4:
            m.d.comb += self.is_half.eq(edges == 0b0011)
            out = Cat(self.take.replicate(16), (self.take & ~self.is_half).replicate(16))
        m.d.comb += [
            self.fetch.eq(driving & ~state.started),
            self.take.eq(driving & state.started & (edges.all() | self.is_half)),
        ]
        m.d.sync += [
            state.oe.eq(driving),
            state.dqs.eq(strobe & driving.replicate(self._phases)),
            state.dq.eq(self.word & out),
            state.started.eq(driving & (state.started | ~strobe[-1])),
            state.level.eq(strobe[-1] | ~driving),
        ]
