"""When each DRAM access is done: banks, rows and refresh in picoseconds. Simulation only."""

from itertools import pairwise

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.dram import DramTimes

__all__ = ["TIME_BITS", "DramPlanner"]

TIME_BITS = 64


class Bank(data.Struct):
    """State of a bank; its row is open only if it was opened after refresh number ``epoch``."""

    opened: 1
    epoch: 32
    row: 32
    column_from: TIME_BITS
    precharge_from: TIME_BITS


def later(left, right):
    """The later of two times."""
    return Mux(left > right, left, right)


def plus(time, duration_ps):
    """A sum that stays as wide as a time: simulators are slow on words of more than 64 bits."""
    return (time + duration_ps)[:TIME_BITS]


class DramPlanner(wiring.Component):
    """Plans one access a clock, first come first served, when it arrives.

    Banks work in parallel and the data bus is given out in order of arrival. Refresh number n (from
    1) takes all banks from n * tREFI for tRFC and closes them; an access whose data would not end
    before a refresh begins after it. Times are absolute, so it does not matter whether a clock ran
    while nothing came.

    Not modelled: read-to-write turnaround, bank groups, command bus conflicts, and reordering.

    Parameters
    ----------
    times : DramTimes
        Geometry and times.

    Members
    -------
    enable, write : In(1)
        An access arrives in this clock; it is a write.
    time : In(64)
        Now, in picoseconds.
    address : In(64)
        Its byte address.
    done : Out(64)
        In the same clock: the end of its data and of the controller's latency.
    hit : Out(1)
        It found its row open.
    refreshes : Out(32)
        Refreshes that have come before it (registered).
    """

    def __init__(self, times):
        if not isinstance(times, DramTimes):
            raise TypeError(f"Times must be DramTimes, not {times!r}")
        self._times = times
        super().__init__(
            {
                "enable": In(1),
                "write": In(1),
                "time": In(TIME_BITS),
                "address": In(64),
                "done": Out(TIME_BITS),
                "hit": Out(1),
                "refreshes": Out(32),
            }
        )

    @property
    def times(self):
        return self._times

    def _time(self, m, name, value):
        signal = Signal(TIME_BITS, name=name)
        m.d.comb += signal.eq(value)
        return signal

    def _bank(self, m):
        """Address split, and the state of the bank that it names."""
        times = self._times
        bank_bits, row_shift = (times.banks - 1).bit_length(), (times.row_bytes - 1).bit_length()
        m.submodules.banks = banks = memory.Memory(shape=Bank, depth=times.banks, init=[])
        read, write = banks.read_port(domain="comb"), banks.write_port()
        row = self.address[row_shift + bank_bits :][:32]
        m.d.comb += [
            read.addr.eq(self.address[row_shift:][:bank_bits]),
            write.addr.eq(read.addr),
            write.en.eq(self.enable),
            write.data.opened.eq(1),
            write.data.row.eq(row),
        ]
        return read.data, write.data, row

    def elaborate(self, platform):
        m = Module()
        times = self._times
        bank, new_bank, row = self._bank(m)
        epoch, now_epoch, new_epoch = self.refreshes, Signal(32), Signal(32)
        bus_free = Signal(TIME_BITS)
        activates = [Signal(TIME_BITS, name=f"activate{n}") for n in range(4)]
        seen = Signal(range(5))
        opened, fits = Signal(), Signal()
        latency = Mux(self.write, times.t_cwl_ps, times.t_cl_ps)
        m.d.comb += now_epoch.eq(later(self.time // times.t_refi_ps, epoch))
        refresh_end = plus(now_epoch * times.t_refi_ps, times.t_rfc_ps)
        start = self._time(m, "start", later(self.time, Mux(now_epoch == 0, 0, refresh_end)))
        m.d.comb += opened.eq(bank.opened & (bank.epoch == now_epoch))
        precharged = plus(later(start, bank.precharge_from), times.t_rp_ps)
        spaced = later(
            Mux(seen == 0, 0, plus(activates[0], times.t_rrd_ps)),
            Mux(seen != 4, 0, plus(activates[3], times.t_faw_ps)),
        )
        activate = self._time(m, "activate", later(Mux(opened, precharged, start), spaced))
        same_row = Signal()
        m.d.comb += same_row.eq(opened & (bank.row == row))
        column = Mux(same_row, later(start, bank.column_from), plus(activate, times.t_rcd_ps))
        begin = self._time(m, "begin", later(plus(column, latency), bus_free))
        next_refresh = self._time(
            m, "next_refresh", plus(now_epoch * times.t_refi_ps, times.t_refi_ps)
        )
        m.d.comb += fits.eq(plus(begin, times.t_beat_ps) <= next_refresh)
        # What does not fit waits for the refresh and opens its row anew; nothing is in its way.
        reopened = plus(next_refresh, times.t_rfc_ps)
        final_activate = self._time(m, "final_activate", Mux(fits, activate, reopened))
        final_begin = self._time(
            m, "final_begin", Mux(fits, begin, plus(reopened, times.t_rcd_ps + latency))
        )
        end = self._time(m, "end", plus(final_begin, times.t_beat_ps))
        recovered = self._time(
            m,
            "recovered",
            Mux(self.write, end + times.t_wr_ps, final_begin - times.t_cl_ps + times.t_rtp_ps),
        )
        m.d.comb += [
            self.hit.eq(same_row & fits),
            self.done.eq(plus(end, times.t_controller_ps)),
            new_epoch.eq(now_epoch + ~fits),
            new_bank.epoch.eq(new_epoch),
            new_bank.column_from.eq(
                Mux(self.hit, bank.column_from, plus(final_activate, times.t_rcd_ps))
            ),
            new_bank.precharge_from.eq(
                later(
                    recovered,
                    Mux(self.hit, bank.precharge_from, plus(final_activate, times.t_ras_ps)),
                )
            ),
        ]
        with m.If(self.enable):
            m.d.sync += [epoch.eq(new_epoch), bus_free.eq(end)]
            with m.If(~self.hit):
                m.d.sync += [activates[0].eq(final_activate), seen.eq(Mux(seen == 4, 4, seen + 1))]
                m.d.sync += [after.eq(before) for before, after in pairwise(activates)]
        return m
