"""The shortest time of one page on a flash bus, from the part's times alone.

In whole clocks of the channel, since all edges of the bus lie on them. Nothing here is taken from
the controller. Ref: ONFI 3.1, section 4.15 (times), sections 5.7 and 5.13 (commands);
``docs/bus-rules.md`` (between which edges a time counts); ``docs/flash-channel.md`` (each term).
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any

from rtl.contract.bus_causes import BusCause
from rtl.contract.nand_part import NandPart, cycles
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES

__all__ = ["STATUS_BYTES", "BusBound", "ProgramTerm"]

STATUS_BYTES = 2
"""Bytes of a status burst: a DDR burst is even."""


class ProgramTerm(Enum):
    """What the bus is needed for in a page program."""

    DATA = "data"
    COMMAND = "command"
    """Cycles of 80h with its addresses, and the confirm cycle; CE# low after it."""
    T_ADL = "t_adl"
    T_WPRE = "t_wpre"
    T_WPST = "t_wpst"
    STATUS = "status"
    """78h, tWHR, and a status byte with preamble and postamble."""
    T_RHW = "t_rhw"
    SELECT = "select"


@dataclass(frozen=True, kw_only=True)
class BusBound:
    """Terms of the bound, in clocks of ``period_ps``.

    Parameters
    ----------
    part : NandPart
    period_ps : int
        Clock of the channel.
    phases : int
        Bytes a clock on the bus.
    """

    part: NandPart
    period_ps: int
    phases: int

    def _clocks(self, name: str) -> int:
        duration_ps: Any = getattr(self.part, f"t_{name}_ps")
        return int(cycles(duration_ps, self.period_ps))

    @property
    def cycle(self) -> int:
        """One WE# cycle: tWC, tWP + tWH, and tCALS + tCAH of what it latches."""
        return max(
            self._clocks("wc"),
            self._clocks("wp") + self._clocks("wh"),
            self._clocks("cals") + self._clocks("cah"),
        )

    @property
    def low(self) -> int:
        """WE# low: tWP."""
        return self._clocks("wp")

    @property
    def select(self) -> int:
        """CE#, CLE and DQ before WE# first falls: what tCS and tCALS ask beyond tWP."""
        return max(0, self._clocks("cs") - self.low, self._clocks("cals") - self.low)

    @property
    def hold(self) -> int:
        """Last WE# rising edge of 00h-30h to the next CE#: tCH, and tWH to the next WE#."""
        return max(self._clocks("ch"), self.cycle - self.low - self.select)

    @property
    def confirm(self) -> int:
        """Cycle that ends a program: CLE is set up, and WE# low, after the data."""
        return max(self.low, self._clocks("cals"))

    @property
    def turn(self) -> int:
        """Clocks of tRHW after that of the last data edge, less the next operation's select."""
        return max(0, self._clocks("rhw") - 1 - self.select)

    def written(self, cycles_: int) -> int:
        """``cycles_`` WE# cycles from the first falling edge to the last rising one."""
        return (cycles_ - 1) * self.cycle + self.low

    def page(self, length_bytes: int) -> dict[BusCause, int]:
        """Clocks of one page read of ``length_bytes``, term by term.

        It is one 00h-30h, one 05h-E0h with its burst and, where LUNs share a ready/busy line, the
        one status poll without which the controller cannot know that the page is ready.
        """
        polls = int(self.part.luns > 1)
        postamble = self._clocks("rpst")
        issue = self.written(2 + COLUMN_CYCLES + ROW_CYCLES)
        status = -(-STATUS_BYTES // self.phases)
        return {
            BusCause.DATA: -(-length_bytes // self.phases),
            BusCause.STATUS_DATA: polls * status,
            BusCause.READ_COMMAND: issue + self.hold,
            BusCause.TRANSFER_COMMAND: issue,
            BusCause.POLL_COMMAND: polls * self.written(1 + ROW_CYCLES),
            BusCause.SELECT: (2 + polls) * self.select,
            BusCause.T_CCS: self._clocks("ccs"),
            BusCause.T_WHR: polls * self._clocks("whr"),
            BusCause.T_RPRE: (1 + polls) * self._clocks("rpre"),
            BusCause.T_RPST: (1 + polls) * postamble,
            BusCause.T_RHW: (1 + polls) * max(0, self.turn - postamble),
        }

    def program(self, length_bytes: int, *, pages_at_once: int = 1) -> dict[ProgramTerm, Fraction]:
        """Clocks of one page program of ``length_bytes``, term by term, of an extended part.

        It is one 80h with addresses and data to its confirm cycle and, once for pages of several
        planes that are programmed together, the 78h that says how the program ended.
        """
        extended: Any = self.part.extended
        share = Fraction(1, pages_at_once)
        postamble = self._clocks("rpst")
        status = (
            self.written(1 + ROW_CYCLES)
            + self._clocks("whr")
            + self._clocks("rpre")
            + -(-STATUS_BYTES // self.phases)
            + postamble
        )
        command = self.written(1 + COLUMN_CYCLES + ROW_CYCLES) + self.confirm + self.hold
        return {
            ProgramTerm.DATA: Fraction(-(-length_bytes // self.phases)),
            ProgramTerm.COMMAND: Fraction(command),
            ProgramTerm.T_ADL: Fraction(cycles(extended.t_adl_ps, self.period_ps)),
            ProgramTerm.T_WPRE: Fraction(cycles(extended.t_wpre_ps, self.period_ps)),
            ProgramTerm.T_WPST: Fraction(cycles(extended.t_wpst_ps, self.period_ps)),
            ProgramTerm.STATUS: share * status,
            ProgramTerm.T_RHW: share * max(0, self.turn - postamble),
            ProgramTerm.SELECT: (1 + share) * self.select,
        }

    def page_clocks(self, length_bytes: int) -> int:
        """Sum of :meth:`page`."""
        return sum(self.page(length_bytes).values())
