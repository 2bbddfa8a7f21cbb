"""Platforms whose SSD can be written."""

import pytest

from cosim.config.build import firmware_parameters
from cosim.config.load import load_config
from cosim.errors import UserError
from tests.scenarios.written import written
from tests.system_runs import as_text


@pytest.mark.parametrize(
    ("constants", "ftl", "message"),
    [
        ({"ssd.flash.operations": "read"}, {}, "ftl must be absent where flash.operations is read"),
        ({}, {"spare": "30 %"}, "so that 6 of 10 blocks can be open or free, not 15"),
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
    "spare": "75 %",
    "map_cache": "2 KiB",
    "gc_free_blocks": 3,
    "gc_scope": "channel",
}


@pytest.mark.parametrize("key", list(KEYS))
def test_each_key_reaches_the_firmware(tmp_path, key):
    found = []
    for change in ({}, {key: KEYS[key]}):
        change = {"spare": "80 %"} | change
        config = tmp_path / "config.yaml"
        config.write_text(as_text(written(**change)))
        loaded = load_config(config)
        (system, _) = loaded.config.systems
        found.append(firmware_parameters(loaded.platforms.ssd, system, 1 << 20))
    assert found[0] != found[1]
