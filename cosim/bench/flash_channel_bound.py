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
from rtl.contract.interface_timing import sdr_read_low
from rtl.contract.nand_part import NandPart, cycles
from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES

__all__ = ["STATUS_BYTES", "BusBound", "ProgramTerm", "bus_bound"]

STATUS_BYTES = 2
"""Bytes of a status burst: a DDR burst is even, and ours are on every bus."""


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
    def transfer(self) -> int:
        """Clocks that belong to a word of data out."""
        return 1

    @property
    def preamble(self) -> int:
        """RE# low before the first data edge: tRPRE."""
        return self._clocks("rpre")

    @property
    def postamble(self) -> int:
        """RE# low after the clock of the last data edge: tRPST."""
        return self._clocks("rpst")

    @property
    def turn(self) -> int:
        """Clocks of tRHW after those of the last data, less the next operation's select."""
        return max(0, self._clocks("rhw") - 1 - self.select)

    def data(self, length_bytes: int) -> int:
        """Clocks of data out of a die."""
        return -(-length_bytes // self.phases) * self.transfer

    def written(self, cycles_: int) -> int:
        """``cycles_`` WE# cycles from the first falling edge to the last rising one."""
        return (cycles_ - 1) * self.cycle + self.low

    def page(self, length_bytes: int) -> dict[BusCause, int]:
        """Clocks of one page read of ``length_bytes``, term by term.

        It is one 00h-30h, one 05h-E0h with its burst and, where LUNs share a ready/busy line, the
        one status poll without which the controller cannot know that the page is ready.
        """
        polls = int(self.part.luns > 1)
        issue = self.written(2 + COLUMN_CYCLES + ROW_CYCLES)
        return {
            BusCause.DATA: self.data(length_bytes),
            BusCause.STATUS_DATA: polls * self.data(STATUS_BYTES),
            BusCause.READ_COMMAND: issue + self.hold,
            BusCause.TRANSFER_COMMAND: issue,
            BusCause.POLL_COMMAND: polls * self.written(1 + ROW_CYCLES),
            BusCause.SELECT: (2 + polls) * self.select,
            BusCause.T_CCS: self._clocks("ccs"),
            BusCause.T_WHR: polls * self._clocks("whr"),
            BusCause.T_RPRE: (1 + polls) * self.preamble,
            BusCause.T_RPST: (1 + polls) * self.postamble,
            BusCause.T_RHW: (1 + polls) * max(0, self.turn - self.postamble),
        }

    def program(self, length_bytes: int, *, pages_at_once: int = 1) -> dict[ProgramTerm, Fraction]:
        """Clocks of one page program of ``length_bytes``, term by term, of an extended part.

        It is one 80h with addresses and data to its confirm cycle and, once for pages of several
        planes that are programmed together, the 78h that says how the program ended.
        """
        share = Fraction(1, pages_at_once)
        command = self.written(1 + COLUMN_CYCLES + ROW_CYCLES) + self.confirm + self.hold
        return {
            ProgramTerm.COMMAND: Fraction(command),
            **self._written_data(length_bytes),
            ProgramTerm.STATUS: share * self._status(),
            ProgramTerm.T_RHW: share * max(0, self.turn - self.postamble),
            ProgramTerm.SELECT: (1 + share) * self.select,
        }

    def _status(self) -> int:
        """78h, and the status byte that it asks for."""
        asked = self.written(1 + ROW_CYCLES) + self._clocks("whr")
        return asked + self.preamble + self.data(STATUS_BYTES) + self.postamble

    def _written_data(self, length_bytes: int) -> dict[ProgramTerm, Fraction]:
        """From the last address of 80h to where WE# of the confirm cycle may fall."""
        extended: Any = self.part.extended
        times = {
            ProgramTerm.T_ADL: extended.t_adl_ps,
            ProgramTerm.T_WPRE: extended.t_wpre_ps,
            ProgramTerm.T_WPST: extended.t_wpst_ps,
        }
        clocks = {term: cycles(time_ps, self.period_ps) for term, time_ps in times.items()}
        clocks[ProgramTerm.DATA] = -(-length_bytes // self.phases)
        return {term: Fraction(count) for term, count in clocks.items()}

    def page_clocks(self, length_bytes: int) -> int:
        """Sum of :meth:`page`."""
        return sum(self.page(length_bytes).values())


class SdrBusBound(BusBound):
    """The same on an SDR bus: a byte is a cycle of RE# or WE#, and there are no strobes."""

    @property
    def read_high(self) -> int:
        """RE# high: tREH."""
        sdr: Any = self.part.sdr
        return int(cycles(sdr.t_reh_ps, self.period_ps))

    @property
    def transfer(self) -> int:
        """RE# low and high: tRP, tRC, and until the byte holds where it is captured."""
        return int(sdr_read_low(self.part.sdr, self.period_ps)) + self.read_high

    @property
    def preamble(self) -> int:
        """None."""
        return 0

    @property
    def postamble(self) -> int:
        """None."""
        return 0

    @property
    def turn(self) -> int:
        """As of a bus with strobes; tRHW begins with the last rise of RE#, within its cycle."""
        return max(0, self._clocks("rhw") - self.read_high - self.select)

    @property
    def confirm(self) -> int:
        """Cycle that ends a program: it comes after the last byte as that after another."""
        return self.cycle

    def _written_data(self, length_bytes: int) -> dict[ProgramTerm, Fraction]:
        """A cycle of WE# for each byte; the first one's rise is tADL after the last address's."""
        extended: Any = self.part.extended
        t_adl = cycles(extended.t_adl_ps, self.period_ps)
        return {
            ProgramTerm.DATA: Fraction(length_bytes * self.cycle),
            ProgramTerm.T_ADL: Fraction(max(0, t_adl - self.cycle)),
            ProgramTerm.T_WPRE: Fraction(0),
            ProgramTerm.T_WPST: Fraction(0),
        }


def bus_bound(part: NandPart, *, period_ps: int, phases: int) -> BusBound:
    """The bound of the part's bus."""
    kind = BusBound if part.sdr is None else SdrBusBound
    return kind(part=part, period_ps=period_ps, phases=phases)
