# amaranth: UnusedElaboratable=no
"""Programs whose parity the channel makes: what dies hold, and what is read back and corrected."""

import random

import pytest

from rtl.contract.bch import BchCode
from rtl.contract.channel import ChannelOperation, ChannelStatus
from rtl.nand.controller import FlashChannelController
from tests.nand_bench import CALM
from tests.operation_scenes import ERASE, FULL, commands
from tests.scenarios.bch import SHORT as CODE
from tests.scenarios.bch import coded_page
from tests.scenarios.nand import PERIOD_PS
from tests.unit_operations_bench import OperationUnitBench

pytestmark = pytest.mark.slow

LONG = BchCode(m=10, t=4, chunk_bytes=100)
RAW = FULL.raw_page_bytes
SLOTS = {number: random.Random(number).randbytes(RAW) for number in range(2)}
PROGRAM, READ = ChannelOperation.PROGRAM, ChannelOperation.READ


def play(*orders, part=FULL, **options):
    """The bench after some commands of the first LUN, all of which must end well."""
    bench = OperationUnitBench(
        part, 1, launch=SLOTS, **{"code": CODE, "encodes": True, "are_erased": True} | options
    )
    for completion in bench.run(commands(*orders)):
        assert completion["status"] == ChannelStatus.OK
    assert bench.violations == []
    return bench


@pytest.mark.parametrize(("phases", "code"), [(1, CODE), (2, CODE), (2, LONG), (4, LONG)])
def test_a_page_is_programmed_with_its_parity_and_read_back(phases, code):
    orders = ((PROGRAM, {"slot": 1}), (READ, {}), (READ, {"is_raw": 1}))
    bench = play(*orders, phases=phases, code=code)
    assert bench.cells[0, 0, 0] == coded_page(code, SLOTS[1], RAW)
    assert bench.data[1] == bench.data[2] == coded_page(code, SLOTS[1], RAW)


def test_what_is_raw_is_programmed_as_it_comes():
    bench = play(
        (PROGRAM, {"is_raw": 1}), (PROGRAM, {"row": 1}), (PROGRAM, {"row": 2, "is_raw": 1})
    )
    assert bench.cells[0, 0, 0] == bench.cells[0, 0, 2] == SLOTS[0]
    assert bench.cells[0, 0, 1] == coded_page(CODE, SLOTS[0], RAW)


def test_pieces_of_a_page_are_coded_each_from_its_first_byte():
    size = CODE.codeword_bytes + CODE.codeword_bytes % 2
    bench = play(
        ERASE,
        (ChannelOperation.LOAD, {"length": size}),
        (ChannelOperation.PROGRAM_MORE, {"column": 100, "length": 2 * size, "slot": 1}),
    )
    held = bench.cells[0, 0, 0]
    assert held[:size] == coded_page(CODE, SLOTS[0], size)
    assert held[100 : 100 + 2 * size] == coded_page(CODE, SLOTS[1], 2 * size)


def test_a_feature_is_not_coded():
    bench = play((ChannelOperation.SET_FEATURES, {"row": 1, "length": 4}), (PROGRAM, {}))
    assert bench.features[0, 1] == SLOTS[0][:4]
    assert bench.cells[0, 0, 0] == coded_page(CODE, SLOTS[0], RAW)


def test_the_bus_takes_no_longer():
    orders = ((PROGRAM, {}), (PROGRAM, {"row": 1, "slot": 1}), (READ, {"is_raw": 1}))
    with_it, without = (play(*orders, encodes=encodes) for encodes in (True, False))
    names = ("accepted", "command", "issued", "ready", "transfer")
    for one, other in zip(with_it.completions, without.completions, strict=True):
        assert {name: one[name] for name in names} == {name: other[name] for name in names}


@pytest.mark.parametrize(("part", "code"), [(FULL, None), (CALM, CODE)])
def test_an_encoder_without_a_code_or_programs_is_refused(part, code):
    with pytest.raises(ValueError, match="An encoder needs a code and a part that can be"):
        FlashChannelController(part, period_ps=PERIOD_PS, ways=1, code=code, encodes=True)
