# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""A flash channel whose bus is watched by a :class:`BusMonitor`; simulation only."""

from amaranth.hdl import Cat, ClockSignal, Instance, ResetSignal, Signal, Value
from amaranth.lib.data import Layout
from amaranth.lib.wiring import In

from rtl.contract.channel import ArrayDone
from rtl.emit import CHANNEL_MODULE, DIE_MODULE, emit_component
from rtl.nand.bus_monitor import BusMonitor
from rtl.nand.unit import FlashChannelUnit

__all__ = ["MONITOR_MODULE", "MonitoredChannelUnit", "emit_monitored_channel"]

MONITOR_MODULE = "flash_bus_monitor"
ARRAY_DONE = Layout.cast(ArrayDone)


class MonitoredChannelUnit(FlashChannelUnit):
    """The unit as it is, and beside its parts the submodule ``monitor`` with its ``counts``.

    Parameters
    ----------
    turn, transfer : int
        As in :class:`BusMonitor`; all others as in :class:`FlashChannelUnit`.
    """

    def __init__(
        self, part, *, ways, phases=2, slots=2, turn, transfer=1, emitted=False, **options
    ):
        super().__init__(part, ways=ways, phases=phases, slots=slots, emitted=emitted, **options)
        self._is_emitted = emitted
        self._places = [(way, lun) for way in range(ways) for lun in range(part.luns)]
        self.monitor = BusMonitor(
            part, ways=ways, phases=phases, slots=slots, turn=turn, transfer=transfer
        )

    def elaborate(self, platform):
        m = super().elaborate(platform)
        monitor = self.monitor
        if self._is_emitted:
            members = monitor.signature.members
            pins = {
                f"{'i' if member.flow is In else 'o'}_{name}": Value.cast(getattr(monitor, name))
                for name, member in members.items()
            }
            m.submodules.monitor = Instance(
                MONITOR_MODULE, i_clk=ClockSignal(), i_rst=ResetSignal(), **pins
            )
        else:
            m.submodules.monitor = monitor
        phy = self.controller.phy
        for name in ("ce_n", "cle", "ale", "we_n", "re_n"):
            m.d.comb += getattr(monitor, name).eq(getattr(phy, name))
        toggle_before = Signal()
        m.d.sync += toggle_before.eq(self.command_toggle)
        is_new = toggle_before ^ self.command_toggle
        m.d.comb += [
            monitor.dq_o.eq(phy.dq_o[:8]),
            monitor.dq_i.eq(phy.dq_i[:8]),
            monitor.landing_ready.eq(self.landing.ready),
            monitor.handed_over.eq(
                Cat(
                    *(
                        is_new & (self.command.way == way) & (self.command.lun == lun)
                        for way, lun in self._places
                    )
                )
            ),
            monitor.sensed.eq(
                Cat(
                    *(
                        self.array_done[ARRAY_DONE.size * place + ARRAY_DONE["toggle"].offset]
                        for place in range(len(self._places))
                    )
                )
            ),
        ]
        return m


def emit_monitored_channel(folder, part, **options):
    """Write the unit to ``folder`` under the module names that :func:`emit_channel` uses.

    ``options`` are those of :class:`MonitoredChannelUnit`. Beside the files of
    :func:`emit_channel` there is ``flash_bus_monitor.v``.
    """
    unit = MonitoredChannelUnit(part, emitted=True, **options)
    for component, name in (
        (unit.die, DIE_MODULE),
        (unit.monitor, MONITOR_MODULE),
        (unit, CHANNEL_MODULE),
    ):
        emit_component(folder / f"{name}.v", component, name)
