"""Geometry and times of the simulation DRAM behind the gather unit.

Names are those of JEDEC JESD79-4 (DDR4). The values, with their sources, are in the platform files.
One access is one burst of eight transfers on a 64-bit channel: 64 bytes.
"""

from dataclasses import dataclass, fields

__all__ = ["ACCESS_BYTES", "SETTLED", "DramTimes"]

ACCESS_BYTES = 64
MOST_REORDER = 16
MAY_BE_ZERO = ("t_rtw_ps", "t_controller_ps", "reorder")
SETTLED = 4
"""Of the accesses (and activates) that are planned, the earliest that no later one may pass: behind
them, what came before has no say any more."""


@dataclass(frozen=True, kw_only=True)
class DramTimes:
    """Times in picoseconds; ``banks``, ``groups``, ``row_bytes``, ``turn``, ``reorder`` are counts.

    Accesses at consecutive addresses go to the bank groups by turns, so that a stream need not wait
    for tCCD_L. A row of each group is so filled, then the next row, in the next bank.

    Raises
    ------
    ValueError
        If a number is not a positive integer (some may be 0), ``banks``, ``groups`` or
        ``row_bytes`` is not a power of two, the refresh leaves no room for an access, a time
        between bank groups is longer than within one, or that reaches beyond what is still looked
        at.
    """

    banks: int
    """Of all groups together."""
    groups: int
    """Bank groups; with one of them all accesses are in the same group."""
    row_bytes: int
    t_beat_ps: int
    """Data bus time of one 64-byte access (tCCD_S); longer than the part's own where the sequential
    rate of the platform is lower. Refresh comes on top."""
    t_ccd_l_ps: int
    """Column command to one of the same kind in the same group."""
    t_cl_ps: int
    """Read command to its data."""
    t_cwl_ps: int
    """Write command to its data."""
    t_rcd_ps: int
    """Activate to column command."""
    t_rp_ps: int
    """Precharge to activate."""
    t_ras_ps: int
    """Activate to precharge."""
    t_rtp_ps: int
    """Read command to precharge."""
    t_wr_ps: int
    """End of write data to precharge."""
    t_rrd_ps: int
    """Activate to activate of another group (tRRD_S)."""
    t_rrd_l_ps: int
    """Activate to activate of another bank of the same group."""
    t_faw_ps: int
    """Window that holds at most four activates."""
    t_refi_ps: int
    """Refresh to refresh; the first one at t = t_refi_ps."""
    t_rfc_ps: int
    """All-bank refresh."""
    t_wtr_s_ps: int
    """End of write data to read command of another group."""
    t_wtr_l_ps: int
    """The same, of the same group."""
    t_rtw_ps: int
    """End of read data to write data: the time in which the data bus turns."""
    t_controller_ps: int
    """Controller and PHY, request to response, added to every access."""
    turn: int
    """Accesses in one direction before the other one, if it waits, has its turn."""
    reorder: int
    """How many accesses of other IDs, planned before it, an access may pass."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in MAY_BE_ZERO else 1
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{field.name} must be an integer from {least} up, not {value!r}")
        for name, least in (("banks", 2), ("row_bytes", ACCESS_BYTES), ("groups", 1)):
            value = getattr(self, name)
            if value & value - 1 or value < least:
                raise ValueError(f"{name} must be a power of two from {least} up, not {value}")
        for name, most in (
            ("groups", self.banks),
            ("reorder", MOST_REORDER),
            ("t_ccd_l_ps", (SETTLED + 1) * self.t_beat_ps),
            ("t_rrd_l_ps", (SETTLED + 1) * self.t_rrd_ps),
            ("t_wtr_l_ps", self.t_wtr_s_ps + SETTLED * self.t_beat_ps),
        ):
            if getattr(self, name) > most:
                raise ValueError(f"{name} must be at most {most}, not {getattr(self, name)}")
        for name, other in (("t_rrd_ps", "t_rrd_l_ps"), ("t_wtr_s_ps", "t_wtr_l_ps")):
            if (value := getattr(self, name)) > (most := getattr(self, other)):
                raise ValueError(f"{name} must be at most {other}, not {value} > {most}")
        for name in ("t_faw_ps", "t_rrd_l_ps", "t_wtr_s_ps", "t_wtr_l_ps", "t_rtw_ps"):
            if self.t_rfc_ps < (value := getattr(self, name)):
                raise ValueError(f"t_rfc_ps must be at least {name}, not {self.t_rfc_ps} < {value}")
        need = self.t_rfc_ps + self.t_rp_ps + self.t_ras_ps + self.access_ps
        if self.t_refi_ps < need:
            raise ValueError(
                f"t_refi_ps must be at least {need} (a refresh and an access), not {self.t_refi_ps}"
            )

    @property
    def access_ps(self):
        """Activate to the end of the data of one access to a closed row."""
        return self.t_rcd_ps + max(self.t_cl_ps, self.t_cwl_ps) + self.t_beat_ps

    def place(self, address):
        """Group, bank (of all) and row of a byte address, by arithmetic: also of a signal."""
        group_shift = (ACCESS_BYTES - 1).bit_length()
        groups, banks = (self.groups - 1).bit_length(), (self.banks - 1).bit_length()
        bank_shift = (self.row_bytes - 1).bit_length() + groups
        group = (address >> group_shift) & (self.groups - 1)
        inner = (address >> bank_shift) & ((self.banks >> groups) - 1)
        return group, inner << groups | group, address >> bank_shift + banks - groups

    def apart_ps(self, first_write, second_write, *, same_group):
        """Least time from the begin of one access's data to that of the next one's."""
        if first_write == second_write:
            return max(self.t_beat_ps, self.t_ccd_l_ps if same_group else 0)
        if second_write:
            return self.t_beat_ps + self.t_rtw_ps
        wait = max(self.t_wtr_s_ps, self.t_wtr_l_ps if same_group else 0)
        return self.t_beat_ps + wait + self.t_cl_ps
