# amaranth: UnusedElaboratable=no
"""Broken controllers and dies on a whole channel: the checker's rule catches each, and alone.

Data, status and completions of each mutant are still right, except where the text says otherwise:
without the checker nobody would know.
"""

from dataclasses import dataclass, replace

import pytest
from amaranth.hdl import Const, Module, Signal
from amaranth.lib import wiring

from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import BusRule, Opcode, row_address
from rtl.nand.controller import FlashChannelController
from rtl.nand.die import NandDie
from tests.nand_bench import UnitBench
from tests.scenarios.nand import PERIOD_PS, Read, page_image
from tests.scenarios.onfi_bus import OnfiBus

pytestmark = pytest.mark.slow

WAYS = 2
CALM = NandPart(
    name="mutants",
    page_bytes=256,
    spare_bytes=48,
    pages_per_block=4,
    blocks_per_lun=3,
    luns=1,
    t_r_ps=1_205_000,
    t_wc_ps=40_000,
    t_wp_ps=20_000,
    t_wh_ps=20_000,
    t_cs_ps=30_000,
    t_ch_ps=10_000,
    t_cals_ps=20_000,
    t_cah_ps=10_000,
    t_wb_ps=100_000,
    t_rr_ps=20_000,
    t_whr_ps=60_000,
    t_ccs_ps=100_000,
    t_rhw_ps=100_000,
    t_rpre_ps=10_000,
    t_rpst_ps=40_000,
    t_dqsre_ps=20_000,
    poll_first_ps=1_000_000,
    poll_period_ps=300_000,
)
"""No time hides another; each test lengthens the one it is about."""


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
    return lambda _, **arguments: component(part, **arguments)


def reads_for(part, spacing=1):
    """Whole and partial pages of all LUNs, two of each."""
    places = [(way, lun) for way in range(WAYS) for lun in range(part.luns)] * 2
    return [
        Read(3 + spacing * tag, way, lun, tag % part.rows, *((0, 304), (130, 62))[tag % 2], tag)
        for tag, (way, lun) in enumerate(places)
    ]


def rules_broken(bench, reads, *, data_is_right=True):
    """Rules reported while ``bench`` plays ``reads``."""
    completions = bench.run(reads)
    assert [completion["status"] for completion in completions] == [0] * len(reads)
    if data_is_right:
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
    # It takes the LUN for ready and the data is wrong; but only the rule says why.
    part = replace(CALM, luns=luns, t_wb_ps=1_000_000)
    reads = reads_for(part)[:1]
    assert rules_broken(bench_with(part), reads) == set()
    hasty = for_part(FlashChannelController, replace(part, t_wb_ps=100_000, poll_first_ps=100_000))
    found = rules_broken(bench_with(part, hasty), reads, data_is_right=False)
    assert found == {BusRule.T_WB_ACCESS}


class Sabotaged(wiring.Component):
    """A controller whose pins ``meddle(m, now, inner, pins)`` may override before they leave."""

    def __init__(self, controller, meddle):
        self._controller = controller
        self._meddle = meddle
        super().__init__(controller.signature)

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = self._controller
        for name, member in self.signature.members.items():
            if name == "phy":
                continue
            ours, theirs = getattr(self, name), getattr(inner, name)
            if member.is_signature:
                wiring.connect(m, wiring.flipped(ours), theirs)
            elif member.flow is wiring.In:
                m.d.comb += theirs.eq(ours)
            else:
                m.d.comb += ours.eq(theirs)
        for name, member in self.phy.signature.members.items():
            ours, theirs = getattr(self.phy, name), getattr(inner.phy, name)
            m.d.comb += ours.eq(theirs) if member.flow is wiring.Out else theirs.eq(ours)
        self._meddle(m, self.now, inner.phy, self.phy)
        return m


def sabotaged(meddle):
    def make(part, **arguments):
        return Sabotaged(FlashChannelController(part, **arguments), meddle)

    return make


def all_chips_at_first(m, now, inner, pins):
    """All CE# fall with the one that should; the others rise a clock later."""
    was_high = Signal(init=1)
    m.d.sync += was_high.eq(inner.ce_n.all())
    with m.If(was_high & ~inner.ce_n.all()):
        m.d.comb += pins.ce_n.eq(0)


def strobe_outlives_chip_enable(m, now, inner, pins):
    """RE# rises a clock after CE#."""
    before = Signal.like(inner.re_n, init=-1)
    m.d.sync += before.eq(inner.re_n)
    with m.If(inner.ce_n.all()):
        m.d.comb += pins.re_n.eq(before)


def latches_flicker(m, now, inner, pins):
    """CLE and ALE are both high for a clock between E0h and the burst."""
    rest = Signal(range(8))
    with m.If(inner.ce_n.all() | ~inner.we_n):
        m.d.sync += rest.eq(0)
    with m.Elif(rest != 7):
        m.d.sync += rest.eq(rest + 1)
    with m.If(rest == 6):
        m.d.comb += [pins.cle.eq(1), pins.ale.eq(1)]


def controller_drives_back(m, now, inner, pins):
    """The controller's drivers are on while a die drives."""
    with m.If(inner.die_oe.any()):
        m.d.comb += pins.dq_oe.eq(1)


@pytest.mark.parametrize(
    ("meddle", "rule"),
    [
        (all_chips_at_first, BusRule.CE_ONE_LOW),
        (strobe_outlives_chip_enable, BusRule.NO_TARGET),
        (latches_flicker, BusRule.LATCH_BOTH),
        (controller_drives_back, BusRule.CONTENTION),
    ],
)
def test_a_controller_with_wrong_levels_breaks_their_rule_alone(bench_with, meddle, rule):
    assert rules_broken(bench_with(CALM, sabotaged(meddle)), reads_for(CALM)) == {rule}


EXTRA_EDGE = 60
"""Way 0 senses from about edge 50 to 170, the controller is idle: room for one more operation."""


def unknown_command(bus):
    bus.begin(1)
    bus.command(0x90)


def lone_confirm(bus):
    bus.begin(1)
    bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)


def status_of_no_row(bus):
    bus.begin(1)
    bus.command(Opcode.READ_STATUS_ENHANCED)
    bus.address(row_address(CALM, 0, CALM.rows), 3)


def choice_of_an_odd_column(bus):
    bus.choose(1, 0, 0, 3)


def choice_of_a_sensing_lun(bus):
    bus.choose(0, 0, 0, 0)


def burst_unasked(bus):
    bus.select(1, cs=10)
    bus.burst(4)


def burst_with_half_a_pair(bus):
    bus.status(1, count=4)
    bus.clocks[bus.last_data - 1]["re_n"] = 0b11


def burst_with_a_pause(bus):
    bus.status(1, count=6)
    bus.clocks[bus.last_data - 1]["re_n"] = 0b00


def burst_past_the_page(bus):
    bus.transfer(1, 0, 0, CALM.raw_page_bytes - 2, 4)


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        (unknown_command, BusRule.OPCODE),
        (lone_confirm, BusRule.SEQUENCE),
        (status_of_no_row, BusRule.ROW),
        (choice_of_an_odd_column, BusRule.COLUMN),
        (choice_of_a_sensing_lun, BusRule.BUSY),
        (burst_unasked, BusRule.BURST_SOURCE),
        (burst_with_half_a_pair, BusRule.BURST_LENGTH),
        (burst_with_a_pause, BusRule.BURST_PAUSE),
        (burst_past_the_page, BusRule.PAGE_END),
        (lambda bus: bus.status(1), None),
    ],
)
def test_a_controller_that_does_one_thing_too_many_breaks_its_rule_alone(
    bench_with, operation, rule
):
    bus = OnfiBus(CALM, ways=WAYS)
    operation(bus)
    bus.deselect()

    def meddle(m, now, inner, pins):
        for index, clock in enumerate(bus.clocks):
            with m.If(now == EXTRA_EDGE + index):
                m.d.comb += [
                    getattr(pins, name).eq(Const(level, len(getattr(pins, name))))
                    for name, level in clock.items()
                ]

    reads = [Read(3, 0, 0, 5, 0, 304, 0), Read(400, 1, 0, 6, 10, 64, 1)]
    found = rules_broken(bench_with(CALM, sabotaged(meddle)), reads)
    assert found == ({rule} if rule else set())


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
