# amaranth: UnusedElaboratable=no
"""Rules of an SDR bus: whole channels with a slip, data and status right all the same.

A channel is made of a controller for one part and dies for another, on a bus that is watched for a
third; or a line of the controller's source is changed.
"""

import random
from dataclasses import dataclass, replace

import pytest

from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.nand_part import NandPart, SdrReadTimes
from rtl.contract.onfi import BusRule
from rtl.nand import sdr_burst, timing
from rtl.nand.controller import FlashChannelController
from rtl.nand.die import NandDie
from tests.checker_bench import checker_for
from tests.controller_bench import TIMES, Command
from tests.mutation import mutated, put_in_place
from tests.nand_bench import CALM
from tests.scenarios.nand_reads import page_image
from tests.scenarios.onfi_bus import NO_STROBE
from tests.unit_operations_bench import OperationUnitBench

EXTENDED = replace(TIMES, t_wpre_ps=None, t_wpst_ps=None, t_prog_ps=400_000, t_bers_ps=400_000)
READS = SdrReadTimes(
    t_rc_ps=80_000,
    t_rp_ps=40_000,
    t_reh_ps=40_000,
    t_rea_ps=30_000,
    t_rhoh_ps=10_000,
    t_rloh_ps=0,
)
PART = replace(CALM, name="calm SDR", t_r_ps=205_000, sdr=READS, extended=EXTENDED, **NO_STROBE)
"""All pulses are as long as the part asks for; data is captured while RE# is low."""
SHORT = {
    "t_rc_ps": 20_000,
    "t_rp_ps": 10_000,
    "t_reh_ps": 10_000,
    "t_rea_ps": 30_000,
    "t_rhoh_ps": 20_000,
}
DATA = random.Random(1).randbytes(40)


def with_reads(**times):
    return replace(PART, sdr=replace(READS, **times))


def with_writes(part=PART, **times):
    return replace(part, extended=replace(part.extended, **times))


@dataclass(frozen=True)
class Slip:
    """The rule, the part that the bus is watched for, and that of controller and dies."""

    rule: BusRule
    bus: NandPart
    channel: NandPart


SLIPS = (
    Slip(
        BusRule.T_RP,
        with_reads(t_rp_ps=80_000, t_rc_ps=120_000),
        with_reads(t_rp_ps=40_000, t_reh_ps=80_000, t_rc_ps=120_000),
    ),
    Slip(
        BusRule.T_REH,
        with_reads(t_reh_ps=80_000, t_rc_ps=120_000),
        with_reads(t_rp_ps=80_000, t_reh_ps=40_000, t_rc_ps=120_000),
    ),
    Slip(BusRule.T_RC, with_reads(t_rc_ps=160_000), with_reads(t_rc_ps=80_000)),
    # Dies that are slower than they say, and a controller that knows.
    Slip(BusRule.T_REA, PART, with_reads(t_rea_ps=40_000)),
    # Dies that hold a byte for longer than they must, and a controller that takes it late.
    Slip(
        BusRule.READ_WINDOW,
        with_reads(t_rea_ps=60_000),
        with_reads(t_rea_ps=60_000, t_rhoh_ps=20_000),
    ),
    # As before, within 30 ns of the last fall of RE#.
    Slip(
        BusRule.READ_WINDOW,
        with_reads(**SHORT),
        with_reads(**SHORT | {"t_rloh_ps": 10_000}),
    ),
    # Dies that are quicker with data that comes in than they say.
    Slip(BusRule.T_ADL, with_writes(t_adl_ps=400_000), with_writes(t_adl_ps=200_000)),
)


def commands():
    """A page is erased, programmed in two pieces, and read."""
    orders = [
        (ChannelOperation.ERASE, {}),
        (ChannelOperation.LOAD, {"length": 20, "slot": 0}),
        (ChannelOperation.PROGRAM_MORE, {"column": 284, "length": 20, "slot": 1}),
        (ChannelOperation.READ, {"length": 20}),
        (ChannelOperation.READ, {"column": 284, "length": 20}),
        (ChannelOperation.READ, {"row": 5, "column": 130, "length": 62}),
        (ChannelOperation.SET_FEATURES, {"row": 2, "length": 4, "slot": 0}),
        (ChannelOperation.GET_FEATURES, {"row": 2, "length": 4}),
        (ChannelOperation.READ_TARGET_STATUS, {}),
    ]
    return [
        Command(tag=tag, operation=operation, **fields)
        for tag, (operation, fields) in enumerate(orders)
    ]


def rules_broken(part=PART):
    """Rules reported, after whatever was written has been read back."""
    launch = {0: DATA[:20], 1: DATA[20:]}
    bench = OperationUnitBench(part, 1, launch=launch, phases=1)
    done = bench.run(commands())
    assert {completion["status"] for completion in done} == {ChannelStatus.OK}
    assert bench.data[3] + bench.data[4] == DATA
    assert bench.data[5] == page_image(part, 0, 0, 5)[130:192]
    assert bench.data[7] == DATA[:4]
    return {BusRule(rule) for _, rule, _ in bench.violations}


def of(component, part):
    """A component made for ``part`` whatever it is asked to be made for."""
    return lambda *_, **arguments: component(**arguments | {"part": part})


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.rule.name)
def test_a_channel_with_a_slip_breaks_its_rule_alone(monkeypatch, slip):
    monkeypatch.setattr(
        "rtl.nand.unit.FlashChannelController", of(FlashChannelController, slip.channel)
    )
    monkeypatch.setattr("rtl.nand.unit.NandDie", of(NandDie, slip.channel))
    assert rules_broken(slip.bus) == {slip.rule}


@pytest.mark.slow
def test_a_controller_that_halves_tccs_before_data_to_a_die_is_caught(monkeypatch):
    slip = """
        -return max(self._cycles(self.part.t_ccs_ps) - self.low, self.high + 1)
        +return max(self._cycles(self.part.t_ccs_ps) // 2 - self.low, self.high + 1)
        """
    put_in_place(monkeypatch, timing, mutated(timing, slip))
    part = replace(PART, t_ccs_ps=400_000)
    monkeypatch.setattr("rtl.nand.unit.NandDie", of(NandDie, replace(part, t_ccs_ps=200_000)))
    assert rules_broken(part) == {BusRule.T_CCS_WRITE}


@pytest.mark.slow
@pytest.mark.parametrize("more", [1, 2])
def test_a_controller_that_hands_over_too_much_is_caught(monkeypatch, more):
    slip = """
        -m.d.sync += left.eq(self.length)
         m.d.sync += wait.eq(write_wait(self, timing))
        +m.d.sync += left.eq(self.length + MORE * self.is_more)
        """
    mutant = mutated(sdr_burst, slip.replace("MORE", str(more)))
    put_in_place(monkeypatch, sdr_burst, mutant)
    # The second piece of the page ends where the page does.
    both = {BusRule.WRITE_PAGE_END} | ({BusRule.WRITE_LENGTH} if more == 1 else set())
    assert rules_broken() == both


@pytest.mark.slow
def test_a_controller_that_fetches_a_byte_too_many_is_caught(monkeypatch):
    """The channel comes to a stand, as nobody waits for that byte; the rule says why."""
    slip = """
        -m.d.sync += left.eq(self.length)
         m.d.sync += wait.eq(read_wait(self, timing))
        +m.d.sync += left.eq(self.length + 1)
        """
    put_in_place(monkeypatch, sdr_burst, mutated(sdr_burst, slip))
    bench = OperationUnitBench(PART, 1, launch={0: DATA[:20], 1: DATA[20:]}, phases=1)
    with pytest.raises(AssertionError, match="of 9 done"):
        bench.run(commands(), limit_edges=2000)
    assert {BusRule(rule) for _, rule, _ in bench.violations} == {BusRule.BURST_LENGTH}


@pytest.mark.slow
def test_a_channel_without_a_slip_breaks_none():
    assert rules_broken() == set()


def pulse(**levels):
    """A write cycle with these levels, and rest before and after it."""
    idle = {"ce_n": 0b11, "cle": 0, "ale": 0, "we_n": 1, "re_n": 1, "dq_o": 0, "dq_oe": 0}
    idle |= {"dq_i": 0, "die_oe": 0, "rb_n": 0b11}
    chosen = idle | {"ce_n": 0b01}
    written = chosen | {"dq_o": 0x5A, "dq_oe": 1} | levels
    clocks = [idle] * 3 + [chosen] * 5 + [written | {"we_n": 0}] * 5 + [written] * 5
    return clocks + [chosen] * 5 + [idle] * 5


def test_data_that_nothing_announced_is_caught():
    checker = checker_for(PART, 1)
    # One byte is no pair, either, which shows when CE# has risen.
    lone = [(13, BusRule.WRITE_SOURCE, 1), (23, BusRule.WRITE_LENGTH, 1)]
    assert checker.run(pulse(), None) == lone
    assert checker.run(pulse(cle=1, dq_o=0x70), None) == []
