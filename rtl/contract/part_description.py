"""All that is known of one NAND part: the array, and bus times for every interface and mode.

One description serves every clock: the bus times of a mode are ONFI's, but for those that the part
asks for otherwise; ``rtl.contract.interface_timing`` makes clocks of them.
"""

from dataclasses import dataclass, fields, replace

from rtl.contract.bus_times import Interface
from rtl.contract.interface_timing import interface_timing
from rtl.contract.nand_array import NandArrayTimes, NandGeometry, Polls, SuspendOpcodes
from rtl.contract.nand_part import ExtendedTimes, NandPart
from rtl.contract.onfi_modes import onfi_mode

__all__ = ["InterfaceSupport", "PartDescription"]

_PLAIN_TIMES = (
    *("t_wc_ps", "t_wp_ps", "t_wh_ps", "t_cs_ps", "t_ch_ps", "t_wb_ps", "t_rr_ps"),
    *("t_whr_ps", "t_ccs_ps", "t_rhw_ps", "t_rpre_ps", "t_dqsre_ps"),
)
_WRITE_TIMES = ("t_adl_ps", "t_wpre_ps", "t_wpst_ps")
_ARRAY_TIMES = ("t_prog_ps", "t_bers_ps", "t_cbsy_ps", "t_rcbsy_ps", "t_feat_ps")
"""Times that :class:`NandPart` and :class:`ExtendedTimes` have under the same names."""


@dataclass(frozen=True, kw_only=True)
class InterfaceSupport:
    """What a part says of one data interface.

    Raises
    ------
    ValueError
        If there is no mode, a mode twice or none of ONFI's, or if a time is not one of the
        interface's or makes a mode contradict itself.
    """

    interface: Interface
    modes: tuple[int, ...]
    """Timing modes that it runs in."""
    times: tuple[tuple[str, int], ...] = ()
    """Names and picoseconds, or a dict of them, that it asks for instead of ONFI's."""

    def __post_init__(self):
        if not self.modes or len(set(self.modes)) != len(self.modes):
            raise ValueError(f"modes must be different ones, at least one, not {list(self.modes)}")
        object.__setattr__(self, "times", tuple(sorted(dict(self.times).items())))
        for mode in self.modes:
            self.of_mode(mode)

    def of_mode(self, mode):
        """Bus times of timing mode ``mode``.

        Raises
        ------
        ValueError
            If the part does not run in it.
        """
        standard = onfi_mode(self.interface, mode)
        if mode not in self.modes:
            raise ValueError(
                f"Timing mode of {self.interface.value} must be one of the part's, "
                f"{', '.join(map(str, self.modes))}, not {mode}"
            )
        known = {one.name for one in fields(standard)} - {"mode"}
        for name, _ in self.times:
            if name not in known:
                raise ValueError(f"{name} must be a time of {self.interface.value}, and is not")
        return replace(standard, **dict(self.times))


@dataclass(frozen=True, kw_only=True)
class PartDescription:
    """One NAND part.

    Raises
    ------
    ValueError
        If it has no SDR mode 0, in which every part wakes up, an interface is described twice, a
        first poll comes before R/B# must have fallen, or a suspend takes longer than what it
        suspends.
    """

    name: str
    geometry: NandGeometry
    array: NandArrayTimes
    polls: Polls
    interfaces: tuple[InterfaceSupport, ...]
    suspend: SuspendOpcodes | None = None

    def __post_init__(self):
        described = [support.interface for support in self.interfaces]
        if len(set(described)) != len(described):
            raise ValueError("interfaces must be described once each")
        if Interface.SDR not in described or 0 not in self._support(Interface.SDR).modes:
            raise ValueError("modes of sdr must have 0, in which every part wakes up")
        self._check_polls()
        self._check_suspend()

    def _check_polls(self):
        slowest = max(
            support.of_mode(mode).t_wb_ps for support in self.interfaces for mode in support.modes
        )
        for one in fields(self.polls):
            first = getattr(self.polls, one.name).first_ps
            if first < slowest:
                raise ValueError(
                    f"first_ps of {one.name} must be at least tWB, not {first} < {slowest}"
                )

    def _check_suspend(self):
        if self.suspend is not None:
            self.suspend.check(self.array)

    def _support(self, interface):
        for support in self.interfaces:
            if support.interface is interface:
                return support
        has = ", ".join(support.interface.value for support in self.interfaces)
        raise ValueError(f"Interface must be one of {self.name}'s, {has}, not {interface.value}")

    def bus_times(self, interface, mode):
        """Bus times of one timing mode, in picoseconds.

        Raises
        ------
        ValueError
            If the part has no such interface or mode.
        """
        return self._support(interface).of_mode(mode)

    def timing(self, interface, mode, period_ps, phases=None):
        """The fastest clocks of one timing mode; see :func:`interface_timing`."""
        return interface_timing(self.bus_times(interface, mode), period_ps, phases)

    def nand_part(self, timing):
        """The part as the controller and the dies of NV-DDR2 take it, at one timing.

        These have one busy time for all plane commands and one for all resets: the longest.

        Raises
        ------
        ValueError
            If the timing is not of NV-DDR2.
        """
        times, geometry, array = timing.times, self.geometry, self.array
        if times.interface is not Interface.NV_DDR2:
            raise ValueError(f"Timing must be of nv-ddr2, not of {times.interface.value}")
        return NandPart(
            name=self.name,
            page_bytes=geometry.page_bytes,
            spare_bytes=geometry.spare_bytes,
            pages_per_block=geometry.pages_per_block,
            blocks_per_lun=geometry.blocks_per_lun,
            luns=geometry.luns,
            planes=geometry.planes,
            t_r_ps=array.t_r_ps,
            t_cals_ps=max(times.t_cals_ps, times.t_cas_ps),
            t_cah_ps=max(times.t_cah_ps, times.t_calh_ps),
            t_rpst_ps=times.t_dqsre_ps + timing.period_ps // timing.phases,
            poll_first_ps=self.polls.read.first_ps,
            poll_period_ps=self.polls.read.period_ps,
            program_poll=self.polls.program,
            erase_poll=self.polls.erase,
            suspend=self.suspend,
            **{name: getattr(times, name) for name in _PLAIN_TIMES},
            extended=ExtendedTimes(
                t_dbsy_ps=max(array.t_plrbsy_ps, array.t_plpbsy_ps, array.t_plebsy_ps),
                t_rst_ps=array.t_rst_erase_ps,
                **{name: getattr(times, name) for name in _WRITE_TIMES},
                **{name: getattr(array, name) for name in _ARRAY_TIMES},
            ),
        )
