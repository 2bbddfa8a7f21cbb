"""What the commands of each LUN ask for, as vectors with a bit a LUN."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ChannelOperation
from rtl.contract.onfi import Opcode
from rtl.contract.operations import Finish
from rtl.nand.operation_sets import is_any

__all__ = ["LunOrders", "OrderKind", "order_kind"]


class OrderKind(data.Struct):
    """What the LUN's state must know of an operation."""

    is_silent: 1
    """Nothing is issued."""
    is_target: 1
    is_reset: 1
    needs_status: 1
    is_read: 1
    """The array senses a page, or shows one that it has sensed."""
    moves_data: 1
    """Data comes from the die when it is ready."""


READS = (Opcode.READ, Opcode.READ_CACHE, Opcode.READ_CACHE_END)

ORDER_KINDS = {
    "is_silent": lambda steps: steps.first is None,
    "is_target": lambda steps: steps.is_target,
    "is_read": lambda steps: steps.first in READS,
    "needs_status": lambda steps: steps.finish is Finish.STATUS,
    "moves_data": lambda steps: steps.finish in (Finish.TRANSFER, Finish.OUTPUT),
}


def order_kind(operation):
    """Values of the fields of the :class:`OrderKind` of an operation."""
    kinds = {name: is_any(operation, predicate) for name, predicate in ORDER_KINDS.items()}
    return kinds | {"is_reset": operation == ChannelOperation.RESET}


class LunOrders(wiring.Component):
    """Remembers the kind of each LUN's two commands, and shows that of the active one.

    Parameters
    ----------
    luns : int
        LUNs of the channel.

    Members
    -------
    accept, tail, head : In(luns)
        As in :class:`LunStates`.
    kind : In(OrderKind)
        Of the command that comes in.
    is_silent, is_target, is_reset, needs_status, is_read, moves_data : Out(luns)
        Of the active command of each LUN; without one they mean nothing.
    """

    def __init__(self, luns):
        self._luns = luns
        super().__init__(
            {
                "accept": In(luns),
                "tail": In(luns),
                "head": In(luns),
                "kind": In(OrderKind),
            }
            | {name: Out(luns) for name, _ in data.Layout.cast(OrderKind)}
        )

    def elaborate(self, platform):
        m = Module()
        for name, _ in data.Layout.cast(OrderKind):
            places = [Signal(self._luns, name=f"{name}{place}") for place in range(2)]
            for place, enters in zip(places, (~self.tail, self.tail), strict=True):
                chosen = self.accept & enters
                with m.If(self.accept.any()):
                    m.d.sync += place.eq(Mux(self.kind[name], place | chosen, place & ~chosen))
            m.d.comb += getattr(self, name).eq(places[0] & ~self.head | places[1] & self.head)
        return m
