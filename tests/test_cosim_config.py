"""Configuration files and platforms: what they become."""

import json

import pytest
import yaml

from cosim.config.build import (
    card_wires,
    firmware_parameters,
    nand_part,
    page_layout,
    period_ps,
)
from cosim.config.load import (
    default_platforms,
    load_config,
    load_platform,
    platform_names,
    resolved_yaml,
)
from cosim.config.model import Config
from cosim.config.platform import constants
from tests.test_architecture import ROOT


def test_a_good_file_becomes_typed_values(write_config):
    loaded = load_config(write_config())
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


def test_an_override_takes_the_place_of_a_constant(write_config):
    t_r = load_config(write_config()).platforms.ssd.nand.t_r
    assert (t_r.value, t_r.mark) == (25_000_000, "configured")
    assert load_platform("cosmos_plus").nand.t_r.value == 50_000_000


def test_one_core_can_be_slowed_though_the_file_describes_both_at_once(write_config):
    change = ('ssd.nand.t_r: "25 us"', 'ssd.firmware.cores.core0.clock: "500 MHz"')
    cores = load_config(write_config(change)).platforms.ssd.firmware.cores
    assert cores["core0"].clock.value == 500_000_000
    assert cores["core1"].clock.value == 1_000_000_000


def test_values_are_frozen(write_config):
    config = load_config(write_config()).config
    with pytest.raises(ValueError, match="frozen"):
        config.run.out = "elsewhere"


def test_the_resolved_configuration_holds_all_and_repeats(write_config):
    loaded = load_config(write_config())
    text = resolved_yaml(loaded)
    assert text == resolved_yaml(load_config(write_config()))
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


def test_platforms_that_ship_are_the_six():
    assert platform_names() == [
        "cosmos_oracle",
        "cosmos_plus",
        "host_xeon",
        "smartssd",
        "smartssd_ssd",
        "tiny",
    ]


def test_the_oracle_differs_from_cosmos_plus_by_its_cores_alone():
    """Dedicated ones: no core has both sampling and flash management."""
    oracle, cosmos = (load_platform(f"cosmos_{name}").model_dump() for name in ("oracle", "plus"))
    cores = {name: core["type"]["value"] for name, core in oracle["firmware"]["cores"].items()}
    binding = {task: core["value"] for task, core in oracle["firmware"]["binding"].items()}
    sampling = {"isp_control", "gather", "write_back"}
    assert {cores[binding[task]] for task in sampling} == {"cortex_a53"}
    assert {cores[binding[task]] for task in set(binding) - sampling} == {"cortex_m7"}
    for name in ("title", "sources"):
        del oracle[name], cosmos[name]
    for name in ("cores", "binding"):
        del oracle["firmware"][name], cosmos["firmware"][name]
    assert oracle == cosmos


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


def test_cosmos_plus_becomes_the_part_of_its_sources():
    ssd = load_platform("cosmos_plus")
    part, layout = nand_part(ssd), page_layout(ssd)
    assert (part.raw_page_bytes, part.rows, part.luns) == (18_048, 4096 * 128, 2)
    assert (part.t_wb_ps, part.t_ccs_ps, part.t_r_ps) == (100_000, 340_000, 50_000_000)
    assert (layout.data_bytes, layout.metadata_bytes, layout.lba_bus_bytes) == (17_728, 278, 4432)
    assert ssd.pcie.rate.value == 4_000_000_000


def test_one_host_sets_one_payload_limit_for_all_devices():
    platforms = default_platforms()
    links = (platforms.ssd.pcie, platforms.fpga.pcie, platforms.fpga.p2p)
    assert {link.max_payload.value for link in links} == {256}


def test_the_card_s_link_moves_what_its_source_measured():
    # UG1382: 3423.9 MB/s from host to card, 3314.4 MB/s from card to host.
    up, down = card_wires(load_platform("smartssd").pcie)
    size = 1 << 30
    for wire, rate in ((up, 3_314.4e6), (down, 3_423.9e6)):
        seconds = wire.duration_ps(size + wire.write_overhead(size)) / 10**12
        assert size / seconds == pytest.approx(rate, rel=1e-4)


def test_page_buffer_is_the_system_s_or_the_platform_s(write_config):
    loaded = load_config(write_config())
    ssd = loaded.platforms.ssd
    firmware, serial = loaded.config.systems
    assert firmware_parameters(ssd, firmware, 10**8).page_buffer_pages == 1024
    assert firmware_parameters(ssd, serial, 10**8).page_buffer_pages == 5_000_000 // 16_384


def test_the_switch_for_whole_pages_reaches_both_paths(write_config):
    loaded = load_config(write_config(("coalescing: 64", "whole_page: false")))
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
