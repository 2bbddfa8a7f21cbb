"""The build cache and its refusals."""

import os
import shutil
import signal
import sys
from dataclasses import replace

import pytest

from cosim.engines import build as build_module
from cosim.engines import tools
from cosim.engines.build import BuildError, build, verilog
from cosim.engines.design import Emission
from cosim.engines.run import run_job
from cosim.engines.tools import MissingSimulator, Simulator
from rtl.top import Unit, write_top
from tests.echo_design import PORTS, echo_design


@pytest.fixture
def counted(monkeypatch):
    """Runs of tools."""
    commands = []
    original = build_module._run

    def run(command, *rest):
        commands.append(command[0])
        original(command, *rest)

    monkeypatch.setattr(build_module, "_run", run)
    return commands


@pytest.mark.hdl
def test_the_same_design_is_built_once(counted, tmp_path):
    first = build(echo_design([10_000]), Simulator.ICARUS, cache=tmp_path)
    again = build(echo_design([10_000]), Simulator.ICARUS, cache=tmp_path)
    assert first == again
    assert counted == ["iverilog"]


@pytest.mark.hdl
def test_what_shapes_the_verilog_names_the_build(counted, tmp_path):
    builds = {
        build(echo_design([10_000]), Simulator.ICARUS, cache=tmp_path).folder,
        build(echo_design([8_000]), Simulator.ICARUS, cache=tmp_path).folder,
        build(echo_design([10_000, 10_000]), Simulator.ICARUS, cache=tmp_path).folder,
        build(echo_design([10_000]), Simulator.ICARUS, waves=True, cache=tmp_path).folder,
    }
    assert len(builds) == 4


def test_emission_is_kept_for_its_parameters(tmp_path):
    emitted = []

    def emit(folder):
        emitted.append(folder)

    design = replace(echo_design([10_000]), emissions=[Emission("echo", emit)])
    files = verilog(design, tmp_path)
    assert verilog(design, tmp_path) == files
    assert files[-1].name == "csd_top.v"
    assert len(emitted) == 1
    verilog(replace(design, emissions=[Emission("others", emit)]), tmp_path)
    assert len(emitted) == 2


def test_designs_share_the_emissions_of_equal_parameters(tmp_path):
    emitted = []

    def emission(name, text):
        def write(folder):
            emitted.append(name)
            (folder / f"{name}.v").write_text(text)

        return Emission(f"{name} {text}", write)

    one, other, third = (
        verilog(replace(echo_design([10_000]), emissions=emissions), tmp_path)
        for emissions in (
            [emission("a", "1"), emission("b", "1")],
            [emission("a", "1"), emission("b", "2")],
            [emission("b", "2")],
        )
    )
    assert emitted == ["a", "b", "b"]
    read = [{path.name: path.read_text() for path in files} for files in (one, other, third)]
    assert [each.get("a.v") for each in read] == ["1", "1", None]
    assert [each["b.v"] for each in read] == ["1", "2", "2"]


@pytest.mark.hdl
def test_a_failed_build_leaves_only_its_log(tmp_path):
    broken = tmp_path / "echo_unit.v"
    broken.write_text("module echo_unit(input wire clk;\n")
    cache = tmp_path / "cache"
    with pytest.raises(BuildError, match=r"^iverilog must build the RTL, but failed: .*error"):
        build(replace(echo_design([10_000]), sources=[broken]), Simulator.ICARUS, cache=cache)
    left = [path for path in cache.glob("icarus-*") if path.suffix != ".lock"]
    assert [path.suffix for path in left] == [".log"]


def test_a_failed_emission_leaves_nothing(tmp_path):
    def fail(folder):
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        verilog(replace(echo_design([10_000]), emissions=[Emission("", fail)]), tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".lock"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this")
def test_a_tool_is_told_when_the_command_is_gone(tmp_path):
    """And make stops what it started: it would not after SIGKILL."""
    script = (
        "import ctypes; found = ctypes.c_int();"
        "ctypes.CDLL(None).prctl(2, ctypes.byref(found)); print(found.value)"
    )
    build_module._run([sys.executable, "-c", script], tmp_path, dict(os.environ))
    log = (tmp_path / build_module.LOG).read_text()
    assert log.splitlines()[-1] == str(int(signal.SIGTERM))


def test_a_build_has_a_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(build_module, "TIME_LIMIT_S", 0.1)
    with pytest.raises(BuildError, match=r"sleep must build the RTL within 0\.1 s"):
        build_module._run(["sleep", "5"], tmp_path, {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("engine", "gone", "message"),
    [
        (
            Simulator.ICARUS,
            "iverilog",
            "needs iverilog, not found on PATH: apt-get install iverilog",
        ),
        (Simulator.VERILATOR, "perl", "needs perl, not found on PATH: apt-get install perl"),
    ],
)
def test_a_missing_program_is_named_with_its_package(monkeypatch, engine, gone, message):
    find = shutil.which
    monkeypatch.setattr(tools.shutil, "which", lambda name: None if name == gone else find(name))
    with pytest.raises(MissingSimulator, match=f"Engine {engine} {message}"):
        tools.require(engine)


@pytest.mark.hdl
def test_waves_are_kept_beside_the_log(simulator, tmp_path):
    program = build(echo_design([10_000]), Simulator(simulator), waves=True)
    job = {"units": ["u0"], "result": str(tmp_path / "result.json")}
    run_job(program, "tests.benches.echo:move", job, tmp_path, time_limit_s=60)
    assert (tmp_path / program.waves_name).stat().st_size > 100


@pytest.mark.parametrize("period_ps", [0, 3, 7_501, "10 ns"])
def test_a_period_is_even(period_ps):
    with pytest.raises(ValueError, match="period_ps must be an even number of at least 4"):
        Unit(name="u0", ports=PORTS, period_ps=period_ps)


def test_units_have_names_of_their_own():
    unit = Unit(name="u0", ports=PORTS, period_ps=10_000)
    with pytest.raises(ValueError, match="with names of their own"):
        write_top([unit, unit])
    with pytest.raises(ValueError, match="name must be a Verilog identifier, not 'a b'"):
        Unit(name="a b", ports=PORTS, period_ps=10_000)


def test_a_build_is_of_the_processor_it_was_made_for(monkeypatch):
    """The model is compiled for this machine: another one that shares the cache builds its own."""
    here = tools.instruction_set()
    assert here
    monkeypatch.setattr(tools.Path, "read_text", lambda path: "flags\t\t: fpu\nother: 1\n")
    assert tools.instruction_set() == "flags\t\t: fpu"
