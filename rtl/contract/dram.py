"""Geometry and times of the simulation DRAM behind the gather unit.

Names are those of JEDEC JESD79-4 (DDR4). The values, with their sources, are in the platform files.
One access is one burst of eight transfers on a 64-bit channel: 64 bytes.
"""

from dataclasses import dataclass, fields

__all__ = ["DramTimes"]


@dataclass(frozen=True, kw_only=True)
class DramTimes:
    """Times in picoseconds; ``banks`` and ``row_bytes`` are counts.

    A row holds ``row_bytes`` bytes at consecutive addresses; the next row is in the next bank.

    Raises
    ------
    ValueError
        If a number is not a positive integer (``t_controller_ps`` may be 0), ``banks`` or
        ``row_bytes`` is not a power of two, or the refresh leaves no room for an access.
    """

    banks: int
    row_bytes: int
    t_beat_ps: int
    """Data bus time of one 64-byte access; longer than the part's own where the sequential rate of
    the platform is lower. Refresh comes on top."""
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
    """Activate to activate of another bank (tRRD_S)."""
    t_faw_ps: int
    """Window that holds at most four activates."""
    t_refi_ps: int
    """Refresh to refresh; the first one at t = t_refi_ps."""
    t_rfc_ps: int
    """All-bank refresh."""
    t_controller_ps: int
    """Controller and PHY, request to response, added to every access."""

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "t_controller_ps" else 1
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{field.name} must be an integer from {least} up, not {value!r}")
        for name in ("banks", "row_bytes"):
            value = getattr(self, name)
            if value & value - 1 or value < 2:
                raise ValueError(f"{name} must be a power of two from 2 up, not {value}")
        if self.t_rfc_ps < self.t_faw_ps:
            raise ValueError(
                f"t_rfc_ps must be at least t_faw_ps, not {self.t_rfc_ps} < {self.t_faw_ps}"
            )
        need = self.t_rfc_ps + self.t_rp_ps + self.t_ras_ps + self.access_ps
        if self.t_refi_ps < need:
            raise ValueError(
                f"t_refi_ps must be at least {need} (a refresh and an access), not {self.t_refi_ps}"
            )

    @property
    def access_ps(self):
        """Activate to the end of the data of one access to a closed row."""
        return self.t_rcd_ps + max(self.t_cl_ps, self.t_cwl_ps) + self.t_beat_ps
