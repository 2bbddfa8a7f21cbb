# amaranth: UnusedElaboratable=no
"""Controllers that keep a time too short, and broken dies: one rule catches each, and alone.

Data and status are right all the same: without the checker nobody would know.
"""

from dataclasses import dataclass, replace

import pytest

from rtl.contract.onfi import BusRule
from rtl.nand.controller import FlashChannelController
from rtl.nand.die import NandDie
from tests.nand_bench import CALM, UnitBench
from tests.scenarios.nand import PERIOD_PS
from tests.scenarios.nand_reads import Read, page_image

pytestmark = pytest.mark.slow

WAYS = 2


@pytest.fixture
def bench_with(monkeypatch):
    """Make the bench of a channel whose controller, or dies, are made by somebody else."""

    def make(part, controller=FlashChannelController, die=NandDie):
        monkeypatch.setattr("rtl.nand.unit.FlashChannelController", controller)
        monkeypatch.setattr("rtl.nand.unit.NandDie", die)
        return UnitBench(part, WAYS)

    return make


def for_part(component, part):
    """A component made for ``part`` whatever it is asked to be made for."""
    return lambda *_, **arguments: component(**arguments | {"part": part})


def reads_for(part, spacing=1):
    """Whole and partial pages of all LUNs, two of each."""
    places = [(way, lun) for way in range(WAYS) for lun in range(part.luns)] * 2
    return [
        Read(3 + spacing * tag, way, lun, tag % part.rows, *((0, 304), (130, 62))[tag % 2], tag)
        for tag, (way, lun) in enumerate(places)
    ]


def rules_broken(bench, reads):
    """Rules reported while ``bench`` plays ``reads``."""
    completions = bench.run(reads)
    assert [completion["status"] for completion in completions] == [0] * len(reads)
    for read in reads:
        page = page_image(bench.part, read.way, read.lun, read.row)
        assert bench.data[read.tag] == page[read.column : read.column + read.length]
    return {BusRule(rule) for _, rule, _ in bench.violations}


@dataclass(frozen=True)
class Time:
    """A time of ``CALM``, lengthened together with what must not hide it."""

    rule: BusRule
    name: str
    luns: int = 1
    also: tuple = ()

    def part(self, duration_ps):
        return replace(CALM, luns=self.luns, **dict(self.also), **{self.name: duration_ps})


SHORT_TIMES = {
    Time(BusRule.T_WP, "t_wp_ps", also=(("t_wc_ps", 100_000),)): 60_000,
    Time(BusRule.T_WH, "t_wh_ps", also=(("t_wc_ps", 60_000), ("t_cals_ps", 50_000))): 40_000,
    Time(BusRule.T_WC, "t_wc_ps"): 120_000,
    Time(BusRule.T_CALS, "t_cals_ps", also=(("t_wc_ps", 100_000),)): 60_000,
    Time(BusRule.T_CAH, "t_cah_ps"): 60_000,
    Time(BusRule.T_CS, "t_cs_ps"): 100_000,
    Time(BusRule.T_CH, "t_ch_ps"): 100_000,
    Time(BusRule.T_RR, "t_rr_ps"): 1_000_000,
    Time(BusRule.T_WHR, "t_whr_ps", luns=2): 200_000,
    Time(BusRule.T_CCS, "t_ccs_ps"): 400_000,
    Time(BusRule.T_RHW, "t_rhw_ps"): 800_000,
    Time(BusRule.T_RPRE, "t_rpre_ps"): 60_000,
    Time(BusRule.T_RPST, "t_rpst_ps"): 120_000,
}


@pytest.mark.parametrize("time", SHORT_TIMES, ids=lambda time: time.rule.name)
def test_a_controller_that_halves_a_time_breaks_its_rule_alone(bench_with, time):
    duration = SHORT_TIMES[time]
    part = time.part(duration)
    assert rules_broken(bench_with(part), reads_for(part)) == set()
    hasty = for_part(FlashChannelController, time.part(duration // 2))
    assert rules_broken(bench_with(part, hasty), reads_for(part)) == {time.rule}


@pytest.mark.parametrize("luns", [1, 2])
def test_a_controller_that_looks_within_twb_is_caught(bench_with, luns):
    # Status is asked for within tWB but read after it; R/B# deceives, but tR is over before RE#.
    part = replace(CALM, luns=luns, t_wb_ps=300_000, t_r_ps=100_000, poll_first_ps=400_000)
    hasty = for_part(FlashChannelController, replace(part, t_wb_ps=100_000, poll_first_ps=100_000))
    reads = reads_for(part)[:1]
    assert rules_broken(bench_with(part), reads) == set()
    assert rules_broken(bench_with(part, hasty), reads) == {BusRule.T_WB_ACCESS}


class GlitchyDie(NandDie):
    """Drives DQ in the first clocks of its array operation."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        with m.If(self.begin_valid):
            m.d.comb += self.phy.oe.eq(1)
        return m


@pytest.mark.parametrize(
    ("die", "change", "rule"),
    [
        (NandDie, {}, None),
        (NandDie, {"t_wb_ps": CALM.t_wb_ps + PERIOD_PS}, BusRule.T_WB_BUSY),
        (NandDie, {"t_dqsre_ps": CALM.t_dqsre_ps // 2}, BusRule.T_DQSRE),
        (GlitchyDie, {}, BusRule.DIE_DRIVES),
    ],
)
def test_a_broken_die_is_caught_too(bench_with, die, change, rule):
    bench = bench_with(CALM, die=for_part(die, replace(CALM, **change)))
    assert rules_broken(bench, reads_for(CALM, spacing=60)) == ({rule} if rule else set())
