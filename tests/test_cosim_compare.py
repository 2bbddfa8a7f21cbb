"""The main job before its simulations: what is refused, and what each of them is given."""

import asyncio
import gc
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from amaranth.hdl import Fragment

from cosim import compare as compare_module
from cosim.compare import compare
from cosim.config.load import load_config, pack, unpack
from cosim.engines.design import Design
from cosim.errors import UserError
from cosim.systems import child
from cosim.systems.design import machine_design
from cosim.systems.inputs import load_inputs
from host.trace import Trace
from rtl.contract.channel import ChannelCommand
from rtl.nand.mailbox import Mailbox
from tests.scenarios.bad_hardware import HARDWARE
from tests.system_runs import systems

FAN_OUTS = {"batches": 2, "targets": 6, "fan_outs": [300, 2], "seed": 1}


class Built(Exception):
    """The check did not refuse: the build began."""


@pytest.fixture
def refusal(write_example, tmp_path, monkeypatch):
    """Message of the refusal of the small example, changed; nothing is built or left behind."""

    def build(*arguments, **options):
        raise Built

    monkeypatch.setattr(compare_module, "build", build)
    monkeypatch.setattr(compare_module, "require", lambda simulator: None)

    def refusal(names=None, **changes):
        with pytest.raises(UserError) as error:
            compare(load_config(write_example(**changes)), out=tmp_path / "run", systems=names)
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


def test_a_fan_out_of_a_trace_file_is_refused(refusal, write_example, tmp_path):
    inputs = load_inputs(load_config(write_example()))
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
def test_a_background_load_that_cannot_be_is_refused(refusal, write_example, load, rule):
    loaded = load_config(write_example())
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
def test_a_refusal_is_one_line_on_the_error_stream(write_example, tmp_path, key, value):
    """No warning about hardware that was made and not used, either."""
    path = write_example(
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


def test_hardware_made_to_be_checked_is_dropped_quietly(write_example):
    Fragment.get(Mailbox(ChannelCommand, depth=2), None)  # Amaranth's warning sleeps until then
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine_design(load_config(write_example()).platforms)
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

    def test_is_not_read_again(self, write_example, monkeypatch):
        loaded = load_config(write_example(platform_overrides={"ssd.nand.t_r": "7 us"}))
        inputs = load_inputs(loaded)
        packed = pack(loaded)
        write_example(platform_overrides={"ssd.nand.t_r": "9 us"})

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

    def test_must_not_change_on_disk(self, write_example):
        loaded = load_config(write_example())
        other = load_inputs(load_config(write_example(run__trace={**FAN_OUTS, "seed": 2})))
        job = {
            "loaded": pack(loaded),
            "inputs_sha256": other.sha256,
            "folder": ".",
            "system": "fpga-csd",
        }
        with pytest.raises(UserError, match="must stay as they are while the run goes on"):
            asyncio.run(child.run_system(None, job))
