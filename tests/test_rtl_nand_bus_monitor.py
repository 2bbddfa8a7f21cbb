# amaranth: UnusedElaboratable=no
"""The bus monitor: every clock has one cause, counted against sums made by hand."""

from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from rtl.contract.bus_causes import IDLE, BusCause
from rtl.nand.bus_monitor import BusMonitor
from rtl.nand.monitored_unit import MonitoredChannelUnit
from tests.nand_bench import UnitBench
from tests.scenarios.nand import TINY, TINY_SDR, TINY_TWO_LUNS
from tests.scenarios.nand_reads import Read

pytestmark = pytest.mark.slow

# TINY at 10 ns: tWC 3 clocks, tWP 2, tCS 3, tCH 2, tWB 10, tWHR 6, tCCS 10, tRHW 10, tRPRE 2,
# tRPST 3, tDQSRE 3, tR 200 and a bit.
SEVEN_CYCLES = 6 * 3 + 2
FOUR_CYCLES = 3 * 3 + 2
TURN = 10 - 1 - 1  # tRHW from the clock of the last data edge; CE# low 1 clock before WE# (tCS)


class MonitorBench(UnitBench):
    """The bench with a monitored unit; ``causes`` after the run."""

    def __init__(self, part, ways, *, turn=TURN, transfer=1, **options):
        unit = partial(MonitoredChannelUnit, turn=turn, transfer=transfer)
        super().__init__(part, ways, unit=unit, **options)
        self.history = []

    def run(self, reads, **options):
        completions = super().run(reads, **options)
        self.causes = self.counts(-1)
        return completions

    def counts(self, edge):
        """Clocks by cause up to the one that ``edge`` begins, without causes that have none."""
        bits = len(self.unit.monitor.counts.as_value()) // len(BusCause)
        found = {cause: self.history[edge] >> bits * cause & (1 << bits) - 1 for cause in BusCause}
        return Counter({cause: clocks for cause, clocks in found.items() if clocks})

    def _next_edge(self, ctx, edge):
        self.history.append(ctx.get(self.unit.monitor.counts.as_value()))
        return super()._next_edge(ctx, edge)


def read(way, lun, *, edge=8, length=100):
    return Read(edge=edge, way=way, lun=lun, row=5, column=6, length=length, tag=way)


def test_the_clocks_of_one_page():
    bench = MonitorBench(TINY, 1)
    (completion,) = bench.run([read(0, 0)])
    assert bench.violations == []
    expected = {
        BusCause.DATA: 50,
        BusCause.READ_COMMAND: SEVEN_CYCLES + 2,  # and tCH
        BusCause.TRANSFER_COMMAND: SEVEN_CYCLES,
        BusCause.SELECT: 2,
        BusCause.T_CCS: 10,
        BusCause.T_RPRE: 2,
        BusCause.T_RPST: 3,
        BusCause.T_RHW: TURN - 3,
        # Out of the mailbox, checked; then four clocks of a decision, and the same of the transfer.
        BusCause.DECISION: 2 + 4 + 4,
        # From CE# high, tCH after the die latched 30h, to the edge that ends tR.
        BusCause.SENSING: 10 + 200 + 1 - 1,
    }
    assert completion["issued"] + 10 + 200 + 1 == completion["ready"]
    edges = len(bench.history) - 1
    expected[BusCause.NO_COMMAND] = edges - sum(expected.values())
    assert bench.causes == expected


# TINY_SDR: RE# low 2 clocks (tREA 3, of which data holds one after the rise), high 2 (tREH).
SDR = {"phases": 1, "transfer": 4, "turn": 10 - 2 - 1}
TWO_SDR_LUNS = replace(TINY_SDR, luns=2)


def test_the_clocks_of_one_page_on_an_sdr_bus():
    bench = MonitorBench(TINY_SDR, 1, **SDR)
    bench.run([read(0, 0)])
    assert bench.violations == []
    expected = {
        BusCause.DATA: 100 * 4,
        BusCause.READ_COMMAND: SEVEN_CYCLES + 2,
        BusCause.TRANSFER_COMMAND: SEVEN_CYCLES,
        BusCause.SELECT: 2,
        BusCause.T_CCS: 10,
        BusCause.T_RHW: 7,
        BusCause.DECISION: 2 + 4 + 4,
        BusCause.SENSING: 10 + 200 + 1 - 1,
    }
    edges = len(bench.history) - 1
    expected[BusCause.NO_COMMAND] = edges - sum(expected.values())
    assert bench.causes == expected


def test_polls_on_an_sdr_bus():
    bench = MonitorBench(TWO_SDR_LUNS, 1, **SDR)
    (completion,) = bench.run([read(0, 1)])
    polls = completion["polls"]
    assert polls > 1
    assert bench.causes[BusCause.STATUS_DATA] == polls * 2 * 4
    assert bench.causes[BusCause.POLL_COMMAND] == polls * FOUR_CYCLES
    assert bench.causes[BusCause.T_WHR] == polls * 6
    assert bench.causes[BusCause.T_RHW] == (1 + polls) * 7
    assert bench.causes[BusCause.DATA] == 100 * 4
    assert BusCause.T_RPRE not in bench.causes
    assert BusCause.T_RPST not in bench.causes


@pytest.mark.parametrize(("part", "options"), [(TINY, {}), (TINY_SDR, SDR)], ids=["ddr", "sdr"])
def test_each_clock_has_one_cause(part, options):
    reads = [read(way, 0, edge=8 + 3 * way) for way in range(3)]
    bench = MonitorBench(part, 3, **options)
    bench.run(reads)
    edges = range(len(bench.history))
    assert [bench.counts(edge).total() for edge in edges] == list(edges)


def test_a_page_that_no_poll_has_found_yet():
    part = replace(TINY_TWO_LUNS, poll_period_ps=1_000_000)
    bench = MonitorBench(part, 1)
    (completion,) = bench.run([read(0, 1)])
    polls = completion["polls"]
    assert polls == 2  # 150 clocks after 30h, when the LUN senses, and 100 clocks later
    assert bench.causes[BusCause.STATUS_DATA] == polls
    assert bench.causes[BusCause.POLL_COMMAND] == polls * FOUR_CYCLES
    assert bench.causes[BusCause.T_WHR] == polls * 6
    assert bench.causes[BusCause.T_RPRE] == (1 + polls) * 2
    assert bench.causes[BusCause.T_RPST] == (1 + polls) * 3
    assert bench.causes[BusCause.T_RHW] == (1 + polls) * (TURN - 3)
    assert bench.causes[BusCause.SELECT] == 2 + polls
    assert bench.causes[BusCause.DATA] == 50
    ready = completion["issued"] + 10 + 200 + 1
    assert bench.causes[BusCause.NOT_POLLED] == completion["issued"] + 150 + 100 + 3 - ready
    assert bench.causes[BusCause.NO_LANDING_SLOT] == 0


def test_a_page_that_waits_for_room():
    bench = MonitorBench(TINY, 2, slots=1, free_delay=500)
    first, second = bench.run([read(0, 0), read(1, 0, edge=9)])
    assert second["ready"] < first["last"]
    # The first page's last word is handed over four clocks after its last data edge.
    turn_round = first["last"] - 4 + TURN
    assert bench.causes[BusCause.NO_LANDING_SLOT] == first["edge"] + 500 - turn_round
    assert bench.causes[BusCause.SENSING] > 0


def test_a_full_queue_leaves_nothing_but_decisions_idle():
    """Each LUN has a command waiting from the first edge on to long after the window."""
    reads = [
        replace(read(way, 0, edge=8 + way, length=298), tag=3 * turn + way)
        for turn in range(4)
        for way in range(3)
    ]
    bench = MonitorBench(TINY, 3)
    completions = bench.run(reads)
    begin, end = (bench.counts(completions[place]["edge"] + 1) for place in (2, 8))
    clocks = end - begin
    assert clocks[BusCause.DATA] == 6 * 149
    assert {cause for cause in IDLE if clocks[cause]} == {BusCause.DECISION}
    assert clocks[BusCause.READ_COMMAND] == 6 * (SEVEN_CYCLES + 2)


@pytest.mark.parametrize("turn", [-1, 2.5])
def test_a_turn_that_is_no_number_of_clocks_is_refused(turn):
    with pytest.raises(ValueError, match="Turn must be a number of clocks, not"):
        BusMonitor(TINY, ways=1, turn=turn)


@pytest.mark.parametrize("transfer", [0, 2.5])
def test_a_transfer_that_is_no_number_of_clocks_is_refused(transfer):
    with pytest.raises(ValueError, match="Transfer must be a positive number of clocks, not"):
        BusMonitor(TINY_SDR, ways=1, phases=1, turn=0, transfer=transfer)
