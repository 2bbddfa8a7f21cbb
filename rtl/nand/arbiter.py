"""Fixed-priority classes, round robin within each: who gets the bus next."""

import enum

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.command_cycles import BusOperationKind
from rtl.nand.oldest_first import OldestFirst

__all__ = ["BusArbiter", "BusPolicy"]


class BusPolicy(enum.Enum):
    """Who goes first; within a class LUNs take turns where nothing else is said."""

    ROUND_ROBIN = "round-robin"
    """What is issued, then polls, then transfers."""
    READS_FIRST = "reads-first"
    """Programs, erases and all else that is no read are issued last, after transfers too: reads
    never wait for data that could go to a die later, and a channel full of reads never writes.
    """
    OLDEST_READY_FIRST = "oldest-ready-first"
    """As round-robin, but of the LUNs that are ready the one is read that was ready first."""


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
    has_suspends : bool
        There are suspends and resumes.
    policy : BusPolicy

    Members
    -------
    reads, polls, transfers : In(luns)
        Candidates.
    completions : In(luns)
        Candidates too, if ``has_completions``.
    suspends, resumes : In(luns)
        Candidates too, if ``has_suspends``.
    urgent : In(luns)
        LUNs whose command is a read; only for READS_FIRST.
    ready : In(luns)
        LUNs that wait for a transfer, candidates or not; only for OLDEST_READY_FIRST.
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

    def __init__(
        self, luns, *, has_completions=False, has_suspends=False, policy=BusPolicy.ROUND_ROBIN
    ):
        self._luns = luns
        self._has_suspends = has_suspends
        self._has_completions = has_completions
        self._policy = policy
        inputs = {
            "completions": has_completions,
            "suspends": has_suspends,
            "resumes": has_suspends,
            "urgent": policy is BusPolicy.READS_FIRST,
            "ready": policy is BusPolicy.OLDEST_READY_FIRST,
        }
        super().__init__(
            {name: In(luns) for name, is_there in inputs.items() if is_there}
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
        classes = self._classes()
        if self._policy is BusPolicy.OLDEST_READY_FIRST:
            m.submodules.order = order = OldestFirst(self._luns)
            m.d.comb += [order.waiting.eq(self.ready), order.requests.eq(self.transfers)]
        asking = Signal(len(classes))
        m.d.comb += asking.eq(Cat(candidates.any() for _, candidates in classes))
        # Each class finds its LUN by itself: the classes are compared meanwhile.
        for number, (kind, candidates) in reversed(list(enumerate(classes))):
            name = f"{number}_{kind.name.lower()}"
            # LUNs up to the one served last, as a mask of ones from bit 0 on.
            served, ahead = (
                Signal(self._luns, name=f"{word}{name}") for word in ("served", "ahead")
            )
            m.d.comb += ahead.eq(candidates & ~served)
            if self._policy is BusPolicy.OLDEST_READY_FIRST and candidates is self.transfers:
                m.d.comb += ahead.eq(order.oldest)
            first, other = self._up_to_first(ahead), self._up_to_first(candidates)
            turns = (self._number(ahead & first), self._number(candidates & other))
            with m.If(asking[number]):
                m.d.comb += [
                    self.kind.eq(kind),
                    self.index.eq(Mux(ahead.any(), *turns)),
                    self.is_tie.eq((candidates & (candidates - 1)).any()),
                ]
            with m.If(self.serve & asking[number] & ~asking[:number].any()):
                m.d.sync += served.eq(Mux(ahead.any(), first, other))
        m.d.comb += [
            self.valid.eq(asking.any()),
            self.is_conflict.eq((asking & (asking - 1)).any()),
        ]
        return m

    def _classes(self):
        """Kinds and candidates, in the order of their priority."""
        issues, others = [self.reads], []
        if self._policy is BusPolicy.READS_FIRST:
            issues, others = [self.reads & self.urgent], [self.reads & ~self.urgent]
        completions = [self.completions] if self._has_completions else []
        suspends, resumes = [], []
        if self._has_suspends:
            suspends, resumes = [self.suspends], [self.resumes]
        return [
            *((BusOperationKind.COMPLETE, candidates) for candidates in completions),
            *((BusOperationKind.ISSUE, candidates) for candidates in issues),
            # Reads wait for both: a LUN takes none before its resume.
            *((BusOperationKind.SUSPEND, candidates) for candidates in suspends),
            *((BusOperationKind.RESUME, candidates) for candidates in resumes),
            (BusOperationKind.POLL, self.polls),
            (BusOperationKind.TRANSFER, self.transfers),
            *((BusOperationKind.ISSUE, candidates) for candidates in others),
        ]

    @staticmethod
    def _up_to_first(requests):
        """Ones from bit 0 up to the lowest bit set, that included."""
        return requests ^ (requests - 1)[: len(requests)]

    def _number(self, one):
        """Number of the one bit set."""
        bits = range((self._luns - 1).bit_length())
        return Cat(
            *(Cat(*(one[lun] for lun in range(self._luns) if lun >> bit & 1)).any() for bit in bits)
        )
