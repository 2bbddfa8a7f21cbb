"""Depths of the SSD's queues: every change, areas that are sums of waits, tables and plots."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import simpy

from cosim.config.load import load_config
from cosim.queue_depths import depth_table, depths_of_table, pieces, queue_use
from cosim.report.queues import COLUMNS, columns_of, curve
from cosim.results import load_system, save_system, summarize
from cosim.run_folder import write_run
from firmware_model.depths import DepthLog
from firmware_model.flash_choice import FlashOrder
from firmware_model.slots import Slots
from rtl.contract.kernel import Cause
from tests.firmware_bench import CORE, PARAMETERS
from tests.scenarios.results import example_run
from tests.test_firmware_time import busy

CHANGES = [(0, 0), (10, 2), (30, 5), (31, 1), (100, 0)]


def test_changes_at_one_time_are_one_and_what_lasts_no_time_is_left_out():
    env = simpy.Environment()
    log = DepthLog(env)
    for time, by in ((0, 2), (5, 1), (5, 3), (7, 1), (7, -1), (9, -6), (9, 4)):
        env.run(until=time) if time > env.now else None
        log.change(by)
    assert log.changes() == [(0, 2), (5, 6), (9, 4)]
    assert log.depth == 4
    with pytest.raises(RuntimeError, match="must not have less than nothing in it, not -1"):
        log.change(-5)


def area(changes, end_ps):
    return sum(depth * (end - begin) for begin, end, depth in pieces(changes, 0, end_ps))


@pytest.mark.parametrize("seed", range(4))
def test_area_is_the_sum_of_all_waits_and_of_all_uses(seed):
    """Whatever is asked for, each user measures for itself how long it waited and stayed."""
    generator = np.random.default_rng(seed)
    env = simpy.Environment()
    slots = Slots(env, "things", 7)
    waited, used = [], []

    def user(begin, amount, stay):
        yield env.timeout(begin)
        yield from slots.acquire(Cause(env.now, 0), amount)
        waited.append(env.now - begin)
        yield env.timeout(stay)
        slots.release(Cause(env.now, 0), amount)
        used.append(amount * stay)

    for _ in range(200):
        begin, amount, stay = (int(generator.integers(*range_)) for range_ in
                               ((0, 2000), (1, 8), (0, 40)))  # fmt: skip
        env.process(user(begin, amount, stay))
    env.run()
    assert len(used) == 200
    assert area(slots.waiting.changes(), env.now) == sum(waited) > 0
    assert area(slots.used.changes(), env.now) == sum(used)
    assert slots.waiting.depth == slots.used.depth == 0


@pytest.mark.parametrize("order", [FlashOrder(), FlashOrder(order="idle-first", patience=2)])
def test_depths_of_a_device_are_what_its_spans_say(order):
    fast = replace(CORE, period_ps=10, load_ps=dict.fromkeys(CORE.load_ps, 10))
    cores = fast, replace(fast, name="core1")  # so that the flash is what all wait for
    few = {"page_jobs": 40, "page_buffer_pages": 64}
    bench = busy(replace(PARAMETERS, cores=cores, flash_order=order, **few))
    end_ps = int(bench.kernel.env.now)
    found = {name: log.changes() for name, log in bench.device.depths().items()}
    areas = {name: area(changes, end_ps) for name, changes in found.items()}

    def times(stage, which):
        spans = [span for span in bench.kernel.spans if span.stage.startswith(stage)]
        assert spans
        return sum(getattr(span, which) for span in spans)

    # A command waits from the end of the step that queues it to when its issue is asked for.
    channels = sum(areas[f"flash channel {n}"] for n in range(PARAMETERS.striping.channels))
    queued, issued = (
        times("firmware.flash_queue", "end_ps"),
        times("firmware.flash_issue", "ready_ps"),
    )
    assert channels == issued - queued > 0
    # A page's job lasts from its translation to the release of its frame.
    begun, ended = (
        times("firmware.translate", "ready_ps"),
        times("firmware.buffer_release", "end_ps"),
    )
    assert areas["page jobs"] == ended - begun
    assert max(depth for _, depth in found["page jobs"]) == 40
    assert areas["waiting for page jobs"] > 0
    # An entry lies in its queue from the ring of the doorbell until it has been fetched.
    rung, fetched = times("host.submit", "end_ps"), times("firmware.sqe_decode", "ready_ps")
    assert areas["submission queue 1"] == fetched - rung > 0
    # A descriptor that the engine has taken up is asked for at once, and ends on the bus.
    assert max(depth for _, depth in found["DMA descriptors"]) == PARAMETERS.dma.slots
    for name in ("commands", "subgraph buffer"):
        assert areas[name] > 0
    assert all(changes[-1][1] == 0 for changes in found.values())


def test_use_between_two_times():
    use = queue_use(CHANGES, 20, 120)
    assert use == {"area_ps": 2 * 10 + 5 + 69, "mean": 0.94, "max": 5, "p99": 2}
    assert queue_use(CHANGES, 31, 100) == {"area_ps": 69, "mean": 1.0, "max": 1, "p99": 1}
    assert queue_use(CHANGES, 5, 6)["max"] == 0
    assert queue_use([(0, 3), (2, 4)], 0, 200)["p99"] == 4
    assert queue_use([(0, 4), (2, 3)], 0, 200)["p99"] == 3
    assert queue_use([(0, 4), (3, 3)], 0, 200)["p99"] == 4


def test_a_plot_keeps_the_area_and_the_peaks():
    generator = np.random.default_rng(5)
    times = np.unique(generator.integers(0, 10_000, 4000)).tolist()
    depths = generator.integers(0, 50, len(times)).tolist()
    changes = list(zip(times, depths, strict=True))
    columns = columns_of(changes, 1000, 9001)
    use = queue_use(changes, 1000, 9001)
    assert sum(area for area, _ in columns) == use["area_ps"]
    assert max(peak for _, peak in columns) == use["max"]
    # One short peak is seen, wherever it is.
    lone = columns_of([(0, 0), (7777, 9), (7778, 0)], 0, 10**6)
    assert sorted(lone)[-1] == (9, 9)
    assert lone.index((9, 9)) == 7777 * COLUMNS // 10**6
    assert curve(changes, 1000, 9001, use["max"]).count("<path") == 2


def with_depths():
    run = example_run()
    systems = tuple(
        replace(system, depths={"page jobs": CHANGES, "DMA descriptors": [(0, 0)]})
        for system in run.systems
    )
    return replace(run, systems=systems)


def test_depths_go_through_a_system_s_folder(tmp_path):
    system = with_depths().systems[0]
    save_system(system, tmp_path)
    assert load_system(tmp_path).depths == system.depths
    assert depths_of_table(depth_table({})) == {}


def test_run_folder_has_table_summary_and_plots(tmp_path, write_config):
    run = with_depths()
    summary = write_run(tmp_path, load_config(write_config()), run)
    for system in run.systems:
        assert summary["systems"][system.name]["queues"] == {
            name: queue_use(changes, *system.window) for name, changes in system.depths.items()
        }
    rows = pq.read_table(tmp_path / "queues.parquet").to_pylist()
    assert [(row["time_ps"], row["depth"]) for row in rows[: len(CHANGES)]] == CHANGES
    assert {row["system"] for row in rows} == {system.name for system in run.systems}
    page = (tmp_path / "index.html").read_text()
    used = sum(
        use["max"] > 0 for one in summary["systems"].values() for use in one["queues"].values()
    )
    assert page.count("<svg") == used
    assert "queues" not in summarize(example_run())["systems"][run.systems[0].name]
