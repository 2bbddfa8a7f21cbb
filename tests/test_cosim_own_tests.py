"""Users' own cocotb tests: the example, what a failure says, and what is refused."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim.bench.run import run_tests
from cosim.cli import app
from cosim.config.load import load_config
from cosim.errors import UserError

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "examples" / "quickstart-small.yaml"
EXAMPLE = ROOT / "examples" / "own_test" / "hot_page.py"
NAMES = ["a_page_read_twice_is_sensed_once", "a_channel_without_work_has_no_clock"]


def module(folder, text):
    path = folder / f"{folder.name.replace('-', '_')}_bench.py"
    path.write_text(text)
    return path


@pytest.mark.hdl
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_example_passes(simulator, tmp_path, waves, name):
    command = ["cocotb", str(SMALL), str(EXAMPLE), "--engine", simulator, "--out", str(tmp_path)]
    command += ["--filter", name, *(["--waves"] if waves else [])]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.output.split() == ["pass", name]
    assert any((tmp_path / name).glob("waves.*")) == waves


@pytest.mark.hdl
@pytest.mark.slow
def test_failure_is_told_with_its_message(tmp_path):
    changed = EXAMPLE.read_text().replace("assert ran == {0}", "assert ran == {1}")
    path = module(tmp_path, changed)
    outcomes = list(
        run_tests(load_config(SMALL), path, tmp_path, engine="icarus", pattern="no_clock")
    )
    assert [outcome.name for outcome in outcomes] == NAMES[1:]
    assert re.match(r"AssertionError: assert \{0\} == \{1\}; see ", outcomes[0].failure)


def test_module_without_a_matching_test_is_refused(tmp_path):
    path = module(tmp_path, "import cocotb\n@cocotb.test()\nasync def one(dut): ...\n")
    with pytest.raises(UserError, match=r"must have a cocotb test that matches 'two', not \['one'"):
        list(run_tests(load_config(SMALL), path, tmp_path, engine="icarus", pattern="two"))


def test_missing_module_is_refused(tmp_path):
    with pytest.raises(UserError, match="must be a Python file with cocotb tests"):
        list(run_tests(load_config(SMALL), tmp_path / "none.py", tmp_path, engine="icarus"))
