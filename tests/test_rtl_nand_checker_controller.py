# amaranth: UnusedElaboratable=no
"""The controller's own waveforms, of every operation, keep every rule of the bus."""

import random
from collections import deque

import pytest

from rtl.contract.channel import ChannelOperation
from rtl.contract.nand_part import cycles
from rtl.contract.operations import OPERATIONS
from tests.checker_bench import checker_for
from tests.controller_bench import (
    FULL,
    FULL_TWO_LUNS,
    FULL_TWO_PLANES,
    PINS,
    Command,
    ControllerBench,
)
from tests.scenarios.nand import PERIOD_PS
from tests.scenarios.onfi_scene import WAYS

DATA = random.Random(1).randbytes(304)
OF_WAY = (
    (ChannelOperation.RESET, {}),
    (ChannelOperation.READ_ID, {"row": 0x20, "length": 4}),
    (ChannelOperation.READ_PARAMETER_PAGE, {"row": 0}),
    (ChannelOperation.SET_FEATURES, {"row": 1, "length": 4}),
    (ChannelOperation.GET_FEATURES, {"row": 1, "length": 4}),
)
OF_LUN = (
    [(ChannelOperation.ERASE, {})],
    [(ChannelOperation.PROGRAM, {"row": 4})],
    [
        (ChannelOperation.LOAD, {"row": 5}),
        (ChannelOperation.LOAD_MORE, {"row": 5, "column": 20}),
        (ChannelOperation.PROGRAM_MORE, {"row": 5, "column": 302, "length": 2}),
    ],
    [(ChannelOperation.PROGRAM_CACHE, {"row": 6})],
    [(ChannelOperation.PROGRAM, {"row": 7})],
    [(ChannelOperation.READ, {"row": 4})],
    [(ChannelOperation.SENSE, {"row": 4})],
    [(ChannelOperation.READ_CACHE_RANDOM, {"row": 6})],
    [(ChannelOperation.READ_CACHE_SEQUENTIAL, {"row": 7})],
    [(ChannelOperation.READ_CACHE_END, {"row": 7})],
    [(ChannelOperation.TRANSFER, {"row": 7, "column": 294})],
    [(ChannelOperation.READ_STATUS, {})],
    [(ChannelOperation.READ_TARGET_STATUS, {})],
)
OF_PLANES = (
    [(ChannelOperation.ERASE_PLANE, {"row": 0})],
    [(ChannelOperation.ERASE, {"row": 4})],
    [(ChannelOperation.PROGRAM_PLANE, {"row": 0})],
    [(ChannelOperation.PROGRAM_CACHE, {"row": 4})],
    [(ChannelOperation.PROGRAM_PLANE, {"row": 1})],
    [(ChannelOperation.PROGRAM, {"row": 5})],
    [(ChannelOperation.SENSE_PLANE, {"row": 0})],
    [(ChannelOperation.READ, {"row": 4})],
    [(ChannelOperation.TRANSFER, {"row": 0})],
)


class RecordingBench(ControllerBench):
    """A controller bench that keeps all pins of the bus; ``clocks`` is a waveform of them."""

    def __init__(self, part, **sizes):
        super().__init__(part, WAYS, **sizes)
        self.clocks = []
        self._driven = deque([0] * cycles(part.t_dqsre_ps, PERIOD_PS))
        self._is_bursting = False

    def _exchange_pins(self, ctx, edge):
        super()._exchange_pins(ctx, edge)
        phy = self.harness.controller.phy
        pins = {name: ctx.get(getattr(phy, name)) for name in (*PINS, "dq_i", "dqs_i", "rb_n")}
        chosen = ~pins["ce_n"] & (1 << WAYS) - 1
        is_idle = pins["re_n"] == (1 << self.phases) - 1
        self._is_bursting = bool(chosen) and (self._is_bursting or not is_idle)
        self._driven.append(chosen if self._is_bursting else 0)
        self.clocks.append(pins | {"die_oe": self._driven.popleft()})


def commands(part):
    """Every operation on each LUN of two ways; LUNs take turns, but not between a page's pieces."""
    orders = [(way, 0, order) for order in OF_WAY for way in range(WAYS)]
    places = [(way, lun) for lun in range(part.luns) for way in range(WAYS)]
    for step in OF_LUN if part.planes == 1 else OF_PLANES:
        orders += [(way, lun, order) for way, lun in places for order in step]
    return [
        Command(
            **{"tag": tag, "way": way, "lun": lun, "operation": operation, "row": 4, "length": 10}
            | fields
        )
        for tag, (way, lun, (operation, fields)) in enumerate(orders)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "phases"),
    [(FULL, 2), (FULL, 1), (FULL, 4), (FULL_TWO_LUNS, 2), (FULL_TWO_PLANES, 2)],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_controller_keeps_all_rules(part, phases):
    bench = RecordingBench(part, phases=phases, launch={0: DATA})
    bench.run(commands(part))
    assert checker_for(part, phases).run(bench.clocks, None) == []


def test_every_operation_is_played():
    steps = (OF_WAY, *OF_LUN, *OF_PLANES)
    played = {operation for step in steps for operation, _ in step}
    assert played == set(OPERATIONS)
