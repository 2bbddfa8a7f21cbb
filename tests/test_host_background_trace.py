"""A block trace beside the mini-batches: its form, where its requests go, and its replay."""

import hashlib
import re
from collections import Counter

import numpy as np
import pytest
import yaml

from cosim.config.load import check_backgrounds, load_config
from cosim.errors import UserError
from cosim.medium import IdArray
from cosim.systems.background import background_load
from cosim.systems.inputs import Inputs
from host import background_trace
from host.background_trace import Area, BlockCommand, TraceLoad, block_commands
from host.block_write import write_blocks
from host.errors import DeviceError, TraceError
from host.formats.mqsim import BlockRequest, BlockTrace, read_mqsim
from host.reference import sample
from host.subgraph import subgraph_sha256
from host.trace import MiniBatch, Trace
from tests.host_scenarios import random_graph
from tests.system_runs import configuration
from tests.test_host_background import Loaded, Written

LINES = "938513000 4 16 16 1\n938513000 0 7 2 0\n\n938514500 3 1000000 1 1\n"
READS, WRITES = Area(0, 10), Area(100, 6)


def read(tmp_path, text, name="some.trace"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_mqsim(tmp_path / name, name).requests


def test_a_file_is_known_by_its_bytes(tmp_path):
    read(tmp_path, LINES)
    found = read_mqsim(tmp_path / "some.trace", "some.trace")
    assert found.sha256 == hashlib.sha256(LINES.encode()).hexdigest()


def test_inputs_are_others_if_a_background_trace_is():
    traces = [BlockTrace((), digest * 64) for digest in "ab"]
    graph = random_graph(nodes=50, hub=20)
    trace = Trace(graph.sha256, (MiniBatch(0, np.array([1], dtype=np.uint32), (2,), seed=1),))
    one, same, other = (
        Inputs(graph, trace, 4, {"firmware-csd": traces[number]}) for number in (0, 0, 1)
    )
    assert one.sha256 == same.sha256 != other.sha256
    assert one.background_sha256 == {"firmware-csd": "a" * 64}
    assert Inputs(graph, trace, 4).sha256 not in (one.sha256, other.sha256)


def test_lines_are_requests_after_the_first_one(tmp_path):
    assert read(tmp_path, LINES) == (
        BlockRequest(0, 8192, 8192, False, "some.trace:1"),
        BlockRequest(0, 3584, 1024, True, "some.trace:2"),
        BlockRequest(1_500_000, 512_000_000, 512, False, "some.trace:4"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3 4 1\n1 2 3 4\n", "t:2: must be 5 numbers (arrival time, device number, first"),
        ("1 2 3 4\n", "t:1: must be 5 numbers"),
        ("1 2 3 4 1 0\n", "t:1: must be 5 numbers"),
        ("1 2 3 x 1\n", "t:1: sectors must be a whole number below 10^18, not 'x'"),
        ("-1 2 3 4 1\n", "t:1: arrival time must be a whole number below 10^18, not '-1'"),
        ("1 2 1000000000000000000 4 1\n", "t:1: first sector must be a whole number below 10^18"),
        ("1.5 2 3 4 1\n", "t:1: arrival time must be a whole number"),
        ("5 2 3 4 1\n\n4 2 3 4 1\n", "t:3: arrival time must not be before the last one (5 ns)"),
        ("1 2 3 0 1\n", "t:1: sectors must be at least 1, not 0"),
        ("1 2 3 4 2\n", "t:1: type must be 0 (write) or 1 (read), not 2"),
        ("\n \n", "t: must hold at least one request, not 0"),
        (b"1 2 3 4 \xff\n", "t: must be a block trace of MQSim: not ASCII text"),
    ],
)  # fmt: skip
def test_a_bad_line_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(TraceError, match=f"^{re.escape(message)}"):
        read(tmp_path, text, "t")


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(TraceError, match="absent: must be a block trace of MQSim, not missing"):
        read_mqsim(tmp_path / "absent", "absent")


def commands(*requests, wraps=True, writes=WRITES, most_blocks=8):
    whole = [BlockRequest(0, *request, f"t:{n}") for n, request in enumerate(requests, 1)]
    return [
        (one.lba, one.blocks)
        for one in block_commands(
            whole, 4096, reads=READS, writes=writes, wraps=wraps, most_blocks=most_blocks
        )
    ]


def test_requests_are_widened_to_whole_blocks():
    assert commands((0, 512, False), (4000, 200, False), (8192, 8192, False)) == [
        (0, 1), (0, 2), (2, 2),
    ]  # fmt: skip
    assert commands((4096, 4096, True)) == [(101, 1)]


def test_what_lies_beyond_is_wrapped_or_refused():
    last = (9 * 4096, 4096, False), (4 * 4096, 8192, True)
    assert commands(*last, wraps=False) == commands(*last) == [(9, 1), (104, 2)]
    # Modulo the places at which so many blocks can begin.
    assert commands((10 * 4096, 4096, False), (9 * 4096, 8192, False), (5 * 4096, 8192, True)) == [
        (0, 1), (0, 2), (100, 2),
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"^t:2: a read must end within the 10 .* block 11"):
        commands(last[0], (9 * 4096, 4097, False), wraps=False)
    with pytest.raises(ValueError, match=r"^t:1: a write must end within the 6 blocks"):
        commands((5 * 4096, 8192, True), wraps=False)


@pytest.mark.parametrize(
    ("request_", "more", "message"),
    [
        ((0, 4096, True), {"writes": Area(0, 0)}, "t:1: must be a read, as there is no write_area"),
        ((0, 9 * 4096, False), {}, "t:1: a read must be at most 8 blocks of 4096 bytes"),
        ((1, 6 * 4096, True), {}, "t:1: a write must be at most 6 blocks"),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_is_refused_with_its_place(request_, more, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        commands(request_, **more)


class Replayed(Loaded):
    """Reads that arrive ``gap_ps`` after each other."""

    def __init__(self, gap_ps, blocks=1, expected=None):
        super().__init__(expected=expected)
        ids = self.load._expected
        arrivals = [BlockCommand(n * gap_ps, n % 5, blocks, False) for n in range(200)]
        self.load = TraceLoad(self.kernel, self.load._driver, arrivals, 4096, ids, seed=1)


def test_requests_arrive_when_the_trace_says_so():
    gap_ps = 40_000_000
    replayed = Replayed(gap_ps)
    latency_ps, found = replayed.sample()
    assert subgraph_sha256([found]) == subgraph_sha256(
        [sample(replayed.graph, replayed.trace.batches[0])]
    )
    spans = list(replayed.kernel.spans)
    arrivals = [span.start_ps for span in spans if span.stage == "background.arrival"]
    begin = arrivals[0]
    assert arrivals == [begin + n * gap_ps for n in range(len(arrivals))]
    # All that came before the mini-batch ended, and no more.
    assert latency_ps // gap_ps <= len(arrivals) <= latency_ps // gap_ps + 1
    assert replayed.load.reads == len(arrivals) > 5
    crowded = Replayed(gap_ps // 8)
    crowded_ps, _ = crowded.sample()
    assert crowded_ps > latency_ps
    # Nothing arrives while the others are waited for.
    came = sum(span.stage == "background.arrival" for span in crowded.kernel.spans)
    assert crowded.load.reads == came <= crowded_ps // (gap_ps // 8) + 1
    means = [one.load.read_latency_ps / one.load.reads for one in (replayed, crowded)]
    assert means[1] > means[0]
    assert crowded.most_at_once() == 3  # a queue of four entries


def test_latency_counts_from_the_arrival_and_not_from_a_free_place_in_the_queue():
    load = Replayed(0).load
    setting = Replayed(0)
    setting.sample()
    # All 200 arrive at once, three are under way at a time: the mean wait is half of the time.
    assert setting.load.reads == 200
    ends = [span.end_ps for span in setting.kernel.spans if span.stage == "background.arrival"]
    assert len(set(ends)) == 1
    assert setting.load.read_latency_ps > 200 * 60_000_000
    assert load.reads == 0


def test_wrong_data_ends_the_run():
    with pytest.raises(DeviceError, match="background read of 1 blocks from 0 must bring what"):
        Replayed(1000, expected=lambda first, length: bytes(length)).sample()


def written(lbas, blocks=2, gap_ps=1000):
    setting = Written()
    first = setting.load._parameters.area_first
    arrivals = [BlockCommand(n * gap_ps, first + lba, blocks, True) for n, lba in enumerate(lbas)]
    old = setting.load
    setting.load = TraceLoad(
        setting.kernel, old._driver, arrivals, old._lba_bytes, old._expected, seed=3
    )
    return setting


def test_writes_of_the_same_blocks_follow_each_other_and_are_read_again(monkeypatch):
    under_way, most = Counter(), Counter()

    def watched(driver, lba, data, lba_bytes, cause, **more):
        blocks = range(lba, lba + len(data) // lba_bytes)
        under_way.update(blocks)
        most.update({block: under_way[block] - most[block] for block in blocks})
        most["all"] = max(most["all"], sum(under_way.values()))
        cause = yield from write_blocks(driver, lba, data, lba_bytes, cause, **more)
        under_way.subtract(blocks)
        return cause

    monkeypatch.setattr(background_trace, "write_blocks", watched)
    setting = written([0, 1, 0, 1, 2, 0, 1])
    load = setting.run_for(10**10)
    assert load.writes == 7
    assert most.pop("all") == 4  # two writes of others
    assert set(most.values()) == {1}
    counts = setting.device.counts()
    assert counts["block_reads"] == len(load._written) == 4
    apart = written([0, 2, 4, 6], gap_ps=10**8).run_for(10**10)
    assert load.write_latency_ps / 7 > apart.write_latency_ps / 4


def test_a_write_that_is_lost_ends_the_run():
    setting = written([0, 2])
    put = setting.load._written.__class__.__setitem__

    class Forgetful(dict):
        def __setitem__(self, block, data):
            put(self, block, bytes(len(data)))

    setting.load._written = Forgetful()
    with pytest.raises(DeviceError, match="must bring what is there"):
        setting.run_for(10**10)


@pytest.mark.parametrize("load", [
    {"seed": 1}, {"seed": 1, "beyond": "wrap"}, {"seed": 1, "write_area": "64 KiB"},
])  # fmt: skip
def test_a_configured_trace_is_read_and_replayed(tmp_path, load):
    """As systems are put together: the file, its check against the SSD, and the load."""
    setting = Loaded()
    ids = IdArray(setting.graph.indices, 8)
    (tmp_path / "some.trace").write_text("".join(f"{n} 0 {n * 9000} 1 1\n" for n in range(20)))
    background = {"trace": "some.trace", **load}
    path = tmp_path / "config.yaml"
    system = {"kind": "firmware-csd", "background": background}
    path.write_text(yaml.safe_dump(configuration(systems=[system])))
    requests = {"firmware-csd": read_mqsim(tmp_path / "some.trace", "some.trace").requests}
    loaded = load_config(path)
    (system,) = loaded.config.systems
    if "write_area" in load:
        with pytest.raises(UserError, match="write_area must not be given for an SSD without"):
            check_backgrounds(loaded, ids.length_bytes, requests)
        return
    check_backgrounds(loaded, ids.length_bytes, requests)
    replay, registers = background_load(
        setting.kernel, setting.port, loaded.platforms, system, ids, requests
    )
    assert registers.number == 2
    commands = replay._commands
    assert [one.arrival_ps for one in commands] == [1000 * n for n in range(20)]
    most = ids.length_bytes // replay._lba_bytes
    assert [one.lba for one in commands] == [
        n * 9000 * 512 // replay._lba_bytes % most for n in range(20)
    ]
