# amaranth: UnusedElaboratable=no
import random
from dataclasses import replace

import pytest

from rtl.contract.onfi import BusRule, Opcode
from rtl.nand.checker import BusChecker
from tests.checker_bench import checker_for
from tests.scenarios import (
    onfi_burst_cases,
    onfi_checked_scene,
    onfi_command_cases,
    onfi_operation_cases,
    onfi_order_cases,
    onfi_pin_cases,
    onfi_plane_cases,
    onfi_ready_cases,
    onfi_sdr_cases,
    onfi_suspend_cases,
    onfi_write_cases,
)
from tests.scenarios.onfi_bus import PART, PERIOD_PS, OnfiBus, one_lun
from tests.scenarios.onfi_command_cases import within_twb
from tests.scenarios.onfi_scene import WAYS, Scene, cases_of, have_read

pytestmark = pytest.mark.slow

CASES = cases_of(
    onfi_pin_cases,
    onfi_command_cases,
    onfi_burst_cases,
    onfi_write_cases,
    onfi_operation_cases,
    onfi_ready_cases,
    onfi_order_cases,
    onfi_plane_cases,
    onfi_suspend_cases,
    onfi_sdr_cases,
)


def violations(scene, *, stop=False, **options):
    """(edge, rule, way) of each report; with ``stop`` the clock stands while all levels rest.

    As in the channel, it does not stand at the edge at which a die's R/B# is to fall.
    """
    scene.bus.tick(12)
    clocks = list(scene.pins())
    bench = checker_for(scene.bus.part, scene.bus.phases, **options)
    return bench.run(clocks, scene.begins if stop else None)


@pytest.mark.parametrize("name", CASES)
def test_a_waveform_at_the_limit_is_legal(name):
    _, build = CASES[name]
    assert violations(build(False)) == []


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_waveform_beyond_the_limit_breaks_exactly_its_rule(name, stop):
    rule, build = CASES[name]
    assert {found for _, found, _ in violations(build(True), stop=stop)} == {rule}


def test_every_rule_has_a_waveform():
    assert {rule for rule, _ in CASES.values()} == set(BusRule)


def test_after_a_reset_nothing_is_expected_of_a_lun():
    bus = OnfiBus(replace(PART, t_wb_ps=600_000, poll_first_ps=600_000))
    bus.read(1, 0, 3, 0)
    bus.reset(1)
    bus.read(1, 0, 3, 0)
    assert violations(Scene(bus)) == []


def test_too_early_goes_before_busy():
    scene = within_twb(True, Opcode.CHANGE_READ_COLUMN_ENHANCED, 5)
    scene.bus.command(Opcode.CHANGE_READ_COLUMN_CONFIRM)
    scene.answers = []
    assert [rule for _, rule, _ in violations(scene)] == [BusRule.T_WB_ACCESS]


def test_a_part_of_plain_reads_takes_no_other_command():
    plain = [0x00, 0x05, 0x30, 0x70, 0x78, 0xE0, 0xFF]
    others = [opcode for opcode in Opcode if opcode not in plain]
    bus = OnfiBus()
    for opcode in others:
        bus.begin(1)
        bus.command(opcode)
    assert [rule for _, rule, _ in violations(Scene(bus))] == [BusRule.OPCODE] * len(others)


@pytest.mark.parametrize("are_erased", [False, True])
def test_blocks_may_be_erased_at_the_start(are_erased):
    made = onfi_checked_scene.scene()
    made.program(1, 0, 2)
    made.program(1, 0, 3)
    made.program(1, 0, 3)
    unknown = [] if are_erased else [BusRule.PROGRAM_ERASED]
    found = [rule for _, rule, _ in violations(made, are_erased=are_erased)]
    assert found == [*unknown, BusRule.PROGRAM_ERASED]


def test_a_report_names_the_way():
    scene = have_read()
    scene.bus.read(1, 0, 12, 0)
    scene.bus.read(0, 1, 12, 0)
    assert [report[1:] for report in violations(scene)] == [(BusRule.ROW, 1), (BusRule.ROW, 0)]


def test_a_late_die_is_named_whoever_is_selected():
    bus = OnfiBus()
    window = bus.read(1, 0, 3, 0) + bus.limit("wb")
    bus.select(0)
    bus.tick(20)
    scene = Scene(bus, forced={window: {"rb_n": 0b11}})
    assert violations(scene) == [(window, BusRule.T_WB_BUSY, 1)]


def random_traffic(seed, part, phases):
    """Reads, polls and transfers over all LUNs, each legal, at the limits of all times."""
    rng = random.Random(seed)
    bus = OnfiBus(part, phases=phases)
    scene = Scene(bus)
    numbers = {}
    for _ in range(3):
        luns = [(way, lun) for way in range(WAYS) for lun in range(part.luns)]
        rng.shuffle(luns)
        for way, lun in luns:
            bus.tick(rng.choice([0, 0, 3]))
            bus.read(way, lun, rng.randrange(part.rows), 2 * rng.randrange(288))
            numbers[way, lun] = numbers.get((way, lun), 0) + 1
        bus.tick(bus.limit("wb") + 1)
        for way, lun in luns:
            scene.answers.append((bus.edge, way, lun, numbers[way, lun]))
            bus.tick(rng.choice([1, 7]))
        for way, lun in luns:
            if rng.random() < 0.5:
                bus.status_enhanced(way, lun, 0)
            bus.tick(rng.choice([0, 0, 3]))
            count = 2 * rng.randrange(1, 20)
            bus.transfer(way, lun, rng.randrange(part.rows), 576 - count, count)
        if rng.random() < 0.5:
            bus.status(rng.randrange(WAYS))
            way = rng.randrange(WAYS)
            bus.reset(way)
            for lun in range(part.luns):
                numbers[way, lun] += 1
    return scene


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("phases", [1, 2, 4])
@pytest.mark.parametrize("part", [PART, one_lun()], ids=["two LUNs", "one LUN"])
def test_legal_traffic_is_never_reported(seed, phases, part):
    assert violations(random_traffic(seed, part, phases)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"ways": 0}, "Ways must be 1 to 256, not 0"), ({"phases": 3}, "1, 2 or 4, not 3")],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BusChecker(PART, **{"period_ps": PERIOD_PS, "ways": 2} | arguments)
