"""Data output of a die: strobes and bytes that answer RE#; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
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
        Transfers a clock, 1 or 2.
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
    dq_i, dqs_i, oe : Out
        The pins; zero while the die does not drive.
    active : Out(1)
        Something is under way or in flight.
    """

    def __init__(self, *, phases, delay):
        if phases not in (1, 2):
            raise ValueError(f"Phases must be 1 or 2, not {phases!r}")
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
                "dq_i": Out(8 * phases),
                "dqs_i": Out(phases),
                "oe": Out(1),
                "active": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        asked = Signal(1 + self._phases)
        bursting = Signal()
        in_flight = Signal()
        m.d.comb += asked.eq(Cat(~self.ce_n & (bursting | ~self.re_n.all()), self.re_n))
        stage, waiting = asked, []
        for index in range(self._delay - 1):
            waiting.append(Signal(1 + self._phases, name=f"stage{index}"))
            with m.If(asked[0] | in_flight):
                m.d.sync += waiting[-1].eq(stage)
            stage = waiting[-1]
        with m.If(asked[0] | bursting):
            m.d.sync += bursting.eq(asked[0])
        m.d.comb += [
            in_flight.eq(Cat(*(held[0] for held in waiting)).any() | self.oe),
            self.active.eq(asked[0] | bursting | in_flight),
        ]
        self._drive(m, driving=stage[0], strobe=stage[1:])
        return m

    def _drive(self, m, *, driving, strobe):
        """Put out one delayed clock of the pattern."""
        started = Signal()
        level = Signal(init=1)
        edges = strobe ^ Cat(level, strobe[:-1])
        m.d.comb += [
            self.fetch.eq(driving & ~started),
            self.take.eq(driving & started & edges.all()),
        ]
        with m.If(driving | self.oe):
            m.d.sync += [
                self.oe.eq(driving),
                self.dqs_i.eq(strobe & driving.replicate(self._phases)),
                self.dq_i.eq(self.word & self.take.replicate(8 * self._phases)),
                started.eq(driving & (started | ~strobe[-1])),
                level.eq(strobe[-1] | ~driving),
            ]
