"""Chains of hops: host half, links and device; subgraphs, refusals, room and costs."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cosim.medium import IdArray
from cosim.spans import critical_path, stage_totals
from host.firmware_hops import FirmwareHopsHost, FirmwareHopsParameters
from host.reference import sample
from host.trace import Trace
from rtl.contract.ns_config import KeyRule, Mode, RowPointers
from rtl.contract.nvme import Status
from rtl.contract.sampling import Sampling
from tests.firmware_bench import LAYOUT, PARAMETERS
from tests.scenarios.chains import POINTER_PAGE, ChainBench, small_graph
from tests.test_firmware_with_host import Setting

PLACES = list(RowPointers)


class Chained(Setting):
    """The same with row pointers in DRAM and on flash, and a host that has the device chain."""

    def __init__(self, place, **options):
        super().__init__(**options)
        self.device.load_row_pointers(self.graph.indptr)
        first = 40
        pages = self.medium.load_extent(first, IdArray(self.graph.indptr, 8))
        for page, content in self.device.load_extent(first, pages):
            self.medium.load_extent(page, content)
        self.host = FirmwareHopsHost(
            self.driver,
            FirmwareHopsParameters(
                nodes=self.graph.nodes,
                placement=self.placement,
                row_pointers=place,
                pointer_lba=first * LAYOUT.lbas if place is RowPointers.FLASH else 0,
            ),
        )

    def batches(self, sampling, fan_outs, batches=2, targets=20):
        trace = Trace.generate(
            self.graph,
            seed=5,
            batches=batches,
            targets=targets,
            fan_outs=fan_outs,
            sampling=sampling,
        )
        return trace.batches

    def check(self, batch):
        """Sample one mini-batch, and compare; its latency and stages."""
        origin = self.kernel.origin("host", "host.start")
        found, end = self.run(self.host.sample(batch, origin))
        expected = sample(self.graph, batch)
        assert found.sha256 == expected.sha256
        stages = stage_totals(critical_path(self.kernel.spans, end, origin.at_ps))
        assert sum(stages.values()) == end.at_ps - origin.at_ps
        return end.at_ps - origin.at_ps, stages


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("id_bytes", [4, 8])
@pytest.mark.parametrize(
    ("sampling", "fan_outs"),
    [
        (Sampling.REPLACEMENT, (4, 3, 2)),
        (Sampling.DISTINCT, (4, 3, 2)),
        (Sampling.WALK, (1,) * 5),
        (Sampling.REPLACEMENT, (7,)),
    ],
)
def test_subgraphs_equal_the_reference(place, id_bytes, sampling, fan_outs):
    setting = Chained(place, id_bytes=id_bytes)
    for batch in setting.batches(sampling, fan_outs):
        setting.check(batch)
    counts = setting.device.counts()
    assert counts["chains"] == counts["commands"] == 2
    assert counts["row_lookups"] == counts["targets"]


PARAMETER_SETS = {
    "as the others": PARAMETERS,
    "codeword pairs": replace(PARAMETERS, sampling_whole_page=False),
    "one of each": replace(
        PARAMETERS, page_buffer_pages=1, row_pointer_pages=1, page_jobs=1, hop_targets_bytes=8 * 18
    ),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", PARAMETER_SETS)
def test_many_chains_share_the_device(place, name):
    bench = ChainBench(*small_graph(), parameters=PARAMETER_SETS[name], costs=None)
    chains = [bench.chain(range(n, n + 6), (3, 2), place, piece_bytes=13) for n in range(4)]
    others = [bench.request(range(n, 60, 7), 4, Mode.DRAW) for n in range(3)]
    for number, request in enumerate([*chains, *others], 1):
        bench.submit(request, number=number)
    entries = {int(entry.cid): entry for entry in bench.host.wait(7)}
    assert [entries[cid].status.status for cid in range(7)] == [0] * 7
    for cid, request in enumerate(chains):
        assert bench.found(request, entries[cid]) == request.expected
    for cid, request in enumerate(others, 4):
        assert entries[cid].result == 0
        assert bench.result(request) == request.expected
    bench.check_spans()
    nothing_is_held(bench)
    waits = bench.device.counts()["hop_target_waits"]
    assert (waits > 0) == (name == "one of each")
    if place is RowPointers.FLASH and name == "as the others":
        counts = bench.device.counts()
        for kind in ("page_jobs", "hits", "merges", "misses"):
            assert counts[f"pointer_{kind}"] > 0, kind


def nothing_is_held(bench):
    device = bench.device
    slots = device._generator.room, device._hops.room, device.reader.jobs, device._dma.slots
    assert [one.free for one in slots] == [one.capacity for one in slots]
    for buffer in (device.page_buffer, device.pointer_buffer):
        assert not any(frame.pins or frame.fills for frame in buffer._frames.values())


def test_pointers_in_two_pages_are_read_one_after_the_other():
    """A page holds 1,024 of them: the list of node 1,023 ends where the next page begins."""
    nodes = 1100
    indptr = np.arange(nodes + 1) * 2
    ids = np.full(2 * nodes, 1023)
    bench = ChainBench(indptr, ids, costs=None)
    request = bench.chain([1023, 5], (2, 1), RowPointers.FLASH)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected
    counts = bench.device.counts()
    # Of seven targets all but node 5 need both pages.
    assert counts["row_lookups"] == 6
    steps = [span.stage for span in bench.kernel.spans if span.stage.startswith("firmware.row_")]
    assert steps.count("firmware.row_entry") == 6
    assert steps.count("firmware.row_start") == 5
    assert counts["pointer_page_jobs"] == 11
    assert counts["pointer_misses"] == 2
    assert counts["pointer_hits"] + counts["pointer_merges"] == 9


def test_pages_of_row_pointers_have_frames_of_their_own():
    def run(pages):
        nodes = 4096
        indptr = np.arange(nodes + 1)
        parameters = replace(PARAMETERS, row_pointer_pages=pages, page_jobs=1)
        bench = ChainBench(
            indptr, np.arange(nodes) * 1537 % nodes, parameters=parameters, costs=None
        )
        request = bench.chain(range(0, nodes, 70), (1, 1, 1), RowPointers.FLASH)
        assert bench.sample_status(request) == Status.SUCCESS
        assert bench.result(request) == request.expected
        return bench.device.counts()

    few, many = run(1), run(5)
    assert few["pointer_evictions"] > 0
    assert many["pointer_evictions"] == 0
    assert many["pointer_misses"] == 4
    assert few["pointer_misses"] > 20
    for counts in (few, many):
        assert counts["flash_reads"] == counts["misses"] + counts["pointer_misses"]


def test_parts_of_a_page_of_row_pointers_are_read():
    """Of the two pages that the nodes' pointers lie in, only the codeword pairs that hold them."""
    nodes = 1100
    indptr = np.arange(nodes + 1)
    parameters = replace(PARAMETERS, sampling_whole_page=False, page_jobs=1)
    bench = ChainBench(indptr, np.arange(nodes), parameters=parameters, costs=None)
    request = bench.chain([0, 100, 1, 1050], (1,), RowPointers.FLASH)
    assert bench.sample_status(request) == Status.SUCCESS
    assert bench.result(request) == request.expected
    counts = bench.device.counts()
    found = [counts[f"pointer_{name}"] for name in ("misses", "refills", "hits", "merges")]
    assert found == [3, 1, 1, 0]


@pytest.mark.parametrize("place", PLACES)
def test_every_part_of_the_work_is_a_step(place):
    bench = ChainBench(*small_graph(), costs=None)
    request = bench.chain(range(10), (4, 3), place)
    assert bench.sample_status(request) == Status.SUCCESS
    steps = Counter(span.stage.removeprefix("firmware.") for span in bench.kernel.spans)
    counts = bench.device.counts()
    expected = {
        "chain_check": 1,
        "hop_table": 1,
        "hop_roots": 1,
        "hop_targets": 10,
        "row_entry": counts["targets"],
        "body_draw": counts["targets"],
        "group_pieces": counts["targets"] - counts["empty_targets"],
        "gather": counts["page_jobs"],
        "finish": 1,
        "translate": counts["page_jobs"] + counts["pointer_page_jobs"],
    }
    assert {name: steps[name] for name in expected} == expected
    sent = [size for _, kind, _, size in bench.port.transfers if kind == "result"]
    assert sum(sent) == len(request.expected) == bench.host.completions[-1].result
    on_flash = place is RowPointers.FLASH
    assert counts["pointer_page_jobs"] == on_flash * counts["targets"]


CHAIN_RULES = [  # of the header: byte offset, value, bytes, status
    (12, 0, 2, Status.NS_CONFIG_MODE),
    (32, 0, 2, Status.NS_CONFIG_COUNT),
    (32, 1025, 2, Status.NS_CONFIG_COUNT),
    (32, 1, 2, Status.NS_CONFIG_LENGTH),  # the body has entries for two
    (32, 3, 2, Status.NS_CONFIG_LENGTH),
    (34, 2, 2, Status.NS_CONFIG_MODE),
    (36, 2, 2, Status.NS_CONFIG_MODE),
    (36, 1, 2, Status.NS_CONFIG_COUNT),  # walks of fan-outs above 1
    (38, 1, 2, Status.INVALID_FIELD),
    (40, 0, 4, Status.NS_CONFIG_COUNT),
    (44, 1, 4, Status.INVALID_FIELD),
    (48, PARAMETERS.nvme.namespace_blocks, 8, Status.LBA_OUT_OF_RANGE),
    (48, (1 << 64) - 1, 8, Status.LBA_OUT_OF_RANGE),
    (16, 9, 4, Status.NS_CONFIG_LENGTH),
    (24, 10_000, 4, Status.NS_CONFIG_LENGTH),
    (64 + 8, 0, 4, Status.NS_CONFIG_ADDRESS),
    (64, 0xDEAD_0000, 8, Status.DATA_TRANSFER_ERROR),
    (64 + 16 * 126, 0xDEAD_0000, 8, Status.DATA_TRANSFER_ERROR),
]
DRAM_RULES = [
    (40, 59, 4, Status.NS_CONFIG_ADDRESS),
    (40, 61, 4, Status.NS_CONFIG_ADDRESS),
    (56, 1, 8, Status.NS_CONFIG_ADDRESS),
]
FLASH_RULES = [
    (56, PARAMETERS.nvme.namespace_blocks, 8, Status.LBA_OUT_OF_RANGE),
    (56, (1 << 64) - 1, 8, Status.LBA_OUT_OF_RANGE),
    (40, (1 << 32) - 1, 4, Status.LBA_OUT_OF_RANGE),
]
BODY_RULES = [  # byte offset in the body, value, bytes, status
    (0, 0, 2, Status.NS_CONFIG_COUNT),
    (8, 0, 2, Status.NS_CONFIG_COUNT),
    (8, 65_535, 2, Status.NS_CONFIG_LENGTH),
    (8, 1, 2, Status.NS_CONFIG_LENGTH),
    (2, 1, 2, Status.INVALID_FIELD),
    (10, 1, 2, Status.INVALID_FIELD),
    (16 + 4 * 9, 60, 4, Status.LBA_OUT_OF_RANGE),
    (16, (1 << 32) - 1, 4, Status.LBA_OUT_OF_RANGE),
]


class Served:
    """A bench, and a check that it still serves a good chain and has lost nothing."""

    def __init__(self, place):
        self.bench = ChainBench(*small_graph(), costs=None)
        self.place = place
        self._good = self.request()

    def request(self):
        return self.bench.chain(range(10), (4, 3), self.place)

    def check(self, bad, status):
        bench, good = self.bench, self._good
        assert bench.sample_status(bad) == status
        assert bench.device.counters.failed_commands == 1
        assert bench.sample_status(good) == Status.SUCCESS
        assert bench.found(good, bench.host.completions[-1]) == good.expected
        nothing_is_held(bench)


@pytest.fixture(params=PLACES)
def served(request):
    return Served(request.param)


def first_piece(bench, request):
    return int.from_bytes(bench.memory.load(request.header + 64, 8), "little")


@pytest.mark.parametrize(
    ("place", "at", "value", "size", "status"),
    [(place, *rule) for place in PLACES for rule in CHAIN_RULES]
    + [(RowPointers.DRAM, *rule) for rule in DRAM_RULES]
    + [(RowPointers.FLASH, *rule) for rule in FLASH_RULES],
)
def test_bad_header_has_its_status_and_the_device_serves_on(place, at, value, size, status):
    served = Served(place)
    bad = served.request()
    served.bench.patch(bad.header, at, value, size)
    served.check(bad, status)


@pytest.mark.parametrize(("at", "value", "size", "status"), BODY_RULES)
def test_bad_body_has_its_status_and_the_device_serves_on(served, at, value, size, status):
    bad = served.request()
    served.bench.patch(first_piece(served.bench, bad), at, value, size, seal=False)
    served.check(bad, status)


def test_draws_without_replacement_are_bounded(served):
    bad = served.bench.chain([0], (257,), served.place, mode=Mode.DRAW_DISTINCT)
    served.check(bad, Status.NS_CONFIG_COUNT)


def test_walks_are_not_drawn_without_replacement(served):
    how = {"mode": Mode.DRAW_DISTINCT, "keys": KeyRule.CARRIED}
    bad = served.bench.chain([0], (1,), served.place, **how)
    served.check(bad, Status.NS_CONFIG_MODE)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("keys", KeyRule)
def test_an_id_that_is_no_node_ends_the_command(place, keys):
    indptr, ids = small_graph()
    bench = ChainBench(indptr, np.full_like(ids, len(indptr) - 1), costs=None)
    bad = bench.chain([0], (1, 1), place, keys=keys, expected=b"")
    assert bench.sample_status(bad) == Status.LBA_OUT_OF_RANGE
    nothing_is_held(bench)
    good = bench.chain([0], (1,), place, keys=keys)
    assert bench.sample_status(good) == Status.SUCCESS
    assert bench.result(good) == good.expected


@pytest.mark.parametrize(
    "pointers", [(5, 4), (0, 1 << 32), (1 << 48, 1 << 48), ((1 << 40) - 1, 1 << 40)]
)
def test_row_pointers_of_no_list_end_the_command(pointers):
    indptr, ids = small_graph()
    table = indptr.copy()
    table[3:5] = pointers
    bench = ChainBench(indptr, ids, flash=table, costs=None)
    bad = bench.chain([3, 7], (2,), RowPointers.FLASH, expected=b"")
    assert bench.sample_status(bad) == Status.LBA_OUT_OF_RANGE
    nothing_is_held(bench)


def test_without_row_pointers_in_dram_there_is_no_chain_by_them():
    bench = ChainBench(*small_graph(), dram=False, costs=None)
    assert bench.sample_status(bench.chain([3], (2,))) == Status.NS_CONFIG_ADDRESS
    on_flash = bench.chain([3], (2,), RowPointers.FLASH)
    assert bench.sample_status(on_flash) == Status.SUCCESS


def test_a_page_of_row_pointers_that_cannot_be_read_ends_the_command():
    bench = ChainBench(*small_graph(), costs=None)
    place = tuple(bench.device.extents.physical(POINTER_PAGE))
    bench.flash.uncorrectable[place] = 1
    bad = bench.chain([3, 0, 7], (2, 2), RowPointers.FLASH)
    assert bench.sample_status(bad) == Status.UNRECOVERED_READ_ERROR
    bench.flash.uncorrectable.clear()
    nothing_is_held(bench)
    good = bench.chain([3, 0, 7], (2, 2), RowPointers.FLASH)
    assert bench.sample_status(good) == Status.SUCCESS


def test_more_targets_than_there_is_room_for_are_refused():
    parameters = replace(PARAMETERS, hop_targets_bytes=8 * 40)
    bench = ChainBench(*small_graph(), parameters=parameters, costs=None)
    assert bench.sample_status(bench.chain(range(10), (4, 3))) == Status.SUCCESS
    assert bench.sample_status(bench.chain(range(10), (5, 3))) == Status.NS_CONFIG_COUNT
    small = replace(PARAMETERS, subgraph_buffer_bytes=400)
    bench = ChainBench(*small_graph(), parameters=small, costs=None)
    assert bench.sample_status(bench.chain(range(10), (5, 3))) == Status.NS_CONFIG_LENGTH
    nothing_is_held(bench)


def test_abort_ends_a_chain_between_its_hops():
    """The mark is seen when a hop has ended; what it has sampled is given up."""
    bench = ChainBench(*small_graph(), costs=None)
    bench.submit(bench.chain(range(10), (4, 3, 3)))
    begun = "firmware.hop_targets"
    while not any(span.stage == begun for span in bench.kernel.spans):
        bench.kernel.env.step()
    ((active),) = bench.device._controller._active.values()
    active.stop.status = Status.ABORT_REQUESTED
    (entry,) = bench.host.wait(1)
    assert entry.status.status == Status.ABORT_REQUESTED
    assert not any(span.stage == "firmware.finish" for span in bench.kernel.spans)
    nothing_is_held(bench)
