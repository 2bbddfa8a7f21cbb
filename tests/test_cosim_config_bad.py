"""Every way in which a configuration is refused: one line with file, place, rule and value."""

import os
from pathlib import Path

import pytest

from cosim.config.load import load_config
from cosim.errors import UserError
from tests.scenarios.bad_configurations import BAD
from tests.scenarios.bad_platforms import BAD_PLATFORMS
from tests.test_architecture import ROOT


def line_of(key):
    """Line of a constant in the default SSD's file."""
    rows, name = (ROOT / "cosim/platforms/cosmos_plus.yaml").read_text().splitlines(), key[10:]
    return next(n for n, row in enumerate(rows, 1) if row.strip().startswith(f"{name}:"))


def refusal(path):
    with pytest.raises(UserError) as error:
        load_config(path)
    message = str(error.value)
    assert "\n" not in message
    return message


ALL = (*BAD, *BAD_PLATFORMS)


@pytest.mark.parametrize(("change", "message"), ALL, ids=[message[:60] for _, message in ALL])
def test_bad_input_is_one_line_with_file_place_rule_and_value(write_config, change, message):
    found = refusal(write_config(change))
    assert found.startswith(message) or found.endswith(message)


@pytest.mark.parametrize(
    ("key", "value", "place", "message"),
    [
        ("ssd.nand.t_rc", '"60 ns"', "ssd.flash.mode", "nv-ddr2 mode 4 must take at least 60000"),
        ("ssd.flash.part", "tiny", "ssd.flash.ways", "must be at most chip_enables, not 8 > 4"),
    ],
)
def test_an_override_that_contradicts_a_platform_is_named_with_its_line(
    write_config, key, value, place, message
):
    both = f'ssd.nand.t_r: "25 us"\n  {key}: {value}'
    found = refusal(write_config(('ssd.nand.t_r: "25 us"', both)))
    assert found.startswith(f"c.yaml:10: platform_overrides.{key}: ")
    assert f"cosmos_plus.yaml:{line_of(place)}: {place}" in found
    assert message in found


def test_a_missing_file_is_named():
    assert refusal("nowhere.yaml") == "nowhere.yaml: file must exist, and does not"


def test_a_constant_without_a_known_source_is_refused(write_config, tmp_path):
    text = (ROOT / "cosim/platforms/host_xeon.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text.replace('source: "XRP: cross', 'source: "me: cross'))
    found = refusal(write_config(("systems:", "platforms: {host: my.yaml}\nsystems:")))
    assert found == (
        "my.yaml:1: must name in sources what each inferred constant is from; submit begins "
        "with 'me'"
    )


def test_a_pipe_or_folder_is_no_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.yaml")
    (tmp_path / "folder.yaml").mkdir()
    assert refusal("pipe.yaml") == "pipe.yaml: file must be a regular file"
    assert refusal("folder.yaml") == "folder.yaml: file must be a regular file"
    assert refusal("x" * 300).endswith(": file must be readable text: File name too long")


def test_a_contradiction_within_a_platform_file_has_its_line(write_config, tmp_path):
    text = (ROOT / "cosim/platforms/cosmos_plus.yaml").read_text()
    (tmp_path / "my.yaml").write_text(text.replace("ways: {value: 8", "ways: {value: 16"))
    line = next(n for n, row in enumerate(text.splitlines(), 1) if "ways:" in row)
    found = refusal(write_config(("systems:", "platforms: {ssd: my.yaml}\nsystems:")))
    assert found == f"my.yaml:{line}: ssd.flash.ways must be at most chip_enables, not 16 > 8"


@pytest.mark.parametrize("name", ["t_prog", "t_bers", "t_rst"])
def test_a_watchdog_is_longer_than_what_a_lun_may_take(name, write_config):
    keys = {"ssd.flash.operations": "all", f"ssd.nand.{name}": "4 ms", "ssd.flash.watchdog": "4 ms"}
    text = "".join(f'  {key}: "{value}"\n' for key, value in keys.items())
    path = write_config(("platform_overrides:\n", f"platform_overrides:\n{text}"))
    rule = f"watchdog must be above {name}, not 4000000000 ps <= 4000000000 ps"
    line = next(
        n for n, row in enumerate(Path(path).read_text().splitlines(), 1) if "watchdog" in row
    )
    assert refusal(path) == f"{path}:{line}: platform_overrides.ssd.flash.{rule}"
    longer = text.replace('watchdog: "4 ms"', 'watchdog: "4001 us"')
    load_config(write_config(("platform_overrides:\n", f"platform_overrides:\n{longer}")))
