"""Documentation: links lead somewhere, and what it lists is what there is."""

import re

import pytest

from cosim.config.load import load_config
from cosim.config.model import Engine, FirmwareCsd, FpgaCsd, Graph, Run, Trace
from cosim.config.platform import FREE_MARKS, Constant
from cosim.results import OVERHEAD_KINDS, moved_bytes
from tests.test_architecture import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_key_of_a_configuration_is_explained():
    page = (ROOT / "docs" / "configuration.md").read_text()
    for model in (FirmwareCsd, FpgaCsd, Engine, Graph, Trace, Run):
        for key in model.model_fields:
            assert re.search(rf"\b{key}\b", page), f"{model.__name__}.{key}"


def test_every_mark_is_explained():
    page = (ROOT / "docs" / "configuration.md").read_text()
    marks = Constant.model_fields["mark"].annotation.__args__
    assert set(FREE_MARKS) < set(marks)
    assert all(f"| `{mark}` |" in page for mark in marks)


def test_every_count_of_bytes_is_explained():
    page = (ROOT / "docs" / "numbers.md").read_text()
    payload, overheads = moved_bytes([])
    assert set(OVERHEAD_KINDS.values()) < set(overheads)
    assert all(f"`{key}`" in page for key in (*payload, *overheads))


def test_make_targets_that_the_readme_names_exist():
    made = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z0-9-]+)\b", (ROOT / "README.md").read_text()))
    # "make and perl" are programs.
    assert named - {"and"} <= made


def test_the_example_of_the_configuration_page_is_valid(tmp_path):
    page = (ROOT / "docs" / "configuration.md").read_text()
    (tmp_path / "c.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0])
    names = [system.name for system in load_config(tmp_path / "c.yaml").config.systems]
    assert names == ["firmware-csd", "fpga-csd-serial"]
