"""Use of the SSD's cores, depth of their queues and pages a list, worked out by hand."""

from cosim.firmware_use import core_use, page_use, translation_use
from cosim.report.firmware import render_firmware
from cosim.spans import Span
from tests.firmware_bench import Bench, random_graph


def span(number, stage, ready, start, end, task, unit="core0"):
    return Span(
        number=number, unit=unit, stage=stage, start_ps=start, end_ps=end, cause=-1,
        ready_ps=ready, request=1, kind=task, payload_bytes=0, overhead_bytes=0,
    )  # fmt: skip


SPANS = [
    # Three gathers come at 0, 5 and 6; the first begins at once, the others at 10 and 30.
    span(0, "firmware.gather", 0, 0, 10, "gather"),
    span(1, "firmware.gather", 5, 10, 22, "gather"),
    span(2, "firmware.dma_setup", 8, 22, 26, "write-back"),
    span(3, "firmware.poll", 26, 26, 30, ""),
    span(4, "firmware.gather", 6, 30, 31, "gather"),
    span(5, "firmware.dma_setup", 2, 3, 5, "isp-control", "core1"),
    span(6, "flash.sense", 0, 0, 100, "", "flash.ch0"),
]


def test_time_and_depth_by_core_and_task():
    gather = {"steps": 3, "busy_ps": 10 + 12 + 1, "queue_ps": {"1": 1 + 20, "2": 4}}
    assert core_use(SPANS) == {
        "core0": {
            "poll_ps": 4,
            "tasks": {
                "gather": gather,
                "write-back": {"steps": 1, "busy_ps": 4, "queue_ps": {"1": 14}},
            },
        },
        "core1": {
            "poll_ps": 0,
            "tasks": {"isp-control": {"steps": 1, "busy_ps": 2, "queue_ps": {"1": 1}}},
        },
    }
    waited = sum(int(depth) * time for depth, time in gather["queue_ps"].items())
    assert waited == (10 - 5) + (30 - 6)


def test_pages_of_lists_with_neighbours():
    counts = {"targets": 10, "empty_targets": 2, "page_jobs": 12, "hits": 3, "merges": 4}
    counts |= {"misses": 5, "refills": 1, "flash_reads": 5, "evictions": 0}
    counters = {f"firmware.{name}": count for name, count in counts.items()}
    assert page_use(counters) == {
        "lists": 8, "page_jobs": 12, "hits": 3, "merges": 4, "misses": 5, "refills": 1,
        "flash_reads": 5,
    }  # fmt: skip
    assert page_use({}) == page_use({"firmware.targets": 2, "firmware.empty_targets": 2}) == {}


def test_every_step_of_a_device_is_in_one_task():
    bench = Bench(*random_graph(3))
    assert bench.sample_status(bench.request(range(60), 4)) == 0
    found, counts = core_use(bench.kernel.spans), bench.device.counts()
    for core in bench.device.cores.cores:
        tasks = found[core.name]["tasks"]
        assert set(tasks) <= {task.value for task in core.tasks}
        assert sum(did["steps"] for did in tasks.values()) == counts[f"{core.name}_steps"]
        assert sum(did["busy_ps"] for did in tasks.values()) == counts[f"{core.name}_busy_ps"]
    # A gather and a release for each page job.
    assert found["core1"]["tasks"]["gather"]["steps"] == 2 * counts["page_jobs"]


def test_write_amplification_is_pages_programmed_a_page_written():
    counters = {"firmware.hits": 9, "firmware.ftl_host_pages": 40, "firmware.ftl_programs": 70}
    found = translation_use(counters)
    assert found == {"host_pages": 40, "programs": 70, "write_amplification": 1.75}
    idle = translation_use({"firmware.ftl_host_pages": 0, "firmware.ftl_programs": 3})
    assert idle == {"host_pages": 0, "programs": 3}
    assert translation_use({"firmware.hits": 9}) == {}


def test_page_shows_tasks_queues_and_pages():
    system = {
        "batches": [{"latency_ps": 50}],
        "cores": core_use(SPANS),
        "pages": {"lists": 8} | dict.fromkeys(
            ("page_jobs", "hits", "merges", "misses", "refills", "flash_reads"), 12
        ),
    }  # fmt: skip
    seen = []

    def table(head, rows, numbers):
        seen.append(rows)
        return ""

    render_firmware({"systems": {"one": system}}, table)
    # 5 + 24 ps of waiting in 50 ps.
    assert seen[0][0][:4] == ["one", "core0", "gather", "3"]
    assert seen[0][0][5:] == ["2", "0.580"]
    assert seen[1][:2] == [["lists", "8"], ["page jobs", "12 (1.500 a list)"]]
    empty = {"batches": [], "cores": {}, "pages": {}}
    assert render_firmware({"systems": {"one": empty}}, table) == []
