"""The tiny part in every timing mode that some clock makes: written and read back, rules kept."""

import random

import pytest

from cosim.config.nand_file import load_part
from rtl.contract.bus_times import Interface
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.contract.interface_timing import NvDdrTiming
from rtl.contract.onfi_modes import MODES
from tests.controller_bench import Command
from tests.scenarios.nand_reads import page_image
from tests.unit_operations_bench import OperationUnitBench

pytestmark = pytest.mark.slow

TINY = load_part("tiny")
PERIODS_PS = (20_000, 10_000, 5_000)
"""Clocks of 50, 100 and 200 MHz."""
WAYS = 1
FIRST, SECOND = (130, 62), (0, 40)
"""Columns and lengths of parts of a page, one of them no multiple of four."""


def timings():
    """Every mode and clock that make a timing."""
    for interface in Interface:
        for mode in range(len(MODES[interface])):
            for period_ps in PERIODS_PS:
                try:
                    yield TINY.timing(interface, mode, period_ps)
                except ValueError:
                    continue


def commands():
    """A block of each LUN is erased; two pages are programmed, and read; so is one as it was."""
    orders = []
    for lun in range(TINY.geometry.luns):
        first, second = (dict(zip(("column", "length"), at, strict=True)) for at in (FIRST, SECOND))
        orders += [
            {"operation": ChannelOperation.READ, "row": 5, "lun": lun, **first},
            {"operation": ChannelOperation.ERASE, "row": 8, "lun": lun},
            {"operation": ChannelOperation.PROGRAM, "row": 8, "lun": lun, "slot": 0, **first},
            {"operation": ChannelOperation.PROGRAM, "row": 9, "lun": lun, "slot": 1, **second},
            {"operation": ChannelOperation.READ, "row": 8, "lun": lun, **first},
            {"operation": ChannelOperation.READ, "row": 9, "lun": lun, **second},
        ]
    return [Command(tag=tag, **order) for tag, order in enumerate(orders)]


class RecordingBench(OperationUnitBench):
    """Keeps CE#, WE# and RE# of each clock."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.pins = []

    def _set_inputs(self, ctx, edge):
        super()._set_inputs(ctx, edge)
        phy = self.unit.controller.phy
        self.pins.append([ctx.get(pin) for pin in (phy.ce_n, phy.we_n, phy.re_n)])


def off_the_clock(pins, ratio):
    """Clocks with an edge of WE# or RE# that belongs to CLK, where CLK has none.

    CLK has ``ratio`` clocks a period. WE# rises where it latches, and RE# falls for W/R#, whole
    periods after the first of these edges within an operation.
    """
    found, origin, was_high, is_reading = [], None, 1, False
    for clock, (ce_n, we_n, re_n) in enumerate(pins):
        if ce_n & 1:
            origin, is_reading = None, False
        elif (we_n and not was_high) or (re_n == 0 and not is_reading):
            origin = clock if origin is None else origin
            found += [clock] * bool((clock - origin) % ratio)
        is_reading |= not re_n
        was_high = we_n
    return found


def name_of(timing):
    return f"{timing.times} at {10**6 // timing.period_ps} MHz"


@pytest.mark.parametrize("timing", list(timings()), ids=name_of)
def test_what_is_written_is_read_back_and_no_rule_is_broken(timing):
    part = TINY.nand_part(timing)
    rng = random.Random(1)
    launch = {0: rng.randbytes(FIRST[1]), 1: rng.randbytes(SECOND[1])}
    options = {"phases": timing.phases, "period_ps": timing.period_ps}
    bench = RecordingBench(part, WAYS, launch=launch, **options)
    orders = commands()
    assert {done["status"] for done in bench.run(orders)} == {ChannelStatus.OK}
    assert bench.violations == []
    if isinstance(timing, NvDdrTiming):
        assert off_the_clock(bench.pins, timing.clock_ratio) == []
    for order in orders:
        if order.operation == ChannelOperation.READ:
            page = page_image(part, order.way, order.lun, order.row)
            as_it_was = page[FIRST[0] : sum(FIRST)]
            expected = {5: as_it_was, 8: launch[0], 9: launch[1]}
            assert bench.data[order.tag] == expected[order.row], order
