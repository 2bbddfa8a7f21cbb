"""Geometry and times of a NAND part, and the one rounding function from time to clock cycles."""

from dataclasses import dataclass, fields

from rtl.contract.nand_array import Poll, SuspendOpcodes

__all__ = ["ExtendedTimes", "NandPart", "SdrReadTimes", "cycles"]


def cycles(duration_ps, period_ps):
    """Smallest whole number of clock periods that lasts at least ``duration_ps``."""
    return -(-duration_ps // period_ps)


@dataclass(frozen=True, kw_only=True)
class ExtendedTimes:
    """Times of what a part does beyond the plain read, in picoseconds.

    Bus times are minima for the controller (ONFI 3.1, section 4.15), array times what the die takes
    (section 4.16 has their maxima in the parameter page and the data sheet).

    Raises
    ------
    ValueError
        If a time is not a positive integer.
    """

    t_adl_ps: int
    """Last address cycle of a program to the first data byte."""
    t_wpre_ps: int | None
    """Write preamble: DQS low before the first data edge; None in SDR."""
    t_wpst_ps: int | None
    """Write postamble: DQS low after the last data edge; None in SDR."""
    t_prog_ps: int
    """Page program (tPROG)."""
    t_bers_ps: int
    """Block erase (tBERS)."""
    t_cbsy_ps: int
    """Busy time of a cached program, if the array is free (tPCBSY)."""
    t_rcbsy_ps: int
    """Busy time of a cached read, if the array is free (tRCBSY)."""
    t_dbsy_ps: int
    """Busy time after a queued plane (tPLPBSY, tPLRBSY, tPLEBSY)."""
    t_feat_ps: int
    """Set or get features (tFEAT)."""
    t_rst_ps: int
    """Reset (tRST)."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.name in WRITE_STROBE_TIMES:
                continue
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name} must be a positive integer, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class SdrReadTimes:
    """Times of RE# pulses, each of which fetches a byte, in picoseconds (ONFI 3.1, section 4.15).

    Raises
    ------
    ValueError
        If a time is not an integer, is not positive (hold times may be zero), or if a cycle is
        shorter than its halves.
    """

    t_rc_ps: int
    """Read cycle: RE# falling edge to falling edge."""
    t_rp_ps: int
    """RE# low."""
    t_reh_ps: int
    """RE# high."""
    t_rea_ps: int
    """RE# falling edge to valid data, at most; the die takes all of it."""
    t_rhoh_ps: int
    """Data hold after the RE# rising edge, at least, in cycles of 30 ns and more."""
    t_rloh_ps: int
    """Data hold after the next RE# falling edge, at least, in shorter ones."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("t_rhoh_ps", "t_rloh_ps") else 1
            if not isinstance(value, int) or value < least:
                kind = "non-negative" if least == 0 else "positive"
                raise ValueError(f"{field.name} must be a {kind} integer, not {value!r}")
        if self.t_rp_ps + self.t_reh_ps > self.t_rc_ps:
            raise ValueError(
                "t_rc_ps must be at least t_rp_ps + t_reh_ps, "
                f"not {self.t_rc_ps} < {self.t_rp_ps} + {self.t_reh_ps}"
            )


WRITE_STROBE_TIMES = ("t_wpre_ps", "t_wpst_ps")
READ_STROBE_TIMES = ("t_rpre_ps", "t_rpst_ps", "t_dqsre_ps")
"""Times of DQS, which SDR does not have."""
NO_NUMBERS = ("name", "extended", "program_poll", "erase_poll", "suspend", "sdr")


@dataclass(frozen=True, kw_only=True)
class NandPart:
    """Geometry (per LUN) and worst-case times of one part, in picoseconds.

    Names follow the ONFI 3.1 parameter tables (section 4.15): ``t_wc_ps`` is tWC and so on. The
    values, with their sources, are in the platform files. All are minima for the controller,
    but ``t_wb_ps``, ``t_dqsre_ps`` (maxima for the die) and ``t_r_ps`` (the array time).

    Raises
    ------
    ValueError
        If a number is not positive, the page or spare is odd, the pages of a block or the planes
        are no power of two, times contradict each other, or are those of another interface.
    """

    name: str
    page_bytes: int
    spare_bytes: int
    pages_per_block: int
    blocks_per_lun: int
    luns: int
    t_r_ps: int
    """Array read (tR)."""
    t_wc_ps: int
    """Write cycle: WE# rising edge to rising edge."""
    t_wp_ps: int
    """WE# low."""
    t_wh_ps: int
    """WE# high."""
    t_cs_ps: int
    """CE# low to the first WE# rising edge, or to RE# falling."""
    t_ch_ps: int
    """CE# hold after the last WE# rising edge or the end of a burst."""
    t_cals_ps: int
    """CLE, ALE and DQ set-up before the WE# rising edge."""
    t_cah_ps: int
    """CLE, ALE and DQ hold after the WE# rising edge."""
    t_wb_ps: int
    """WE# rising edge of the confirm cycle to R/B# low, at most; the die takes all of it."""
    t_rr_ps: int
    """Ready to RE# falling."""
    t_whr_ps: int
    """WE# rising edge of a status command's last cycle to RE# falling."""
    t_ccs_ps: int
    """WE# rising edge of E0h to RE# falling."""
    t_rhw_ps: int
    """End of a burst (RE# of the last byte) to WE# falling."""
    t_rpre_ps: int | None = None
    """Read preamble: RE# low before the first data edge. None, as the next two, in SDR."""
    t_rpst_ps: int | None = None
    """Read postamble: RE# low after the last data edge."""
    t_dqsre_ps: int | None = None
    """RE# edge to DQS edge, at most; the die takes all of it."""
    poll_first_ps: int
    """30h to the first 78h poll, where LUNs share a ready/busy line."""
    poll_period_ps: int
    """From one poll of a LUN to the next."""
    program_poll: Poll | None = None
    """The same while a LUN programs; None is as it reads."""
    erase_poll: Poll | None = None
    """The same while it erases."""
    planes: int = 1
    """Planes of a LUN, a power of two: the lowest bits of a block's number."""
    extended: ExtendedTimes | None = None
    """None: the part is used for plain reads only."""
    suspend: SuspendOpcodes | None = None
    """None: programs and erases are not suspended."""
    sdr: SdrReadTimes | None = None
    """Of an SDR bus, on which each byte has an RE# or WE# pulse; None: DQS strobes them."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in NO_NUMBERS or (field.name in READ_STROBE_TIMES and self.sdr):
                continue
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{field.name} must be a positive integer, not {value!r}")
        self._check_interface()
        if self.page_bytes % 2 or self.spare_bytes % 2:
            raise ValueError(
                "page_bytes and spare_bytes must be even on a DDR bus, "
                f"not {self.page_bytes} and {self.spare_bytes}"
            )
        if self.pages_per_block & self.pages_per_block - 1:
            raise ValueError(
                f"pages_per_block must be a power of two, not {self.pages_per_block}: "
                "a row address is the bits of a block over those of a page"
            )
        if self.planes & self.planes - 1 or self.blocks_per_lun % self.planes:
            raise ValueError(
                f"planes must be a power of two that divides blocks_per_lun "
                f"({self.blocks_per_lun}), not {self.planes}"
            )
        if self.planes > 1 and self.extended is None:
            raise ValueError("extended times must be given for a part of several planes, not None")
        if self.t_wp_ps + self.t_wh_ps > self.t_wc_ps:
            raise ValueError(
                "t_wc_ps must be at least t_wp_ps + t_wh_ps, "
                f"not {self.t_wc_ps} < {self.t_wp_ps} + {self.t_wh_ps}"
            )
        if self.poll_first_ps < self.t_wb_ps:
            raise ValueError(
                f"poll_first_ps must be at least t_wb_ps, not {self.poll_first_ps} < {self.t_wb_ps}"
            )
        self._check_writes()

    def _check_interface(self):
        times = {name: getattr(self, name) for name in READ_STROBE_TIMES}
        if self.extended is not None:
            times |= {name: getattr(self.extended, name) for name in WRITE_STROBE_TIMES}
        for name, value in times.items():
            if (value is None) != (self.sdr is not None):
                bus = "None on an SDR bus" if self.sdr else "given on a bus with DQS"
                raise ValueError(f"{name} must be {bus}, not {value}")

    def _check_writes(self):
        for name in ("program_poll", "erase_poll", "suspend"):
            if getattr(self, name) is not None and self.extended is None:
                raise ValueError(f"extended times must be given for a part with {name}, not None")
        for name in ("program_poll", "erase_poll"):
            poll = getattr(self, name)
            if poll is not None and poll.first_ps < self.t_wb_ps:
                raise ValueError(
                    f"first_ps of {name} must be at least t_wb_ps, "
                    f"not {poll.first_ps} < {self.t_wb_ps}"
                )
        if self.suspend is not None:
            self.suspend.check(self.extended)

    @property
    def raw_page_bytes(self):
        """Data and spare bytes of a page: the size of the page register."""
        return self.page_bytes + self.spare_bytes

    @property
    def rows(self):
        """Pages of a LUN; a row address is block * pages_per_block + page."""
        return self.blocks_per_lun * self.pages_per_block
