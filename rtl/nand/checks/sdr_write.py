"""Rules about data to a die on an SDR bus, where each byte has a pulse of WE#."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import FEATURE_BYTES
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import age, rule_bits
from rtl.nand.checks.sequence import COLUMN_BITS

__all__ = ["SdrWriteCheck"]


class SdrWriteCheck(wiring.Component):
    """Rules T_ADL, T_CCS_WRITE, WRITE_SOURCE, WRITE_LENGTH and WRITE_PAGE_END.

    ONFI 3.1, section 4.15 (tADL, tCCS: from rise to rise of WE#). The pulses themselves are those
    of commands: :class:`rtl.nand.checks.pins.PinCheck`.

    Parameters
    ----------
    part, period_ps
        As for :class:`rtl.nand.checker.BusChecker`.

    Members
    -------
    selected, written, cle, ale, now : In
        A CE# is low; WE# rises; the pins, and the number of the edge that ends this clock.
    request, column, takes_data, is_more, is_feature : In
        From :class:`rtl.nand.checks.operation_sequence.OperationSequence`.
    done, end : Out(1)
        The last byte of a feature is there; no more data comes.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, period_ps):
        self._part = part
        self._period_ps = period_ps
        super().__init__(
            {
                "selected": In(1),
                "written": In(1),
                "cle": In(1),
                "ale": In(1),
                "now": In(STAMP_BITS),
                "request": In(Request),
                "column": In(COLUMN_BITS),
                "takes_data": In(1),
                "is_more": In(1),
                "is_feature": In(1),
                "done": Out(1),
                "end": Out(1),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        part = self._part
        addressed, position = Signal(STAMP_BITS), Signal(COLUMN_BITS + 1)
        any_data, is_odd = Signal(), Signal()
        with m.Switch(self.request):
            with m.Case(Request.LOAD, Request.LOAD_MORE):
                m.d.sync += [addressed.eq(self.now), position.eq(self.column)]
            with m.Case(Request.FEATURE_ADDRESS):
                m.d.sync += [addressed.eq(self.now), position.eq(0)]
        with m.If(self.written & ~self.cle & ~self.ale):
            m.d.sync += [position.eq(position + 1), any_data.eq(1), is_odd.eq(~is_odd)]
            m.d.comb += [
                self.done.eq(self.is_feature & (position == FEATURE_BYTES - 1)),
                self.broken.write_source.eq(~self.takes_data),
                self.broken.write_page_end.eq(position >= part.raw_page_bytes),
            ]
            with m.If(self.takes_data & ~any_data):
                waited = age(self.now, addressed)
                times = {"ccs": part.t_ccs_ps, "adl": part.extended.t_adl_ps}
                short = {
                    name: waited < cycles(time, self._period_ps) for name, time in times.items()
                }
                with m.If(self.is_more):
                    m.d.comb += self.broken.t_ccs_write.eq(short["ccs"])
                with m.Else():
                    m.d.comb += self.broken.t_adl.eq(short["adl"])
        with m.Elif(any_data & (self.cle | self.ale | ~self.selected)):
            m.d.sync += [any_data.eq(0), is_odd.eq(0)]
            is_whole = ~self.is_feature | (position == FEATURE_BYTES)
            m.d.comb += [self.end.eq(1), self.broken.write_length.eq(is_odd | ~is_whole)]
        return m
