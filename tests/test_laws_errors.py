# amaranth: UnusedElaboratable=no
"""What goes wrong in a run ends it with one line; what a command does wrong ends that command."""

import json
import re
import zlib
from dataclasses import replace
from unittest.mock import patch

import pytest

from cosim import cli, compare
from cosim.engines.design import Emission
from cosim.engines.run import SimulationFailed
from cosim.lockstep import Deadlock
from cosim.medium import UnwrittenPage
from cosim.spans import CausalityError
from cosim.units.gather import StagingFailed
from cosim.units.violation import ProtocolViolation
from firmware_model.nvme_controller import QueueError
from firmware_model.outcome import CommandError
from firmware_model.translation import UnmappedPage
from host.errors import FpgaError, NvmeError, ResultError
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.ns_config import NsConfig
from host.reference import sample
from host.trace import Trace
from rtl.contract.gather import GatherStatus
from rtl.contract.kernel import BusError, Cause
from rtl.contract.ns_config import BODY_LIST_OFFSET
from rtl.contract.nvme import Status
from rtl.nand.controller import FlashChannelController
from tests.system_runs import as_text, hub_configuration, result_bytes, run_function
from tests.test_firmware_with_host import Setting

HDL = [pytest.mark.hdl, pytest.mark.slow]


@pytest.mark.parametrize(
    "error",
    [
        NvmeError(0x7C0, "NS_CONFIG_MAGIC", "sampling of 3 targets"),
        CommandError(Status.NS_CONFIG_CRC, Cause(7, 3)),
        *(
            kind("what must hold")
            for kind in (
                BusError,
                CausalityError,
                Deadlock,
                FpgaError,
                ProtocolViolation,
                QueueError,
                ResultError,
                StagingFailed,
                UnmappedPage,
                UnwrittenPage,
            )
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_the_kernel(error):
    """SimPy makes an exception that leaves it once more, from its ``args``."""
    again = type(error)(*error.args)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


CRC = 8
BROKEN = [  # byte offset in the header block, value, bytes, status by name
    (0, 0, 4, "NS_CONFIG_MAGIC"),
    (4, 3, 2, "NS_CONFIG_VERSION"),
    (6, 4095, 2, "NS_CONFIG_LENGTH"),
    (CRC, 0, 4, "NS_CONFIG_CRC"),
    (16, 0, 4, "NS_CONFIG_COUNT"),
    (BODY_LIST_OFFSET + 12, 2, 4, "NS_CONFIG_ADDRESS"),
    (BODY_LIST_OFFSET, 0xDEAD_0000, 8, "DATA_TRANSFER_ERROR"),
]


def broken_once(place, value, size):
    """The host's NsConfig, whose first header block is changed in memory, and sealed again."""
    left = [True]

    class Broken(NsConfig):
        def _header_block(self, *arguments):
            block = super()._header_block(*arguments)
            if left:
                left.clear()
                changed = bytearray(block)
                changed[place : place + size] = value.to_bytes(size, "little")
                if place != CRC:
                    changed[CRC : CRC + 4] = bytes(4)
                    changed[CRC : CRC + 4] = zlib.crc32(changed).to_bytes(4, "little")
                return bytes(changed)
            return block

    return Broken


@pytest.mark.parametrize(("place", "value", "size", "name"), BROKEN, ids=[row[3] for row in BROKEN])
def test_a_broken_ns_config_is_an_error_by_name(monkeypatch, place, value, size, name):
    setting = Setting()
    monkeypatch.setattr("host.firmware_csd.NsConfig", broken_once(place, value, size))
    trace = Trace.generate(setting.graph, seed=5, batches=1, targets=20, fan_outs=(4, 2))
    parameters = FirmwareCsdParameters(placement=setting.placement)
    host = FirmwareCsdHost(setting.driver, setting.graph, parameters)
    start = setting.kernel.origin("host", "host.start")
    with pytest.raises(NvmeError, match=f"must end with SUCCESS, not {name} ") as caught:
        setting.run(host.sample(trace.batches[0], start))
    assert (caught.value.name, caught.value.status) == (name, Status[name])
    assert setting.device.counters.failed_commands == 1

    again = setting.kernel.origin("host", "host.start")
    found, _ = setting.run(host.sample(trace.batches[0], again))
    expected = sample(setting.graph, trace.batches[0])
    assert result_bytes([found]) == result_bytes([expected])


@pytest.fixture
def failing(tmp_path, monkeypatch, capsys):
    """Run ``csd-cosim compare`` into a folder; returns (status, error lines, what is left)."""

    def run(system):
        (tmp_path / "c.yaml").write_text(as_text(hub_configuration()))
        out = tmp_path / "runs" / "here"
        options = ["--engine", "icarus", "--systems", system, "--out", str(out)]
        arguments = ["csd-cosim", "compare", str(tmp_path / "c.yaml"), *options]
        monkeypatch.setattr("sys.argv", arguments)
        with pytest.raises(SystemExit) as left:
            cli.main()
        lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith("...")]
        return left.value.code, lines, list(out.parent.iterdir())

    return run


class TestRun:
    pytestmark = HDL

    @pytest.mark.parametrize("system", ["firmware-csd", "fpga-csd"])
    def test_a_page_that_was_never_written_ends_it(self, failing, monkeypatch, system):
        def run_job(built, function, job, folder, **options):
            real(built, "tests.benches.system_job:run_unwritten", job, folder, **options)

        real = compare.run_job
        monkeypatch.setattr(compare, "run_job", run_job)
        status, lines, left = failing(system)
        assert status == 1
        assert len(lines) == 1
        place = r"Flash page at channel [01], way [01], LUN [01], row \d+"
        assert re.fullmatch(f"csd-cosim: {place} must be written before it is read", lines[0])
        assert left == []

    def test_a_broken_bus_rule_ends_it(self, failing, monkeypatch, tmp_path):
        """A controller made for half of tCCS, whose checker knows the part better."""

        def hasty(part, **arguments):
            return FlashChannelController(replace(part, t_ccs_ps=part.t_ccs_ps // 2), **arguments)

        def machine_design(platforms, sources=None, own=None):
            design = real(platforms, sources, own)

            channel, card = design.emissions

            def write(folder):
                with patch("rtl.nand.unit.FlashChannelController", hasty):
                    channel.write(folder)

            hurried = Emission(f"{channel.parameters}, hasty", write)
            return replace(design, emissions=[hurried, card])

        real = compare.machine_design
        monkeypatch.setattr(compare, "machine_design", machine_design)
        monkeypatch.setenv("CSD_COSIM_CACHE", str(tmp_path / "cache"))
        status, lines, left = failing("firmware-csd")
        assert status == 1
        assert len(lines) == 1
        rule = (
            r"csd-cosim: At \d+ ps on flash channel [01], way [01]: rule \d+ \(T_?CCS\) was broken"
        )
        assert re.fullmatch(rule, lines[0])
        assert left == []

    def test_a_refused_command_ends_it(self):
        """One whose submitter does not catch it, as in the product's own host half."""
        with pytest.raises(SimulationFailed, match="not NS_CONFIG_MAGIC") as caught:
            run_function("run_refused", "firmware-csd", "icarus", as_text(hub_configuration()))
        assert caught.value.kind == "NvmeError"

    def test_a_launch_can_be_given_up_and_the_others_go_on(self):
        folder = run_function("run_given_up", "fpga-csd", "icarus", as_text())
        given_up, *others = json.loads((folder / "launches.json").read_text())
        whole = [GatherStatus.OK, 64 * (8 + 64 * 8)]
        assert given_up[0] == GatherStatus.ABORTED
        assert 0 < given_up[1] < whole[1]
        assert others == [whole, whole]
