"""Bus times in clocks: what a controller, a die and a checker of one channel count.

:func:`interface_timing` makes one of three classes, one a data interface, for the PHY of
``rtl.nand.phy``, which has neither ONFI's CLK nor its W/R#:

* SDR: a transfer takes several clocks; RE# and WE# are levels a clock.
* NV-DDR: WE# rises where CLK latches a command or address, so the pulses are whole CLK periods
  apart; RE# is low for W/R# low, and then toggles with each CLK edge that transfers a byte. CLK
  itself is implied, and with it tDQSS, tDSS and tDSH, which the PHY's output stage keeps.
* NV-DDR2: as ONFI has it.

All counts come from one rounding function, ``rtl.contract.nand_part.cycles``, and are the least
that keep every rule. Counts named ``a_to_b`` run from event a to event b.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from rtl.contract.bus_times import Interface
from rtl.contract.nand_part import cycles

__all__ = [
    "EDO_LIMIT_PS",
    "NvDdr2Timing",
    "NvDdrTiming",
    "SdrTiming",
    "interface_timing",
    "sdr_read_low",
]

EDO_LIMIT_PS = 30_000
"""Read cycles below this are extended data out: tRLOH counts, not tRHOH (ONFI 3.1, section 4.3)."""


def interface_timing(times, period_ps, phases=None):
    """The fastest transfers that a clock of ``period_ps`` makes inside the window of a mode.

    Parameters
    ----------
    times : SdrTimes, NvDdrTimes or NvDdr2Times
        Of the mode, as the part asks for them.
    period_ps : int
        Of the controller's clock, even.
    phases : int, optional
        Transfers a clock that the PHY has; else the most that fit.

    Raises
    ------
    TypeError
        If the period is not a positive, even integer.
    ValueError
        If the mode cannot be made from this clock, or not with these phases.
    """
    kind = _KINDS[times.interface]
    _check_period(period_ps)
    choices = kind.PHASES if phases is None else (phases,)
    fitting = [choice for choice in choices if kind.fits(times, period_ps, choice)]
    if not fitting:
        raise ValueError(kind.misfit(times, period_ps, choices))
    return kind(times=times, period_ps=period_ps, phases=max(fitting))


def sdr_read_low(times, period_ps):
    """Clocks of RE# low in SDR, for ``times`` with the names of ``SdrTimes``."""

    def clocks(duration_ps):
        return cycles(duration_ps, period_ps)

    high, captured = clocks(times.t_reh_ps), clocks(times.t_rea_ps) * period_ps
    least = max(clocks(times.t_rp_ps), clocks(times.t_rc_ps) - high)
    low = max(least, clocks(captured - times.t_rloh_ps) - high)
    if (low + high) * period_ps < EDO_LIMIT_PS:
        return low
    is_no_edo = clocks(EDO_LIMIT_PS) - high
    return max(least, is_no_edo, clocks(captured - times.t_rhoh_ps))


def _check_period(period_ps):
    if not isinstance(period_ps, int) or period_ps < 2 or period_ps % 2:
        raise TypeError(
            f"Period must be a positive, even integer of picoseconds, not {period_ps!r}"
        )


@dataclass(frozen=True, kw_only=True)
class _Timing:
    """Counts, in clocks of ``period_ps``, that all interfaces have."""

    PHASES: ClassVar[tuple[int, ...]] = (1, 2, 4)

    times: Any
    period_ps: int
    phases: int
    """Transfers that a clock of the PHY has room for; where ``clocks_per_transfer`` is 1, the
    transfers that it makes."""

    def __post_init__(self):
        _check_period(self.period_ps)
        if not self.fits(self.times, self.period_ps, self.phases):
            raise ValueError(self.misfit(self.times, self.period_ps, (self.phases,)))

    @classmethod
    def window_ps(cls, times):
        """Least and most time of two transfers, a cycle of the strobe; no most is None."""
        return times.t_rc_ps, None

    @classmethod
    def fits(cls, times, period_ps, phases):
        """Whether ``phases`` transfers a clock lie in the window of a mode."""
        least, most = cls.window_ps(times)
        cycle = 2 * period_ps
        return (
            phases in cls.PHASES
            and least * phases <= cycle
            and (most is None or cycle <= most * phases)
        )

    @classmethod
    def misfit(cls, times, period_ps, choices):
        """Why no one of ``choices`` as phases makes a mode."""
        least, most = cls.window_ps(times)
        window = f"at least {least} ps" if most is None else f"{least} to {most} ps"
        return (
            f"{times} must take {window} for two transfers, not what a clock of {period_ps} ps "
            f"makes of {' or '.join(map(str, choices))} transfers a clock"
        )

    def _clocks(self, duration_ps):
        """Clocks between two bus events at least ``duration_ps`` apart."""
        return cycles(duration_ps, self.period_ps)

    @property
    def clocks_per_transfer(self):
        """Clocks of one transfer; 1 where a clock has one or more."""
        return 1

    @property
    def transfers_per_second(self):
        """Rate of a burst, rounded down."""
        return self.phases * 10**12 // (self.clocks_per_transfer * self.period_ps)

    @property
    def select_to_command(self):
        """CE# low to the first WE# rising edge, or to RE# falling: tCS."""
        return self._clocks(self.times.t_cs_ps)

    @property
    def command_to_deselect(self):
        """Last WE# rising edge, or end of a burst, to CE# high: tCH."""
        return self._clocks(self.times.t_ch_ps)

    @property
    def deselect_to_select(self):
        """CE# high to the same CE# low: tCEH."""
        return self._clocks(self.times.t_ceh_ps)

    @property
    def address_to_data_in(self):
        """Last address cycle of a program to its first data: tADL."""
        return self._clocks(self.times.t_adl_ps)

    @property
    def column_to_data(self):
        """Last cycle of a column change to data in or out: tCCS."""
        return self._clocks(self.times.t_ccs_ps)

    @property
    def command_to_data_out(self):
        """Last cycle of a status, identification or feature command to RE# falling: tWHR."""
        return self._clocks(self.times.t_whr_ps)

    @property
    def data_out_to_command(self):
        """End of a burst out of the die to WE# falling: tRHW."""
        return self._clocks(self.times.t_rhw_ps)

    @property
    def ready_to_data_out(self):
        """R/B# high, or ready seen in a status, to RE# falling: tRR."""
        return self._clocks(self.times.t_rr_ps)

    @property
    def confirm_to_busy(self):
        """Confirm cycle to R/B# low, at most: tWB."""
        return self._clocks(self.times.t_wb_ps)


@dataclass(frozen=True, kw_only=True)
class SdrTiming(_Timing):
    """SDR: each byte is a WE# pulse (in) or an RE# pulse (out) of several clocks."""

    PHASES = (1,)

    @classmethod
    def fits(cls, times, period_ps, phases):
        """Whether the PHY has one transfer a clock: pulses of whole clocks can be of any length."""
        return phases == 1

    @classmethod
    def misfit(cls, times, period_ps, choices):
        """Why no one of ``choices`` as phases makes a mode."""
        return f"{times} must have 1 transfer a clock, not {' or '.join(map(str, choices))}"

    @property
    def clocks_per_transfer(self):
        """Clocks of an RE# pulse with its high time: tRC."""
        return self.read_low + self.read_high

    @property
    def command_low(self):
        """WE# low, with CLE, ALE and DQ already valid: tWP, tCLS, tALS, tDS; of data in, too."""
        times = self.times
        return self._clocks(max(times.t_wp_ps, times.t_cls_ps, times.t_als_ps, times.t_ds_ps))

    @property
    def command_high(self):
        """WE# high, with CLE, ALE and DQ still valid: tWH, tCLH, tALH, tDH, tWC over both."""
        times = self.times
        hold = max(times.t_wh_ps, times.t_clh_ps, times.t_alh_ps, times.t_dh_ps)
        return max(self._clocks(hold), self._clocks(times.t_wc_ps) - self.command_low)

    @property
    def response(self):
        """RE# falling edge to valid data, and to its capture by the controller: tREA."""
        return self._clocks(self.times.t_rea_ps)

    @property
    def read_high(self):
        """RE# high: tREH."""
        return self._clocks(self.times.t_reh_ps)

    @property
    def read_low(self):
        """RE# low: tRP, tRC over both, and so long that data still holds when it is captured."""
        return sdr_read_low(self.times, self.period_ps)


@dataclass(frozen=True, kw_only=True)
class NvDdrTiming(_Timing):
    """NV-DDR: everything happens at rising edges of CLK, of which two transfers are a period."""

    @classmethod
    def window_ps(cls, times):
        """Least and most period of CLK."""
        return times.t_ck_ps, times.t_ck_max_ps

    @property
    def clock_ratio(self):
        """Clocks from one bus event to the next possible one: two where CLK has half the rate."""
        return 2 if self.phases == 1 else 1

    def _clocks(self, duration_ps):
        return self.clock_ratio * cycles(duration_ps, self.clock_ratio * self.period_ps)

    @property
    def command_low(self):
        """WE# low, with CLE, ALE and DQ already valid, before CLK latches them: tCALS, tCAS."""
        return cycles(max(self.times.t_cals_ps, self.times.t_cas_ps), self.period_ps)

    @property
    def command_high(self):
        """WE# high, with CLE, ALE and DQ still valid: tCALH, tCAH, and tCAD over both."""
        times, low_ps = self.times, self.command_low * self.period_ps
        hold = max(times.t_calh_ps, times.t_cah_ps)
        return self._clocks(max(times.t_cad_ps, low_ps + hold)) - self.command_low

    @property
    def response(self):
        """RE# edge, which is one of CLK, to DQS edge: tDQSCK."""
        return cycles(self.times.t_dqsck_ps, self.period_ps)

    @property
    def read_preamble(self):
        """RE# low, which is W/R# low, before the first data edge: tWRCK."""
        return self._clocks(self.times.t_wrck_ps)

    @property
    def read_postamble(self):
        """RE# low after the last data edge: tCKWR, the whole periods of CLK over tDQSCK + tCK."""
        periods = cycles(self.phases * self.times.t_dqsck_ps, 2 * self.period_ps) + 1
        return cycles(2 * periods, self.phases)

    @property
    def write_preamble(self):
        """DQS low before its first edge: tWPRE, 1.5 periods of CLK."""
        return cycles(3, self.phases)

    @property
    def write_postamble(self):
        """DQS low after its last edge: tWPST, 1.5 periods of CLK."""
        return cycles(3, self.phases)


@dataclass(frozen=True, kw_only=True)
class NvDdr2Timing(_Timing):
    """NV-DDR2: WE# pulses for commands, RE# edges that DQS repeats for data."""

    @property
    def command_low(self):
        """WE# low, with CLE, ALE and DQ already valid: tWP, tCALS, tCAS."""
        times = self.times
        return self._clocks(max(times.t_wp_ps, times.t_cals_ps, times.t_cas_ps))

    @property
    def command_high(self):
        """WE# high, with CLE, ALE and DQ still valid: tWH, tCALH, tCAH, and tWC over both."""
        times = self.times
        hold = self._clocks(max(times.t_wh_ps, times.t_calh_ps, times.t_cah_ps))
        return max(hold, self._clocks(times.t_wc_ps) - self.command_low)

    @property
    def response(self):
        """RE# edge to DQS edge: tDQSRE."""
        return self._clocks(self.times.t_dqsre_ps)

    @property
    def read_preamble(self):
        """RE# low before the first data edge: tRPRE."""
        return self._clocks(self.times.t_rpre_ps)

    @property
    def read_postamble(self):
        """RE# low after the last data edge: tRPST, which is tDQSRE + tRC / 2."""
        return cycles(
            self.phases * self.times.t_dqsre_ps + self.period_ps, self.phases * self.period_ps
        )

    @property
    def read_hold(self):
        """CE#, CLE and ALE unchanged after the read postamble: tRPSTH."""
        return self._clocks(self.times.t_rpsth_ps)

    @property
    def write_setup(self):
        """DQS driven before the write preamble: tCDQSS."""
        return self._clocks(self.times.t_cdqss_ps)

    @property
    def write_preamble(self):
        """DQS low before its first edge: tWPRE."""
        return self._clocks(self.times.t_wpre_ps)

    @property
    def write_postamble(self):
        """DQS low after its last edge: tWPST."""
        return self._clocks(self.times.t_wpst_ps)

    @property
    def write_hold(self):
        """CE#, CLE and ALE unchanged after the write postamble: tWPSTH."""
        return self._clocks(self.times.t_wpsth_ps)


_KINDS = {
    Interface.SDR: SdrTiming,
    Interface.NV_DDR: NvDdrTiming,
    Interface.NV_DDR2: NvDdr2Timing,
}
