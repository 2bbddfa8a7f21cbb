"""All that is known of one NAND part: the array, and bus times for every interface and mode.

One description serves every clock: the bus times of a mode are ONFI's, but for those that the part
asks for otherwise; ``rtl.contract.interface_timing`` makes clocks of them.
"""

from dataclasses import dataclass, fields, replace

from rtl.contract.bus_times import Interface
from rtl.contract.interface_timing import interface_timing
from rtl.contract.nand_array import NandArrayTimes, NandGeometry, Polls, SuspendOpcodes
from rtl.contract.nand_part import ExtendedTimes, NandPart, SdrReadTimes
from rtl.contract.onfi_modes import onfi_mode

__all__ = ["InterfaceSupport", "PartDescription"]

_COMMON_TIMES = ("t_cs_ps", "t_ch_ps", "t_wb_ps", "t_rr_ps", "t_whr_ps", "t_ccs_ps", "t_rhw_ps")
_WRITE_CYCLE = ("t_wc_ps", "t_wp_ps", "t_wh_ps")
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
        """The part as controller, dies and checker take it, at one timing.

        These have one busy time for all plane commands and one for all resets: the longest. What
        an interface counts in periods of its CLK is as long as they are at this timing.
        """
        geometry, array = self.geometry, self.array
        bus, writes = _BUS[timing.times.interface](timing)
        return NandPart(
            name=self.name,
            page_bytes=geometry.page_bytes,
            spare_bytes=geometry.spare_bytes,
            pages_per_block=geometry.pages_per_block,
            blocks_per_lun=geometry.blocks_per_lun,
            luns=geometry.luns,
            planes=geometry.planes,
            t_r_ps=array.t_r_ps,
            poll_first_ps=self.polls.read.first_ps,
            poll_period_ps=self.polls.read.period_ps,
            program_poll=self.polls.program,
            erase_poll=self.polls.erase,
            suspend=self.suspend,
            **bus,
            extended=ExtendedTimes(
                t_dbsy_ps=max(array.t_plrbsy_ps, array.t_plpbsy_ps, array.t_plebsy_ps),
                t_rst_ps=array.t_rst_erase_ps,
                **writes,
                **{name: getattr(array, name) for name in _ARRAY_TIMES},
            ),
        )


def _named(times, *names):
    return {name: getattr(times, name) for name in names}


def _sdr_bus(timing):
    """Bus times of reads, and of data to a die, as :class:`NandPart` has them."""
    times = timing.times
    reads = [one.name for one in fields(SdrReadTimes)]
    bus = _named(times, *_COMMON_TIMES, *_WRITE_CYCLE) | {
        "t_cals_ps": max(times.t_cls_ps, times.t_als_ps, times.t_ds_ps),
        "t_cah_ps": max(times.t_clh_ps, times.t_alh_ps, times.t_dh_ps),
        "sdr": SdrReadTimes(**_named(times, *reads)),
    }
    return bus, {"t_adl_ps": times.t_adl_ps, "t_wpre_ps": None, "t_wpst_ps": None}


def _nv_ddr2_bus(timing):
    """The same of NV-DDR2."""
    times = timing.times
    names = (*_COMMON_TIMES, *_WRITE_CYCLE, "t_rpre_ps", "t_dqsre_ps")
    bus = _named(times, *names) | {
        "t_cals_ps": max(times.t_cals_ps, times.t_cas_ps),
        "t_cah_ps": max(times.t_calh_ps, times.t_cah_ps),
        "t_rpst_ps": times.t_dqsre_ps + timing.period_ps // timing.phases,
    }
    return bus, _named(times, "t_adl_ps", "t_wpre_ps", "t_wpst_ps")


def _nv_ddr_bus(timing):
    """The same of NV-DDR, whose events are whole periods of CLK apart."""
    period_ps = timing.period_ps
    clocks = {
        "t_wc_ps": timing.command_low + timing.command_high,
        "t_wp_ps": timing.command_low,
        "t_wh_ps": timing.command_high,
        "t_cs_ps": timing.select_to_command,
        "t_ch_ps": timing.command_to_deselect,
        "t_wb_ps": timing.confirm_to_busy,
        "t_rr_ps": timing.ready_to_data_out,
        "t_whr_ps": timing.command_to_data_out,
        "t_ccs_ps": timing.column_to_data,
        "t_rhw_ps": timing.data_out_to_command,
        "t_rpre_ps": timing.read_preamble,
        "t_rpst_ps": timing.read_postamble,
        "t_dqsre_ps": timing.response,
    }
    times = timing.times
    bus = {name: count * period_ps for name, count in clocks.items()} | {
        "t_cals_ps": max(times.t_cals_ps, times.t_cas_ps),
        "t_cah_ps": max(times.t_calh_ps, times.t_cah_ps),
    }
    # WE# of the confirm cycle falls when the postamble is over, and its rise is on CLK again.
    strobe = timing.write_preamble + timing.write_postamble + timing.command_low
    writes = {
        "t_adl_ps": timing.address_to_data_in,
        "t_wpre_ps": timing.write_preamble,
        "t_wpst_ps": timing.write_postamble + -strobe % timing.clock_ratio,
    }
    return bus, {name: count * period_ps for name, count in writes.items()}


_BUS = {
    Interface.SDR: _sdr_bus,
    Interface.NV_DDR: _nv_ddr_bus,
    Interface.NV_DDR2: _nv_ddr2_bus,
}
