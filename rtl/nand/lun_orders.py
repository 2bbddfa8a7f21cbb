"""What the commands of each LUN ask for, as vectors with a bit a LUN."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.onfi import Opcode
from rtl.contract.operations import Finish
from rtl.nand.operation_sets import is_any

__all__ = ["LunOrders", "OrderKind", "order_kind"]


class OrderKind(data.Struct):
    """What the LUN's state must know of an operation."""

    is_silent: 1
    """Nothing is issued."""
    is_target: 1
    serves_lost: 1
    """It is for a LUN that is lost, too: a reset, or 70h."""
    needs_status: 1
    is_read: 1
    """The array senses a page, or shows one that it has sensed."""
    moves_data: 1
    """Data comes from the die when it is ready."""

    # What few parts or policies ask for.
    is_program: 1
    """The LUN is busy for a page program, or for a block erase."""
    is_erase: 1
    may_overtake: 1
    """A page is sensed and comes, and nothing else hangs on it."""
    queues_plane: 1


READS = (Opcode.READ, Opcode.READ_CACHE, Opcode.READ_CACHE_END)

ORDER_KINDS = {
    "is_silent": lambda steps: steps.first is None,
    "is_target": lambda steps: steps.is_target,
    "serves_lost": lambda steps: steps.first is Opcode.RESET or steps.needs_single_lun,
    "is_read": lambda steps: steps.first in READS,
    "needs_status": lambda steps: steps.finish is Finish.STATUS,
    "moves_data": lambda steps: steps.finish in (Finish.TRANSFER, Finish.OUTPUT),
    "is_program": lambda steps: steps.confirm is Opcode.PROGRAM_CONFIRM,
    "is_erase": lambda steps: steps.confirm is Opcode.BLOCK_ERASE_CONFIRM,
    "may_overtake": lambda steps: (
        steps.confirm is Opcode.READ_CONFIRM and steps.finish is Finish.TRANSFER
    ),
    "queues_plane": lambda steps: steps.queues_plane,
}
ALWAYS = ("is_silent", "is_target", "serves_lost", "needs_status", "is_read", "moves_data")


def order_kind(operation):
    """Values of the fields of the :class:`OrderKind` of an operation."""
    return {name: is_any(operation, predicate) for name, predicate in ORDER_KINDS.items()}


class LunOrders(wiring.Component):
    """Remembers the kind of each LUN's two commands, and shows that of the active one.

    Parameters
    ----------
    luns : int
        LUNs of the channel.
    more : tuple of str
        Further fields of :class:`OrderKind` to remember.
    next_of : tuple of str
        Of these the command that waits is shown, too, as ``next_...``.

    Members
    -------
    accept, tail, head : In(luns)
        As in :class:`LunStates`.
    kind : In(OrderKind)
        Of the command that comes in.
    is_silent, is_target, serves_lost, needs_status, is_read, moves_data : Out(luns)
        Of the active command of each LUN; without one they mean nothing.
    """

    def __init__(self, luns, *, more=(), next_of=()):
        self._luns = luns
        self._names = (*ALWAYS, *more)
        self._next_of = next_of
        super().__init__(
            {
                "accept": In(luns),
                "tail": In(luns),
                "head": In(luns),
                "kind": In(OrderKind),
            }
            | {name: Out(luns) for name in self._names}
            | {f"next_{name}": Out(luns) for name in next_of}
        )

    def elaborate(self, platform):
        m = Module()
        for name in self._names:
            places = [Signal(self._luns, name=f"{name}{place}") for place in range(2)]
            for place, enters in zip(places, (~self.tail, self.tail), strict=True):
                chosen = self.accept & enters
                with m.If(self.accept.any()):
                    m.d.sync += place.eq(Mux(self.kind[name], place | chosen, place & ~chosen))
            m.d.comb += getattr(self, name).eq(places[0] & ~self.head | places[1] & self.head)
            if name in self._next_of:
                waits = places[0] & self.head | places[1] & ~self.head
                m.d.comb += getattr(self, f"next_{name}").eq(waits)
        return m
