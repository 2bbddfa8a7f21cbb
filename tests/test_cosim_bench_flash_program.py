"""The benchmark of page programs: its bound by hand, its figures, and the real thing in small."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest

from cosim.bench.flash_channel_bound import BusBound, ProgramTerm
from cosim.bench.flash_program import (
    ProgramKind,
    bench_programs,
    program_cases,
    program_figures,
    program_tables,
)
from cosim.bench.page import rewrite_page
from cosim.config.build import nand_part
from cosim.config.load import load_platform
from cosim.errors import UserError
from rtl.contract.nand_part import cycles
from tests.test_architecture import ROOT

COSMOS = nand_part(load_platform("cosmos_plus", operations="all"))


def test_the_bound_at_10_ns_by_hand():
    # WE# low tWP = 2, high tWH = 2; tCCS and tADL as the part has them.
    bound = BusBound(part=replace(COSMOS, luns=1), period_ps=10_000, phases=2)
    assert bound.program(18_048) == {
        ProgramTerm.DATA: 9_024,
        # 80h and five addresses, 10h, and tCH after it.
        ProgramTerm.COMMAND: (5 * 4 + 2) + 2 + 2,
        ProgramTerm.T_ADL: cycles(COSMOS.extended.t_adl_ps, 10_000),
        ProgramTerm.T_WPRE: 2,
        ProgramTerm.T_WPST: 1,
        # 78h and three addresses, tWHR, preamble, a clock of data, postamble.
        ProgramTerm.STATUS: (3 * 4 + 2) + 12 + 2 + 1 + 3,
        ProgramTerm.T_RHW: 10 - 1 - 3,
        ProgramTerm.SELECT: 0,
    }


def test_pages_that_are_programmed_together_share_a_status():
    bound = BusBound(part=replace(COSMOS, luns=1), period_ps=5_000, phases=2)
    one, two = bound.program(18_048), bound.program(18_048, pages_at_once=2)
    assert two[ProgramTerm.STATUS] == one[ProgramTerm.STATUS] / 2
    assert two[ProgramTerm.T_RHW] == one[ProgramTerm.T_RHW] / 2
    # CE# before WE#, where tCS asks for it: of each program, and of the status.
    assert (one[ProgramTerm.SELECT], two[ProgramTerm.SELECT]) == (2, Fraction(3, 2))
    same = (ProgramTerm.DATA, ProgramTerm.COMMAND, ProgramTerm.T_ADL)
    assert all(two[term] == one[term] for term in same)


def test_confirm_cycles_have_their_latch_enable_set_up():
    slow = replace(COSMOS, luns=1, t_cals_ps=45_000)
    assert BusBound(part=slow, period_ps=10_000, phases=2).confirm == 5


def test_cases_are_of_whole_pages_on_one_channel():
    cases = program_cases()
    assert [case.name for case in cases] == [
        "1ch-1lun-18048B-200MTs-plain",
        "1ch-1lun-18048B-200MTs-cached",
        "1ch-1lun-18048B-200MTs-planes",
    ]
    assert [case.pages_at_once for case in cases] == [1, 1, 2]
    assert {case.base.array for case in cases} == {cases[0].base.array}
    assert cases[0].base.array.part.extended is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ["fast"]}, "programs must be of plain, cached, planes, not 'fast'"),
        ({"platform": "smartssd"}, "platform must be that of an SSD, not 'smartssd'"),
    ],
)
def test_cases_that_cannot_be_are_refused(arguments, message):
    with pytest.raises(UserError, match=re.escape(message)):
        program_cases(**arguments)


def test_figures_are_of_the_window():
    case = program_cases(kinds=["plain"])[0]
    bound = float(sum(case.bound.values()))
    figures = program_figures(case, pages=10, window_ps=int(10 * 2 * bound) * 10_000)
    assert figures["of_bound"] == pytest.approx(0.5, abs=1e-4)
    assert figures["bus_utilisation"] == pytest.approx(9_024 / (2 * bound), abs=1e-4)
    assert figures["pages_per_s"] == pytest.approx(1e8 / (2 * bound), abs=1)
    assert figures["clocks_per_page"] == pytest.approx(2 * bound, abs=0.1)


def test_tables_have_a_place_in_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text((ROOT / "docs" / "flash-channel.md").read_text())
    figures = [
        program_figures(case, pages=10, window_ps=10 * 10_000 * 10_000) for case in program_cases()
    ]
    rewrite_page(page, program_tables(figures))
    assert "| `1ch-1lun-18048B-200MTs-cached` |" in page.read_text()
    assert program_tables([]) == {}


@pytest.mark.hdl
@pytest.mark.slow
def test_programs_of_all_kinds_in_small():
    """One way waits for its array: for all of it, for what its bus does not hide, for two pages."""
    cases = program_cases("tiny", ways=1)
    small = {"engine": "icarus", "pages": 4, "warm_up_pages": 2}
    measured = {case["kind"]: case for case in bench_programs(cases, **small)}
    assert set(measured) == {kind.value for kind in ProgramKind}
    for case in measured.values():
        assert 0 < case["bus_utilisation"] < case["of_bound"] <= 1
    plain, cached, planes = (measured[kind]["clocks_per_page"] for kind in measured)
    array = cases[0].base.array
    t_prog = array.part.extended.t_prog_ps / array.period_ps
    bound = float(sum(cases[0].bound.values()))
    assert bound + t_prog < plain < bound + t_prog + 40
    assert bound + t_prog / 2 - 20 < planes < bound + t_prog / 2 + 40
    assert bound < cached < plain - t_prog / 2
