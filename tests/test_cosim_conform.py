# amaranth: UnusedElaboratable=no
"""Conformance benches: ours and the example pass; mutants are found, each where it should be."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from cosim.cli import app
from cosim.config.load import load_config
from cosim.conform.channel import conform_channel
from cosim.conform.gather import conform_gather
from cosim.conform.gather_cases import CASES
from cosim.errors import UserError
from rtl.gather import control
from tests.mutation import mutated, put_in_place
from tests.scenarios.own_blocks import MUTANTS
from tests.system_runs import as_text, configuration
from tests.test_architecture import ROOT
from tests.test_cosim_own_rtl import EXAMPLE, example

SMALL = ROOT / "examples" / "quickstart-small.yaml"
BUSY_TO_THE_LAST_WORD = """
-m.d.comb += [self.busy.eq(1), self.done.valid.eq(1)]
+m.d.comb += [self.done.valid.eq(1)]
"""
MUTANT_IDS = [message for *_, message in MUTANTS]
NOT_OFFERED = ["draw-distinct-4-byte-ids", "draw-distinct-8-byte-ids"]


def conform(*arguments):
    return CliRunner().invoke(app, ["conform", *map(str, arguments)])


def results_of(output):
    """What was said of each case."""
    return {
        name: result.strip()
        for result, name in re.findall(r"^(pass|FAIL|not offered) +([\w-]+): ", output, re.M)
    }


class TestOurs:
    """In Amaranth's simulator."""

    @pytest.mark.slow
    def test_passes_every_case(self):
        outcomes = list(conform_gather(load_config(SMALL), engine="amaranth"))
        assert [str(each) for each in outcomes if each.result != "pass"] == []
        assert [each.name for each in outcomes] == [case.name for case in CASES]

    def test_passes_a_few(self):
        result = conform("gather", SMALL, "--engine", "amaranth", "--filter", "empty|explicit-8")
        assert result.exit_code == 0, result.output
        assert len(results_of(result.output)) == 2
        assert result.output.endswith("gather: 2 passed, 0 failed, 0 not offered\n")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("module", "diff", "case", "message"),
        [
            (
                control,
                BUSY_TO_THE_LAST_WORD,
                "empty",
                "busy must be high",
            ),
            (
                control,
                "-with m.If(fresh):\n+with m.If(~fresh):",
                "unaligned",
                "done.first of launch 0",
            ),
        ],
    )
    def test_mutants_are_found(self, monkeypatch, module, diff, case, message):
        put_in_place(monkeypatch, module, mutated(module, diff))
        (outcome,) = conform_gather(load_config(SMALL), engine="amaranth", pattern=f"^{case}$")
        assert outcome.result == "FAIL"
        assert outcome.message.startswith(message)


class TestExample:
    def test_the_broken_copy_differs_in_one_line(self):
        texts = [
            (EXAMPLE / name).read_text().partition("\nmodule ")[2].splitlines()[1:]
            for name in ("simple_gather.v", "broken_gather.v")
        ]
        changed = [pair for pair in zip(*texts, strict=True) if pair[0] != pair[1]]
        assert len(changed) == 1
        assert "wanted != AN_ID" in changed[0][1]

    def test_the_amaranth_simulator_does_not_run_verilog(self):
        config = load_config(EXAMPLE / "compare.yaml")
        with pytest.raises(UserError) as error:
            list(conform_gather(config, engine="amaranth"))
        assert re.fullmatch(
            r"\S+compare.yaml:\d+: systems\[1\]\.gather is Verilog, "
            "which engine amaranth cannot run",
            str(error.value),
        )

    @pytest.mark.hdl
    @pytest.mark.slow
    def test_it_passes(self, simulator, tmp_path):
        """All that it offers; with a header file, too."""
        text = (EXAMPLE / "simple_gather.v").read_text()
        line = "    localparam [7:0] OK = 0, BAD_DESCRIPTOR = 1, BUS_ERROR = 2, ABORTED = 3;\n"
        assert line in text
        (tmp_path / "own.sv").write_text(text.replace(line, '`include "status.svh"\n'))
        (tmp_path / "status.svh").write_text(line)
        config = example(tmp_path, systems=1, verilog=["own.sv", "status.svh"])
        result = conform("gather", config, "--engine", simulator, "--out", tmp_path / "out")
        assert result.exit_code == 0, result.output
        found = results_of(result.output)
        assert list(found) == [case.name for case in CASES]
        assert [name for name in found if found[name] == "not offered"] == NOT_OFFERED
        assert set(found.values()) == {"pass", "not offered"}

    @pytest.mark.hdl
    @pytest.mark.slow
    def test_the_broken_copy_is_refused(self, tmp_path):
        arguments = ("--engine", "icarus", "--filter", "bus-errors|draw-8", "--out", tmp_path)
        result = conform("gather", EXAMPLE / "broken.yaml", *arguments)
        assert result.exit_code == 1
        assert results_of(result.output) == {"draw-8-byte-ids": "pass", "bus-errors": "FAIL"}
        where = r"at \d+ ns, edge \d+: the header of target \d+ of launch \d+ must be 0x\w+, not 0x"
        assert re.search(where, result.output)

    @pytest.mark.hdl
    @pytest.mark.slow
    @pytest.mark.parametrize(("old", "new", "case", "message"), MUTANTS, ids=MUTANT_IDS)
    def test_mutants_are_found(self, tmp_path, old, new, case, message):
        text = (EXAMPLE / "simple_gather.v").read_text()
        assert text.count(old) == 1
        (tmp_path / "own.v").write_text(text.replace(old, new))
        config = example(tmp_path, systems=1, verilog=["own.v"])
        (outcome,) = conform_gather(
            load_config(config), engine="icarus", pattern=f"^{case}$", out=tmp_path / "out"
        )
        shutil.rmtree(tmp_path / "out")
        assert outcome.result == "FAIL"
        assert message in outcome.message
        assert outcome.at_ps > 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--filter", "nothing"], "--filter must find one of explicit-4-byte-ids, "),
            (["--filter", "("], "--filter must be a regular expression, not '('"),
            (["--system", "fpga"], "--system must name one of "),
            (["--system", "firmware-csd"], "--system must name a system with a gather key, not"),
        ],
    )
    def test_gather(self, options, message):
        result = conform("gather", SMALL, "--engine", "amaranth", *options)
        assert isinstance(result.exception, UserError)
        assert str(result.exception).startswith(message)

    def test_flash_channel_in_amaranths_simulator(self):
        result = conform("flash-channel", SMALL, "--engine", "amaranth")
        assert "engine amaranth must not be chosen for a flash channel" in str(result.exception)


@pytest.mark.hdl
@pytest.mark.slow
class TestFlashChannel:
    def test_ours_passes(self, tmp_path):
        result = conform("flash-channel", SMALL, "--engine", "verilator", "--out", tmp_path)
        assert result.exit_code == 0, result.output
        found = results_of(result.output)
        assert found.pop("programs") == "not offered"
        assert set(found.values()) == {"pass"}
        assert len(found) == 8

    @pytest.mark.parametrize(
        ("slip", "case", "message"),
        [
            ("data", "single", "read of way 0, LUN 0, row 0, column 0, 2216 bytes: byte 2214 must"),
            ("quiet", "single", "Deadlock: Nothing can happen any more at "),
            ("status", "bad-commands", "ValueError: 554 bytes from word 0 on must be driven"),
        ],
    )
    def test_slips_are_found(self, tmp_path, slip, case, message):
        design = ROOT / "tests" / "designs" / "slipping_channel.py"
        shutil.copy(design, tmp_path)
        document = configuration()
        block = {"amaranth": "slipping_channel:Slipping", "parameters": {"slip": slip}}
        document["systems"][0]["flash_channel"] = block
        (tmp_path / "c.yaml").write_text(as_text(document))
        (outcome,) = conform_channel(
            load_config(tmp_path / "c.yaml"), engine="icarus", pattern=case, out=tmp_path / "out"
        )
        assert outcome.result == "FAIL"
        assert outcome.message.startswith(message)
        assert outcome.at_ps > 0
