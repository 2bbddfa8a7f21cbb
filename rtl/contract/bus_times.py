"""Bus times of the three ONFI data interfaces, by their names in the specification.

Ref: ONFI 3.1, section 4.15 (timing parameters) and 4.3 (their descriptions). Times shorter than a
transfer (tDS, tDH, tDQSQ, tQH and jitter in the DDR interfaces) are absent: a bus that is described
a transfer at a time cannot break them.
"""

import enum
from dataclasses import dataclass, fields
from typing import ClassVar

__all__ = ["Interface", "NvDdr2Times", "NvDdrTimes", "SdrTimes"]


class Interface(enum.Enum):
    """Data interface; the values are how ONFI writes it, in lower case."""

    SDR = "sdr"
    NV_DDR = "nv-ddr"
    NV_DDR2 = "nv-ddr2"


@dataclass(frozen=True, kw_only=True)
class _Times:
    """Times that all interfaces have, in picoseconds; minima where nothing else is said.

    Raises
    ------
    ValueError
        If a time is not an integer, is not positive (``may_be_zero`` are exempt), or if times
        contradict each other.
    """

    interface: ClassVar[Interface]
    may_be_zero: ClassVar[tuple[str, ...]] = ()

    mode: int
    """Number of the timing mode, as feature address 01h takes it."""
    t_cs_ps: int
    """CE# set-up: CE# low to the first cycle."""
    t_ch_ps: int
    """CE# hold after the last cycle."""
    t_ceh_ps: int
    """CE# high before it falls again."""
    t_adl_ps: int
    """Last address cycle of a program to its first data."""
    t_ccs_ps: int
    """Change of column to data in or out."""
    t_whr_ps: int
    """Command or address cycle to data out: of status, identification and features."""
    t_rhw_ps: int
    """Data out to the next command, address or data in."""
    t_rr_ps: int
    """Ready to data out."""
    t_wb_ps: int
    """Confirm cycle to R/B# low, at most."""

    def __post_init__(self):
        for field in fields(self):
            least = 0 if field.name in ("mode", *self.may_be_zero) else 1
            value = getattr(self, field.name)
            if not isinstance(value, int) or value < least:
                kind = "non-negative" if least == 0 else "positive"
                raise ValueError(f"{field.name} must be a {kind} integer, not {value!r}")
        self._check()

    def _at_most(self, whole, *parts):
        values = [getattr(self, part) for part in parts]
        if sum(values) > getattr(self, whole):
            raise ValueError(
                f"{whole} must be at least {' + '.join(parts)}, "
                f"not {getattr(self, whole)} < {' + '.join(map(str, values))}"
            )

    def __str__(self):
        return f"{self.interface.value} mode {self.mode}"


@dataclass(frozen=True, kw_only=True)
class SdrTimes(_Times):
    """Single data rate: WE# latches data in, RE# fetches data out, a byte a cycle."""

    interface = Interface.SDR
    may_be_zero = ("t_rhoh_ps", "t_rloh_ps")

    t_wc_ps: int
    """Write cycle."""
    t_wp_ps: int
    """WE# low."""
    t_wh_ps: int
    """WE# high."""
    t_cls_ps: int
    """CLE set-up before the WE# rising edge."""
    t_clh_ps: int
    """CLE hold after it."""
    t_als_ps: int
    """ALE set-up."""
    t_alh_ps: int
    """ALE hold."""
    t_ds_ps: int
    """DQ set-up."""
    t_dh_ps: int
    """DQ hold."""
    t_rc_ps: int
    """Read cycle."""
    t_rp_ps: int
    """RE# low."""
    t_reh_ps: int
    """RE# high."""
    t_rea_ps: int
    """RE# falling edge to valid data, at most."""
    t_rhoh_ps: int
    """Data hold after the RE# rising edge, in read cycles of 30 ns and more."""
    t_rloh_ps: int
    """Data hold after the next RE# falling edge, in shorter ones (extended data out)."""

    def _check(self):
        self._at_most("t_wc_ps", "t_wp_ps", "t_wh_ps")
        self._at_most("t_rc_ps", "t_rp_ps", "t_reh_ps")


@dataclass(frozen=True, kw_only=True)
class NvDdrTimes(_Times):
    """Double data rate with a clock (CLK on WE#'s pin) and a direction (W/R# on RE#'s)."""

    interface = Interface.NV_DDR

    t_ck_ps: int
    """Clock period, at least."""
    t_ck_max_ps: int
    """Clock period, at most."""
    t_cad_ps: int
    """Command or address cycle to the next cycle (the slow one of ONFI's two values)."""
    t_cals_ps: int
    """CLE, ALE and W/R# set-up before the rising edge of CLK."""
    t_calh_ps: int
    """CLE, ALE and W/R# hold after it."""
    t_cas_ps: int
    """DQ set-up of a command or address."""
    t_cah_ps: int
    """DQ hold of a command or address."""
    t_dqsck_ps: int
    """CLK edge to DQS edge of data out, at most."""
    t_wrck_ps: int
    """W/R# low to the first data out cycle."""

    def _check(self):
        self._at_most("t_ck_max_ps", "t_ck_ps")
        self._at_most("t_cad_ps", "t_cals_ps", "t_calh_ps")
        self._at_most("t_cad_ps", "t_cas_ps", "t_cah_ps")


@dataclass(frozen=True, kw_only=True)
class NvDdr2Times(_Times):
    """Double data rate without a clock: WE# latches commands, RE# asks for DQS edges."""

    interface = Interface.NV_DDR2

    t_rc_ps: int
    """Cycle of RE# and of DQS (tRC and tDSC, averages): two transfers."""
    t_wc_ps: int
    """Write cycle of commands and addresses."""
    t_wp_ps: int
    """WE# low."""
    t_wh_ps: int
    """WE# high."""
    t_cals_ps: int
    """CLE and ALE set-up before the WE# rising edge."""
    t_calh_ps: int
    """CLE and ALE hold after it."""
    t_cas_ps: int
    """DQ set-up of a command or address."""
    t_cah_ps: int
    """DQ hold of a command or address."""
    t_dqsre_ps: int
    """RE# edge to DQS edge, at most."""
    t_rpre_ps: int
    """Read preamble: RE# low before its first rising edge."""
    t_rpsth_ps: int
    """Hold of CE#, CLE and ALE after the read postamble, which is tDQSRE + tRC / 2."""
    t_cdqss_ps: int
    """DQS set-up before the write preamble."""
    t_wpre_ps: int
    """Write preamble: DQS low before its first edge."""
    t_wpst_ps: int
    """Write postamble: DQS low after its last edge."""
    t_wpsth_ps: int
    """Hold of CE#, CLE and ALE after the write postamble."""

    def _check(self):
        self._at_most("t_wc_ps", "t_wp_ps", "t_wh_ps")
