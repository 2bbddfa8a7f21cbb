"""The record of the command that is ending, and the stream of completions."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ChannelCompletion, ChannelStatus

__all__ = ["CompletionRecord"]


class CompletionRecord(wiring.Component):
    """Gathers the stamps of one transfer and completes it; refused commands take their turn after.

    A completion is offered in the clock after its last word was received, or at once if there is
    no transfer; ``last`` is as ``received``.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    start : In(1)
        Strobe, while not ``busy``: a transfer, or an end without one, was decided.
    opening, is_whole : In
        With ``start``: the completion as far as it is known; without a transfer it is whole.
    began, ended : In(1)
        Strobes: its 05h is on the bus from the next edge on; its last word is being received.
    refused_valid, refused_taken, refused_tag, refused_edge
        As in :class:`CommandIntake`. A refused command has no stamps but ``accepted``.
    busy : Out(1)
        A transfer is under way, or its completion has not been taken.
    completions : Out(stream.Signature(ChannelCompletion))
    is_transfer : Out(1)
        With ``completions``: of a transfer.
    """

    now: In(STAMP_BITS)
    start: In(1)
    opening: In(ChannelCompletion)
    is_whole: In(1)
    began: In(1)
    ended: In(1)
    refused_valid: In(1)
    refused_taken: Out(1)
    refused_tag: In(16)
    refused_edge: In(STAMP_BITS)
    busy: Out(1)
    completions: Out(stream.Signature(ChannelCompletion))
    is_transfer: Out(1)

    def elaborate(self, platform):
        m = Module()
        record = Signal(ChannelCompletion)
        has_ended, is_whole = Signal(), Signal()
        # A refused command that has been offered stays on the stream until it is taken.
        refused_first = Signal()
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), record.eq(self.opening), has_ended.eq(self.is_whole)]
            m.d.sync += is_whole.eq(self.is_whole)
        with m.If(self.began):
            m.d.sync += record.transfer.eq(self.now)
        with m.If(self.ended):
            m.d.sync += [has_ended.eq(1), record.received.eq(self.now), record.last.eq(self.now)]
        chosen = self.completions.payload
        is_held = Signal()
        m.d.comb += is_held.eq(self.completions.valid & ~self.completions.ready)
        m.d.sync += refused_first.eq(is_held & (~has_ended | refused_first))
        with m.If(has_ended & ~refused_first):
            m.d.comb += [self.completions.valid.eq(1), chosen.eq(record)]
            m.d.comb += self.is_transfer.eq(~is_whole)
            with m.If(self.completions.ready):
                m.d.sync += [self.busy.eq(0), has_ended.eq(0)]
        with m.Elif(self.refused_valid):
            m.d.comb += [
                self.completions.valid.eq(1),
                chosen.tag.eq(self.refused_tag),
                chosen.status.eq(ChannelStatus.BAD_COMMAND),
                chosen.accepted.eq(self.refused_edge),
                self.refused_taken.eq(self.completions.ready),
            ]
        return m
