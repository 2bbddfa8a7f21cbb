"""When each DRAM access is done: banks, rows and refresh in picoseconds. Simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.dram import DramTimes
from rtl.gather.dram_places import TIME_BITS, ActivatePlaces, DataPlaces, later, plus

__all__ = ["TIME_BITS", "DramPlanner"]


class Bank(data.Struct):
    """State of a bank; its row is open only if it was opened after refresh number ``epoch``."""

    opened: 1
    epoch: 32
    row: 32
    column_from: TIME_BITS
    precharge_from: TIME_BITS


class DramPlanner(wiring.Component):
    """Plans one access a clock, when it arrives; what is planned is never moved.

    Banks work in parallel. An access takes the earliest activate, and the earliest time on the data
    bus, that those planned before it leave free: it passes at most ``reorder`` of them, and none of
    its own ID and direction. So a row that is open goes before one that is not, and nothing waits
    for what came later. Refresh number n (from 1) takes all banks from n * tREFI for tRFC and
    closes them; an access whose data would not end before a refresh begins after it, and so do all
    that are planned later. Times are absolute, so it does not matter whether a clock ran while
    nothing came.

    Not modelled: command bus conflicts.

    Parameters
    ----------
    times : DramTimes
        Geometry and times.
    id_bits : int
        Width of an AXI ID.

    Members
    -------
    enable, write : In(1)
        An access arrives in this clock; it is a write.
    time : In(64)
        Now, in picoseconds.
    address : In(64)
        Its byte address.
    id : In(id_bits)
        Its AXI ID.
    done : Out(64)
        In the same clock: the end of its data and of the controller's latency.
    hit : Out(1)
        It found its row open.
    refreshes : Out(32)
        Refreshes that have come before it (registered).
    """

    def __init__(self, times, *, id_bits=2):
        if not isinstance(times, DramTimes):
            raise TypeError(f"Times must be DramTimes, not {times!r}")
        self._times = times
        self._id_bits = id_bits
        super().__init__(
            {
                "enable": In(1),
                "write": In(1),
                "time": In(TIME_BITS),
                "address": In(64),
                "id": In(id_bits),
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
        """Group and row of the address, and the state of the bank that it names."""
        m.submodules.banks = banks = memory.Memory(shape=Bank, depth=self._times.banks, init=[])
        read, write = banks.read_port(domain="comb"), banks.write_port()
        group, bank, row = self._times.place(self.address)
        m.d.comb += [
            read.addr.eq(bank),
            write.addr.eq(bank),
            write.en.eq(self.enable),
            write.data.opened.eq(1),
            write.data.row.eq(row),
        ]
        return read.data, write.data, group, row[:32]

    def _order(self, m, begin):
        """Earliest begin that keeps the order of the access's ID and direction."""
        m.submodules.begins = begins = memory.Memory(
            shape=TIME_BITS, depth=2 << self._id_bits, init=[]
        )
        read, write = begins.read_port(domain="comb"), begins.write_port()
        m.d.comb += [
            read.addr.eq(Cat(self.id, self.write)),
            write.addr.eq(read.addr),
            write.en.eq(self.enable),
            write.data.eq(begin),
        ]
        return Mux(read.data == 0, 0, plus(read.data, self._times.t_beat_ps))

    def elaborate(self, platform):
        m = Module()
        times = self._times
        m.submodules.activates = activates = ActivatePlaces(times)
        m.submodules.data = places = DataPlaces(times)
        bank, new_bank, group, row = self._bank(m)
        epoch, now_epoch, new_epoch = self.refreshes, Signal(32), Signal(32)
        opened, same_row, fits = Signal(), Signal(), Signal()
        latency = Mux(self.write, times.t_cwl_ps, times.t_cl_ps)
        m.d.comb += now_epoch.eq(later(self.time // times.t_refi_ps, epoch))
        refresh_end = plus(now_epoch * times.t_refi_ps, times.t_rfc_ps)
        start = self._time(m, "start", later(self.time, Mux(now_epoch == 0, 0, refresh_end)))
        precharged = plus(later(start, bank.precharge_from), times.t_rp_ps)
        activate, begin = activates.found, places.found
        column = Mux(same_row, later(start, bank.column_from), plus(activate, times.t_rcd_ps))
        final_begin = Signal(TIME_BITS)
        m.d.comb += [
            opened.eq(bank.opened & (bank.epoch == now_epoch)),
            same_row.eq(opened & (bank.row == row)),
            activates.ready.eq(Mux(opened, precharged, start)),
            activates.kind.group.eq(group),
            places.ready.eq(later(plus(column, latency), self._order(m, final_begin))),
            places.kind.group.eq(group),
            places.kind.write.eq(self.write),
        ]
        next_refresh = self._time(
            m, "next_refresh", plus(now_epoch * times.t_refi_ps, times.t_refi_ps)
        )
        m.d.comb += fits.eq(plus(begin, times.t_beat_ps) <= next_refresh)
        # What does not fit waits for the refresh and opens its row anew; nothing is in its way.
        reopened = self._time(m, "reopened", plus(next_refresh, times.t_rfc_ps))
        final_activate = self._time(m, "final_activate", Mux(fits, activate, reopened))
        m.d.comb += final_begin.eq(
            Mux(fits, begin, plus(reopened, times.t_rcd_ps + latency)),
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
            places.put.eq(self.enable),
            activates.put.eq(self.enable & ~self.hit),
        ]
        for listed, time in ((places, final_begin), (activates, final_activate)):
            m.d.comb += [listed.last.eq(~fits), listed.at.eq(time)]
        with m.If(self.enable):
            m.d.sync += epoch.eq(new_epoch)
        return m
