"""Finds the first target of a launch that is not OK, by the headers among its result words."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import GatherStatus, ResultHeader

__all__ = ["TargetWatch"]


class TargetWatch(wiring.Component):
    """Follows the words of a launch, up to ``lanes`` in a clock; what it found shows a clock later.

    Parameters
    ----------
    lanes : int
        Words of a transfer.

    Members
    -------
    start : In(1)
        A launch begins.
    word0, word1, ... : In(64)
        Words that are handed over, from the lowest.
    count : In
        How many are, in this clock.
    bad : Out(1)
        A target of the launch was not OK.
    index : Out(16)
        Its number in the launch.
    """

    def __init__(self, lanes=1):
        if not isinstance(lanes, int) or lanes < 1:
            raise ValueError(f"Lanes must be at least 1, not {lanes!r}")
        self._lanes = lanes
        super().__init__(
            {
                "start": In(1),
                **{f"word{lane}": In(64) for lane in range(lanes)},
                "count": In(range(lanes + 1)),
                "bad": Out(1),
                "index": Out(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        left, bad, index = Signal(16), Signal(), Signal(16)
        m.d.comb += [self.bad.eq(bad), self.index.eq(index)]
        step = (left, bad, index)
        for lane in range(self._lanes):
            header = data.View(ResultHeader, getattr(self, f"word{lane}"))
            is_word, is_header = Signal(name=f"is_word{lane}"), Signal(name=f"is_header{lane}")
            is_bad = Signal(name=f"is_bad{lane}")
            before, found, target = step
            after = tuple(Signal.like(one, name=f"{one.name}{lane}") for one in (left, bad, index))
            m.d.comb += [
                is_word.eq(lane < self.count),
                is_header.eq(is_word & (before == 0)),
                is_bad.eq(is_header & (header.status != GatherStatus.OK)),
                after[0].eq(Mux(is_header, header.count, before - (is_word & ~is_header))),
                after[1].eq(found | is_bad),
                # The number of the target, until one is bad.
                after[2].eq(target + (is_header & ~found & ~is_bad)),
            ]
            step = after
        m.d.sync += [
            register.eq(value) for register, value in zip((left, bad, index), step, strict=True)
        ]
        with m.If(self.start):
            m.d.sync += [left.eq(0), bad.eq(0), index.eq(0)]
        return m
