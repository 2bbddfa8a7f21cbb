"""A part's bus times in clocks of one channel, and the waits of the bus machine that keep them."""

import enum
from dataclasses import dataclass

from rtl.contract.interface_timing import sdr_read_low
from rtl.contract.nand_part import NandPart, cycles

__all__ = ["BusTiming", "Work", "bus_timing"]

ISSUE_CYCLES = 7
"""Bus cycles from 00h to 30h, and from 05h to E0h: two commands and five addresses."""

DECISION = 4
"""Clocks from an idle bus to CE# low: an operation is asked for, chosen, looked up, and begins."""


class Work(enum.Enum):
    """What a LUN is busy with, where that is not a read."""

    PROGRAM = "program"
    ERASE = "erase"


def bus_timing(part, period_ps):
    """Bus times of ``part`` in clocks of ``period_ps``; raises as :class:`BusTiming`."""
    return (BusTiming if part.sdr is None else SdrBusTiming)(part, period_ps)


@dataclass(frozen=True)
class BusTiming:
    """Lengths, in clocks of ``period_ps``, of the phases of a bus operation.

    Every phase begins and ends at a clock edge, so a rule of n clocks is kept by a distance of n
    edges between two registers' changes, whatever the delay from register to pad.

    Raises
    ------
    TypeError
        If the period is not a positive, even integer of picoseconds.
    """

    part: NandPart
    period_ps: int

    def __post_init__(self):
        if not isinstance(self.period_ps, int) or self.period_ps < 2 or self.period_ps % 2:
            raise TypeError(
                f"Period must be a positive, even integer of picoseconds, not {self.period_ps!r}"
            )

    def _cycles(self, duration_ps):
        return cycles(duration_ps, self.period_ps)

    @property
    def low(self):
        """WE# low, with CLE, ALE and DQ already valid: tWP and tCALS."""
        return max(self._cycles(self.part.t_wp_ps), self._cycles(self.part.t_cals_ps))

    @property
    def high(self):
        """WE# high, with CLE, ALE and DQ still valid: tWH, tCAH, and tWC over both."""
        return max(
            self._cycles(self.part.t_wh_ps),
            self._cycles(self.part.t_cah_ps),
            self._cycles(self.part.t_wc_ps) - self.low,
        )

    @property
    def setup(self):
        """CE# low before WE# falls: what tCS asks beyond the first WE# low."""
        return max(1, self._cycles(self.part.t_cs_ps) - self.low)

    @property
    def tail(self):
        """WE# high after an operation's last bus cycle: tCH beside the rules of ``high``."""
        return max(self.high, self._cycles(self.part.t_ch_ps))

    @property
    def status_gap(self):
        """Last WE# rising edge of 78h to RE# falling: tWHR."""
        return max(self._cycles(self.part.t_whr_ps), self.tail + 1)

    @property
    def data_gap(self):
        """WE# rising edge of E0h to RE# falling: tCCS, and what 05h-E0h leaves of tRR."""
        since_ready = self.setup + (ISSUE_CYCLES - 1) * (self.low + self.high) + self.low
        return max(
            self._cycles(self.part.t_ccs_ps),
            self._cycles(self.part.t_rr_ps) - since_ready,
            self.tail + 1,
        )

    @property
    def preamble(self):
        """RE# low before the first data edge: tRPRE."""
        return self._cycles(self.part.t_rpre_ps)

    @property
    def postamble(self):
        """RE# low, and CE# low, after the last data edge: tRPST, tCH, and the die's last byte."""
        return max(
            self._cycles(self.part.t_rpst_ps), self._cycles(self.part.t_ch_ps), self.response
        )

    @property
    def output_gap(self):
        """CE# low to RE# falling, where nothing is chosen: tCS, and all of tWHR and tRR."""
        times = (self.part.t_cs_ps, self.part.t_whr_ps, self.part.t_rr_ps)
        return max(2, *(self._cycles(time) for time in times))

    @property
    def load_gap(self):
        """WE# rising edge of the last address cycle to DQS driven: tADL."""
        return max(self._cycles(self.part.extended.t_adl_ps), self.high + 1)

    @property
    def load_more_gap(self):
        """The same after 85h: tCCS."""
        return max(self._cycles(self.part.t_ccs_ps), self.high + 1)

    @property
    def write_preamble(self):
        """DQS low before the first data edge: tWPRE."""
        return self._cycles(self.part.extended.t_wpre_ps)

    @property
    def write_postamble(self):
        """DQS low after the clock of the last data edge: tWPST."""
        return self._cycles(self.part.extended.t_wpst_ps)

    @property
    def turn(self):
        """CE# high after a burst before the bus counts as idle: what a decision leaves of tRHW.

        The last byte leaves in the middle of a clock, so its clock does not count. A die drives for
        tDQSRE after CE# has risen.
        """
        rest = self._cycles(self.part.t_rhw_ps) - self.postamble - self.setup - DECISION
        return max(1, rest, self.response - self.setup - DECISION)

    @property
    def response(self):
        """RE# edge to DQS edge: tDQSRE."""
        return self._cycles(self.part.t_dqsre_ps)

    @property
    def busy_wait(self):
        """30h latched to the first look at R/B#: tWB, and one clock clear of its fall."""
        return self._cycles(self.part.t_wb_ps) + 1

    @property
    def poll_first(self):
        """30h latched to the first edge at which a poll is asked for."""
        return self.first_poll(None)

    @property
    def poll_again(self):
        """From the edge at which a poll begins to the next at which one is asked for."""
        return self.next_poll(None)

    def has_polls(self, work):
        """Whether a LUN is polled at times of its own while it does some :class:`Work`."""
        return self._poll(work) is not None

    def first_poll(self, work):
        """Last cycle latched to the first poll, by what the LUN does; None is all but ``Work``."""
        first_ps = self.part.poll_first_ps if work is None else self._poll(work).first_ps
        return max(self._cycles(first_ps), self.busy_wait)

    def next_poll(self, work):
        """As ``poll_again``, by what the LUN does.

        The period is between two of the latter; a poll itself takes more than two clocks.
        """
        period_ps = self.part.poll_period_ps if work is None else self._poll(work).period_ps
        return max(self._cycles(period_ps) - (DECISION - 1), 2)

    def _poll(self, work):
        return getattr(self.part, f"{work.value}_poll")

    def suspend_poll(self, work):
        """Last cycle of a suspend latched to the first poll: the LUN takes no longer for it."""
        suspend_ps = getattr(self.part.suspend, f"t_{work.value}_suspend_ps")
        return max(self._cycles(suspend_ps), self.busy_wait)


class SdrBusTiming(BusTiming):
    """On an SDR bus, where each byte has an RE# pulse, or a WE# pulse as a command has."""

    @property
    def read_low(self):
        """RE# low for a byte: tRP, tRC, and until its data has been captured or holds."""
        return sdr_read_low(self.part.sdr, self.period_ps)

    @property
    def read_high(self):
        """RE# high: tREH."""
        return self._cycles(self.part.sdr.t_reh_ps)

    @property
    def response(self):
        """RE# falling edge to the capture of its byte: tREA."""
        return self._cycles(self.part.sdr.t_rea_ps)

    @property
    def postamble(self):
        """Last rising edge of RE# to CE# high: tCH, and until the last byte is captured."""
        return max(1, self._cycles(self.part.t_ch_ps), self.response - self.read_low)

    @property
    def load_gap(self):
        """WE# rising edge of the last address cycle to WE# falling for data: the rest of tADL."""
        return max(self._cycles(self.part.extended.t_adl_ps) - self.low, self.high + 1)

    @property
    def load_more_gap(self):
        """The same after 85h: the rest of tCCS."""
        return max(self._cycles(self.part.t_ccs_ps) - self.low, self.high + 1)
