"""When a DRAM access is done: the rules of ``rtl.contract.dram``, kept in plain integers."""

import random
from bisect import insort
from dataclasses import dataclass, field, replace

from rtl.contract.dram import SETTLED, DramTimes

__all__ = ["ACCESSES", "DDR4", "PLANNED", "ROUND", "DramModel", "planned"]

DDR4 = DramTimes(
    banks=16,
    groups=4,
    row_bytes=8192,
    t_beat_ps=4_156,
    t_ccd_l_ps=5_000,
    t_cl_ps=14_160,
    t_cwl_ps=10_000,
    t_rcd_ps=14_160,
    t_rp_ps=14_160,
    t_ras_ps=32_000,
    t_rtp_ps=7_500,
    t_wr_ps=15_000,
    t_rrd_ps=3_333,
    t_rrd_l_ps=4_900,
    t_faw_ps=21_000,
    t_refi_ps=7_800_000,
    t_rfc_ps=350_000,
    t_wtr_s_ps=2_500,
    t_wtr_l_ps=7_500,
    t_rtw_ps=1_667,
    t_controller_ps=50_000,
    turn=16,
    reorder=4,
)
"""Times of the kind that a platform has: nothing is a multiple of the clock."""

ROUND = DramTimes(
    banks=4,
    groups=1,
    row_bytes=1024,
    t_beat_ps=4_000,
    t_ccd_l_ps=4_000,
    t_cl_ps=14_000,
    t_cwl_ps=10_000,
    t_rcd_ps=13_000,
    t_rp_ps=12_000,
    t_ras_ps=32_000,
    t_rtp_ps=7_000,
    t_wr_ps=15_000,
    t_rrd_ps=3_000,
    t_rrd_l_ps=3_000,
    t_faw_ps=21_000,
    t_refi_ps=1_000_000,
    t_rfc_ps=100_000,
    t_wtr_s_ps=2_000,
    t_wtr_l_ps=6_000,
    t_rtw_ps=1_000,
    t_controller_ps=0,
    turn=1,
    reorder=0,
)
"""Round numbers, so that sums can be followed; one group, in order."""


@dataclass
class _Bank:
    row: int = -1
    column_from: int = 0
    precharge_from: int = 0


@dataclass
class DramModel:
    """Each access is planned when it arrives, ``time_ps`` ascending, and never moved again.

    It takes the earliest place for its activate, and then for its data, that those planned before
    leave free. It passes at most ``reorder`` of them, and none of its own ID and direction.
    """

    times: object
    hits: int = 0
    misses: int = 0
    refreshes: int = 0
    passed: int = 0
    """Accesses whose data is later than that of one planned after them."""
    turns: int = 0
    """Times that the bus turned, in the order of planning."""
    epoch: int = 0
    was_write: bool = False
    data: list = field(default_factory=list)
    """(begin, write, group) of the latest places on the data bus, sorted."""
    activates: list = field(default_factory=list)
    """(time, group), sorted."""
    of_id: dict = field(default_factory=dict)
    """Begin of the last access of each (write, id)."""

    def __post_init__(self):
        self._close()

    def _close(self):
        self.banks = [_Bank() for _ in range(self.times.banks)]

    def access(self, time_ps, address, *, write=False, id=0):
        """End of the access's data on the bus, controller included."""
        times = self.times
        group, number, row = times.place(address)
        if time_ps // times.t_refi_ps > self.epoch:
            self._refresh(time_ps // times.t_refi_ps)
        order = self.of_id.get((write, id), -times.t_beat_ps) + times.t_beat_ps
        plan = self._plan(number, row, max(time_ps, self._floor()), write, group, order)
        if plan[0] + times.t_beat_ps > (self.epoch + 1) * times.t_refi_ps:
            self._refresh(self.epoch + 1)
            plan = self._plan(number, row, self._floor(), write, group, order)
        begin, activate = plan
        self.passed += sum(other > begin for other, *_ in self.data)
        self.turns += self.of_id != {} and self.was_write != write
        self.was_write = write
        self.of_id[write, id] = begin
        self._commit(self.banks[number], row, begin, activate, write, group)
        return begin + times.t_beat_ps + times.t_controller_ps

    def _floor(self):
        return self.epoch * self.times.t_refi_ps + self.times.t_rfc_ps if self.epoch else 0

    def _refresh(self, epoch):
        self.refreshes += epoch - self.epoch
        self.epoch = epoch
        self._close()

    def _plan(self, number, row, start, write, group, order):
        """Begin of the data, and the activate that it needs, or None."""
        times, bank, activate = self.times, self.banks[number], None
        if bank.row == row:
            column = max(start, bank.column_from)
        else:
            ready = start if bank.row < 0 else max(start, bank.precharge_from) + times.t_rp_ps
            activate = self._earliest(self.activates, ready, self._activates_fit, group)
            column = activate + times.t_rcd_ps
        ready = max(column + (times.t_cwl_ps if write else times.t_cl_ps), order)
        begin = self._earliest(self.data, ready, self._data_fit, write, group)
        return begin, activate

    def _earliest(self, taken, ready, fit, *kind):
        """Earliest time from ``ready`` on at which one more fits between those that are taken.

        The answer is ``ready`` itself, or as far behind one of the others as some rule asks for.
        """
        times, most = self.times, len(taken) - self.times.reorder
        steps = {times.t_rrd_ps, times.t_rrd_l_ps, times.t_faw_ps} | {
            times.apart_ps(first, second, same_group=same)
            for first in (False, True) for second in (False, True) for same in (False, True)
        }  # fmt: skip
        candidates = {ready} | {other[0] + step for other in taken for step in steps}
        for time in sorted(candidates):
            before = sum(other[0] < time for other in taken)
            if time >= ready and before >= most and fit(time, *kind):
                return time
        raise AssertionError("behind all others there is always a place")

    def _activates_fit(self, time, group):
        times = self.times
        for other, other_group in self.activates:
            apart = max(times.t_rrd_ps, times.t_rrd_l_ps if other_group == group else 0)
            if abs(time - other) < apart:
                return False
        row = sorted([time, *(other for other, _ in self.activates)])
        return all(
            fifth - first >= times.t_faw_ps for first, fifth in zip(row, row[4:], strict=False)
        )

    def _data_fit(self, time, write, group):
        for other, other_write, other_group in self.data:
            same = other_group == group
            if other <= time:
                if time - other < self.times.apart_ps(other_write, write, same_group=same):
                    return False
            elif other - time < self.times.apart_ps(write, other_write, same_group=same):
                return False
        return True

    def _commit(self, bank, row, begin, activate, write, group):
        times = self.times
        insort(self.data, (begin, write, group))
        del self.data[: -(times.reorder + SETTLED)]
        if activate is None:
            self.hits += 1
        else:
            self.misses += 1
            insort(self.activates, (activate, group))
            del self.activates[: -(times.reorder + SETTLED)]
            bank.row = row
            bank.column_from = activate + times.t_rcd_ps
            bank.precharge_from = activate + times.t_ras_ps
        end = begin + times.t_beat_ps
        recovery = end + times.t_wr_ps if write else begin - times.t_cl_ps + times.t_rtp_ps
        bank.precharge_from = max(bank.precharge_from, recovery)


PLANNED = (
    replace(DDR4, reorder=0, groups=1, t_refi_ps=1_000_000, row_bytes=1024),
    replace(DDR4, reorder=3, groups=2, t_refi_ps=1_000_000, t_faw_ps=60_000, row_bytes=1024),
    replace(DDR4, reorder=8, t_refi_ps=1_000_000, t_faw_ps=60_000, row_bytes=1024),
)
"""Devices on which random accesses are compared: in order, and out of it."""
ACCESSES = 2000
"""As many are compared in an HDL simulator."""


def planned(times, count, *, seed):
    """Random (time, address, write, id), what the model says of each (done, hit), and the model."""
    rng, model = random.Random(seed), DramModel(times)
    time, accesses, expected, write = 0, [], [], 0
    for _ in range(count):
        time += rng.choice([2, 4_000, 4_000, 4_000, 6_000, rng.choice([30_000, 300_000])])
        address = rng.randrange(64) * rng.choice([64, 512, 8192])
        write ^= rng.random() < 0.2
        accesses.append((time, address, write, rng.randrange(4)))
        hits = model.hits
        end = model.access(time, address, write=bool(write), id=accesses[-1][3])
        expected.append((end, model.hits - hits))
    return accesses, expected, model
