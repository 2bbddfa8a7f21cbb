"""Platforms whose SSD can be written."""

from pathlib import Path
from tempfile import mkdtemp

import pytest
import yaml

from cosim.config.build import firmware_parameters
from cosim.config.load import load_config
from cosim.errors import UserError
from tests.scenarios import one_request
from tests.system_runs import ROOT, as_text

TINY = ROOT / "cosim" / "platforms" / "tiny.yaml"
FTL = {
    "allocation": "channel way lun plane",
    "spare": "62 %",
    "map_cache": "1 KiB",
    "gc_free_blocks": 2,
    "gc_scope": "global",
}
SMALL_ARRAY = {
    "ssd.flash.operations": "all",
    "ssd.nand.page": "1 KiB",
    "ssd.nand.spare": "384 B",
    "ssd.nand.luns": 1,
    "ssd.nand.pages_per_block": 4,
    "ssd.nand.blocks_per_lun": 12,
    "ssd.firmware.page_buffer": "4 KiB",
}


def written(constants=None, **ftl):
    """The calm platform with a translation layer, on an array of 48 pages."""
    platform = yaml.safe_load(TINY.read_text())
    platform["firmware"]["ftl"] = {
        key: {"value": value, "source": "small on purpose", "mark": "assumed"}
        for key, value in (FTL | ftl).items()
    }
    path = Path(mkdtemp(prefix="csd-cosim-platform-")) / "written.yaml"
    path.write_text(yaml.safe_dump(platform))
    document = one_request.document(SMALL_ARRAY | (constants or {}))
    document["platforms"]["ssd"] = str(path)
    return document


@pytest.mark.parametrize(
    ("constants", "ftl", "message"),
    [
        ({"ssd.flash.operations": "read"}, {}, "ftl must be absent where flash.operations is read"),
        ({}, {"spare": "30 %"}, "so that 6 of 12 blocks can be open or free, not 34"),
        ({}, {"map_cache": "512 B"}, "map_cache must hold at least one page of 1024 bytes"),
        ({}, {"allocation": "channel way lun"}, "order must name each of channel"),
        ({}, {"gc_free_blocks": 1}, "greater than or equal to 2|at least 2"),
        ({}, {"gc_scope": "way"}, "global"),
    ],
)
def test_a_translation_layer_that_cannot_be_is_refused(tmp_path, constants, ftl, message):
    config = tmp_path / "config.yaml"
    config.write_text(as_text(written(constants, **ftl)))
    with pytest.raises(UserError, match=message):
        load_config(config)


KEYS = {
    "allocation": "lun way channel plane",
    "spare": "55 %",
    "map_cache": "2 KiB",
    "gc_free_blocks": 3,
    "gc_scope": "channel",
}


@pytest.mark.parametrize("key", list(KEYS))
def test_each_key_reaches_the_firmware(tmp_path, key):
    found = []
    for change in ({}, {key: KEYS[key]}):
        config = tmp_path / "config.yaml"
        config.write_text(as_text(written(**change)))
        loaded = load_config(config)
        (system, _) = loaded.config.systems
        found.append(firmware_parameters(loaded.platforms.ssd, system, 1 << 20))
    assert found[0] != found[1]
