"""The main job around its simulations: what is refused before them, and how they are ended."""

import asyncio
import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from cosim import compare as compare_module
from cosim.compare import compare
from cosim.config.load import load_config, pack, unpack
from cosim.engines import run as run_module
from cosim.engines.build import Build
from cosim.engines.design import Design
from cosim.engines.run import SimulationFailed
from cosim.engines.tools import Simulator
from cosim.errors import UserError
from cosim.systems import child
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs
from host.trace import Trace
from rtl.contract.channel import ChannelCommand
from rtl.nand.mailbox import Mailbox
from tests.scenarios.bad_hardware import HARDWARE
from tests.system_runs import as_text, configuration, systems

FAN_OUTS = {"batches": 2, "targets": 6, "fan_outs": [300, 2], "seed": 1}
ENDED_WITHIN_S = 20
START_S = 60
GONE_S = 5
AT_ONCE = min(2, os.cpu_count() or 1)
"""Simulators that run together."""
PATCHED = [
    sys.executable, "-c", "from tests.test_cosim_compare import patched_main; patched_main()",
]  # fmt: skip


class Built(Exception):
    """The check did not refuse: the build began."""


@pytest.fixture
def write(tmp_path):
    """Write the small example, changed; returns its path."""

    def write(**changes):
        path = tmp_path / "c.yaml"
        path.write_text(as_text(configuration(**changes)))
        return path

    return write


@pytest.fixture
def refusal(write, tmp_path, monkeypatch):
    """Message of the refusal of the small example, changed; nothing is built or left behind."""

    def build(*arguments, **options):
        raise Built

    monkeypatch.setattr(compare_module, "build", build)
    monkeypatch.setattr(compare_module, "require", lambda simulator: None)

    def refusal(names=None, **changes):
        with pytest.raises(UserError) as error:
            compare(load_config(write(**changes)), out=tmp_path / "run", systems=names)
        assert sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".json") == [
            "c.yaml"
        ]
        return str(error.value)

    return refusal


@pytest.mark.parametrize(("key", "value", "message"), HARDWARE, ids=[row[0] for row in HARDWARE])
def test_hardware_that_cannot_be_made_is_refused(refusal, key, value, message):
    found = refusal(platform_overrides={key: value})
    assert re.search(rf":[0-9]+: platform_overrides\.{re.escape(message)}", found)
    assert "\n" not in found


def test_a_code_that_the_decoder_is_not_made_for_is_refused(refusal):
    weak = {"ssd.page_format.corrected_bits": 1}
    with pytest.raises(Built):
        refusal(platform_overrides=weak | {"ssd.flash.decoder": "absent"})
    found = refusal(platform_overrides=weak)
    message = ": platform_overrides.ssd.page_format.corrected_bits must be at least 2, not 1"
    assert found.endswith(message)


def test_a_share_of_the_graph_below_one_page_is_refused_before_the_build(refusal):
    systems = [{"kind": "firmware-csd", "page_buffer": "0.0001 %"}]
    rule = "systems[0].page_buffer must hold at least one page of 2048 bytes, not 9 bytes"
    assert refusal(systems=systems).endswith(rule)


def test_more_units_than_one_word_holds_are_refused():
    with pytest.raises(ValueError, match=r"units \(flash channels, .* at most 31, not 32"):
        Design(units=range(32))


def test_most_units_are_accepted(refusal):
    with pytest.raises(Built):
        refusal(platform_overrides={"ssd.flash.channels": 30})


def test_a_fan_out_beyond_the_gather_unit_is_refused(refusal):
    found = refusal(run__trace=FAN_OUTS)
    rule = "run.trace.fan_outs[0] must be at most 256, the gather unit's largest, not 300"
    assert found.partition("c.yaml:")[2].partition(": ")[2] == rule


def test_a_fan_out_beyond_the_gather_unit_is_fine_without_one(refusal):
    with pytest.raises(Built):
        refusal(["firmware-csd"], run__trace=FAN_OUTS)


@pytest.mark.parametrize(
    ("kind", "positions", "fan_out", "rule"),
    [
        ("fpga-csd", "device", 65, "at most 64, the gather unit's largest without replacement"),
        ("fpga-csd", "device", 64, None),
        ("fpga-csd", "host", 256, None),
        ("fpga-csd", "host", 257, "at most 256, the gather unit's largest"),
        ("firmware-csd", "device", 257, "at most 256, the firmware's largest without replacement"),
        ("firmware-csd", "device", 256, None),
        ("firmware-csd", "host", 257, None),
    ],
)
def test_fan_outs_without_replacement_have_limits_of_their_own(
    refusal, kind, positions, fan_out, rule
):
    trace = {"batches": 1, "targets": 2, "fan_outs": [2, fan_out], "seed": 1}
    trace["sampling"] = "without-replacement"
    changes = {"run__trace": trace, "systems": [{"kind": kind, "positions": positions}]}
    if rule is None:
        with pytest.raises(Built):
            refusal(**changes)
    else:
        assert refusal(**changes).endswith(f"run.trace.fan_outs[1] must be {rule}, not {fan_out}")


def test_a_fan_out_of_a_trace_file_is_refused(refusal, write, tmp_path):
    inputs = load_inputs(load_config(write()))
    trace = Trace.generate(inputs.graph, seed=1, batches=2, targets=3, fan_outs=(2, 257))
    trace.save(tmp_path / "t.json")
    found = refusal(run__trace={"file": str(tmp_path / "t.json")})
    assert found.endswith(
        "run.trace.file must have batches[0].fan_outs[1] of at most 256, "
        "the gather unit's largest, not 257"
    )


BACKGROUND = {"reads_in_flight": 1, "size": "1 KiB", "seed": 1}
TOO_LONG = "size must be at most {most} bytes (what a command may transfer, and the lists have)"
WRITING = {"writes_in_flight": 2, "write_area": "4 KiB"}


@pytest.mark.parametrize(
    ("load", "rule"),
    [
        ({"size": "1000 B"}, "size must be whole logical blocks of 512 bytes, not 1000 bytes"),
        ({"size": "0 B"}, "size must be whole logical blocks of 512 bytes, not 0 bytes"),
        ({"size": "1 GiB"}, f"{TOO_LONG}, not 1073741824"),
        (WRITING, "writes_in_flight must be 0 for an SSD without firmware.ftl"),
        (
            {"reads_in_flight": 10**9},
            "reads_in_flight must be at most 7 (of a queue of 8 entries), not 1000000000",
        ),
        (
            WRITING | {"writes_in_flight": 7},
            "writes_in_flight must be at most 6 beside 1 reads (of a queue of 8 entries), not 7",
        ),
    ],
)
def test_a_background_load_that_cannot_be_is_refused(refusal, write, load, rule):
    loaded = load_config(write())
    lists = load_inputs(loaded).edge_bytes // 512 * 512
    most = min(lists, loaded.platforms.ssd.nvme.transfer_limit.value)
    found = refusal(systems=systems(fpga={"background": BACKGROUND | load}))
    assert found.endswith(f"systems[1].background.{rule.format(most=most)}")


@pytest.mark.parametrize(
    ("load", "rule"),
    [
        (
            {"reads_in_flight": 0},
            "must have reads_in_flight or writes_in_flight above 0, or a trace",
        ),
        ({"writes_in_flight": 1}, "must give write_area exactly if writes_in_flight is above 0"),
        ({"write_area": "1 MiB"}, "must give write_area exactly if writes_in_flight is above 0"),
    ],
)
def test_a_background_load_that_says_nothing_is_refused(refusal, load, rule):
    found = refusal(systems=systems(fpga={"background": BACKGROUND | load}))
    assert found.endswith(f"systems[1].background {rule}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"), [("ssd.flash.landing_slots", 300), ("fpga.window", "24 MiB")]
)
def test_a_refusal_is_one_line_on_the_error_stream(write, tmp_path, key, value):
    """No warning about hardware that was made and not used, either."""
    path = write(
        platform_overrides={key: value}, systems=systems(firmware={"page_buffer": "2 KiB"})
    )
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "from cosim.cli import main; main()",
         "compare", path, "--engine", "verilator", "--out", tmp_path / "run"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("csd-cosim: ")
    assert f": platform_overrides.{key}" in lines[0]


def test_hardware_made_to_be_checked_is_dropped_quietly(write):
    Fragment.get(Mailbox(ChannelCommand, depth=2), None)  # Amaranth's warning sleeps until then
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine_design(load_config(write()).platforms)
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


class TestWhatAChildGets:
    @pytest.mark.parametrize(
        "name", ["quickstart", "quickstart-small", "quickstart-serial", "quickstart-hops"]
    )
    def test_is_all_that_was_read(self, name):
        folder = Path(compare_module.__file__).parents[1] / "examples"
        loaded = load_config(folder / f"{name}.yaml")
        again = unpack(json.loads(json.dumps(pack(loaded))))
        assert again.config == loaded.config
        for part in ("ssd", "fpga", "host"):
            assert getattr(again.platforms, part) == getattr(loaded.platforms, part)
        assert again.file("x").resolve() == loaded.file("x").resolve()

    def test_is_not_read_again(self, write, monkeypatch):
        loaded = load_config(write(platform_overrides={"ssd.nand.t_r": "7 us"}))
        inputs = load_inputs(loaded)
        packed = pack(loaded)
        write(platform_overrides={"ssd.nand.t_r": "9 us"})

        async def start(dut, platforms, system, inputs, *, stop_clocks):
            raise Built(platforms.ssd.nand.t_r.value, system.name, inputs.trace.sha256)

        monkeypatch.setattr(child.Machine, "start", start)
        job = {
            "loaded": packed,
            "inputs_sha256": inputs.sha256,
            "folder": ".",
            "system": "fpga-csd",
        }
        with pytest.raises(Built) as built:
            asyncio.run(child.run_system(None, job))
        assert built.value.args == (7_000_000, "fpga-csd", inputs.trace.sha256)

    def test_must_not_change_on_disk(self, write):
        loaded = load_config(write())
        other = load_inputs(load_config(write(run__trace={**FAN_OUTS, "seed": 2})))
        job = {
            "loaded": pack(loaded),
            "inputs_sha256": other.sha256,
            "folder": ".",
            "system": "fpga-csd",
        }
        with pytest.raises(UserError, match="must stay as they are while the run goes on"):
            asyncio.run(child.run_system(None, job))


def stand_in(build, folder):
    """Command in the simulator's place: one system fails soon, the other one would take minutes."""
    if folder.name == os.environ.get("FAILS"):
        script = "import time; time.sleep(0.5); print('boom', flush=True); raise SystemExit(3)"
    else:
        pids = os.environ["PIDS"]
        script = (
            "import os, time; from pathlib import Path\n"
            f"Path({pids!r}, str(os.getpid())).touch(); time.sleep(300)"
        )
    return [sys.executable, "-c", script]


def no_build(*arguments, **options):
    return Build(Simulator.ICARUS, Path(), Path(), waves=False)


def patched_main():
    """The command with stand-ins for simulators; see :func:`stand_in`."""
    from cosim.cli import main

    run_module._command = stand_in
    compare_module.build = no_build
    compare_module.require = lambda simulator: None
    main()


def runs(number):
    """Whether the process still runs; one that only waits for its parent to look does not."""
    try:
        stat = Path("/proc", str(number), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def alive(folder):
    """Those of the processes whose numbers are names in ``folder`` that still run."""
    return [path.name for path in folder.iterdir() if runs(path.name)]


def wait_for(what, limit_s):
    until = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


class TestEnd:
    @pytest.fixture
    def pids(self, tmp_path, monkeypatch):
        folder = tmp_path / "pids"
        folder.mkdir()
        monkeypatch.setenv("PIDS", str(folder))
        return folder

    @pytest.fixture
    def out(self, tmp_path):
        return tmp_path / "runs" / "here"

    def test_one_failure_ends_all(self, write, pids, out, monkeypatch):
        monkeypatch.setattr(run_module, "_command", stand_in)
        monkeypatch.setattr(compare_module, "build", no_build)
        monkeypatch.setattr(compare_module, "require", lambda simulator: None)
        monkeypatch.setenv("FAILS", "work-fpga-csd")
        log = out.with_name("here.failed.log")
        began = time.monotonic()
        with pytest.raises(SimulationFailed) as failed:
            compare(load_config(write()), out=out)
        assert time.monotonic() - began < ENDED_WITHIN_S
        assert str(failed.value) == f"The simulator ended with status 3; see {log}"
        assert log.read_text() == "boom\n"
        assert alive(pids) == []
        assert list(out.parent.iterdir()) == [log]

    @pytest.mark.slow
    @pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
    def test_a_signal_ends_all(self, write, pids, out, number, status):
        command = subprocess.Popen(
            [*PATCHED, "compare", write(), "--out", out], stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
        command.send_signal(number)
        _, errors = command.communicate(timeout=ENDED_WITHIN_S)
        assert command.returncode == status
        lines = [line for line in errors.splitlines() if not line.endswith("...")]
        assert lines == [f"csd-cosim: stopped by {number.name}; nothing of the run was kept"]
        assert alive(pids) == []
        assert list(out.parent.iterdir()) == []

    @pytest.mark.slow
    def test_no_simulator_outlives_a_killed_command(self, write, pids, out):
        command = subprocess.Popen(
            [*PATCHED, "compare", write(), "--out", out], stderr=subprocess.DEVNULL
        )
        wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
        command.kill()
        command.wait()
        wait_for(lambda: not alive(pids), GONE_S)

    @pytest.mark.slow
    @pytest.mark.parametrize("option", ["--with-parent", None])
    def test_a_command_may_end_with_its_parent(self, write, pids, out, option):
        """And clean up, as after any signal; by default it goes on."""
        options = [] if option is None else [option]
        started = [*PATCHED, *options, "compare", str(write()), "--out", str(out)]
        script = (
            "import subprocess as s\n"
            f"command = s.Popen({started!r}, stdout=s.DEVNULL, stderr=s.DEVNULL)\n"
            "print(command.pid, flush=True); command.wait()"
        )
        parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        command = int(parent.stdout.readline())
        try:
            wait_for(lambda: len(list(pids.iterdir())) == AT_ONCE, START_S)
            parent.kill()
            parent.communicate()
            if option is None:
                time.sleep(1)
                assert runs(command)
                assert len(alive(pids)) == AT_ONCE
                return
            wait_for(lambda: not runs(command), GONE_S)
            assert alive(pids) == []
            assert list(out.parent.iterdir()) == []
        finally:
            if runs(command):
                os.kill(command, signal.SIGTERM)
                wait_for(lambda: not runs(command), GONE_S)
