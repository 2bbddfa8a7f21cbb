"""Users' own cocotb tests: the example, what a failure says, and what is refused."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim.bench import machine as machine_module
from cosim.bench import run as run_module
from cosim.bench.run import run_tests
from cosim.cli import app
from cosim.config.load import load_config
from cosim.engines.run import JOB_VARIABLE
from cosim.errors import UserError
from tests.system_runs import as_text, configuration

ROOT = Path(__file__).parents[1]
SMALL = ROOT / "examples" / "quickstart-small.yaml"
EXAMPLE = ROOT / "examples" / "own_test" / "hot_page.py"
TWO = """
import cocotb
@cocotb.test()
async def one(dut): ...
@cocotb.test()
async def two(dut): ...
"""
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


def test_a_machine_is_of_the_files_that_were_read_at_the_start(tmp_path, monkeypatch):
    """Not of what they have become by the time of one test or the other."""
    config = tmp_path / "c.yaml"
    jobs = []

    def write(t_r):
        config.write_text(as_text(configuration(platform_overrides={"ssd.nand.t_r": t_r})))

    def simulate(build, function, job, folder, **more):
        jobs.append(json.loads(json.dumps(job)))
        write("9 us")

    async def start(dut, platforms, system, inputs, *, stop_clocks):
        return platforms.ssd.nand.t_r.value, system.name

    monkeypatch.setattr(run_module, "build", lambda *arguments, **options: None)
    monkeypatch.setattr(run_module, "run_job", simulate)
    monkeypatch.setattr(machine_module.Machine, "start", start)
    write("7 us")
    own = module(tmp_path, TWO)
    list(run_tests(load_config(config), own, tmp_path, engine="verilator"))
    assert len(jobs) == 2
    for job in jobs:
        (tmp_path / "job.json").write_text(json.dumps({"job": job}))
        monkeypatch.setenv(JOB_VARIABLE, str(tmp_path / "job.json"))
        made = asyncio.run(machine_module.start_machine(None, "fpga-csd"))
        assert made == (7_000_000, "fpga-csd")
        other = {**job, "inputs_sha256": "0" * 64}
        (tmp_path / "job.json").write_text(json.dumps({"job": other}))
        with pytest.raises(UserError, match="must stay as they are while the run goes on"):
            asyncio.run(machine_module.start_machine(None))


def test_a_system_with_other_rtl_than_was_built_is_refused(tmp_path, monkeypatch):
    """The job says whose RTL it is; the second system here has a block of its own."""
    config = tmp_path / "c.yaml"
    document = configuration()
    document["systems"][1]["gather"] = {"amaranth": "rtl.gather.core:GatherUnit"}
    config.write_text(as_text(document))
    jobs = []

    def simulate(build, function, job, folder, **more):
        jobs.append(json.loads(json.dumps(job)))

    monkeypatch.setattr(run_module, "build", lambda design, *more, **options: design)
    monkeypatch.setattr(run_module, "run_job", simulate)
    own = module(tmp_path, TWO)
    for system in (None, "fpga-csd"):
        list(run_tests(load_config(config), own, tmp_path, pattern="one", system=system))
    assert [job["rtl_of"] for job in jobs] == ["firmware-csd", "fpga-csd"]
    (tmp_path / "job.json").write_text(json.dumps({"job": jobs[0]}))
    monkeypatch.setenv(JOB_VARIABLE, str(tmp_path / "job.json"))
    with pytest.raises(UserError, match="fpga-csd must have the RTL of firmware-csd, which was"):
        asyncio.run(machine_module.start_machine(None, "fpga-csd"))
    with pytest.raises(UserError, match=r"--system must name one of .*, not 'fpga'"):
        list(run_tests(load_config(config), own, tmp_path, system="fpga"))


def test_missing_module_is_refused(tmp_path):
    with pytest.raises(UserError, match="must be a Python file with cocotb tests"):
        list(run_tests(load_config(SMALL), tmp_path / "none.py", tmp_path, engine="icarus"))
