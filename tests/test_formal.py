# amaranth: UnusedElaboratable=no
"""Model checking: the quick properties, and what the checks themselves are worth."""

import re

import pytest
from amaranth.hdl import Assert, ClockDomain, ClockSignal, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

import rtl.gather.queue
from cosim.formal.report import HEADINGS, Result, line, table
from cosim.formal.sby import Outcome, Verdict, check
from cosim.yowasp import ToolFailed
from rtl.formal.properties import PROPERTIES
from tests.formal.mutants import MUTANTS
from tests.formal.rewritten import rewritten
from tests.formal.run import check_property
from tests.test_architecture import ROOT

PAGE = ROOT / "docs" / "formal.md"
QUICK = [item for item in PROPERTIES if item.is_quick]


def test_every_property_has_a_mutant():
    assert set(MUTANTS) == {item.name for item in PROPERTIES}
    assert all(MUTANTS.values())


def test_the_page_has_a_good_line_for_each_property():
    found = PAGE.read_text().partition("<!-- properties: begin -->")[2]
    lines = [text for text in found.splitlines() if text.startswith("|")]
    assert lines[0] == f"| {' | '.join(HEADINGS)} |"
    cells = [[cell.strip() for cell in text.split("|")[1:-1]] for text in lines[2:]]
    for item, row in zip(PROPERTIES, cells, strict=True):
        assert row[:2] == [f"`{item.name}`", item.statement]
        assert row[3:5] == [str(item.depth), "pass"]
        assert row[5] == ", ".join(f"{name}: fail" for name in MUTANTS[item.name])


def test_a_mutation_that_does_not_apply_is_an_error():
    message = r"rtl.gather.queue must hold 'm.d.sync' once, not [1-9][0-9]+$"
    with pytest.raises(ValueError, match=message):
        rewritten(rtl.gather.queue, "Queue", ("m.d.sync", "m.d.comb"))


@pytest.mark.parametrize(
    ("design", "mutants", "good"),
    [
        (Verdict.PASS, [Verdict.FAIL], True),
        (Verdict.FAIL, [Verdict.FAIL], False),
        (Verdict.PASS, [Verdict.FAIL, Verdict.PASS], False),
        (Verdict.PASS, [Verdict.UNKNOWN], False),
        (Verdict.PASS, [], False),
    ],
)
def test_a_result_is_good_only_with_mutants_that_fail(tmp_path, design, mutants, good):
    outcomes = {
        str(number): Outcome(verdict, 1, tmp_path) for number, verdict in enumerate(mutants)
    }
    result = Result("p", "holds", "bmc", 9, Outcome(design, 1.6, tmp_path), outcomes)
    assert result.is_good is good
    assert line(result).startswith("| `p` | holds | bounded, smtbmc boolector | 9 | ")
    assert line(result).endswith(" | 2 |")


def test_lines_of_other_properties_stay(tmp_path):
    def result(name, seconds):
        outcome = Outcome(Verdict.PASS, seconds, tmp_path)
        return Result(name, "holds", "bmc", 9, outcome, {"none": outcome})

    old = table("", [result("a", 1), result("b", 2), result("gone", 3)], ["a", "b", "gone"])
    found = table(old, [result("b", 7), result("c", 8)], ["c", "a", "b", "none"])
    lines = [line(one) for one in (result("c", 8), result("a", 1), result("b", 7))]
    assert found.splitlines()[2:] == lines


class Counter(wiring.Component):
    """Counts to three and, if it has a claim, never reaches ``limit``."""

    clk: In(1)
    step: In(1)

    def __init__(self, limit=None):
        self._limit = limit
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = ClockDomain(reset_less=True)
        count = Signal(3)
        m.d.comb += ClockSignal().eq(self.clk)
        with m.If(self.step & (count != 3)):
            m.d.sync += count.eq(count + 1)
        if self._limit is not None:
            m.d.comb += Assert(count != self._limit)
        return m


def test_a_circuit_without_a_claim_is_an_error(tmp_path):
    message = re.escape(f"{tmp_path.name}: the circuit must hold an assertion, but holds none")
    with pytest.raises(ToolFailed, match=message):
        check(Counter(), mode="bmc", depth=5, folder=tmp_path, time_limit_s=60)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "mode", "depth", "verdict"),
    [
        (3, "bmc", 3, Verdict.PASS),  # clocks 0 to 2 cannot know
        (3, "bmc", 4, Verdict.FAIL),
        (5, "prove", 5, Verdict.UNKNOWN),  # from 4 it goes on to 5, and 4 never happens
        (4, "prove", 5, Verdict.PASS),
    ],
)
def test_a_verdict_is_about_the_clocks_that_were_asked_for(tmp_path, limit, mode, depth, verdict):
    found = check(Counter(limit), mode=mode, depth=depth, folder=tmp_path, time_limit_s=120)
    assert found.verdict is verdict


@pytest.mark.slow
@pytest.mark.parametrize("item", QUICK, ids=[item.name for item in QUICK])
def test_a_property_holds_and_fails_on_its_mutants(item, tmp_path):
    result = check_property(item, tmp_path, time_limit_s=200)
    assert result.is_good, line(result)
