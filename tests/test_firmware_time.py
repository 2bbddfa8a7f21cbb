"""Where the time goes: exact critical paths, predicted changes, contention, determinism."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise
from math import ceil

import numpy as np
import pytest

from cosim.spans import stage_totals
from firmware_model.cost_table import load_costs
from firmware_model.parameters import Task
from firmware_model.replacement import POLICIES
from rtl.contract.ns_config import Mode
from rtl.contract.nvme import Opcode
from tests.firmware_bench import (
    CORE,
    COSTS,
    LAYOUT,
    PARAMETERS,
    STRIPING,
    Bench,
    random_graph,
    slowed,
)
from tests.scenarios.stage_formulas import COUNTS

LAST_BLOCK = 40


def busy(parameters=PARAMETERS, costs=COSTS):
    """Two sampling commands and a block read at once; returns the bench after their end."""
    bench = Bench(*random_graph(3), parameters=parameters, costs=costs)
    requests = [
        bench.request(range(n, 200, 6), 4, Mode(n), piece_bytes=300, result_piece_bytes=900)
        for n in range(2)
    ]
    base = bench.memory.allocate(4096)
    for number, request in enumerate(requests, 1):
        bench.submit(request, number=number)
    bench.host.put(opcode=Opcode.READ, cdw10=LAST_BLOCK, prp1=base, cdw3=3)
    entries = bench.host.wait(3)
    assert [entry.status.status for entry in entries] == [0, 0, 0]
    assert all(bench.result(request) == request.expected for request in requests)
    assert bench.memory.load(base, 4096) == bench.image[LAST_BLOCK * 4096 :][:4096]
    return bench


def rows(bench):
    return [
        (span.unit, span.stage, span.start_ps, span.end_ps, span.cause, span.request, span.kind)
        for span in bench.check_spans()
    ]


def test_path_to_every_completion_covers_its_latency_without_a_gap():
    bench = busy()
    start = min(span.start_ps for span in bench.kernel.spans if span.stage == "host.submit")
    assert len(bench.host.causes) == 3
    for cause in bench.host.causes:
        path = bench.path(cause, start)
        assert path[0].start_ps == start
        assert path[-1].end_ps == cause.at_ps
        assert all(before.end_ps == after.start_ps for before, after in pairwise(path))
        assert sum(stage_totals(path).values()) == cause.at_ps - start


def test_same_run_twice_gives_the_same_spans():
    assert rows(busy()) == rows(busy())


def test_bytes_in_equal_bytes_out():
    bench = busy()
    counters, log = bench.device.counters, list(bench.kernel.spans)

    def moved(stage, kind):
        return sum(span.payload_bytes for span in log if span.stage == stage and span.kind == kind)

    assert moved("flash.transfer", "page") == counters.flash_reads * LAYOUT.data_bytes
    assert moved("dram.flash-in", "page") == counters.flash_reads * LAYOUT.page_bytes
    for kind in ("result", "data"):
        assert moved("dram.dma-out", kind) == moved("pcie.write", kind) > 0


# Lists and commands (their targets), one after the other; the last one's path is looked at.
STORIES = {
    "one id": ([0, 10], [[0]]),
    "two pages and one frame": ([0, 1024, 2048], [[0], [1]]),
    "two targets in one page": ([0, 10, 20], [[0, 1]]),
}


def one_request(core=CORE, costs=COSTS, story="one id", mode=Mode.EXPLICIT, **changes):
    """Stage totals of one id sampled from each list, on cores that poll a queue in a cycle."""
    core = replace(core, poll_cycles=1)
    parameters = replace(
        PARAMETERS, cores=(core, replace(core, name="core1")), page_buffer_pages=1, **changes
    )
    indptr, commands = STORIES[story]
    bench = Bench(indptr, np.arange(indptr[-1]), parameters=parameters, costs=costs)
    for nodes in commands:
        start = int(bench.kernel.env.now)
        assert bench.sample_status(bench.request(nodes, 1, mode)) == 0
    path = bench.path(bench.host.causes[-1], start)
    steps = {}
    for segment in path:
        steps[segment.span.stage] = steps.get(segment.span.stage, 0) + 1
    return stage_totals(path), steps


TWO_WORDS = COUNTS | {"gather": {"id": 1, "word": 2}}
OTHER_COUNTS = {
    "two pages and one frame": {"buffer_claim": [{"fresh": 0, "compare": 1, "evict": 1}]},
    "two targets in one page": {
        "buffer_fill": [{"waiters": 1}],
        "buffer_release": [{"idle": 0}, {}],
    },
}
"""What differs on the path of these stories, step by step."""


def predicted(steps, base, core, costs=COSTS, story="one id"):
    """Totals in which every firmware step has the cost that ``core`` gives it."""
    totals = dict(base)
    for stage, count in steps.items():
        routine = stage.removeprefix("firmware.")
        if routine != stage and routine != "poll":
            changes = OTHER_COUNTS.get(story, {}).get(routine, [{}] * count)
            totals[stage] = core.period_ps * sum(
                costs.cycles(core, routine, **TWO_WORDS[routine] | change) for change in changes
            )
    return totals


# Five queues at most, one of them in device registers; some tests double what it takes.
ROUND_PS = 2 * (5 * CORE.period_ps + CORE.load_ps["registers"] + 4 * CORE.load_ps["table"])


def compare(found, expected):
    """Equal but for the phases of polling, which any shift of time may change."""
    found, expected = dict(found), dict(expected)
    polled = found.pop("firmware.poll") - expected.pop("firmware.poll")
    assert found == expected
    assert abs(polled) < 30 * ROUND_PS


def test_one_request_has_the_steps_that_its_costs_predict():
    base, steps = one_request()
    compare(base, predicted(steps, base, CORE))
    assert steps["firmware.dma_setup"] == 3  # header, body, result
    assert steps["firmware.dma_complete"] == 4  # and the submission entry
    once = ["group_pieces", "buffer_claim", "flash_queue", "buffer_fill", "buffer_release"]
    assert [steps[f"firmware.{routine}"] for routine in once] == [1] * 5
    assert base["dram.flash-in"] == 1_920_001  # 8,192 bytes at 4,266,666,666 bytes/s, rounded up
    assert len([stage for stage in steps if stage.startswith("firmware.")]) == 18 + 1  # polling


@pytest.mark.parametrize("place", ["stack", "table", "page_buffer", "registers"])
def test_slower_memory_changes_the_steps_that_load_from_it(place):
    base, steps = one_request()
    core = replace(CORE, load_ps={**CORE.load_ps, place: 2 * CORE.load_ps[place]})
    found, _ = one_request(core)
    compare(found, predicted(steps, base, core))
    assert found != base


def test_slower_clock_changes_every_step():
    base, steps = one_request()
    core = replace(CORE, period_ps=2000)
    found, _ = one_request(core)
    compare(found, predicted(steps, base, core))


OF_READS = {"block_decode", "block_io", "prp_parse"}
OTHERS = [("buffer_claim", "two pages and one frame"), ("buffer_wake", "two targets in one page")]
OF_MANY = {"buffer_wake", "buffer_grant", "body_draw", "body_draw_distinct"}
OF_RETRIES = {"retry_level", "retry_complete", "reset_way", "reset_complete"}
OF_THE_ADMIN = {"admin_command"}
OF_A_CHOICE = {"flash_queue_choice", "flash_issue_choice", "flash_complete_choice"}
OF_WRITES = {
    *("block_retire", "gc_commit", "gc_erase", "gc_free", "gc_move", "gc_next", "gc_pick"),
    *("gc_place", "log_pick", "map_find", "map_keep", "map_load", "map_room"),
    *("write_begin", "write_commit", "write_place"),
}
OF_CHAINS = {
    *("chain_check", "hop_roots", "hop_table", "hop_targets", "hop_walks"),
    *("row_entry", "row_start"),
}
OF_ONE_SAMPLE = sorted(
    set(COSTS.routines).difference(
        OF_READS, OF_MANY, OF_RETRIES, OF_THE_ADMIN, OF_A_CHOICE, OF_WRITES, OF_CHAINS
    )
)


@pytest.mark.parametrize(
    ("routine", "story"), [*((routine, "one id") for routine in OF_ONE_SAMPLE), *OTHERS]
)
def test_slower_routine_changes_its_own_stage_only(routine, story):
    base, steps = one_request(story=story)
    costs = slowed(COSTS, routine, 2)
    found, _ = one_request(costs=costs, story=story)
    expected = predicted(steps, base, CORE, costs, story)
    compare(found, expected)
    assert found[f"firmware.{routine}"] == 2 * base[f"firmware.{routine}"]


@pytest.mark.parametrize(
    ("routine", "mode"),
    [("body_draw", Mode.DRAW), ("body_draw_distinct", Mode.DRAW_DISTINCT)],
)
def test_slower_draws_change_their_own_stage_only(routine, mode):
    base, _ = one_request(mode=mode)
    found, _ = one_request(costs=slowed(COSTS, routine, 2), mode=mode)
    stage = f"firmware.{routine}"
    compare(found, base | {stage: 2 * base[stage]})


def test_dma_setup_and_dram_rate():
    base, steps = one_request()
    found, _ = one_request(dma=replace(PARAMETERS.dma, setup_ps=100_000))
    compare(found, base | {"dma.setup": 100_000 * steps["dma.setup"]})
    found, _ = one_request(dram_bytes_per_second=10**9)
    times = {"dram.dma-in": [4096, 20], "dram.dma-out": [12], "dram.flash-in": [8192]}
    compare(found, base | {stage: 1000 * sum(sizes) for stage, sizes in times.items()})


WHO_COMES_FIRST = ("firmware.poll", "firmware.buffer_", "firmware.flash_")
"""Steps whose number depends on the order in which jobs come to a page."""


def interleaving(costs):
    """Other steps of all cores in the order of their starts, by stage and request."""
    steps = [row for row in rows(busy(costs=costs)) if row[0].startswith("core")]
    steps = [row for row in steps if not row[1].startswith(WHO_COMES_FIRST)]
    return [(unit, stage, request) for unit, stage, _, _, _, request, _ in sorted(steps, key=start)]


def test_every_event_is_a_step():
    bench = busy(replace(PARAMETERS, page_buffer_pages=3))
    counts = bench.device.counts()
    steps = Counter(span.stage.removeprefix("firmware.") for span in bench.kernel.spans)
    merged = [span for span in bench.kernel.spans if span.stage == "firmware.buffer_wake"]
    expected = {
        "group_pieces": counts["targets"] - counts["empty_targets"],
        "translate": counts["page_jobs"],
        "buffer_claim": counts["page_jobs"],
        "buffer_grant": counts["buffer_full_waits"],
        "buffer_fill": counts["flash_reads"],
        "buffer_wake": counts["merges"],  # whole pages: no wait but of merged jobs
        "buffer_release": counts["page_jobs"],
        "flash_queue": counts["flash_reads"],
        "flash_issue": counts["flash_reads"],
        "flash_complete": counts["flash_reads"],
        "dma_complete": sum(kind != "cqe" for _, kind, _, _ in bench.port.transfers),
    }
    assert {name: steps[name] for name in expected} == expected
    assert min(expected.values()) > 0
    assert len({span.request for span in merged}) > 1


def test_pages_reach_dram_by_the_channel_s_own_dma_and_then_free_their_slots():
    """However long the core takes to find a completion."""
    bench = busy(costs=slowed(COSTS, "flash_complete", 50))
    log = bench.kernel.spans
    moves = [span for span in log if span.stage == "dram.flash-in"]
    causes = {log[span.cause].stage for span in moves}
    assert "flash.transfer" in causes
    assert not any(stage.startswith("firmware.") for stage in causes)
    assert [cause.span for cause in bench.flash.freed] == [
        span.number for span in sorted(moves, key=lambda span: span.end_ps)
    ]
    arrived = {span.end_ps for span in moves}
    finds = [span for span in log if span.stage == "firmware.flash_complete"]
    assert {span.ready_ps for span in finds} == arrived


def start(row):
    return row[2], row[0]


def test_slower_core_changes_the_interleaving_and_not_only_the_end():
    base, slow = interleaving(COSTS), interleaving(slowed(COSTS, "gather", 8))
    assert sorted(base) == sorted(slow)  # the same work
    for unit in ("core0", "core1"):  # on the other core too
        pair = [[step for step in steps if step[0] == unit] for steps in (base, slow)]
        differ = [n for n, steps in enumerate(zip(*pair, strict=True)) if steps[0] != steps[1]]
        assert differ[0] < len(pair[0]) * 2 // 3


def test_steps_wait_for_each_other_only_on_their_own_core():
    def bound(core_of):
        parameters = replace(PARAMETERS, binding={task: core_of(task) for task in Task})
        bench = busy(parameters)
        by_core = {core.name: core for core in bench.device.cores.cores}
        return bench.kernel.env.now, by_core

    shared_end, shared = bound(lambda task: "core0")
    split_end, split = bound(lambda task: "core1" if task is Task.GATHER else "core0")
    assert shared["core1"].steps == 0
    assert shared["core0"].steps == split["core0"].steps + split["core1"].steps
    assert split_end < shared_end


CHANGES = {
    "cores": (replace(CORE, poll_cycles=40), replace(CORE, name="core1")),
    "binding": {**PARAMETERS.binding, Task.GATHER: "core0"},
    "striping": replace(STRIPING, order=("way", "channel", "lun")),
    "dram_bytes_per_second": 10**9,
    "page_buffer_pages": 2,
    "page_jobs": 2,
    "subgraph_buffer_bytes": 2000,
    "body_pieces_ahead": 1,
    "sampling_whole_page": False,
    "block_read_whole_page": False,
    "dma.setup_ps": 100_000,
    "dma.slots": 1,
    "dma.descriptor_bytes": 512,
    "nvme.command_slots": 1,
}


@pytest.mark.parametrize("key", CHANGES)
def test_every_parameter_matters(key):
    owner, _, name = key.rpartition(".")
    change = {name: CHANGES[key]}
    if owner:
        change = {owner: replace(getattr(PARAMETERS, owner), **change)}
    assert rows(busy(replace(PARAMETERS, **change))) != rows(busy())


def test_every_policy_of_the_page_buffer_is_another_story_with_the_same_subgraphs():
    stories = []
    for policy in POLICIES:
        parameters = replace(PARAMETERS, page_buffer_pages=6, page_buffer_policy=policy)
        bench = busy(parameters, costs=None)  # of the policy; results are compared there
        stories.append(rows(bench))
        counts = bench.device.counts()
        assert counts["evictions"] > counts["hand_overs"] > 0
    assert all(one != other for one, other in combinations(stories, 2))


def test_each_core_has_the_costs_of_its_kind():
    cores = CORE, replace(CORE, name="core1", kind="cortex_a53")
    binding = {task: "core1" if task is Task.ISP_CONTROL else "core0" for task in Task}
    bench = busy(replace(PARAMETERS, cores=cores, binding=binding), costs=None)
    tables = {core.name: load_costs((core.kind,)) for core in cores}
    constant = {
        (core, name): table.cycles(CORE, name)
        for core, table in tables.items()
        for name, cost in table.routines.items()
        if not cost.counts
    }
    seen = set()
    for unit, stage, start_ps, end_ps, *_ in rows(bench):
        step = unit, stage.removeprefix("firmware.")
        if step in constant:
            seen.add(step)
            assert end_ps - start_ps == constant[step] * CORE.period_ps
    assert {unit for unit, _ in seen} == {"core0", "core1"}
    assert constant["core0", "dma_complete"] != constant["core1", "dma_complete"]
    assert bench.device.cores.assumed == {}


def test_unknown_kind_of_core_is_refused():
    odd = replace(PARAMETERS, cores=(replace(CORE, kind="cortex_a8"), replace(CORE, name="core1")))
    with pytest.raises(ValueError, match="of cortex_a53, cortex_a9, cortex_m7, not of 'cortex_a8'"):
        Bench([0, 1], np.arange(1), parameters=odd, costs=None)


def test_issue_rate_divides_the_instructions():
    core = replace(CORE, issue_rate=CORE.issue_rate * 2)
    gain = COSTS.cycles(CORE, "sqe_decode") - COSTS.cycles(core, "sqe_decode")
    instructions = COSTS.routines["sqe_decode"].instructions({})
    assert gain == instructions - ceil(instructions / 2)
