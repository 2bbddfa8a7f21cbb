"""Rules about RE# on an SDR bus, where each byte has a pulse of it."""

from amaranth.hdl import Const, Mux, Signal

from rtl.contract.interface_timing import EDO_LIMIT_PS
from rtl.contract.nand_part import cycles
from rtl.nand.checks.burst import BurstCheck
from rtl.nand.checks.operation_burst import OperationBurst
from rtl.nand.checks.rules import age, stamp

__all__ = ["SdrBurstCheck", "SdrOperationBurst"]


class _SdrShape:
    """Rules T_RC to READ_WINDOW, and BURST_LENGTH; ONFI 3.1, sections 4.3 and 4.15.

    A burst is what lies between the first fall of RE# and CE# high. Data holds for tRHOH after RE#
    has risen, but if it falls again within 30 ns of its last fall, for tRLOH after that; hold times
    are rounded down. ``last_data`` is the last rise of RE#.
    """

    def _sdr_limit(self, name):
        return cycles(getattr(self._part.sdr, f"t_{name}_ps"), self._period_ps)

    def _check_shape(self, m):
        selected, level = Signal(), Signal(init=1)
        fall, rise, is_odd = Signal(), Signal(), Signal()
        fell, rose = stamp("fell"), stamp("rose")
        self._edges = Const(1, 1)
        m.d.sync += level.eq(self.re_n)
        m.d.comb += [
            selected.eq(~self.ce_n.all()),
            fall.eq(selected & level & ~self.re_n),
            rise.eq(~level & self.re_n),
            self.reading.eq(~self.re_n),
            self.start.eq(fall & ~self.bursting),
            self.last_data.eq(rose),
        ]
        with m.If(fall):
            m.d.sync += [fell.eq(self.now), is_odd.eq(~is_odd), self.bursting.eq(1)]
            with m.If(self.bursting):
                self._check_fall(m, fell, rose)
        with m.If(rise):
            m.d.sync += rose.eq(self.now)
            m.d.comb += self.broken.t_rp.eq(age(self.now, fell) < self._sdr_limit("rp"))
        with m.If(self.bursting & ~selected):
            m.d.sync += [self.bursting.eq(0), is_odd.eq(0)]
            captured = self._sdr_limit("rea")
            low = age(Mux(rise, self.now, rose), fell)
            m.d.comb += [
                self.broken.burst_length.eq(is_odd | ~self.re_n),
                self.broken.read_window.eq(
                    (low + self._hold("rhoh") < captured) | (age(self.now, fell) < captured)
                ),
            ]
        return fall

    def _hold(self, name):
        return getattr(self._part.sdr, f"t_{name}_ps") // self._period_ps

    def _check_fall(self, m, fell, rose):
        cycle, captured = age(self.now, fell), self._sdr_limit("rea")
        is_short = cycle < cycles(EDO_LIMIT_PS, self._period_ps)
        holds = Mux(is_short, cycle + self._hold("rloh"), age(rose, fell) + self._hold("rhoh"))
        m.d.comb += [
            self.broken.t_rc.eq(cycle < self._sdr_limit("rc")),
            self.broken.t_reh.eq(age(self.now, rose) < self._sdr_limit("reh")),
            self.broken.read_window.eq(holds < captured),
        ]


class SdrBurstCheck(_SdrShape, BurstCheck):
    """As :class:`BurstCheck`, for plain reads."""


class SdrOperationBurst(_SdrShape, OperationBurst):
    """As :class:`OperationBurst`, for all operations."""
