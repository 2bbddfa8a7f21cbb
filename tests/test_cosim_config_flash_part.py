"""The part of an SSD platform: its constants stand in the platform, with where they are from."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cosim.config.build import bus_phases, bus_rate, nand_part
from cosim.config.load import load_config, load_platform, resolved_yaml
from cosim.config.nand_file import PART_FOLDER, load_part
from cosim.config.platform import PLATFORM_FOLDER, constants
from cosim.errors import UserError
from rtl.contract.bus_times import Interface

OVERRIDE = '  ssd.nand.t_r: "25 us"\n'


@pytest.fixture
def load(write_config):
    """Loads the good configuration with other overrides, given as YAML lines."""

    def load(*overrides):
        lines = "".join(f"  {line}\n" for line in overrides)
        return load_config(write_config((OVERRIDE, lines or "  {}\n")))

    return load


def own_part(tmp_path, *changes, name="mine.yaml"):
    text = (PART_FOLDER / "hynix-mlc-slc-mode.yaml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / name).write_text(text)


@pytest.mark.parametrize(
    ("platform", "interface", "mode"),
    [
        ("cosmos_plus", "nv-ddr2", 4),
        ("tiny", "nv-ddr2", 7),
        ("tiny", "nv-ddr", 5),
        ("tiny", "nv-ddr", 2),
        ("tiny", "sdr", 0),
        ("tiny", "sdr", 5),
    ],
)
@pytest.mark.parametrize("operations", ["read", "all"])
def test_the_constants_are_those_of_the_part_in_its_mode(
    write_config, platform, interface, mode, operations
):
    chosen = {"operations": operations, "interface": interface, "mode": mode}
    lines = "".join(f"  ssd.flash.{key}: {value}\n" for key, value in chosen.items())
    change = ("systems:", f"platforms: {{ssd: {platform}}}\nsystems:")
    ssd = load_config(write_config(change, (OVERRIDE, lines))).platforms.ssd
    part = load_part(ssd.flash.part.value)
    timing = part.timing(Interface(interface), mode, 10_000)
    whole = replace(part.nand_part(timing), name="nand")
    plain = replace(
        whole, planes=1, extended=None, program_poll=None, erase_poll=None, suspend=None
    )
    assert nand_part(ssd) == (whole if operations == "all" else plain)
    assert bus_phases(ssd) == timing.phases
    assert ssd.nand.chip_enables.value == part.geometry.chip_enables


def test_hardware_for_reads_has_no_constants_of_other_operations():
    keys = dict(constants(load_platform("cosmos_plus")))
    assert "nand.t_r" in keys
    assert not {"nand.planes", "nand.t_prog", "nand.t_adl"} & set(keys)


def test_a_constant_says_whether_the_part_or_onfi_asks_for_it():
    ssd = load_platform("cosmos_plus")
    found = {key: (c.source, c.mark) for key, c in constants(ssd.nand)}
    assert found["t_ccs"] == (
        "COSMOS: V2NFC100DDR waits so long between the column change and data out",
        "stated",
    )
    assert found["t_wp"] == ("ONFI: tWP of nv-ddr2 mode 4", "stated")
    assert found["t_rpst"] == ("ONFI: tDQSRE of nv-ddr2 mode 4: tDQSRE + tRC / 2", "inferred")
    assert found["t_r"][1] == "assumed"
    assert ssd.sources["ONFI"] == "Open NAND Flash Interface 3.1"
    assert ssd.sources["TH58"].startswith("Toshiba TH58TFxxT23BA data sheet")


def test_onfi_is_cited_for_what_it_says_of_the_interface(load, tmp_path):
    own_part(tmp_path, ("  t_ccs: {value", "  t_cs: {value"))
    nand = load("ssd.flash.part: mine.yaml", "ssd.flash.operations: all").platforms.ssd.nand
    # In NV-DDR2 these two are as in the other interfaces, for want of a source.
    assert (nand.t_ccs.source, nand.t_ccs.mark) == ("ONFI: tCCS of nv-ddr2 mode 4", "inferred")
    assert (nand.t_adl.source, nand.t_adl.mark) == ("ONFI: tADL of nv-ddr2 mode 4", "inferred")
    assert (nand.t_wpre.source, nand.t_wpre.mark) == ("ONFI: tWPRE of nv-ddr2 mode 4", "stated")
    assert nand.t_cs.value == 340_000


def test_a_time_for_many_is_the_longest_and_says_whose(load, tmp_path):
    plane = '  t_plpbsy: {value: "2 us", source: "COSMOS: a plane", mark: inferred}\n'
    old = '  t_plpbsy: {value: "1 us", source: "as t_plrbsy", mark: assumed}\n'
    own_part(tmp_path, (old, plane))
    nand = load("ssd.flash.part: mine.yaml", "ssd.flash.operations: all").platforms.ssd.nand
    assert (nand.t_dbsy.value, nand.t_dbsy.source) == (2_000_000, "COSMOS: a plane")
    assert (nand.t_rst.value, nand.t_rst.mark) == (100_000_000, "inferred")


def test_sources_of_part_and_platform_may_have_the_same_tag(load, tmp_path):
    own_part(tmp_path, ('COSMOS: "Cosmos+', 'COSMOS: "Another'))
    ssd = load("ssd.flash.part: mine.yaml").platforms.ssd
    assert ssd.nand.page.source == "COSMOS of mine: Hynix 8C8W module"
    assert ssd.sources["COSMOS of mine"].startswith("Another OpenSSD")
    assert ssd.sources["COSMOS"].startswith("Cosmos+ OpenSSD")


def test_the_mode_and_the_clock_make_the_rate(load):
    def rate(*overrides):
        ssd = load(*overrides).platforms.ssd
        return bus_phases(ssd), bus_rate(ssd)

    assert rate() == (2, 200_000_000)
    assert rate("ssd.flash.mode: 2") == (1, 100_000_000)
    assert rate('ssd.flash.clock: "200 MHz"') == (1, 200_000_000)
    assert rate("ssd.flash.part: ull-3us", "ssd.flash.mode: 7") == (4, 400_000_000)
    assert rate('ssd.nand.t_rc: "15 ns"') == (1, 100_000_000)


def test_overrides_come_after_the_part_whatever_their_order(load):
    one = load('ssd.nand.t_r: "7 us"', "ssd.flash.part: ull-3us").platforms.ssd.nand
    assert (one.t_r.value, one.t_r.mark, one.page.value) == (7_000_000, "configured", 4096)


def test_the_resolved_configuration_has_the_constants_and_the_choices(load):
    loaded = load("ssd.flash.part: ull-3us")
    ssd = yaml.safe_load(resolved_yaml(loaded))["platforms"]["ssd"]
    assert ssd["flash"]["part"] == {
        "value": "ull-3us",
        "source": "configuration of the run",
        "mark": "configured",
    }
    assert ssd["nand"]["t_r"]["value"] == "3 us"
    assert set(ssd["nand"]) == {key for key, _ in constants(loaded.platforms.ssd.nand)}


def test_a_part_file_is_relative_to_the_file_that_names_it(write_config, tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    own_part(tmp_path / "below", ('t_r: {value: "50 us"', 't_r: {value: "9 us"'))
    text = (PLATFORM_FOLDER / "cosmos_plus.yaml").read_text()
    text = text.replace("value: hynix-mlc-slc-mode", "value: mine.yaml")
    (tmp_path / "below" / "ssd.yaml").write_text(text)
    change = ("systems:", "platforms: {ssd: below/ssd.yaml}\nsystems:")
    path = write_config(change, (OVERRIDE, "  {}\n"))
    assert load_config(path).platforms.ssd.nand.t_r.value == 9_000_000
    own_part(tmp_path, ('t_r: {value: "50 us"', 't_r: {value: "8 us"'))
    path = write_config(change, (OVERRIDE, "  ssd.flash.part: mine.yaml\n"))
    assert load_config(path).platforms.ssd.nand.t_r.value == 8_000_000


def test_a_part_that_contradicts_itself_is_refused_with_its_line(load, tmp_path):
    own_part(tmp_path, ('t_rcbsy: {value: "5 us"', 't_rcbsy: {value: "51 us"'))
    line = 1 + (tmp_path / "mine.yaml").read_text().splitlines().index(
        '  t_rcbsy: {value: "51 us", source: "as the Toshiba part", mark: assumed}'
    )
    rule = "nand.array.t_rcbsy must be at most t_r, not 51000000 > 50000000"
    with pytest.raises(UserError, match=rf"^mine\.yaml:{line}: {rule}"):
        load("ssd.flash.part: mine.yaml")


def test_a_platform_gives_no_constants_of_a_part(write_config, tmp_path):
    text = (PLATFORM_FOLDER / "cosmos_plus.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text + "\nnand: {}\n")
    line = text.count("\n") + 2
    change = ("systems:", "platforms: {ssd: my.yaml}\nsystems:")
    rule = "nand must not be given: it is that of the part in flash.part"
    with pytest.raises(UserError, match=rf"^my\.yaml:{line}: {rule}"):
        load_config(write_config(change))


def test_a_platform_without_flash_is_refused_as_one(write_config, tmp_path):
    text = Path(PLATFORM_FOLDER / "cosmos_plus.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text.replace("\nflash:\n", "\nflush:\n"))
    change = ("systems:", "platforms: {ssd: my.yaml}\nsystems:")
    with pytest.raises(UserError, match=r"flush is not a key; did you mean 'flash'"):
        load_config(write_config(change, (OVERRIDE, "  {}\n")))
