"""When a DRAM access is done: the rules of ``rtl.contract.dram``, kept in plain integers."""

from dataclasses import dataclass, field

from rtl.contract.dram import DramTimes

__all__ = ["DDR4", "DramModel"]

DDR4 = DramTimes(
    banks=16,
    row_bytes=8192,
    t_beat_ps=4_156,
    t_cl_ps=14_160,
    t_cwl_ps=10_000,
    t_rcd_ps=14_160,
    t_rp_ps=14_160,
    t_ras_ps=32_000,
    t_rtp_ps=7_500,
    t_wr_ps=15_000,
    t_rrd_ps=3_333,
    t_faw_ps=21_000,
    t_refi_ps=7_800_000,
    t_rfc_ps=350_000,
    t_controller_ps=50_000,
)
"""Times of the kind that a platform has: nothing is a multiple of the clock."""


@dataclass
class _Bank:
    row: int = -1
    column_from: int = 0
    precharge_from: int = 0


@dataclass
class DramModel:
    """First come, first served; each access is planned when it arrives, ``time_ps`` ascending."""

    times: object
    hits: int = 0
    misses: int = 0
    refreshes: int = 0
    bus_free: int = 0
    activates: list = field(default_factory=list)
    epoch: int = 0

    def __post_init__(self):
        self._close()

    def _close(self):
        self.banks = [_Bank() for _ in range(self.times.banks)]

    def access(self, time_ps, address, *, write=False):
        """End of the access's data on the bus, controller included."""
        times = self.times
        place = address // times.row_bytes
        bank, row = place % times.banks, place // times.banks
        if time_ps // times.t_refi_ps > self.epoch:
            self._refresh(time_ps // times.t_refi_ps)
        end, column, activate = self._plan(
            self.banks[bank], row, max(time_ps, self._floor()), write
        )
        if end > (self.epoch + 1) * times.t_refi_ps:
            self._refresh(self.epoch + 1)
            end, column, activate = self._plan(self.banks[bank], row, self._floor(), write)
        self._commit(self.banks[bank], row, end, column, activate, write)
        return end + times.t_controller_ps

    def _floor(self):
        return self.epoch * self.times.t_refi_ps + self.times.t_rfc_ps if self.epoch else 0

    def _refresh(self, epoch):
        self.refreshes += epoch - self.epoch
        self.epoch = epoch
        self._close()

    def _plan(self, bank, row, start, write):
        times = self.times
        activate = None
        if bank.row == row:
            column = max(start, bank.column_from)
        else:
            activate = start
            if bank.row >= 0:
                activate = max(start, bank.precharge_from) + times.t_rp_ps
            if self.activates:
                activate = max(activate, self.activates[-1] + times.t_rrd_ps)
            if len(self.activates) >= 4:
                activate = max(activate, self.activates[-4] + times.t_faw_ps)
            column = activate + times.t_rcd_ps
        latency = times.t_cwl_ps if write else times.t_cl_ps
        data = max(column + latency, self.bus_free)
        return data + times.t_beat_ps, data - latency, activate

    def _commit(self, bank, row, end, column, activate, write):
        times = self.times
        self.bus_free = end
        if activate is None:
            self.hits += 1
        else:
            self.misses += 1
            self.activates = [*self.activates[-3:], activate]
            bank.row = row
            bank.column_from = activate + times.t_rcd_ps
            bank.precharge_from = activate + times.t_ras_ps
        recovery = end + times.t_wr_ps if write else column + times.t_rtp_ps
        bank.precharge_from = max(bank.precharge_from, recovery)
