"""NAND part files: each of ours is whole, each constant counts, and bad ones are refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cosim.config.build import nand_part
from cosim.config.load import default_platforms
from cosim.config.nand_file import (
    NandPartFile,
    load_part,
    load_part_file,
    part_description,
    part_names,
)
from cosim.config.part import Part
from cosim.config.platform import constants
from cosim.errors import UserError
from cosim.report.part_tables import part_tables
from rtl.contract.bus_times import Interface
from rtl.contract.flash_channel import FlashChannel
from rtl.contract.page import PageLayout
from rtl.contract.parameter_page import decode_parameter_pages
from rtl.contract.part_identity import parameter_pages_of, part_from_parameter_pages
from tests.test_architecture import ROOT


def document(name="tiny"):
    return load_part_file(name)[0].model_dump(mode="json", exclude_none=True)


def set_value(values, key, value):
    for name in key.split("."):
        values = values[name]
    values["value"] = value


@pytest.fixture
def written(tmp_path):
    """Writes a changed ``tiny`` to a file, and gives its path."""

    def write(key=None, value=None, **sections):
        values = document() | sections
        if key is not None:
            set_value(values, key, value)
        path = tmp_path / "part.yaml"
        path.write_text(yaml.safe_dump({k: v for k, v in values.items() if v is not None}))
        return path

    return write


def test_parts_that_come_with_the_package():
    assert part_names() == [
        "hynix-mlc-slc-mode",
        "samsung-vnand-tlc",
        "tiny",
        "tiny-2k",
        "toshiba-th58tfxxt23ba",
        "ull-3us",
    ]


@pytest.mark.parametrize("name", part_names())
def test_a_part_runs_in_all_of_its_modes(name):
    part = load_part(name)
    assert part.name == name
    for support in part.interfaces:
        for mode in support.modes:
            # In the fastest clock of a mode: two transfers, or the least period of CLK.
            times = part.bus_times(support.interface, mode)
            period = getattr(times, "t_ck_ps", None) or times.t_rc_ps
            phases = 1 if support.interface is Interface.SDR else 2
            assert part.timing(support.interface, mode, period, phases).phases == phases


@pytest.mark.parametrize("name", part_names())
def test_the_default_code_fits_the_page_of_a_part(name):
    part = load_part(name)
    page, spare = part.geometry.page_bytes, part.geometry.spare_bytes
    layout = PageLayout(page_bytes=page, spare_bytes=spare, lba_bytes=min(page, 4096))
    nv_ddr2 = {"interface": Interface.NV_DDR2, "mode": 4, "period_ps": 10_000}
    channel = FlashChannel(part=part, ways=part.geometry.chip_enables, layout=layout, **nv_ddr2)
    assert channel.timing.transfers_per_second == 200_000_000


@pytest.mark.parametrize("name", part_names())
def test_a_part_is_found_again_in_its_parameter_page(name):
    part = load_part(name)
    again = part_from_parameter_pages(parameter_pages_of(part), like=part)
    assert again.geometry == part.geometry
    assert [one.modes for one in again.interfaces] == [one.modes for one in part.interfaces]
    # A page tells of times in microseconds.
    if name not in ("tiny", "tiny-2k"):
        assert again.array == part.array
    assert decode_parameter_pages(parameter_pages_of(part, model="")).luns == part.geometry.luns


def test_what_sources_say_of_the_parts():
    hynix, toshiba, ull = map(load_part, ("hynix-mlc-slc-mode", "toshiba-th58tfxxt23ba", "ull-3us"))
    assert load_part_file("hynix-mlc-slc-mode")[0].array.t_r.mark == "assumed"
    raw = toshiba.geometry.page_bytes + toshiba.geometry.spare_bytes
    assert (raw, toshiba.geometry.planes, toshiba.array.t_r_ps) == (18_336, 2, 90_000_000)
    assert (ull.array.t_r_ps, ull.array.t_prog_ps) == (3_000_000, 30_000_000)
    assert (hynix.geometry.page_bytes, hynix.geometry.spare_bytes) == (16_384, 1_664)


def test_the_hynix_part_in_mode_4_is_that_of_the_cosmos_platform():
    part = load_part("hynix-mlc-slc-mode")
    today = part.nand_part(part.timing(Interface.NV_DDR2, 4, 10_000))
    reads = {"planes": 1} | dict.fromkeys(("extended", "program_poll", "erase_poll", "suspend"))
    read_path = replace(today, name="nand", **reads)
    assert read_path == nand_part(default_platforms().ssd)


TINY = dict(constants(load_part_file("tiny")[0]))


def other(key, value):
    """Another value of the same kind, as it stands in a file."""
    if isinstance(value, tuple):
        return list(value)[:-1]
    name = key.rpartition(".")[2]
    if name.startswith(("t_", "first", "period")):
        return f"{2 * value} ps"
    if name in ("page", "spare"):
        return f"{2 * value} B"
    return value ^ 0x08 if key.startswith("suspend.") else 2 * value


# What must change with a constant, lest another one contradict it.
COMPANIONS = {
    "array.t_rst_ready": {"array.t_rst_read": "200 ns"},
    "array.t_rst_read": {"array.t_rst_program": "300 ns", "array.t_rst_erase": "300 ns"},
    "array.t_rst_program": {"array.t_rst_erase": "400 ns"},
}


@pytest.mark.parametrize("key", TINY)
def test_every_constant_counts(key, written):
    values = document()
    for companion, value in COMPANIONS.get(key, {}).items():
        set_value(values, companion, value)
    before = load_part(str(written(**values)))
    set_value(values, key, other(key, TINY[key].value))
    assert load_part(str(written(**values))) != before


def test_an_interface_or_suspend_left_out_is_not_there(written):
    part = load_part(str(written(nv_ddr=None, suspend=None)))
    assert [one.interface for one in part.interfaces] == [Interface.SDR, Interface.NV_DDR2]
    assert (part.name, part.suspend) == ("part", None)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("geometry.planes", 3, "nand.geometry.planes must be a power of two, not 3"),
        ("geometry.page", "511 B", "nand.geometry.page must be even on a DDR bus, not 511"),
        ("geometry.page", "9 ns", r"geometry.page.value must be a size .*, not '9 ns'"),
        ("geometry.luns", 0, "geometry.luns.value must be at least 1, not 0"),
        ("geometry.blocks_per_lun", 3, "nand.geometry.blocks_per_lun must be a multiple of planes"),
        ("array.t_rcbsy", "500 ns", "nand.array.t_rcbsy must be at most t_r, not 500000 > 400000"),
        ("array.t_r", "0 us", "nand.array.t_r must be a positive integer, not 0"),
        ("polls.erase.period", "0 us", "nand.polls.erase.period must be a positive integer, not 0"),
        ("polls.program.first", "10 ns", "nand.polls: first_ps of program must be at least tWB"),
        ("suspend.erase_resume", 0x60, "nand.suspend.erase_resume must be an opcode of its own"),
        ("suspend.erase_resume", 256, "suspend.erase_resume.value must be at most 255, not 256"),
        ("suspend.t_erase_suspend", "2 us", "nand.suspend.t_erase_suspend must be at most t_bers"),
        ("sdr.modes", [1, 2], "nand.sdr.modes of sdr must have 0, in which every part wakes up"),
        ("sdr.modes", [0, 6], "nand.sdr: Timing mode of sdr must be 0 to 5, not 6"),
        ("nv_ddr2.modes", [], "nand.nv_ddr2.modes must be different ones, at least one, not"),
        ("nv_ddr.t_wb", "0 ns", "nand.nv_ddr.t_wb must be a positive integer, not 0"),
    ],
)
def test_bad_constants_are_refused_with_file_and_line(key, value, message, written):
    path = written(key, value)
    with pytest.raises(UserError, match=rf"^{path}:\d+: {message}"):
        load_part(str(path))


def test_a_contradiction_of_a_part_without_suspends(written):
    values = document()
    set_value(values, "polls.erase.first", "10 ns")
    path = written(**values | {"suspend": None})
    with pytest.raises(UserError, match=rf"^{path}:\d+: nand.polls: first_ps of erase must be"):
        load_part(str(path))


def test_the_line_is_that_of_the_constant(written):
    path = written("array.t_rcbsy", "500 ns")
    line = path.read_text().splitlines().index("    value: 500 ns") + 1
    with pytest.raises(UserError, match=rf"part\.yaml:{line}: nand\.array\.t_rcbsy"):
        load_part(str(path))


def test_a_time_that_the_interface_does_not_have(written):
    extra = {"t_dqsck": {"value": "1 ns", "source": "none", "mark": "assumed"}}
    path = written(nv_ddr2=document()["nv_ddr2"] | extra)
    with pytest.raises(UserError, match=r"nv_ddr2\.t_dqsck is not a key; did you mean 't_dqsre'"):
        load_part(str(path))


def test_a_source_that_is_not_explained(written):
    marked = {"value": "400 ns", "source": "SHEET: tR", "mark": "stated"}
    with pytest.raises(UserError, match=r"must name in sources .* array\.t_r begins with 'SHEET'"):
        load_part(str(written(array=document()["array"] | {"t_r": marked})))


def test_other_files_are_no_parts(tmp_path):
    with pytest.raises(UserError, match=r"part must be the name of .*; did you mean 'tiny'"):
        load_part("tinny")
    with pytest.raises(UserError, match="file must exist, and does not"):
        load_part("none.yaml", tmp_path)
    platform = ROOT / "cosim" / "platforms" / "tiny.yaml"
    with pytest.raises(UserError, match=r"tiny\.yaml:1: part must be 'nand', not 'ssd'"):
        load_part(str(platform))


def test_files_without_places_name_the_part():
    file = NandPartFile.model_validate(document() | {"title": "another"})
    assert part_description(file, "x") == replace(load_part("tiny"), name="x")


def test_the_page_has_the_tables_of_the_files():
    assert Path(ROOT / "docs" / "parts.md").read_text().endswith(part_tables())


def test_the_page_explains_what_it_lists():
    page = (ROOT / "docs" / "parts.md").read_text()
    assert all(f"`{name}`" in page or name in page for name in part_names())
    assert issubclass(NandPartFile, Part)
