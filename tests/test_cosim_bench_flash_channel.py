"""The flash-channel benchmark: its bound by hand, its report, and the real thing in small."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cosim.bench.flash_channel import TARGETS, bench_flash_channel, cases, figures, report
from cosim.bench.flash_channel_bound import BusBound, ProgramTerm, bus_bound
from cosim.bench.flash_channel_case import FlashChannelCase
from cosim.bench.flash_channel_command import bounds, run
from cosim.bench.flash_channel_job import RandomContent
from cosim.bench.flash_channel_plot import STYLE, save_plot
from cosim.bench.flash_channel_text import bound_table, case_table, cause_table
from cosim.bench.flash_program import bench_programs, program_cases
from cosim.bench.page import rewrite_page
from cosim.config.build import nand_part
from cosim.config.load import PLATFORM_FOLDER, load_platform
from cosim.errors import UserError
from rtl.contract.bus_causes import BusCause
from tests.test_architecture import ROOT

PAGE = ROOT / "docs" / "flash-channel.md"
COSMOS = nand_part(load_platform("cosmos_plus"))
NAMES = [cause.name.lower() for cause in BusCause]


def case(**changes):
    shape = {"channels": 1, "ways": 8, "luns": 1, "length_bytes": 17_728}
    shape |= {"platform": "cosmos_plus", "transfer_rate": 200_000_000}
    return FlashChannelCase(**(shape | changes))


def window(pages=10, idle=100, period_ps=10_000, **per_page):
    """What a simulation reports of a channel: some clocks a page, and ``idle`` ones to decide."""
    clocks = dict.fromkeys(NAMES, 0) | {name: pages * n for name, n in per_page.items()}
    clocks["decision"] += idle
    return {"pages": pages, "window_ps": sum(clocks.values()) * period_ps, "clocks": clocks}


@pytest.fixture
def small_report():
    cases_ = [case(), case(channels=8), case(channels=8, length_bytes=18_048)]
    data = [window(data=8_864, t_ccs=34), *([window(data=8_864, t_ccs=34, idle=5_000)] * 2)]
    measured = [
        figures(each, [one] * each.channels) for each, one in zip(cases_, data, strict=True)
    ]
    return report(measured, engine="verilator", pages=10, warm_up_pages=1, drain_ps=0, seed=1)


def test_the_bound_at_10_ns_by_hand():
    # WE# low tWP = 2, high tWH = 2; seven cycles from the first fall to the last rise.
    seven = 6 * 4 + 2
    assert BusBound(part=replace(COSMOS, luns=1), period_ps=10_000, phases=2).page(17_728) == {
        BusCause.DATA: 8_864,
        BusCause.STATUS_DATA: 0,
        BusCause.READ_COMMAND: seven + 2,
        BusCause.TRANSFER_COMMAND: seven,
        BusCause.POLL_COMMAND: 0,
        BusCause.SELECT: 0,
        BusCause.T_CCS: 34,
        BusCause.T_WHR: 0,
        BusCause.T_RPRE: 2,
        BusCause.T_RPST: 3,
        BusCause.T_RHW: 10 - 1 - 3,
    }


def test_the_bound_with_polls_at_5_ns_by_hand():
    # 200 MHz: tWP = tWH = 3, tCS = 4 and so one clock of CE# before WE#, tWHR = 24.
    bound = BusBound(part=COSMOS, period_ps=5_000, phases=2)
    seven = 6 * 6 + 3
    assert bound.page(18_048) == {
        BusCause.DATA: 9_024,
        BusCause.STATUS_DATA: 1,
        BusCause.READ_COMMAND: seven + 2,
        BusCause.TRANSFER_COMMAND: seven,
        BusCause.POLL_COMMAND: 3 * 6 + 3,
        BusCause.SELECT: 3,
        BusCause.T_CCS: 68,
        BusCause.T_WHR: 24,
        BusCause.T_RPRE: 2 * 3,
        BusCause.T_RPST: 2 * 6,
        BusCause.T_RHW: 2 * (20 - 1 - 1 - 6),
    }
    assert bound.page_clocks(18_048) == sum(bound.page(18_048).values())


def on_bus(interface, mode):
    """Platform ``tiny`` on another bus."""
    text = (PLATFORM_FOLDER / "tiny.yaml").read_text()
    text = text.replace("interface: {value: nv-ddr2,", f"interface: {{value: {interface},")
    return text.replace("mode: {value: 4,", f"mode: {{value: {mode},")


@pytest.fixture
def bus_platform(tmp_path, monkeypatch):
    """Writes ``tiny`` on another bus where a command would find it; returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(interface, mode):
        Path("my.yaml").write_text(on_bus(interface, mode))
        return "my.yaml"

    return write


def test_the_bound_of_an_sdr_bus_by_hand(bus_platform):
    # Mode 4 at 10 ns: tWP 2, tWH 1, tCALS 1 and tCAH 1, so cycles of 3 clocks; tCS 2. tRP 2, tREH 1
    # and tREA 2, so 3 clocks a byte; tRHW 4 from the last rise of RE#. tCCS 8, tWHR 6, tADL 8.
    (one,) = cases(bus_platform("sdr", 4), channels=[1], luns=[2], lengths=[100])
    assert (one.bound.cycle, one.bound.low, one.bound.transfer) == (3, 2, 3)
    assert one.bound.page(100) == {
        BusCause.DATA: 300,
        BusCause.STATUS_DATA: 6,
        BusCause.READ_COMMAND: 6 * 3 + 2 + 1,
        BusCause.TRANSFER_COMMAND: 6 * 3 + 2,
        BusCause.POLL_COMMAND: 3 * 3 + 2,
        BusCause.SELECT: 0,
        BusCause.T_CCS: 8,
        BusCause.T_WHR: 6,
        BusCause.T_RPRE: 0,
        BusCause.T_RPST: 0,
        BusCause.T_RHW: 2 * (4 - 1),
    }
    (programmed,) = program_cases("my.yaml", kinds=["plain"])
    assert programmed.bound == {
        ProgramTerm.COMMAND: 5 * 3 + 2 + 3 + 1,
        ProgramTerm.DATA: 3 * 2496,
        # To the rise of the first byte, of whose cycle 3 clocks are counted.
        ProgramTerm.T_ADL: 8 - 3,
        ProgramTerm.T_WPRE: 0,
        ProgramTerm.T_WPST: 0,
        ProgramTerm.STATUS: 3 * 3 + 2 + 6 + 6,
        ProgramTerm.T_RHW: 4 - 1,
        ProgramTerm.SELECT: 0,
    }


def test_the_bound_of_an_nv_ddr_bus_is_in_its_periods(bus_platform):
    (one,) = cases(bus_platform("nv-ddr", 5), channels=[1], luns=[1], lengths=[100])
    part = one.array.part
    assert one.bound == bus_bound(part, period_ps=10_000, phases=2)
    assert one.bound.page(100)[BusCause.T_RPRE] == part.t_rpre_ps // 10_000


def test_rates_of_other_buses_are_those_of_mode_and_clock(bus_platform):
    name = bus_platform("sdr", 4)
    assert {case.transfer_rate for case in cases(name)} == {33_333_333}
    message = (
        "rate must be 33333333 transfers a second, as clock and mode 4 of sdr make it on the "
        "platform my.yaml, not 50000000"
    )
    with pytest.raises(UserError, match=re.escape(message)):
        cases(name, rates=[50_000_000])


@pytest.mark.parametrize("changes", [{"t_wc_ps": 70_000}, {"t_cals_ps": 65_000}])
def test_a_write_cycle_keeps_the_longest_of_its_rules(changes):
    bound = BusBound(part=replace(COSMOS, **changes), period_ps=10_000, phases=2)
    assert bound.cycle == 7 + ("t_cals_ps" in changes)


def test_the_cases_are_all_combinations():
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names) == 16
    assert names[0] == "1ch-1lun-17728B-200MTs"
    assert names[-1] == "8ch-2lun-18048B-400MTs"
    assert [c.array.period_ps for c in cases(channels=[1], luns=[1], lengths=[2])] == [
        10_000,
        5_000,
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"channels": 0}, "channels must be from 1 to 30, not 0"),
        ({"ways": 17}, "ways must be from 1 to 16, not 17"),
        ({"luns": 9}, "luns must be from 1 to 8, not 9"),
        ({"length_bytes": 18_050}, "length must be an even number of bytes up to 18048, not 18050"),
        ({"length_bytes": 3}, "length must be an even number of bytes up to 18048, not 3"),
        ({"transfer_rate": 333_000_000}, "rate of 333 MT/s: clock must have a period of an even"),
        # 400 MT/s is mode 7, the last one.
        ({"transfer_rate": 0}, "rate must be from 1 to 400000000 transfers a second, as the modes"),
        ({"transfer_rate": 400_000_002}, "of NV-DDR2 make them, not 400000002"),
    ],
)
def test_cases_that_cannot_be_are_refused(changes, message):
    with pytest.raises(UserError, match=re.escape(message)):
        case(**changes)


@pytest.mark.parametrize("option", ["pages", "warm_up_pages", "drain_ps", "seed"])
def test_numbers_out_of_range_are_refused(option):
    with pytest.raises(UserError, match=r"must be at least [01], not -1"):
        bench_flash_channel([case()], **{option: -1})


def test_a_platform_of_something_else_is_refused():
    with pytest.raises(UserError, match="platform must be that of an SSD, not 'smartssd'"):
        cases("smartssd")


def test_figures_are_of_the_windows():
    made = figures(case(channels=2), [window(data=8_864), window(data=8_864, idle=1_364)])
    assert made["pages"] == 20
    # 88,740 and 90,004 clocks of 10 ns for ten pages each.
    assert made["pages_per_s"] == round(1e9 / 88_740 + 1e9 / 90_004, 1)
    assert made["bus_utilisation"] == round(177_280 / 178_744, 6)
    assert made["of_bound"] == round(20 * 8_963 / 178_744, 6)
    assert made["idle_share"] == round(1_464 / 178_744, 6)
    assert made["clocks_per_page"]["decision"] == 73.2


def test_targets_are_met_or_missed(small_report):
    assert [(t["case"], t["key"], t["met"]) for t in small_report["targets"]] == [
        ("1ch-1lun-17728B-200MTs", "of_bound", True),
        ("8ch-1lun-17728B-200MTs", "pages_per_s", False),
        ("8ch-1lun-18048B-200MTs", "pages_per_s", False),
    ]
    assert [target.at_least for target in TARGETS] == [0.98, 88_500, 86_500]
    # In front are the figures of the first case with the most channels.
    assert small_report["case"] == "8ch-1lun-17728B-200MTs"
    assert small_report["pages_per_s"] == small_report["cases"][1]["pages_per_s"]


def test_every_key_of_the_report_is_explained(small_report):
    page = PAGE.read_text()
    keys = {*small_report, *small_report["cases"][0], *small_report["targets"][0], *NAMES}
    assert not [key for key in keys if f"`{key}`" not in page]


def test_the_page_has_the_bound_as_it_is():
    table = bound_table(bounds(cases()))
    assert f"<!-- bound -->\n{table}<!-- end of bound -->" in PAGE.read_text()


def test_tables_have_a_line_for_each_case_and_cause(small_report):
    table = case_table(small_report)
    assert "| `1ch-1lun-17728B-200MTs` | 8,963 | 8,908.0 | 100.62 % | 99.51 % | 11,226 |" in table
    assert table.count("pages_per_s at least 88,500: missed") == 1
    table = cause_table(small_report["cases"][:1])
    assert "| `t_ccs` | 34 / 34.00 |" in table
    assert "| `decision` | 0 / 10.00 |" in table
    assert "no_command" not in table


def test_a_page_gets_its_tables(tmp_path):
    page = tmp_path / "p.md"
    page.write_text("a\n<!-- bound -->\nold\n<!-- end of bound -->\nb\n")
    for _ in range(2):
        rewrite_page(page, {"bound": "| new |\n"})
        assert page.read_text() == "a\n<!-- bound -->\n| new |\n<!-- end of bound -->\nb\n"
    with pytest.raises(UserError, match=r"p.md: must have a place for its tables, <!-- cases -->"):
        rewrite_page(page, {"cases": ""})
    with pytest.raises(UserError, match="must be a page to write to: No such file"):
        rewrite_page(tmp_path / "q.md", {"cases": ""})


def test_the_plot_has_all_causes_and_repeats(small_report, tmp_path):
    assert set(STYLE) == set(BusCause)
    colours = [colour for _, colour in STYLE.values()]
    assert len(set(colours)) == len(colours)
    for name in ("a.png", "b.png"):
        save_plot(small_report, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with pytest.raises(UserError, match="must be writable"):
        save_plot(small_report, tmp_path / "none" / "a.png")


def test_contents_are_the_same_however_they_are_read():
    content = RandomContent(7, 1 << 50)
    whole = content.read(0, 200)
    assert content.read(37, 100) == whole[37:137]
    assert content.read(1 << 40, 16) != whole[:16]
    assert RandomContent(8, 1 << 50).read(0, 200) != whole


def test_a_drain_without_unit_is_refused():
    with pytest.raises(UserError, match="--drain must be a time"):
        run([case()], json_path=None, plot=None, docs=None, drain="20")


@pytest.mark.hdl
@pytest.mark.slow
def test_two_saturated_ways_come_close_to_the_bound(tmp_path):
    """Sensing of one way hides behind the other's burst, so two ways saturate the bus, too."""
    chosen = [case(ways=2)]
    path = tmp_path / "r.json"
    options = {"pages": 24, "warm_up_pages": 6, "seed": 3}
    table = run(chosen, json_path=path, plot=None, docs=None, drain=None, **options)
    result = json.loads(path.read_text())
    (made,) = result["cases"]
    assert made["name"] in table
    assert 0.98 <= made["of_bound"] <= 1
    clocks, bound = made["clocks_per_page"], made["bound_clocks_per_page"]
    assert clocks["data"] == bound["data"] == 8_864
    assert all(clocks[name] >= bound[name] for name in NAMES)
    assert clocks["other_command"] == clocks["no_command"] == clocks["no_landing_slot"] == 0
    assert made["pages_per_s"] == pytest.approx(10**8 / sum(clocks.values()), abs=0.1)

    # A slot is taken for a page's time on the bus and then 200 us more; there are two.
    slow = bench_flash_channel(chosen, drain_ps=200_000_000, **options)["cases"][0]
    assert slow["clocks_per_page"]["no_landing_slot"] > 1_000
    assert slow["pages_per_s"] == pytest.approx(2e12 / (200e6 + 8_950 * 10_000), rel=0.01)


@pytest.mark.hdl
@pytest.mark.slow
@pytest.mark.parametrize(("interface", "mode"), [("sdr", 4), ("nv-ddr", 5)])
def test_two_ways_on_other_buses_keep_the_bound(bus_platform, interface, mode):
    """With the platform in a file where the command runs."""
    name = bus_platform(interface, mode)
    chosen = cases(name, channels=[1], luns=[1], lengths=[1108])
    options = {"engine": "icarus", "pages": 4, "warm_up_pages": 2}
    (made,) = bench_flash_channel(chosen, **options)["cases"]
    clocks, bound = made["clocks_per_page"], made["bound_clocks_per_page"]
    assert clocks["data"] == bound["data"]
    assert all(clocks[each] >= bound[each] for each in NAMES)
    assert 0.9 <= made["of_bound"] <= 1


@pytest.mark.hdl
@pytest.mark.slow
def test_programs_on_an_sdr_bus_keep_the_bound(bus_platform):
    options = {"engine": "icarus", "pages": 2, "warm_up_pages": 2}
    (made,) = bench_programs(program_cases(bus_platform("sdr", 4), kinds=["plain"]), **options)
    assert 0.8 <= made["of_bound"] <= 1
