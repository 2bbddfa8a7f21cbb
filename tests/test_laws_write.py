"""A whole system whose SSD is written, with the real channels: collection, then the trace."""

import json

import pytest

from tests.scenarios.written import written
from tests.system_runs import as_text, reference, run_function

# Behind those of the graph. Of the two pages of a block one stays and one is written again soon
# (pages go to two planes in turn), so that the collector finds no block without a page to copy.
PAGES = [2, 8, 8, 3, 4, 8, 8, 5, 6, 8, 8, 7, 8, 8]


@pytest.mark.hdl
def test_an_ssd_is_written_collected_and_sampled():
    """What is read is what was written, and a scan of the flash finds the map that the SSD has."""
    document = written({"ssd.nand.blocks_per_lun": 12}, spare="60 %")
    folder = run_function("run_writes", "firmware-csd", "icarus", as_text(document), pages=PAGES)
    found = json.loads((folder / "writes.json").read_text())
    assert found["wrong"] == []
    assert found["lost"] == []
    counters = found["counters"]
    assert counters["firmware.ftl_collected_blocks"] > 1
    assert counters["firmware.ftl_moved_pages"] > 0
    assert counters["channel.programs"] == counters["firmware.ftl_programs"]
    assert counters["channel.erases"] == counters["firmware.ftl_block_erases"]
    (hops,) = json.loads((folder / "subgraphs.json").read_text())
    assert (tuple(bytes.fromhex(hop) for hop in hops),) == reference(document)
