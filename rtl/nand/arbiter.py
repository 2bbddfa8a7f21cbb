"""Fixed-priority classes, round robin within each: who gets the bus next."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.command_cycles import BusOperationKind

__all__ = ["BusArbiter"]


class BusArbiter(wiring.Component):
    """Chooses the next bus operation; combinational but for who was served last in each class.

    Reads, and all else that is issued, come first (they set a die to work), then polls, then
    transfers. Commands that end without the bus come before all, as they cost it nothing. Within a
    class the first candidate after the LUN served last is next, and after reset LUN 0 is.

    Parameters
    ----------
    luns : int
        LUNs of the channel, over all ways.
    has_completions : bool
        There are commands that end without the bus.

    Members
    -------
    reads, polls, transfers : In(luns)
        Candidates.
    completions : In(luns)
        Candidates too, if ``has_completions``.
    serve : In(1)
        The choice is carried out in this clock.
    valid : Out(1)
        There is a candidate.
    kind, index : Out
        The choice.
    is_tie : Out(1)
        The class served has further candidates.
    is_conflict : Out(1)
        So have other classes.
    """

    def __init__(self, luns, *, has_completions=False):
        self._luns = luns
        self._has_completions = has_completions
        super().__init__(
            ({"completions": In(luns)} if has_completions else {})
            | {
                "reads": In(luns),
                "polls": In(luns),
                "transfers": In(luns),
                "serve": In(1),
                "valid": Out(1),
                "kind": Out(BusOperationKind),
                "index": Out(range(luns)),
                "is_tie": Out(1),
                "is_conflict": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        completions = {BusOperationKind.COMPLETE: self.completions} if self._has_completions else {}
        classes = completions | {
            BusOperationKind.ISSUE: self.reads,
            BusOperationKind.POLL: self.polls,
            BusOperationKind.TRANSFER: self.transfers,
        }
        asking = Cat(*(requests.any() for requests in classes.values()))
        requests = Signal(self._luns)
        spent = Signal(self._luns)
        ahead = Signal(self._luns)
        for number, (kind, candidates) in enumerate(classes.items()):
            # LUNs up to the one served last, as a mask of ones from bit 0 on.
            served = Signal(self._luns, name=f"served_{kind.name.lower()}")
            with (m.Elif if number else m.If)(candidates.any()):
                m.d.comb += [self.kind.eq(kind), requests.eq(candidates), spent.eq(served)]
                with m.If(self.serve):
                    m.d.sync += served.eq((2 << self.index) - 1)
        m.d.comb += [
            ahead.eq(requests & ~spent),
            self.valid.eq(asking.any()),
            self.is_tie.eq((requests & (requests - 1)).any()),
            self.is_conflict.eq((asking & (asking - 1)).any()),
            self.index.eq(self._first(Mux(ahead.any(), ahead, requests))),
        ]
        return m

    def _first(self, requests):
        """Number of the lowest bit set."""
        lowest = requests & -requests
        bits = range((self._luns - 1).bit_length())
        return Cat(
            *(
                Cat(*(lowest[lun] for lun in range(self._luns) if lun >> bit & 1)).any()
                for bit in bits
            )
        )
