"""The calm platform with an SSD that can be written, on a small array."""

from pathlib import Path
from tempfile import mkdtemp

import yaml

from tests.scenarios import one_request
from tests.system_runs import ROOT

__all__ = ["written"]

TINY = ROOT / "cosim" / "platforms" / "tiny.yaml"
FTL = {
    "allocation": "channel way lun plane",
    "spare": "70 %",
    "map_cache": "1 KiB",
    "gc_free_blocks": 2,
    "gc_scope": "global",
}
SMALL_ARRAY = {
    "ssd.flash.operations": "all",
    "ssd.nand.page": "1 KiB",
    "ssd.nand.spare": "384 B",
    "ssd.nand.luns": 1,
    "ssd.nand.pages_per_block": 2,
    "ssd.nand.blocks_per_lun": 10,
    "ssd.firmware.page_buffer": "4 KiB",
}


def written(constants=None, **ftl):
    """The calm platform with a translation layer, on an array of 20 pages."""
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
