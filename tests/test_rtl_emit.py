"""The Verilog of a flash channel: names that others rely on, and nothing a simulator leaves out."""

import re
import shutil
import subprocess

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.emit import emit_channel, emit_component
from tests.scenarios.nand import PERIOD_PS, TINY_TWO_LUNS


@pytest.fixture(scope="module")
def channel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("channel")
    return emit_channel(folder, TINY_TWO_LUNS, period_ps=PERIOD_PS, ways=2)


def ports(text, module):
    (found,) = re.findall(rf"^module {module}\(([^)]*)\);", text, re.MULTILINE)
    return {name.strip().lstrip("\\").strip() for name in found.split(",")}


@pytest.mark.slow
def test_ports_are_those_of_the_architecture(channel):
    text = channel[-1].read_text()
    assert ports(text, "flash_channel_unit") == {
        *("clk", "rst", "now", "command", "command_toggle", "array_done", "landing_free"),
        *("event", "event_toggle", "quiet", "wake_edge", "counters"),
    }
    assert len(re.findall(r"^  nand_die die[01] \(", text, re.MULTILINE)) == 2


def test_storage_is_in_instances_of_sim_ram(channel):
    for path, instances in zip(channel[1:], (2, 1), strict=True):
        assert len(re.findall(r"^  sim_ram #\(", path.read_text(), re.MULTILINE)) == instances


def test_every_block_can_run(channel):
    """A block that waits for no event would leave its bits undefined on Icarus."""
    for path in channel:
        assert not re.search(r"always @\*\n +\S+ = \d+'h\w+;\n(?! )", path.read_text())


def test_every_copy_is_made_at_the_start_too(channel):
    """That of a register that has not changed yet would be undefined on Icarus."""
    found = 0
    for path in channel:
        text = path.read_text()
        for copy in re.findall(r"^  always @\*\n(    [^\n;]+;\n)", text, re.MULTILINE):
            assert f"  initial\n{copy}  always @*\n{copy}" in text
            found += 1
    assert found > 0


@pytest.mark.hdl
def test_what_reads_a_register_that_never_changes_is_done_at_the_start(tmp_path):
    """On Icarus it would stay undefined: no event comes that it waits for."""

    class Halves(wiring.Component):
        load: In(1)
        word: Out(8)

        def elaborate(self, platform):
            m = Module()
            kept = Signal(4, init=5)
            m.d.comb += self.word[:4].eq(kept)
            with m.If(self.load):
                m.d.sync += kept.eq(7)
                m.d.comb += self.word[4:].eq(3)
            return m

    emit_component(tmp_path / "halves.v", Halves(), "halves")
    (tmp_path / "bench.v").write_text(
        "module bench; reg clk = 0, rst = 0, load = 0; wire [7:0] word;\n"
        "halves dut(.clk(clk), .rst(rst), .load(load), .word(word));\n"
        'initial begin #1 $display("%b", word); $finish; end endmodule\n'
    )
    program = tmp_path / "bench.vvp"
    sources = [str(tmp_path / name) for name in ("halves.v", "bench.v")]
    subprocess.run(["iverilog", "-g2012", "-o", str(program), *sources], check=True, timeout=60)
    done = subprocess.run(
        ["vvp", "-n", str(program)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split()[0] == "00000101"


@pytest.mark.hdl
def test_icarus_takes_it_without_a_word(channel):
    if shutil.which("iverilog") is None:
        pytest.fail("Icarus Verilog must be installed: apt-get install iverilog", pytrace=False)
    command = ["iverilog", "-g2012", "-t", "null", "-s", "flash_channel_unit", *map(str, channel)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
