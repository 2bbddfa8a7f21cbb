"""The translation layer's C routines against the model, with other stories than the tables' own."""

import pytest

from firmware_model import ftl_cases, ftl_map_cases
from firmware_model.arm_machine import CORES, SOURCES, ArmProgram
from tests.test_firmware_costs import compare_with_table

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("core", CORES)
def test_the_map_tells_the_model_s_story_at_its_cost(core):
    """Slot by slot, and entry by entry of the log."""
    program = ArmProgram(SOURCES / "ftl_map.c", CORES[core])
    for seed in (1000, 1001, 1004):
        compare_with_table(ftl_map_cases.tell(program, seed, 250), core)


@pytest.mark.parametrize("core", CORES)
def test_writes_and_collection_tell_the_model_s_story_at_its_cost(core):
    """Block by block; each page's metadata, and the command in its LUN's queue."""
    for seed in (1000, 1001, 1003):
        compare_with_table(ftl_cases.tell(core, seed, 400), core)
