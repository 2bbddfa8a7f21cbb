"""Rules about who drives DQ and DQS, and when the answer to RE# comes."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.nand.checks.rules import ALL_RULES, rule_bits

__all__ = ["DriveCheck", "SdrDriveCheck"]


class DriveCheck(wiring.Component):
    """Rules DIE_DRIVES to T_DQSRE; says when a status byte is on the bus.

    ONFI 3.1, section 4.15 (tDQSRE); the turn-off time tCHZ is taken as tDQSRE.

    Parameters
    ----------
    ways, phases : int
        As for :class:`rtl.nand.phy.PhySignature`.
    delay : int
        Clocks from RE# to DQS.
    rules : tuple of BusRule
        Those that ``broken`` has bits for.

    Members
    -------
    ce_n, re_n, dq_oe, dqs_i, die_oe : In
        The pins.
    bursting, status_data : In(1)
        From :class:`rtl.nand.checks.burst.BurstCheck`.
    status_valid : Out(1)
        The answer to ``status_data`` is on DQ.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, *, ways, phases, delay, rules=ALL_RULES):
        self._ways = ways
        self._phases = phases
        self._delay = delay
        super().__init__(
            {
                "ce_n": In(ways, init=-1),
                "re_n": In(phases, init=-1),
                "dq_oe": In(1),
                "dqs_i": In(phases),
                "die_oe": In(ways),
                "bursting": In(1),
                "status_data": In(1),
                "status_valid": Out(1),
                "broken": Out(rule_bits(rules)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chosen, asked = Signal(self._ways), Signal(self._ways)
        strobe = self._strobe(m, chosen)
        stage = Cat(self.status_data, strobe, asked)
        m.d.comb += chosen.eq(~self.ce_n)
        with m.If(self.bursting | ~self.re_n.all()):
            m.d.comb += asked.eq(chosen)
        for index in range(self._delay):
            held = Signal(len(stage), name=f"stage{index}")
            m.d.sync += held.eq(stage)
            stage = held
        due = stage[1 + self._phases :]
        oe = self.die_oe
        m.d.comb += [
            self.status_valid.eq(stage[0]),
            self.broken.die_drives.eq(
                (oe & (oe - 1)[: self._ways]).any() | (oe & ~due & ~chosen).any()
            ),
            self.broken.contention.eq(self.dq_oe & oe.any()),
        ]
        self._check_answer(m, stage[1 : 1 + self._phases], due)
        return m

    def _strobe(self, m, chosen):
        """What RE# asks for in this clock."""
        strobe = Signal(self._phases)
        with m.If((self.bursting | ~self.re_n.all()) & chosen.any()):
            m.d.comb += strobe.eq(self.re_n)
        return strobe

    def _check_answer(self, m, strobe, due):
        """Compare the bus with what was asked for ``delay`` clocks ago, and of whom."""
        m.d.comb += self.broken.t_dqsre.eq(
            (self.dqs_i != strobe) | (due.any() & ~self.die_oe.any())
        )


class SdrDriveCheck(DriveCheck):
    """Rules DIE_DRIVES, CONTENTION and T_REA; ``delay`` is tREA, ``phases`` 1."""

    def _strobe(self, m, chosen):
        level, falls = Signal(init=1), Signal()
        m.d.sync += level.eq(self.re_n)
        m.d.comb += falls.eq(chosen.any() & level & ~self.re_n)
        return falls

    def _check_answer(self, m, strobe, due):
        m.d.comb += self.broken.t_rea.eq(strobe & ~self.die_oe.any())
