"""The multi-phase PHY interface between a flash-channel controller and its dies.

A DDR pad does not simulate, so the bus is described per controller clock, ``phases`` transfers a
clock (1, 2 or 4), phase 0 first in time. Strobe levels are given per phase; commands and addresses
are slow enough for one level a clock. Ref: ONFI 3.1, section 4.2 (NV-DDR2 signals and cycles).
"""

from amaranth.lib.wiring import In, Out, Signature

__all__ = ["PhySignature"]


class PhySignature(Signature):
    """Bus of one channel, seen from the controller.

    Parameters
    ----------
    ways : int
        Chip enables, and ready/busy lines, of the channel.
    phases : int
        Transfers a clock: 1, 2 or 4.

    Members
    -------
    ce_n, cle, ale, we_n : Out
        Chip enables (at most one low), latch enables, write enable. A command (``cle``) or address
        (``ale``) byte is latched at the clock edge that samples ``we_n`` = 1 after the edge that
        sampled ``we_n`` = 0; the byte is in the low bits of ``dq_o``.
    re_n : Out(phases)
        Read enable, one level a phase, idle all ones. A burst is a preamble of zeros, then for each
        pair of bytes a rising and a falling edge (with two phases: bits ``0b01`` a clock: phase 0
        is 1, phase 1 is 0), then a postamble of zeros, then idle in the same clock in which
        ``ce_n`` rises, which requests no data.
    dq_o, dq_oe : Out
        Bytes to the die, ``phases`` of them, phase 0 in the low bits; driven while ``dq_oe``.
    dqs_o, dqs_oe : Out
        Data strobe to the die, one level a phase, driven while ``dqs_oe``. A data-in burst is a
        preamble of zeros, then the pattern of a read burst's ``re_n`` with a byte of ``dq_o`` in
        each phase, then a postamble of zeros; the latch enables are low and WE# is high.
    dq_i : In(8 * phases)
        Bytes from the die, phase 0 in the low bits.
    dqs_i : In(phases)
        Data strobe from the die: the pattern of ``re_n``, ``cycles(tDQSRE)`` clocks later; all
        zeros while no die drives. A phase carries a byte where ``dqs_i`` changes against the phase
        before it, after the preamble.
    die_oe : In(ways)
        Which die drives ``dq_i`` and ``dqs_i``; at most one.
    rb_n : In(ways)
        Ready/busy of each way: low while any LUN behind it is busy.

    An SDR bus has one phase and no DQS. Each fall of RE# asks for a byte, which is on ``dq_i`` from
    ``cycles(tREA)`` clocks later on; a byte to the die has a pulse of WE# as a command has, with
    the latch enables low.
    """

    def __init__(self, ways, phases=2):
        if not isinstance(ways, int) or ways < 1:
            raise TypeError(f"Ways must be a positive integer, not {ways!r}")
        if phases not in (1, 2, 4):
            raise ValueError(f"Phases must be 1, 2 or 4, not {phases!r}")
        self._ways = ways
        self._phases = phases
        super().__init__(
            {
                "ce_n": Out(ways, init=(1 << ways) - 1),
                "cle": Out(1),
                "ale": Out(1),
                "we_n": Out(1, init=1),
                "re_n": Out(phases, init=(1 << phases) - 1),
                "dq_o": Out(8 * phases),
                "dq_oe": Out(1),
                "dqs_o": Out(phases),
                "dqs_oe": Out(1),
                "dq_i": In(8 * phases),
                "dqs_i": In(phases),
                "die_oe": In(ways),
                "rb_n": In(ways),
            }
        )

    @property
    def ways(self):
        return self._ways

    @property
    def phases(self):
        return self._phases

    def __eq__(self, other):
        return isinstance(other, PhySignature) and (self.ways, self.phases) == (
            other.ways,
            other.phases,
        )

    def __repr__(self):
        return f"PhySignature({self.ways}, phases={self.phases})"
