"""Configuration files: what they become, and every way in which they are refused."""

import json

import pytest
import yaml

from cosim.config.build import firmware_parameters, nand_part, page_layout, period_ps
from cosim.config.load import load_config, load_platform, platform_names, resolved_yaml
from cosim.config.model import Config
from cosim.config.platform import constants
from cosim.errors import UserError
from tests.test_architecture import ROOT

GOOD = """\
systems:
  - kind: firmware-csd
    coalescing: 64
  - kind: fpga-csd
    name: serial
    reads_in_flight: 1
    page_buffer: "5 %"
platform_overrides:
  ssd.nand.t_r: "25 us"
run:
  graph: {file: g.npz}
  trace:
    batches: 2
    targets: 4
    fan_outs: [3, 2]
    seed: 7
  out: runs/x
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a configuration with replaced lines; messages then begin with ``c.yaml``."""
    monkeypatch.chdir(tmp_path)

    def write(*changes):
        text = GOOD
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "c.yaml").write_text(text)
        return "c.yaml"

    return write


def refusal(path):
    with pytest.raises(UserError) as error:
        load_config(path)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_a_good_file_becomes_typed_values(write):
    loaded = load_config(write())
    firmware, serial = loaded.config.systems
    assert (firmware.name, firmware.kind, firmware.coalescing) == (
        "firmware-csd",
        "firmware-csd",
        64,
    )
    assert (serial.name, serial.kind, serial.reads_in_flight) == ("serial", "fpga-csd", 1)
    assert serial.page_buffer.of(1_000_000) == 50_000
    assert loaded.config.run.trace.fan_outs == (3, 2)
    assert loaded.config.engine.name == "verilator"


def test_an_override_takes_the_place_of_a_constant(write):
    t_r = load_config(write()).platforms.ssd.nand.t_r
    assert (t_r.value, t_r.mark) == (25_000_000, "configured")
    assert load_platform("cosmos_plus").nand.t_r.value == 50_000_000


def test_values_are_frozen(write):
    config = load_config(write()).config
    with pytest.raises(ValueError, match="frozen"):
        config.run.out = "elsewhere"


BAD = [
    # Keys.
    (("    coalescing:", "    coalesing:"),
     "c.yaml:3: systems[0].coalesing is not a key; did you mean 'coalescing'?"),
    (("run:", "runs:"), "c.yaml:10: runs is not a key; did you mean 'run'?"),
    (("  out: runs/x", "  out: runs/x\n  zzz: 1"),
     "c.yaml:18: run.zzz is not a key; known are graph, out, trace"),
    (("    coalescing: 64", "    reads_in_flight: 1"),
     "c.yaml:3: systems[0].reads_in_flight is not a key; known are coalescing, kind, name, "
     "page_buffer, positions, whole_page"),
    (("    seed: 7", "    seed: 7\n    seed: 8"),
     "c.yaml:17: run.trace.seed must be given once, and is given in line 16 already"),
    (("  out: runs/x\n", ""), "c.yaml:10: run.out must be given"),
    (("    seed: 7\n", ""), "c.yaml:12: run.trace must give seed, or a file"),
    (("    seed: 7", "    seed: 7\n    file: t.json"),
     "c.yaml:12: run.trace must not give batches, fan_outs, seed, targets beside file"),
    (("kind: firmware-csd", "name: a"), "c.yaml:2: systems[0] must give 'kind'"),
    (("  ssd.nand", "  3"), "c.yaml:9: platform_overrides.3.t_r must begin with one of ssd, fpga, "
     "host, not '3'"),
    # Values.
    (("kind: firmware-csd", "kind: firmware"),
     "c.yaml:2: systems[0].kind must be one of 'firmware-csd', 'fpga-csd', not 'firmware'"),
    (("name: serial", "name: firmware-csd"),
     "c.yaml:1: systems must have different names, not 'firmware-csd' twice"),
    (("name: serial", "name: ../x"),
     "c.yaml:5: systems[1].name must match ^[A-Za-z0-9][A-Za-z0-9_.-]*$, not '../x'"),
    (("coalescing: 64", "coalescing: 0"),
     "c.yaml:3: systems[0].coalescing must be at least 1, not 0"),
    (("coalescing: 64", "coalescing: '64'"),
     "c.yaml:3: systems[0].coalescing must be an integer, not '64'"),
    (("coalescing: 64", "coalescing: true"),
     "c.yaml:3: systems[0].coalescing must be an integer, not true"),
    (("coalescing: 64", "coalescing: 6.4"),
     "c.yaml:3: systems[0].coalescing must be an integer, not 6.4"),
    (("coalescing: 64", "whole_page: 1"),
     "c.yaml:3: systems[0].whole_page must be true or false, not 1"),
    (("coalescing: 64", "positions: both"),
     "c.yaml:3: systems[0].positions must be 'host' or 'device', not 'both'"),
    (('"5 %"', '"5 us"'),
     "c.yaml:7: systems[1].page_buffer must be a share such as '2 %' (in %) or a size such as "
     "'16 MiB' (in B, KB, KiB, MB, MiB, GB or GiB), not '5 us', which is a time"),
    (('"5 %"', '"4 KiB"'),
     "platform ssd: page_buffer must hold at least one page of 16384 bytes, not 4096 bytes"),
    (("[3, 2]", "[3, 0]"), "c.yaml:15: run.trace.fan_outs[1] must be at least 1, not 0"),
    (("[3, 2]", "[]"), "c.yaml:15: run.trace.fan_outs must have at least 1 items, not a list of 0"),
    (("[3, 2]", "3"), "c.yaml:15: run.trace.fan_outs must be a list, not 3"),
    (("{file: g.npz}", "g.npz"), "c.yaml:11: run.graph must be a mapping of keys, not 'g.npz'"),
    (("{file: g.npz}", "{file: g.npz, id_bytes: 2}"),
     "c.yaml:11: run.graph.id_bytes must be 4 or 8, not 2"),
    (("out: runs/x", "out: ''"), "c.yaml:17: run.out must not be empty, not ''"),
    (("out: runs/x", "out:"), "c.yaml:17: run.out must be text, not nothing"),
    # Platforms and overrides.
    (("systems:", "platforms: {ssd: cosmos}\nsystems:"),
     "c.yaml:1: platforms.ssd must be the name of a platform or a .yaml file, not 'cosmos'; did "
     "you mean 'cosmos_plus'?"),
    (("systems:", "platforms: {ssd: my.yaml}\nsystems:"),
     "my.yaml: file must exist, and does not"),
    (("systems:", "platforms: {ssd: smartssd}\nsystems:"), "part must be 'ssd', not 'fpga'"),
    (("ssd.nand.t_r", "ssd.nand.tr"),
     "c.yaml:9: platform_overrides.ssd.nand.tr is not a constant: nand has no 'tr'; did you mean "
     "'t_r'?"),
    (("ssd.nand.t_r", "ssd.nand"), "c.yaml:9: platform_overrides.ssd.nand must name one constant"),
    (("ssd.nand.t_r", "ssd.nand.t_r.value"),
     "c.yaml:9: platform_overrides.ssd.nand.t_r.value is not a constant: nand.t_r has no 'value'; "
     "it is a constant itself"),
    (('"25 us"', '"25 MHz"'),
     "c.yaml:9: platform_overrides.ssd.nand.t_r must be a time such as '50 us' (in ps, ns, us, ms "
     "or s), not '25 MHz', which is a frequency"),
    (('ssd.nand.t_r: "25 us"', 'ssd.nand.t_wp: "20 ns"'),
     "platform ssd: t_wc_ps must be at least t_wp_ps + t_wh_ps, not 25000 < 20000 + 10000"),
    (('ssd.nand.t_r: "25 us"', 'fpga.clock: "223 MHz"'),
     "platform fpga: clock must have a period of an even number of ps, not that of 223 MHz "
     "(4484.305 ps)"),
    (('ssd.nand.t_r: "25 us"', 'ssd.flash.rate: "300 MT/s"'),
     "platform ssd: flash.rate must be 1, 2 or 4 times flash.clock, not 3 times"),
    (('ssd.nand.t_r: "25 us"', "ssd.firmware.binding.gather: core7"),
     "platform ssd: binding['gather'] must be one of core0, core1, not 'core7'"),
    # Not even YAML.
    (("run:", "run: ["), "c.yaml:"),
    ((GOOD, "- 1\n"), "c.yaml:1: file must hold a mapping of keys, not a list"),
    ((GOOD, ""), "c.yaml:1: file must hold a mapping of keys, not nothing"),
    ((GOOD, "a: !!python/object:os.system {}\n"), "c.yaml:1: file must hold plain YAML, not tag:yaml.org,2002:python/object:os.system"),
    ((GOOD, "a: !!python/name:os.system\n"), "c.yaml:1: file must be YAML: could not "),
    ((GOOD, "a: &a [*a]\n"), "c.yaml: file must be YAML: "),
    ((GOOD, "1: 2\n"), "c.yaml:1: keys must be words, not 1"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_bad_input_is_one_line_with_file_place_rule_and_value(write, change, message):
    found = refusal(write(change))
    assert found.startswith(message) or found.endswith(message)


def test_a_missing_file_is_named():
    assert refusal("nowhere.yaml") == "nowhere.yaml: file must exist, and does not"


def test_the_resolved_configuration_holds_all_and_repeats(write):
    loaded = load_config(write())
    text = resolved_yaml(loaded)
    assert text == resolved_yaml(load_config(write()))
    values = yaml.safe_load(text)
    assert values["platforms"]["ssd"]["nand"]["t_r"] == {
        "value": "25 us",
        "source": "configuration of the run",
        "mark": "configured",
    }
    assert values["systems"][1]["page_buffer"] == "5 %"
    assert values["engine"]["stop_clocks"] is True
    assert values["run"]["trace"]["seed"] == 7


def test_the_schema_knows_every_key():
    schema = Config.model_json_schema()
    assert set(schema["properties"]) == set(Config.model_fields)
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["FpgaCsd"]["properties"]["page_buffer"]["anyOf"][0]["type"] == "string"
    assert json.loads(json.dumps(schema)) == schema


def test_platforms_that_ship_are_the_four():
    assert platform_names() == ["cosmos_plus", "host_xeon", "smartssd", "tiny"]


@pytest.mark.parametrize("name", platform_names())
def test_every_constant_says_where_it_is_from(name):
    platform = load_platform(name)
    tags = set()
    for key, constant in constants(platform):
        tag = constant.source.partition(":")[0]
        assert constant.mark != "configured", key
        if constant.mark != "assumed":
            tags.add(tag)
    assert tags <= set(platform.sources)
    # Nothing is cited that nothing uses, wherever in a source it is mentioned.
    text = " ".join(constant.source for _, constant in constants(platform))
    assert all(tag in text for tag in platform.sources)


def test_a_constant_without_a_known_source_is_refused(write, tmp_path):
    text = (ROOT / "cosim/platforms/host_xeon.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text.replace('source: "XRP: cross', 'source: "me: cross'))
    found = refusal(write(("systems:", "platforms: {host: my.yaml}\nsystems:")))
    assert found == (
        "my.yaml:1: must name in sources what each inferred constant is from; submit begins "
        "with 'me'"
    )


def test_cosmos_plus_becomes_the_part_of_its_sources():
    ssd = load_platform("cosmos_plus")
    part, layout = nand_part(ssd), page_layout(ssd)
    assert (part.raw_page_bytes, part.rows, part.luns) == (18_048, 4096 * 128, 2)
    assert (part.t_wb_ps, part.t_ccs_ps, part.t_r_ps) == (100_000, 340_000, 50_000_000)
    assert (layout.data_bytes, layout.metadata_bytes, layout.lba_bus_bytes) == (17_728, 278, 4432)
    assert ssd.pcie.rate.value == 4_000_000_000


def test_page_buffer_is_the_system_s_or_the_platform_s(write):
    loaded = load_config(write())
    ssd = loaded.platforms.ssd
    firmware, serial = loaded.config.systems
    assert firmware_parameters(ssd, firmware, 10**8).page_buffer_pages == 1024
    assert firmware_parameters(ssd, serial, 10**8).page_buffer_pages == 5_000_000 // 16_384


def test_the_switch_for_whole_pages_reaches_both_paths(write):
    loaded = load_config(write(("coalescing: 64", "whole_page: false")))
    made = firmware_parameters(loaded.platforms.ssd, loaded.config.systems[0], 10**8)
    assert not made.sampling_whole_page
    assert not made.block_read_whole_page


@pytest.mark.parametrize(("clock", "period"), [(250_000_000, 4000), (10**9, 1000), (10**8, 10**4)])
def test_periods_are_exact(clock, period):
    assert period_ps(clock) == period


@pytest.mark.parametrize("clock", [223_000_000, 8_000_000_000])
def test_a_period_that_edges_cannot_keep_is_refused(clock):
    with pytest.raises(ValueError, match="even number of ps"):
        period_ps(clock)


@pytest.mark.parametrize("name", ["quickstart", "quickstart-small"])
def test_the_examples_are_valid(name):
    loaded = load_config(ROOT / "examples" / f"{name}.yaml")
    assert [system.kind for system in loaded.config.systems] == ["firmware-csd", "fpga-csd"]
    assert loaded.file(loaded.config.run.graph.file).parent == ROOT / "examples" / "data"
