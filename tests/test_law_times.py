"""Doubling one time of a platform changes the steps that it is part of, by what it adds to them."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
import yaml

from cosim.config.load import load_config
from cosim.config.platform import constants
from cosim.config.quantities import TIME, format_quantity
from tests.scenarios.one_request import SYSTEMS, document, outcome, path_of
from tests.scenarios.platform_keys import is_time, time_keys
from tests.scenarios.stage_formulas import FLASH_PERIOD_PS, FORMULAS

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

POLL = "firmware.poll"
CARD_PERIOD_PS = 4_000
CORE_PERIOD_PS = 1_000
# A core's queues are looked at in turn, in a cycle and the load of a register or a table each.
QUEUES = {"core0": {"registers": 2, "table": 3}, "core1": {"table": 3}}
ALIGNED_PS = {
    "flash.hand-over": FLASH_PERIOD_PS,
    "gather.stage": CARD_PERIOD_PS,
    "gather.start": CARD_PERIOD_PS,
}
"""Steps that begin at any time and end on a clock's edge: they may move within one period."""
REGISTERS = {
    "flash.queue": 1,
    "flash.command": 1,
    "flash.sense": 0,
    "flash.poll": 2,
    "flash.bus-wait": 0,
    "flash.transfer": 1,
    "flash.ecc": 0,
}
"""Clocks of the flash stages that no time of the part asks for: registers that a signal passes."""
WHOLE = ("dma.setup", "pcie.ssd.latency", "pcie.fpga.latency", "pcie.p2p.latency")
"""Stages that are nothing but times, beside those of the host."""
UNSEEN = {
    "ssd.flash.watchdog": "no die hangs",
    "fpga.dram.t_ras": "accesses of one bank are further apart than a row must stay open",
    "fpga.dram.t_rtp": "accesses of one bank are further apart than a read and its precharge",
    "fpga.dram.t_wr": "nothing is read or written right behind a write to the same bank",
    "fpga.dram.t_rrd": "rows are opened one at a time",
    "fpga.dram.t_rrd_l": "rows are opened one at a time",
    "fpga.dram.t_faw": "rows are opened one at a time",
    "fpga.dram.t_wtr_s": "nothing is read right behind a write",
    "fpga.dram.t_wtr_l": "nothing is read right behind a write",
    "fpga.dram.t_rtw": "nothing is written right behind a read",
    **{
        f"fpga.hops.{key}": "the host goes from hop to hop"
        for key in ("command", "completion", "target", "id", "launch")
    },
    "host.compare": "positions are drawn with replacement",
    "fpga.dram.t_refi": "the request ends before a refresh",
    "fpga.dram.t_rfc": "the request ends before a refresh",
    **{
        f"ssd.firmware.cores.{core}.loads.page_buffer_cached": "the page buffer is uncached"
        for core in ("core0", "core1")
    },
}
"""Times that one request does not meet, and why; ``test_law_parameters`` shows what they do."""


@cache
def times():
    """Every time of the three platforms by key path, in picoseconds."""
    path = Path(mkdtemp(prefix="csd-cosim-times-")) / "config.yaml"
    path.write_text(yaml.safe_dump(document()))
    platforms = load_config(path).platforms
    return {
        f"{part}.{key}": constant.value
        for part in ("ssd", "fpga", "host")
        for key, constant in constants(getattr(platforms, part))
        if is_time(constant)
    }


def doubled(*keys):
    values = times()
    return {key: format_quantity(TIME, 2 * values[key]) for key in keys}


def steps(result):
    """The request's steps, without the polling loop's way to them."""
    return [segment for segment in path_of(result) if segment.span.stage != POLL]


def what(segment):
    span = segment.span
    return span.unit, span.stage, span.kind, span.payload_bytes, span.overhead_bytes


def formula_ps(c, segment):
    formula = FORMULAS.get(segment.span.stage)
    return formula(c, segment) if formula else 0


def length_ps(segment):
    return segment.end_ps - segment.start_ps


def turn_ps(c, core):
    """How long the polling loop of a core takes to come round."""
    return sum(
        count * (CORE_PERIOD_PS + c[f"ssd.firmware.cores.{core}.loads.{place}"])
        for place, count in QUEUES[core].items()
    )


def growth(system, key):
    """What doubling ``key`` adds to each step of the request."""
    before = times()
    after = before | {key: 2 * before[key]}
    return [formula_ps(after, step) - formula_ps(before, step) for step in steps(outcome(system))]


@cache
def idle_times(system):
    """Times that no step of the request depends on: they are doubled all at once."""
    return tuple(key for key in times() if not any(growth(system, key)))


@pytest.mark.parametrize("system", SYSTEMS)
def test_steps_last_as_long_as_their_formulas_say(system):
    c = times()
    for step in steps(outcome(system)):
        stage = step.span.stage
        if stage in REGISTERS:
            expected = formula_ps(c, step) + REGISTERS[stage] * FLASH_PERIOD_PS
            assert length_ps(step) == expected, stage
        elif stage in WHOLE or stage.startswith("host."):
            assert length_ps(step) == formula_ps(c, step), stage


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_polling_loop_comes_round_within_a_turn(system):
    for segment in path_of(outcome(system)):
        if segment.span.stage == POLL:
            assert 0 < length_ps(segment) < turn_ps(times(), segment.span.unit)


@pytest.mark.parametrize("key", time_keys())
@pytest.mark.parametrize("system", SYSTEMS)
def test_doubling_a_time_changes_the_predicted_steps(system, key):
    before = outcome(system)
    idle = idle_times(system)
    if key in idle:
        after = outcome(system, doubled(*idle))
        assert after.spans == before.spans
        return
    after, changed = outcome(system, doubled(key)), times() | {key: 2 * times()[key]}
    assert [what(step) for step in steps(after)] == [what(step) for step in steps(before)]
    for old, new, grown in zip(steps(before), steps(after), growth(system, key), strict=True):
        stage = old.span.stage
        error = length_ps(new) - length_ps(old) - grown
        if stage in ALIGNED_PS:
            assert abs(error) < ALIGNED_PS[stage], (stage, grown)
        else:
            assert error == 0, (stage, grown)
    for segment in path_of(after):
        if segment.span.stage == POLL:
            assert 0 < length_ps(segment) < turn_ps(changed, segment.span.unit)
    assert after.subgraphs == before.subgraphs


def test_every_time_is_seen_or_excused():
    idle = set(idle_times("firmware-csd")) & set(idle_times("fpga-csd"))
    assert idle == set(UNSEEN)
