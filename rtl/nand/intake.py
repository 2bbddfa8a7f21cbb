"""Commands as they come in: checked, then given to their LUN."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ChannelCommand, ChannelOperation
from rtl.contract.onfi import FEATURE_BYTES
from rtl.contract.operations import AddressCycles, Finish
from rtl.nand.operation_sets import is_any

__all__ = ["CommandIntake"]


class CommandIntake(wiring.Component):
    """Takes commands in order; a command for a LUN that has no room holds those behind it back.

    A command is checked in the clock in which it comes in, and given to its LUN, or refused, in the
    next one at the earliest.

    A command is refused, with nothing done, unless its operation is one of the part's, way, LUN and
    row exist, and column and length are even, with a length above zero that ends within the page.
    A part without times beyond those of the plain read has no other operation, one of a single
    plane none that queues a plane, and one whose LUNs share a way none of 70h, which has no address
    to say whose status it asks for (ONFI 3.1, section 5.13, has 78h for what is done in several).
    Of operations that move no data the length is not looked at; an address of one byte is to be no
    more than that; what goes to the die must come from a launch slot that exists; and a feature
    that is set has four bytes.

    Parameters
    ----------
    part : NandPart
    ways : int
    slots : int
        Launch slots.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    commands : In(stream.Signature(ChannelCommand))
    will_have_room : In(ways * luns)
        In the next clock, by LUN of the channel: way * luns + lun.
    busy : Out(1)
        A command has been checked and waits.
    accept : Out(ways * luns)
        Strobe to the LUN that gets ``command``.
    command : Out(ChannelCommand)
    index : Out
        The LUN's number.
    refused_valid, refused_taken, refused_tag, refused_edge
        A refused command, and when it was: held until ``refused_taken``; until then no further
        command is taken.
    """

    def __init__(self, part, ways, slots=1):
        self._part = part
        self._ways = ways
        self._slots = slots
        luns = ways * part.luns
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "commands": In(stream.Signature(ChannelCommand)),
                "will_have_room": In(luns),
                "busy": Out(1),
                "accept": Out(luns),
                "command": Out(ChannelCommand),
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
        comes, is_good, leaves = Signal(), Signal(), Signal()
        index = Signal.like(self.index)
        # A register, since much waits for it, and the LUNs are many and far apart.
        has_room = Signal()
        rooms = [self.will_have_room.bit_select(each, 1) for each in (index, self.index)]
        m.d.sync += has_room.eq(Mux(comes, *rooms))
        is_right = self._is_read(command) if part.extended is None else self._is_right(command)
        m.d.comb += [
            self.commands.ready.eq(~self.busy | leaves),
            comes.eq(self.commands.valid & self.commands.ready),
            index.eq(command.way * part.luns + command.lun),
        ]
        with m.If(self.commands.ready):
            m.d.sync += self.busy.eq(self.commands.valid)
        with m.If(comes):
            m.d.sync += [
                self.command.eq(command),
                self.index.eq(index),
                is_good.eq(
                    is_right
                    & (command.way < self._ways)
                    & (command.lun < part.luns)
                    & ~command.column[0]
                ),
            ]
        with m.If(self.refused_taken):
            m.d.sync += self.refused_valid.eq(0)
        with m.If(self.busy & ~self.refused_valid):
            with m.If(~is_good):
                m.d.comb += leaves.eq(1)
                m.d.sync += [
                    self.refused_valid.eq(1),
                    self.refused_tag.eq(self.command.tag),
                    self.refused_edge.eq(self.now),
                ]
            with m.Elif(has_room):
                m.d.comb += leaves.eq(1)
                m.d.comb += self.accept.eq(1 << self.index)
        return m

    def _is_read(self, command):
        return (
            (command.operation == ChannelOperation.READ)
            & (command.row < self._part.rows)
            & self._is_span(command)
        )

    def _is_right(self, command):
        part, operation = self._part, command.operation
        outputs = (Finish.TRANSFER, Finish.OUTPUT)
        moves = is_any(operation, lambda steps: steps.data_in or steps.finish in outputs)
        loads = is_any(operation, lambda steps: steps.data_in)
        is_byte = is_any(operation, lambda steps: steps.address is AddressCycles.ONE)
        return (
            is_any(operation, self._is_known)
            & (command.row < Mux(is_byte, 256, part.rows))
            & Mux(moves, self._is_span(command), command.column < part.raw_page_bytes)
            & (~loads | (command.slot < self._slots))
            & ((operation != ChannelOperation.SET_FEATURES) | (command.length == FEATURE_BYTES))
        )

    def _is_known(self, steps):
        part = self._part
        has_planes = part.planes > 1 or not steps.queues_plane
        return has_planes and (part.luns == 1 or not steps.needs_single_lun)

    def _is_span(self, command):
        """Whether ``length`` bytes from ``column`` are a burst within the page."""
        return (
            ~command.length[0]
            & (command.length != 0)
            & (command.column + command.length <= self._part.raw_page_bytes)
        )
