"""Peer-to-peer reads of a round, and how one that fails ends it."""

import pytest

from host.errors import NvmeError
from rtl.contract.nvme import Status
from tests.host_scenarios import make_trace, random_graph
from tests.test_host_systems import Bench, fpga


def test_a_failed_read_is_told_when_no_other_is_on_its_way():
    """Or blocks would land in the window while the next mini-batch has it."""
    graph = random_graph()
    bench = Bench(graph, fpga())
    bench.ssd.statuses = {1: Status.UNRECOVERED_READ_ERROR}
    with pytest.raises(NvmeError, match=r"peer-to-peer read of 1 blocks .*UNRECOVERED_READ_ERROR"):
        bench.run(make_trace(graph, (4,)))
    assert bench.ssd.in_flight == 0
    assert len(bench.ssd.entries) > 1
    assert len(bench.memory.blocks) == bench.at_rest
