"""What each clock of a launch goes to, as seen at the gather core's ports."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["LaunchMeter"]


class LaunchMeter(wiring.Component):
    """Sorts the clocks in which a launch is in the unit; each is in exactly one class.

    Parameters
    ----------
    most_beats : int
        Beats on the bus at most.

    Members
    -------
    busy : In(1)
        A launch is in the unit.
    request, answer : In(1)
        An AXI read is asked for (ARVALID); a beat is taken.
    granted, beats : In
        That read is taken in this clock; its beats, less 1.
    word, taken : In(1)
        Result words are on offer; they are taken.
    delivered : Out(1)
        Words are taken.
    output_stalled : Out(1)
        Words are on offer and not taken.
    memory_stalled : Out(1)
        None is on offer while a read is asked for, or a beat of one is still to come.
    gap : Out(1)
        Neither: the unit works, or waits for its kernel.
    """

    def __init__(self, most_beats):
        self._most_beats = most_beats
        inputs = ("busy", "request", "granted", "answer", "word", "taken")
        outputs = ("delivered", "output_stalled", "memory_stalled", "gap")
        super().__init__(
            {
                **dict.fromkeys(inputs, In(1)),
                "beats": In(8),
                **dict.fromkeys(outputs, Out(1)),
            }
        )

    @property
    def most_beats(self):
        return self._most_beats

    def elaborate(self, platform):
        m = Module()
        # A read is counted a clock after it was taken; its first beat comes then at the earliest.
        owed, begun, more = Signal(range(self._most_beats + 1)), Signal(), Signal(9)
        m.d.sync += [
            begun.eq(self.granted),
            more.eq(self.beats + 1),
            owed.eq((owed - self.answer) + Mux(begun, more, 0)),
        ]
        waiting = self.request | begun | (owed != 0)
        m.d.comb += [
            self.delivered.eq(self.busy & self.word & self.taken),
            self.output_stalled.eq(self.busy & self.word & ~self.taken),
            self.memory_stalled.eq(self.busy & ~self.word & waiting),
            self.gap.eq(self.busy & ~self.word & ~waiting),
        ]
        return m
