"""Where the time goes: exact critical paths, predicted changes, contention, determinism."""

from dataclasses import replace
from itertools import pairwise
from math import ceil

import numpy as np
import pytest

from cosim.spans import stage_totals
from firmware_model.parameters import Task
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


def one_request(core=CORE, costs=COSTS, **changes):
    """Stage totals of one id sampled from one list, on cores that poll a queue in a cycle."""
    core = replace(core, poll_cycles=1)
    parameters = replace(PARAMETERS, cores=(core, replace(core, name="core1")), **changes)
    bench = Bench([0, 10], np.arange(10), parameters=parameters, costs=costs)
    start = int(bench.kernel.env.now)
    assert bench.sample_status(bench.request([0], 1)) == 0
    path = bench.path(bench.host.causes[0], start)
    steps = {}
    for segment in path:
        steps[segment.span.stage] = steps.get(segment.span.stage, 0) + 1
    return stage_totals(path), steps


COUNTS = {
    "body_parse": {"target": 1, "list": 1, "position": 1},
    "gather": {"id": 1, "word": 2},
    "segment_list": {"segment": 1},
}


def predicted(steps, base, core, costs=COSTS):
    """Totals in which every firmware step has the cost that ``core`` gives it."""
    totals = dict(base)
    for stage, count in steps.items():
        routine = stage.removeprefix("firmware.")
        if routine != stage and routine != "poll":
            cycles = costs.cycles(core, routine, **COUNTS.get(routine, {}))
            totals[stage] = count * cycles * core.period_ps
    return totals


def compare(found, expected):
    """Equal but for the phases of polling, which any shift of time may change."""
    found, expected = dict(found), dict(expected)
    polled = found.pop("firmware.poll") - expected.pop("firmware.poll")
    assert found == expected
    assert abs(polled) < 30 * 8 * CORE.period_ps


def test_one_request_has_the_steps_that_its_costs_predict():
    base, steps = one_request()
    compare(base, predicted(steps, base, CORE))
    assert steps["firmware.dma_setup"] == 3  # header, body, result
    assert base["dram.flash-in"] == 1_920_001  # 8,192 bytes at 4,266,666,666 bytes/s, rounded up
    assert len([stage for stage in steps if stage.startswith("firmware.")]) == 12 + 1  # polling


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
OF_ONE_SAMPLE = sorted(set(COSTS.routines) - OF_READS - {"body_draw"})


@pytest.mark.parametrize("routine", OF_ONE_SAMPLE)
def test_slower_routine_changes_its_own_stage_only(routine):
    base, steps = one_request()
    costs = slowed(COSTS, routine, 2)
    found, _ = one_request(costs=costs)
    expected = predicted(steps, base, CORE, costs)
    compare(found, expected)
    assert found[f"firmware.{routine}"] == 2 * base[f"firmware.{routine}"]


def test_dma_setup_and_dram_rate():
    base, steps = one_request()
    found, _ = one_request(dma=replace(PARAMETERS.dma, setup_ps=100_000))
    compare(found, base | {"dma.setup": 100_000 * steps["dma.setup"]})
    found, _ = one_request(dram_bytes_per_second=10**9)
    times = {"dram.dma-in": [4096, 20], "dram.dma-out": [12], "dram.flash-in": [8192]}
    compare(found, base | {stage: 1000 * sum(sizes) for stage, sizes in times.items()})


def interleaving(costs):
    """Steps of all cores in the order of their starts, by stage and request."""
    steps = [row for row in rows(busy(costs=costs)) if row[0].startswith("core")]
    steps = [row for row in steps if row[1] != "firmware.poll"]
    return [(unit, stage, request) for unit, stage, _, _, _, request, _ in sorted(steps, key=start)]


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


def test_issue_rate_divides_the_instructions():
    core = replace(CORE, issue_rate=CORE.issue_rate * 2)
    gain = COSTS.cycles(CORE, "flash_issue") - COSTS.cycles(core, "flash_issue")
    instructions = COSTS.routines["flash_issue"].instructions({})
    assert gain == instructions - ceil(instructions / 2)
