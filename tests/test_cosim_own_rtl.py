# amaranth: UnusedElaboratable=no
"""A user's RTL in place of ours: what is refused, what is counted, and what decides a build."""

import hashlib
import json
import re
import sys
from pathlib import Path

import pytest
import yaml

from cosim.compare import compare
from cosim.config.load import default_platforms, load_config
from cosim.config.own import OwnFlashChannel, OwnGather
from cosim.engines.build import verilog
from cosim.errors import UserError
from cosim.own.block import AmaranthOwn
from cosim.own.describe import MEANINGS, block_ports, block_tables, skeleton
from cosim.own.find import block_of, find_own
from cosim.own.verilog import read_ports
from cosim.results import ENGINE_COUNTERS
from cosim.systems.design import gather_card, machine_design
from rtl.gather.core import GatherUnit
from rtl.gather.own import INNER_COUNTERS, core_signature, flat_signature
from rtl.gather.unit import GatherSimUnit
from rtl.nand.own import PORT_COUNTERS
from tests.scenarios.gather_unit import story
from tests.scenarios.own_blocks import AMARANTH, VERILOG
from tests.test_architecture import ROOT
from tests.test_rtl_gather_unit import play

EXAMPLE = ROOT / "examples" / "own_gather"
PLACE = "    reads_in_flight: 1\n"
PLATFORMS = default_platforms()
ARGUMENTS = {"id_bits": 6, "result_words": 2}
STRUCTURED = core_signature(GatherUnit(**ARGUMENTS))
FLAT = flat_signature(STRUCTURED)


def make(path):
    loaded = load_config(path)
    own = block_of(loaded, loaded.config.systems[1], "gather")
    return own.component(FLAT if own.is_verilog else STRUCTURED, ARGUMENTS)


@pytest.fixture
def refused(write_config):
    """The one line with which a gather block, written as YAML, is refused."""

    def refuse(block):
        path = write_config((PLACE, f"{PLACE}    gather: {block}\n"))
        with pytest.raises(UserError) as error:
            make(path)
        message = str(error.value)
        assert "\n" not in message
        return message

    return refuse


def own_unit(**parameters):
    """Our core as if it were a user's."""
    return AmaranthOwn("here", "core:GatherUnit", GatherUnit, None, parameters)


class TestRefusals:
    @pytest.mark.parametrize(("change", "message"), VERILOG, ids=[text for _, text in VERILOG])
    def test_verilog(self, refused, change, message):
        text = skeleton("gather", PLATFORMS)
        assert change[0] in text
        Path("own.v").write_text(text.replace(*change, 1))
        assert refused("{verilog: [own.v], top: my_gather}").startswith(message)

    @pytest.mark.parametrize(("text", "message"), AMARANTH, ids=[text for _, text in AMARANTH])
    def test_amaranth(self, refused, text, message):
        Path("own_core_1.py").write_text(text)
        found = refused('{amaranth: "own_core_1:Core"}')
        assert message in found
        assert re.match(r"(c\.yaml:7: systems\[1\]\.gather|\S+own_core_1\.py:1: )", found)

    @pytest.mark.parametrize(
        ("block", "message"),
        [
            ("{verilog: [own.v]}", "must give top, the module's name, beside verilog"),
            ("{}", "must give verilog or amaranth, not neither"),
            ('{verilog: [own.v], top: x, amaranth: "a:B"}', "not both"),
            ('{amaranth: "a:B", top: x}', "must not give top beside amaranth"),
            ("{amaranth: a}", "must match"),
            ("{verilog: [none.v], top: x}", "verilog must be files that exist; none.v does not"),
            ("{verilog: [own.vh], top: x}", "gather.verilog must have a file with one of .v, .sv"),
            ("{verilog: [empty.v], top: x}", "a module of these files, not 'x'; there are none"),
            ("{verilog: [own.txt], top: x}", "must be files with one of .v, .sv, .vh, .svh, not"),
            ("{verilog: [own.v, ./own.v], top: x}", "files of different names, not own.v twice"),
            ("{verilog: [own.v], top: my_gather, max_fan_out: 300}", "must be at most 256"),
            ("{verilog: [own.v], top: my_gather, modes: [walk]}", "must be 'explicit', 'draw' or"),
            (
                "{verilog: [own.v], top: my_gather, parameters: {DEPTH: 3}}",
                "Parameters from the command line were not found in the design: DEPTH",
            ),
            ('{amaranth: "rtl.gather.core:GatherUnit", parameters: {outstanding: 3}}', "not 3"),
            ('{amaranth: "rtl.gather.core:GatherUnit", parameters: {x: 3}}', "unexpected keyword"),
        ],
    )
    def test_keys(self, refused, block, message):
        Path("own.v").write_text(skeleton("gather", PLATFORMS))
        for name in ("own.txt", "own.vh", "empty.v"):
            Path(name).touch()
        assert message in refused(block)

    def test_two_blocks_with_files_of_one_name(self, write_config):
        for folder, block in (("a", "gather"), ("b", "flash-channel")):
            Path(folder).mkdir()
            Path(folder, "own.v").write_text(skeleton(block, PLATFORMS))
        blocks = (
            "    gather: {verilog: [a/own.v], top: my_gather}\n"
            "    flash_channel: {verilog: [b/own.v], top: my_flash_channel}\n"
        )
        loaded = load_config(write_config((PLACE, PLACE + blocks)))
        with pytest.raises(UserError, match=r"serial: verilog must be files of different names"):
            find_own(loaded, loaded.config.systems[1])

    def test_verilog_in_amaranths_simulator(self, write_config):
        Path("own.v").write_text(skeleton("gather", PLATFORMS))
        gather = "    gather: {verilog: [own.v], top: my_gather}\n"
        loaded = load_config(write_config((PLACE, PLACE + gather)))
        card = gather_card(
            loaded.platforms.fpga, block_of(loaded, loaded.config.systems[1], "gather")
        )
        parameters = {"times": card.times, "own": card.own}
        with pytest.raises(ValueError, match="in Verilog must run in a Verilog simulator"):
            GatherSimUnit(**parameters)


def test_an_empty_module_with_the_ports_is_accepted(write_config):
    for block in ("gather", "flash-channel"):
        Path(f"{block}.v").write_text(skeleton(block, PLATFORMS))
    blocks = (
        "    gather: {verilog: [gather.v], top: my_gather}\n"
        "    flash_channel: {verilog: [flash-channel.v], top: my_flash_channel}\n"
    )
    loaded = load_config(write_config((PLACE, PLACE + blocks)))
    own = find_own(loaded, loaded.config.systems[1])
    design = machine_design(loaded.platforms, loaded.parts, own)
    assert [path.name for path in design.sources] == ["flash-channel.v", "gather.v"]


def test_ports_of_every_packed_kind_are_read(tmp_path):
    (tmp_path / "types.svh").write_text("typedef struct packed {logic [3:0] a; logic b;} pair;\n")
    path = tmp_path / "own.sv"
    path.write_text(
        '`include "types.svh"\n'
        "module own #(parameter W = 8) (input clk, input [W-1:0] d, output pair q,\n"
        "  output logic [1:0][2:0] r, input signed [0:4] s); endmodule\n"
    )
    found = read_ports([tmp_path / "types.svh", path], "own", {"W": 12})
    assert found == {
        "clk": (True, 1), "d": (True, 12), "q": (False, 5), "r": (False, 6), "s": (True, 5),
    }  # fmt: skip


@pytest.mark.slow
def test_at_its_ports_another_block_is_counted_as_ours_is():
    """Our core as if it were a user's: the same events, results, and counters of its ports."""
    ours = play(story()[1], free_after=777)
    other = play(story()[1], free_after=777, own=own_unit())
    assert (other.events, other.results) == (ours.events, ours.results)
    inner = {name: ours.counters[name] for name in INNER_COUNTERS}
    assert {name: other.counters[name] for name in INNER_COUNTERS} == dict.fromkeys(inner, 0)
    assert {**other.counters, **inner} == ours.counters
    assert inner["descriptors"] > 0


class TestBuilds:
    """What is built depends on what is in the files; nothing is simulated."""

    @pytest.fixture
    def keys(self, tmp_path, monkeypatch):
        """Folders of the Verilog of the systems of a configuration, without making it."""
        monkeypatch.setattr("cosim.engines.build._cached", lambda folder, make: folder)

        def find(path):
            loaded = load_config(path)
            return [
                verilog(
                    machine_design(loaded.platforms, loaded.parts, find_own(loaded, system)),
                    tmp_path,
                )[-1].parent.name
                for system in loaded.config.systems
            ]

        return find

    def test_contents_of_files_are_part_of_the_key(self, keys, write_config):
        path = Path("own.v")
        path.write_text(skeleton("gather", PLATFORMS))
        gather = "    gather: {verilog: [own.v], top: my_gather}\n"
        config = write_config((PLACE, PLACE + gather))
        ours, own = keys(config)
        assert ours != own
        path.write_text(path.read_text() + "\n")
        assert keys(config)[0] == ours
        assert keys(config)[1] not in (ours, own)

    @pytest.mark.slow
    def test_so_is_what_an_amaranth_class_becomes(self, keys, write_config):
        text = (
            "from rtl.gather.core import GatherUnit\nfrom own_depth import DEPTH\n"
            "class Core(GatherUnit):\n"
            "    def __init__(self, id_bits, result_words):\n"
            "        super().__init__(id_bits=id_bits, outstanding=DEPTH)\n"
        )
        Path("own_core_2.py").write_text(text)
        gather = '    gather: {amaranth: "own_core_2:Core"}\n'
        config = write_config((PLACE, PLACE + gather))
        found = []
        for depth in (4, 8):
            Path("own_depth.py").write_text(f"DEPTH = {depth}\n")
            for name in ("own_depth", "own_core_2"):
                sys.modules.pop(name, None)
            found.append(keys(config)[1])
        assert found[0] != found[1]


def test_limits_of_the_unit_are_limits_of_the_trace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for change, message in (
        ({"max_fan_out": 2}, r"fan_outs\[0\] must be at most 2, the gather unit's largest, not 3"),
        ({"modes": ["draw"]}, "gather.modes must have explicit for with-replacement with posit"),
    ):
        path = example(tmp_path, systems=1, **change)
        with pytest.raises(UserError, match=message):
            compare(load_config(path), engine="icarus", out=tmp_path / "run")


def example(folder, *, systems, **keys):
    """The example's comparison with other keys of the unit, and files made absolute."""
    document = yaml.safe_load((EXAMPLE / "compare.yaml").read_text())
    system = document["systems"][1]
    system["gather"] = {**system["gather"], "verilog": [str(EXAMPLE / "simple_gather.v")], **keys}
    document["systems"] = document["systems"][-systems:]
    document["run"]["graph"]["file"] = str(EXAMPLE / document["run"]["graph"]["file"])
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    path = example(folder, systems=2)
    document = yaml.safe_load(path.read_text())
    ours, _ = document["systems"]
    same = {"gather": {"amaranth": "rtl.gather.core:GatherUnit"}}
    same["flash_channel"] = {"amaranth": "rtl.nand.controller:FlashChannelController"}
    document["systems"].append({**ours, "name": "same", **same})
    path.write_text(yaml.safe_dump(document))
    return compare(load_config(path), engine="icarus", out=folder / "run")


@pytest.fixture
def systems(folder):
    return json.loads((folder / "summary.json").read_text())["systems"]


@pytest.mark.hdl
@pytest.mark.slow
class TestRuns:
    """The example beside ours, and our own blocks as if they were a user's."""

    def test_all_sample_the_same(self, folder, systems):
        reference = json.loads((folder / "summary.json").read_text())["reference_sha256"]
        assert {system["subgraph_sha256"] for system in systems.values()} == {reference}

    def test_the_example_is_slower(self, systems):
        ours, own = systems["ours"]["counters"], systems["simple-gather"]["counters"]
        for name in ("launches", "words", "ids"):
            assert ours[f"gather.{name}"] == own[f"gather.{name}"] > 0
        assert own["gather.busy"] > ours["gather.busy"]
        pairs = zip(systems["simple-gather"]["batches"], systems["ours"]["batches"], strict=True)
        assert all(slow["latency_ps"] > fast["latency_ps"] for slow, fast in pairs)

    def test_the_same_circuit_does_the_same(self, systems):
        ours, same = systems["ours"], systems["same"]
        assert same["batches"] == ours["batches"]
        channel = {f"channel.{name}" for name in PORT_COUNTERS} - ENGINE_COUNTERS
        inner = {f"gather.{name}" for name in INNER_COUNTERS}
        inner |= {name for name in ours["counters"] if name.startswith("channel.")}
        inner -= channel | {"channel.hand_over_waits"}
        expected = {name: n for name, n in ours["counters"].items() if name not in inner}
        assert same["counters"] == expected
        assert len(expected) < len(ours["counters"]) - 10

    def test_what_is_not_counted_is_named(self, folder):
        assert "not counted: own RTL" in (folder / "index.html").read_text()

    def test_the_run_says_what_its_blocks_consisted_of(self, folder):
        digests = json.loads((folder / "versions.json").read_text())["own_rtl"]
        text = (EXAMPLE / "simple_gather.v").read_bytes()
        simple = {"simple_gather.v": hashlib.sha256(text).hexdigest()}
        assert digests["simple-gather"] == {"gather": simple}
        assert set(digests["same"]) == {"gather", "flash_channel"}
        assert "ours" not in digests
        resolved = yaml.safe_load((folder / "config.resolved.yaml").read_text())["systems"]
        assert resolved[1]["gather"]["sha256"] == simple


class TestPage:
    """docs/own-rtl.md is made from the contract: csd-cosim ports BLOCK --docs docs/own-rtl.md."""

    @pytest.mark.parametrize("block", ["gather", "flash-channel"])
    def test_its_tables_are_those_of_today(self, block):
        page = (ROOT / "docs" / "own-rtl.md").read_text()
        for name, table in block_tables(block, PLATFORMS).items():
            assert f"<!-- {name} -->\n{table}<!-- end of {name} -->" in page, name

    def test_every_key_is_explained(self):
        page = (ROOT / "docs" / "own-rtl.md").read_text()
        keys = {*OwnGather.model_fields, *OwnFlashChannel.model_fields}
        assert [key for key in keys if f"`{key}`" not in page] == []

    def test_every_port_has_a_meaning(self, write_config):
        config = write_config(('ssd.nand.t_r: "25 us"', "ssd.flash.operations: all"))
        assert set(block_ports("gather", PLATFORMS)) == set(MEANINGS["gather"])
        channel = block_ports("flash-channel", load_config(config).platforms)
        assert set(channel) == set(MEANINGS["flash-channel"])
        assert set(channel) > set(block_ports("flash-channel", PLATFORMS))
