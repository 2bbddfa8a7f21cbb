"""Floyd's method after the draw: a position that a list has taken already gives way to another."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.gather.queue import QUEUED, RunUp

__all__ = ["DistinctFilter"]

STEPS = 3
"""Registers of a position: as given, compared, decided."""
POSITION_BYTES = 4
GROUP = 16
"""Places of the table that are looked at together."""


class DistinctFilter(wiring.Component):
    """Lets positions pass, those of lists drawn without replacement once; one a clock, in order.

    A drawn position that is one of those before it in its list is replaced by the last one that it
    could have been, as ``rtl.contract.sampling`` says. What has been taken runs through without a
    stop, into a queue that has room for it. Latency is :attr:`latency` clocks.

    Parameters
    ----------
    tag : StructLayout or Struct
        What travels beside each position, with the bits ``distinct`` (drawn without replacement)
        and ``last`` (of its list).
    places : int
        Positions of one such list at most.

    Members
    -------
    drawn : In(stream of position, degree, tag)
        Positions as from the mixer, and the number of positions among which each was drawn.
    positions : Out(stream of position, tag)
        The positions to take.
    """

    def __init__(self, tag, places):
        if not isinstance(places, int) or places < 1:
            raise TypeError(f"Places must be a positive integer, not {places!r}")
        self._places = places
        self._entry = data.StructLayout({"position": 32, "degree": 32, "tag": tag})
        self._stage = data.StructLayout(
            {"valid": 1, "first": 1, "position": 32, "other": 32, "tag": tag}
        )
        taken = data.StructLayout({"position": 32, "tag": tag})
        super().__init__(
            {
                "drawn": In(stream.Signature(self._entry)),
                "positions": Out(stream.Signature(taken)),
            }
        )

    @property
    def places(self):
        return self._places

    @property
    def latency(self):
        """Clocks from a drawn position to the one to take: three registers, and the queue."""
        return STEPS + QUEUED

    def elaborate(self, platform):
        m = Module()
        m.submodules.run_up = run_up = RunUp(self.positions.payload.shape(), STEPS)
        given, compared, decided = (
            Signal(self._stage, name=name) for name in ("given", "compared", "decided")
        )
        m.d.comb += [
            run_up.asked.eq(self.drawn.valid),
            self.drawn.ready.eq(run_up.ready),
            self.positions.payload.eq(run_up.head.payload),
            self.positions.valid.eq(run_up.head.valid),
            run_up.head.ready.eq(self.positions.ready),
        ]
        begins = Signal(init=1)
        m.d.sync += [
            given.valid.eq(self.drawn.valid & self.drawn.ready),
            given.first.eq(begins),
            given.position.eq(self.drawn.payload.position),
            given.other.eq(self.drawn.payload.degree - 1),
            given.tag.eq(self.drawn.payload.tag),
            compared.eq(given),
            decided.eq(compared),
        ]
        with m.If(self.drawn.valid & self.drawn.ready):
            m.d.sync += begins.eq(self.drawn.payload.tag.last)
        self._decide(m, run_up, given, compared, decided)
        return m

    def _decide(self, m, run_up, given, compared, decided):
        """Say which of its two positions each entry takes, a clock after its comparisons.

        When an entry is compared, two of those before it may not be in the table yet: the one that
        is ``compared`` by now, and the one that is being ``decided``. Each may still become its own
        substitute, so the entry is compared with both of their positions, and what counts is
        chosen as soon as it is known, one clock after the other.
        """
        table = [Signal(32, name=f"place{n}") for n in range(self._places)]
        filled, in_table = Signal(self._places), Signal()
        equal = [Signal(POSITION_BYTES, name=f"equal{n}") for n in range(self._places)]
        hits = Signal(-(-self._places // GROUP))
        again, replaced, chosen = Signal(), Signal(), Signal(32)
        near, far = (
            [Signal(POSITION_BYTES, name=f"{name}_{which}") for which in ("own", "other")]
            for name in ("near", "far")
        )
        near_decided = Signal(2)
        hit_far = Signal()
        follows = given.valid & given.tag.distinct & ~given.first
        with_near = follows & compared.valid
        with_far = follows & decided.valid & ~(compared.valid & compared.first)
        # While the first of a list is on its way, the table still holds the list before.
        m.d.sync += in_table.eq(
            follows & ~(compared.valid & compared.first) & ~(decided.valid & decided.first)
        )
        # Bytes are compared one by one, and joined a clock later, by groups of places.
        for place, is_filled, bits in zip(table, filled, equal, strict=True):
            m.d.sync += [
                bits[number].eq(
                    place.word_select(number, 8) == given.position.word_select(number, 8)
                )
                for number in range(POSITION_BYTES)
            ]
            with m.If(~is_filled):
                m.d.sync += bits[0].eq(0)
        for number, bit in enumerate(hits):
            group = equal[GROUP * number : GROUP * (number + 1)]
            m.d.sync += bit.eq(in_table & Cat(bits.all() for bits in group).any())
        m.d.sync += [
            *self._meets(near, given, compared, with_near),
            *self._meets(far, given, decided, with_far),
            near_decided.eq(Cat(bits.all() for bits in near)),
            hit_far.eq(Mux(replaced, far[1].all(), far[0].all())),
            replaced.eq(again),
        ]
        m.d.comb += [
            again.eq(hits.any() | hit_far | Mux(replaced, near_decided[1], near_decided[0])),
            chosen.eq(Mux(again, decided.other, decided.position)),
            run_up.arrived.position.eq(chosen),
            run_up.arrived.tag.eq(decided.tag),
        ]
        enters = Signal()
        m.d.sync += enters.eq(compared.valid & compared.tag.distinct)
        with m.If(enters):
            m.d.sync += [
                filled.eq(Mux(decided.first, 1, Cat(1, filled))),
                *(now.eq(before) for now, before in zip(table, [chosen, *table], strict=False)),
            ]

    @staticmethod
    def _meets(bits, given, earlier, counts):
        """Byte by byte: the position is that of the earlier entry; it is its substitute."""
        return [
            equal[number].eq(
                counts & (given.position.word_select(number, 8) == each.word_select(number, 8))
            )
            for equal, each in zip(bits, (earlier.position, earlier.other), strict=True)
            for number in range(POSITION_BYTES)
        ]
