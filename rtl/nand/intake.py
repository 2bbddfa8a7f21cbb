"""Commands as they come in: checked, then kept in the slot of their LUN."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ChannelCommand, ChannelOperation

__all__ = ["CommandIntake"]


class CommandIntake(wiring.Component):
    """Takes commands in order; a command for a LUN that has no room holds those behind it back.

    A command is refused, with nothing done, unless its operation is known, way, LUN and row exist,
    and column and length are even, with a length above zero that ends within the page.

    Parameters
    ----------
    part : NandPart
    ways : int

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    commands : In(stream.Signature(ChannelCommand))
    has_room : In(ways * luns)
        By LUN of the channel: way * luns + lun.
    accept : Out(ways * luns)
        Strobe to the LUN that gets the command at the head of ``commands``.
    index : Out
        That LUN's number.
    refused_valid, refused_taken, refused_tag, refused_edge
        A refused command, and when it was: held until ``refused_taken``; until then no further
        command is taken.
    """

    def __init__(self, part, ways):
        self._part = part
        self._ways = ways
        luns = ways * part.luns
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "commands": In(stream.Signature(ChannelCommand)),
                "has_room": In(luns),
                "accept": Out(luns),
                "index": Out(range(luns)),
                "refused_valid": Out(1),
                "refused_taken": In(1),
                "refused_tag": Out(16),
                "refused_edge": Out(STAMP_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        part = self._part
        command = self.commands.payload
        is_good = Signal()
        m.d.comb += [
            is_good.eq(
                (command.operation == ChannelOperation.READ)
                & (command.way < self._ways)
                & (command.lun < part.luns)
                & (command.row < part.rows)
                & ~command.column[0]
                & ~command.length[0]
                & (command.length != 0)
                & (command.column + command.length <= part.raw_page_bytes)
            ),
            self.index.eq(command.way * part.luns + command.lun),
        ]
        with m.If(self.refused_taken):
            m.d.sync += self.refused_valid.eq(0)
        with m.If(self.commands.valid & ~self.refused_valid):
            with m.If(~is_good):
                m.d.comb += self.commands.ready.eq(1)
                m.d.sync += [
                    self.refused_valid.eq(1),
                    self.refused_tag.eq(command.tag),
                    self.refused_edge.eq(self.now),
                ]
            with m.Elif(self.has_room.bit_select(self.index, 1)):
                m.d.comb += self.commands.ready.eq(1)
                m.d.comb += self.accept.eq(1 << self.index)
        return m
