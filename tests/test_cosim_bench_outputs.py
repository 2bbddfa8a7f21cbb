"""Files that benchmarks write are looked at before anything is measured."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim.bench import firmware_command, flash_channel_command, frame, gather_command, p2p_command
from cosim.bench.commands import bench_app
from cosim.bench.gather_case import GatherBuild
from cosim.bench.outputs import check_outputs
from cosim.errors import UserError
from tests.test_architecture import ROOT

MEASURES = {
    "gather": (gather_command, "bench_gather"),
    "flash-channel": (flash_channel_command, "bench_flash_channel"),
    "firmware": (firmware_command, "read_stream"),
    "p2p": (p2p_command, "measure"),
    "frame": (frame, "bench_frame"),
}
DOCS = {name: [] for name in MEASURES} | {"frame": ["--decoder", "both"]}
PLOTTED = ("gather", "flash-channel")


class Measured(Exception):
    """A measurement began."""


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Run a command whose measurement ends at once; returns what it raised."""
    monkeypatch.chdir(tmp_path)

    def measure(*arguments, **options):
        raise Measured

    for module, function in MEASURES.values():
        monkeypatch.setattr(module, function, measure)
    return lambda *arguments: CliRunner().invoke(bench_app, arguments).exception


@pytest.mark.parametrize("name", MEASURES)
def test_a_report_that_cannot_be_written_is_refused_before_measuring(bench, name):
    found = bench(name, "--json", "none/x.json")
    assert isinstance(found, UserError)
    assert str(found) == "none/x.json: must be writable: No such file or directory"


@pytest.mark.parametrize("name", MEASURES)
def test_a_page_without_places_is_refused_before_measuring(bench, name):
    Path("page.md").write_text("no places\n")
    for page, message in (("page.md", "must have a place"), ("none.md", "must be a page to write")):
        found = bench(name, *DOCS[name], "--docs", page)
        assert isinstance(found, UserError)
        assert str(found).startswith(f"{page}: {message}")


@pytest.mark.parametrize("name", PLOTTED)
def test_a_plot_that_cannot_be_written_is_refused_before_measuring(bench, name):
    for plot, message in (
        ("none/x.png", "must be writable: No such file or directory"),
        ("x.pdf", "must be a .png file"),
    ):
        found = bench(name, "--plot", plot)
        assert isinstance(found, UserError)
        assert str(found) == f"{plot}: {message}"


def test_what_can_be_written_is_left_as_it_is(bench, tmp_path):
    (tmp_path / "old.json").write_text("old")
    for name in MEASURES:
        for file in ("old.json", "new.json"):
            assert isinstance(bench(name, "--json", file), Measured)
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"


@pytest.mark.parametrize(
    ("page", "module"),
    [
        ("gather.md", gather_command),
        ("flash-channel.md", flash_channel_command),
        ("firmware.md", firmware_command),
    ],
)
def test_the_pages_have_the_places(page, module):
    check_outputs(docs=ROOT / "docs" / page, tables=module.TABLES)


def test_a_platform_of_a_relative_path_holds_in_another_folder(tmp_path, monkeypatch):
    text = (ROOT / "cosim/platforms/smartssd.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    build = GatherBuild(platform="my.yaml", memory="dram", lanes=2, outstanding=16)
    job = build.job
    monkeypatch.chdir("/")
    assert GatherBuild(**job).card.lanes == 2
    assert (
        GatherBuild(platform="smartssd", memory="dram", lanes=2, outstanding=16).job["platform"]
        == "smartssd"
    )
