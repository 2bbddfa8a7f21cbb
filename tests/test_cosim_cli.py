"""The command line: parses, calls one function, prints; bad input is one line and status 2."""

import json
import sys
from types import ModuleType

import pytest

from cosim import cli
from cosim.config.load import load_config, platform_names
from cosim.engines.run import SimulationFailed
from cosim.errors import UserError
from cosim.run_folder import RunFolder, write_run
from cosim.systems.inputs import load_inputs
from tests.scenarios.results import example_run
from tests.test_architecture import ROOT

SMALL = ROOT / "examples" / "quickstart-small.yaml"
SETMM = ROOT / "examples" / "data" / "setmm.npz"
OWN_TEST = ROOT / "examples" / "own_test" / "hot_page.py"
VERILOG = [
    "flash_channel_unit.v",
    "gather_unit.v",
    "nand_die.v",
    "sim_ram.v",
    "unit_clock.v",
    "csd_top.v",
]


@pytest.fixture
def run(monkeypatch, capsys):
    """Call the command; returns (status, output, error output)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["csd-cosim", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def calls(monkeypatch):
    """Stand in for the run itself: writes a made-up run; returns what it was asked for."""
    seen = []

    def compare(loaded, *, engine, out, systems, progress):
        seen.append((engine, out, systems))
        progress.begin("simulating", 2)
        progress.advance()
        progress.tell("serial at 2.500 ms")
        folder = out or loaded.file("run")
        with RunFolder(folder) as target:
            write_run(target.partial, loaded, example_run())
        return folder

    module = ModuleType("cosim.compare")
    module.compare = compare
    monkeypatch.setitem(sys.modules, "cosim.compare", module)
    return seen


def test_compare_prints_table_ratio_and_folder(run, calls, write_config, tmp_path):
    config = write_config(("name: serial\n", "name: fpga-csd\n"))
    status, out, err = run("compare", config, "--out", tmp_path / "here", "--engine", "icarus")
    assert status == 0
    assert calls == [("icarus", tmp_path / "here", None)]
    lines = [line.split() for line in out.splitlines()]
    assert ["firmware-csd", "┃", "fpga-csd", "┃", "fpga-csd", "/", "firmware-csd"] in [
        line[1:] for line in lines
    ]
    assert "1.09 times as long on firmware-csd" in out
    assert f"Run folder: {tmp_path / 'here'}" in out.replace("\n", "")
    assert err == "simulating ...\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_gets_a_bar(run, calls, write_config, monkeypatch, terminal):
    monkeypatch.setenv("TTY_COMPATIBLE", str(int(terminal)))
    config = write_config(("name: serial\n", "name: fpga-csd\n"))
    _, _, err = run("compare", config)
    assert ("50%" in err) == ("serial at 2.500 ms" in err) == terminal


def test_compare_passes_its_options_on(run, calls, write_config):
    config = write_config(("name: serial\n", "name: fpga-csd\n"))
    assert run("compare", config, "--systems", "fpga-csd,firmware-csd")[0] == 0
    assert calls == [(None, None, ("fpga-csd", "firmware-csd"))]


def test_blanks_and_empty_names_of_systems_are_nothing(run, calls, write_config):
    assert run("compare", write_config(), "--systems", " serial, ,firmware-csd ,")[0] == 0
    assert calls == [(None, None, ("serial", "firmware-csd"))]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("seriel", "must name systems of c.yaml, not 'seriel'; did you mean 'serial'?"),
        (" , ", "must name some of firmware-csd, serial, not ' , '"),
    ],
)
def test_a_wrong_name_of_a_system_is_one_of_the_option(run, calls, write_config, names, message):
    status, _, err = run("compare", write_config(), "--systems", names)
    assert (status, err) == (2, f"csd-cosim: --systems {message}\n")
    assert calls == []


def test_bad_input_is_one_line_and_status_two(run, calls, write_config):
    config = write_config(("seed: 7", "sead: 7"))
    status, out, err = run("compare", config)
    assert (status, out) == (2, "")
    assert err == ("csd-cosim: c.yaml:16: run.trace.sead is not a key; did you mean 'seed'?\n")
    assert calls == []


def test_an_error_of_the_run_is_one_line_and_status_two(run, calls, write_config, monkeypatch):
    def fail(*args, **kwargs):
        raise UserError("Icarus must be installed")

    monkeypatch.setattr(sys.modules["cosim.compare"], "compare", fail)
    assert run("compare", write_config()) == (2, "", "csd-cosim: Icarus must be installed\n")


def test_a_failed_simulation_is_one_line_and_status_one(run, calls, write_config, monkeypatch):
    def fail(*args, **kwargs):
        raise SimulationFailed("Flash page at channel 0 must be written before it is read")

    monkeypatch.setattr(sys.modules["cosim.compare"], "compare", fail)
    assert run("compare", write_config()) == (
        1,
        "",
        "csd-cosim: Flash page at channel 0 must be written before it is read\n",
    )


def test_a_folder_that_holds_a_run_is_refused(run, calls, write_config, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text("{}")
    status, _, err = run("compare", write_config(), "--out", "run")
    assert status == 2
    assert err.splitlines()[-1] == (
        "csd-cosim: run: output folder must be new or empty, and holds a run"
    )


def test_an_unknown_engine_is_refused(run, calls, write_config):
    status, _, err = run("compare", write_config(), "--engine", "vcs")
    assert status == 2
    assert "'vcs'" in err
    assert calls == []


def test_the_schema_goes_to_a_file_or_out(run, tmp_path):
    status, out, _ = run("schema")
    assert status == 0
    assert json.loads(out)["title"] == "Config"
    run("schema", "--out", tmp_path / "s.json")
    assert (tmp_path / "s.json").read_text() == out


def test_platforms_are_listed(run):
    status, out, _ = run("show-platform")
    assert status == 0
    assert [line.partition(":")[0] for line in out.splitlines()] == platform_names()


def test_parts_are_listed_and_shown_with_sources_and_marks(run):
    status, out, _ = run("show-part")
    assert status == 0
    assert "ull-3us: Ultra-low-latency NAND" in out
    status, out, _ = run("show-part", "toshiba-th58tfxxt23ba")
    assert status == 0
    assert "nv_ddr2.t_cdqss" in out
    assert "data sheet, shipped with a Cosmos+ module" in " ".join(out.split())


def test_a_part_that_is_not_there_is_one_line(run):
    status, out, err = run("show-part", "tinny")
    assert (status, out) == (2, "")
    assert err == (
        "csd-cosim: part must be the name of a NAND part or a .yaml file, not 'tinny'; "
        "did you mean 'tiny'?\n"
    )


def test_a_platform_is_shown_with_sources_and_marks(run):
    status, out, _ = run("show-platform", "cosmos_plus")
    assert status == 0
    row = next(line for line in out.splitlines() if "nand.t_ccs" in line)
    assert [cell.strip() for cell in row.split("│")][:3] == ["nand.t_ccs", "340 ns", "stated"]
    assert "COSMOS: Cosmos+ OpenSSD" in out


def test_an_unknown_platform_is_one_line(run):
    status, out, err = run("show-platform", "cosmo")
    assert (status, out) == (2, "")
    assert err == (
        "csd-cosim: platform must be the name of a platform or a .yaml file, not 'cosmo'; "
        "did you mean 'cosmos_plus'?\n"
    )


def test_a_graph_is_imported_and_described(run, tmp_path):
    (tmp_path / "g.txt").write_text("# two lists\n1 2\n2 5\n1 5\n")
    folder = tmp_path / "g"
    both = ("--direction", "both")
    assert run("graph", "import", tmp_path / "g.txt", "--out", folder, *both)[0] == 0
    status, out, _ = run("graph", "info", folder, *both)
    assert status == 0
    assert "nodes: 3\nedges: 6\n" in out


def test_a_broken_edge_list_names_its_line(run, tmp_path):
    (tmp_path / "g.txt").write_text("1 2\n2 x\n")
    status, _, err = run("graph", "info", tmp_path / "g.txt")
    assert status == 2
    assert err.startswith(f"csd-cosim: {tmp_path / 'g.txt'}:2: ")
    assert err.count("\n") == 1


@pytest.mark.slow
def test_verilog_of_a_configuration_is_written(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CSD_COSIM_CACHE", str(tmp_path / "cache"))
    config = ROOT / "examples" / "quickstart-small.yaml"
    status, out, _ = run("verilog", "--config", config, "--out", tmp_path / "v")
    assert status == 0
    assert out.split() == [str(tmp_path / "v" / name) for name in VERILOG]
    top = (tmp_path / "v" / "csd_top.v").read_text()
    assert top.count("gather_unit") >= 1
    assert "module flash_channel_unit" in (tmp_path / "v" / "flash_channel_unit.v").read_text()


def test_the_benchmark_prints_its_figures(run, tmp_path, monkeypatch):
    asked = []

    def bench(engine, json_path, *, decoder):
        asked.append((engine, json_path, decoder))
        return {"saturated_pages_per_s": 101.5}

    monkeypatch.setattr("cosim.bench.frame.bench_frame", bench)
    options = ["--engine", "icarus", "--json", tmp_path / "f.json", "--decoder", "present"]
    status, out, _ = run("bench", "frame", *options)
    assert (status, out) == (0, "saturated_pages_per_s: 101.5\n")
    assert asked == [("icarus", tmp_path / "f.json", "present")]


def test_the_benchmark_of_both_decoders_prints_ratios_of_the_best(run, tmp_path, monkeypatch):
    rates = iter([(200, 40), (90, 30), (160, 50), (120, 20), (100, 10), (100, 10)])

    def bench(engine, json_path=None, *, decoder):
        saturated, serial = next(rates)
        return {
            "saturated": {"cycles_per_cpu_s": saturated},
            "serial": {"cycles_per_cpu_s": serial},
        }

    monkeypatch.setattr("cosim.bench.frame.bench_frame", bench)
    page = tmp_path / "page.md"
    page.write_text("<!-- decoders -->\n<!-- end of decoders -->\n")
    files = ["--json", tmp_path / "f.json", "--docs", page]
    status, out, _ = run("bench", "frame", "--decoder", "both", *files)
    assert status == 0
    assert out.splitlines()[-2:] == ["saturated_ratio: 0.6", "serial_ratio: 0.6"]
    assert json.loads((tmp_path / "f.json").read_text())["saturated_ratio"] == 0.6
    assert "| saturated | 200 | 120 | 0.60 |\n| serial | 50 | 30 | 0.60 |" in page.read_text()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("schema", "--out", "/dev/null/x"), "/dev/null/x: must be writable: Not a directory"),
        (
            ("graph", "import", SETMM, "--direction", "out", "--out", "/dev/null/x"),
            "/dev/null/x: must be writable: Not a directory",
        ),
        (
            ("trace", "draw", SMALL, "--out", "/dev/null/x"),
            "/dev/null/x: must be writable: Not a directory",
        ),
        (
            ("bench", "frame", "--docs", "page.md"),
            "--docs must go with --decoder both, not None",
        ),
        (
            ("cocotb", SMALL, OWN_TEST, "--filter", "("),
            "--filter must be a regular expression, not '(': missing ), unterminated subpattern",
        ),
        (
            ("cocotb", SMALL, OWN_TEST, "--out", "/dev/null/x"),
            "/dev/null/x: output folder must be writable: Not a directory",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value[:2])),
)
def test_what_cannot_be_written_or_searched_is_one_line(run, command, message):
    status, _, err = run(*command)
    assert status == 2
    assert err.startswith(f"csd-cosim: {message}")
    assert err.count("\n") == 1


def test_a_cache_that_cannot_be_written_is_one_line(run, tmp_path, monkeypatch):
    monkeypatch.setenv("CSD_COSIM_CACHE", "/dev/null/x")
    status, _, err = run("verilog", "--config", SMALL, "--out", tmp_path / "v")
    assert status == 2
    assert err == (
        "csd-cosim: /dev/null/x: cache folder must be writable: Not a directory "
        "(the variable CSD_COSIM_CACHE can name another)\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import cocotb\ndef (\n", "{file}:2: must be Python: "),
        ("1 / 0\n", "{name}: must be a module that can be imported: ZeroDivisionError: division"),
    ],
)
def test_own_tests_that_are_no_python_are_one_line(run, tmp_path, text, message):
    file = tmp_path / f"own_{abs(hash(text))}.py"
    file.write_text(text)
    status, _, err = run("cocotb", SMALL, file)
    assert status == 2
    assert err.startswith("csd-cosim: " + message.format(file=file, name=file.stem))
    assert err.count("\n") == 1


def test_a_drawn_trace_can_be_named_instead_of_a_seed(run, tmp_path):
    status, out, _ = run("trace", "draw", SMALL, "--out", tmp_path / "t.json")
    assert (status, out) == (0, f"{tmp_path / 't.json'}: 2 mini-batches\n")
    text = SMALL.read_text().replace("data/setmm.npz", str(SETMM))
    drawn = "trace: {batches: 2, targets: 6, fan_outs: [3, 2], seed: 1}"
    assert drawn in text
    (tmp_path / "c.yaml").write_text(text.replace(drawn, "trace: {file: t.json}"))
    by_file = load_inputs(load_config(tmp_path / "c.yaml")).trace
    assert by_file.sha256 == load_inputs(load_config(SMALL)).trace.sha256
