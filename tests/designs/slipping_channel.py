# amaranth: UnusedElaboratable=no
"""Our flash-channel controller with a slip at its ports, as a user's block would be."""

from amaranth.hdl import Module
from amaranth.lib import wiring

from rtl.block import join
from rtl.nand.controller import FlashChannelController
from rtl.nand.own import controller_signature


class Slipping(wiring.Component):
    """``slip``: "data" turns a bit of each transfer's last word around, "quiet" rests too early,
    "status" calls refused commands good.
    """

    def __init__(self, part, period_ps, ways, phases, slots, code, slip):
        self.within = FlashChannelController(
            part, period_ps=period_ps, ways=ways, phases=phases, slots=slots, code=code
        )
        self.slip = slip
        super().__init__(controller_signature(self.within))

    def elaborate(self, platform):
        m = Module()
        m.submodules.within = within = self.within
        m.d.comb += join(self.signature, self, within)
        if self.slip == "data":
            word = self.data.payload.word
            m.d.comb += word.eq(within.data.payload.word ^ within.data.payload.last)
        elif self.slip == "quiet":
            m.d.comb += [self.quiet.eq(1), self.wake_edge.eq(-1)]
        elif self.slip == "status":
            m.d.comb += self.completions.payload.status.eq(0)
        return m
