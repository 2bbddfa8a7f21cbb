"""The firmware's benchmark: flash that is times alone, sums of core time, tables, the command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from cosim.bench.commands import bench_app
from cosim.bench.firmware import CoreTime, core_times, list_graph, read_stream, sample_lists
from cosim.bench.firmware_text import batch_table, list_table, stream_table
from cosim.bench.timed_flash import TimedFlash
from cosim.errors import UserError
from cosim.kernel import BOOT_PS, Kernel
from cosim.medium import IdArray
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping

LAYOUT = PageLayout(page_bytes=1024, spare_bytes=512, lba_bytes=1024)
STRIPING = Striping(channels=1, ways=2, luns=1, rows=4)
IDS = np.arange(300, dtype=np.uint32)  # two pages and a part of a third
ARRAY_PS, PAGE_PS = 1000, 400
WAY_NAMES = ("host draws", "SSD draws", "SSD draws and chains")
DRAW = ("core0", "body_draw")


class Flash:
    """Reads of whole pages; when each one ended."""

    def __init__(self, slots=2, hold_ps=0):
        self.kernel = Kernel()
        self.flash = TimedFlash(
            self.kernel,
            LAYOUT,
            STRIPING,
            IdArray(IDS, 8),
            array_ps=ARRAY_PS,
            page_ps=PAGE_PS,
            slots=slots,
        )
        self.hold_ps = hold_ps
        self.ends = {}

    def read(self, way, row, column=0, length=LAYOUT.data_bytes):
        cause = self.kernel.origin("test", "start")
        event = self.flash.read(0, way, 0, row, column, length, cause)
        self.kernel.env.process(self._take(event, (way, row)))
        return event

    def _take(self, event, name):
        result = yield event
        self.ends[name] = self.kernel.env.now - BOOT_PS
        assert result.cause.at_ps == self.kernel.env.now
        yield self.kernel.env.timeout(self.hold_ps)
        self.flash.free(0, result.slot, self.kernel.origin("test", "free"))

    def run(self):
        self.kernel.env.run()
        return self.ends


def test_a_lun_reads_one_page_after_the_other_and_keeps_it_until_it_is_sent():
    flash = Flash()
    flash.read(0, 0)
    flash.read(0, 1)
    assert flash.run() == {(0, 0): 1400, (0, 1): 2800}


def test_luns_share_the_bus():
    flash = Flash()
    flash.read(0, 0)
    flash.read(1, 0)
    assert flash.run() == {(0, 0): 1400, (1, 0): 1800}


def test_a_page_waits_for_a_landing_slot():
    flash = Flash(slots=1, hold_ps=5000)
    flash.read(0, 0)
    flash.read(1, 0)
    assert flash.run() == {(0, 0): 1400, (1, 0): 1400 + 5000 + 400}


def test_pages_hold_the_ids_and_a_part_takes_its_share_of_the_time():
    flash = Flash()
    whole, part = flash.read(0, 1), flash.read(1, 0, LAYOUT.pair_bytes, LAYOUT.pair_bytes)
    assert flash.run() == {(0, 1): 1400, (1, 0): 1400 + 200}
    raw = IDS.astype("<u8").tobytes()
    assert LAYOUT.strip(whole.value.data) == raw[2048:].ljust(1024, b"\xff")
    assert LAYOUT.strip(part.value.data) == raw[1024 + 512 : 2048]


def test_a_page_that_is_not_written_is_refused():
    flash = Flash()
    flash.read(1, 1)
    with pytest.raises(ValueError, match="Page 3 must be one of the 3 that are written"):
        flash.run()


def test_core_times_are_sums_of_steps_without_polling():
    kernel = Kernel()
    start = kernel.origin("test", "start")
    at = BOOT_PS
    for unit, stage, length in (
        ("core0", "firmware.gather", 5),
        ("core0", "firmware.poll", 50),
        ("core0", "firmware.gather", 7),
        ("core1", "firmware.gather", 9),
        ("core0", "firmware.finish", 1),
        ("host", "firmware.gather", 100),
    ):
        start = kernel.record(unit, stage, at, at + length, start)
        at += length
    assert core_times(kernel.spans, ["core0", "core1"]) == [
        CoreTime(12, "core0", "gather", 2),
        CoreTime(9, "core1", "gather", 1),
        CoreTime(1, "core0", "finish", 1),
    ]


def test_graph_of_lists_has_the_mean_that_was_asked_for():
    graph = list_graph(5000, 28)
    degrees = np.diff(graph.indptr)
    assert degrees.mean() == pytest.approx(28, rel=0.02)
    assert degrees.min() >= 1
    assert degrees.max() > 200
    # Neighbours come in proportion to their own lists.
    assert (np.bincount(graph.indices, minlength=graph.nodes) == degrees).all()


def test_a_stream_of_reads_is_bound_by_the_flash_buses():
    found = read_stream("tiny", reads=80, depth=8)
    assert found["bytes_per_s"] <= 1.01 * found["bus_bytes_per_s"]
    assert found["deviation"] == round(found["bytes_per_s"] / 1.4e9 - 1, 4)
    assert set(found["core_us_a_read"]) == {"core0", "core1"}


@pytest.fixture(scope="module")
def ways():
    return sample_lists("tiny", nodes=300, targets=10, fan_outs=(4, 2))


def test_core_time_of_lists_is_all_that_the_cores_did(ways):
    assert tuple(ways) == WAY_NAMES
    columns = {}
    for way, lists in ways.items():
        assert lists["lists"] == 10 + 40
        assert lists["ids"] == 40 + 80
        columns[way] = {(one.core, one.routine): one for one in lists["core_times"]}
        assert columns[way]["core1", "gather"].steps == lists["page_jobs"]
        assert columns[way]["core0", "flash_issue"].steps == lists["flash_reads"]
        assert 0 < lists["flash_bus_us"] < lists["latency_us"]
    table = list_table(ways).splitlines()
    assert len(table) == 2 + len(set().union(*columns.values())) + 2
    parse, draw = columns["host draws"]["core0", "body_parse"], columns["SSD draws"][DRAW]
    assert f"| body_parse | core0 | {parse.time_ps / 5e4:,.1f} (1.000) |  |  |" in table
    assert f"| body_draw | core0 |  | {draw.time_ps / 5e4:,.1f} (1.000) | " in "\n".join(table)
    sums = [
        sum(one.time_ps for (core, _), one in column.items() if core == "core0") / 5e4
        for column in columns.values()
    ]
    assert table[-2].startswith("| all | core0 | ")
    assert [cell.split()[0] for cell in table[-2].split(" | ")[2:]] == [f"{s:,.1f}" for s in sums]
    assert table[-1].startswith("| all | core1 | ")


def test_an_ssd_that_chains_takes_one_command_and_looks_up_each_target(ways):
    once = {way: _steps(lists, "sqe_decode") for way, lists in ways.items()}
    assert once == dict(zip(WAY_NAMES, (2, 2, 1), strict=True))
    looked_up = {way: _steps(lists, "row_entry") for way, lists in ways.items()}
    assert looked_up == dict(zip(WAY_NAMES, (0, 0, 50), strict=True))


def _steps(lists, routine):
    return sum(one.steps for one in lists["core_times"] if one.routine == routine)


def test_tables(ways):
    stream = {
        "bytes_per_s": 1_330_000_000,
        "published_bytes_per_s": 1_400_000_000,
        "deviation": -0.05,
        "bus_bytes_per_s": 1_450_000_000,
        "depth": 128,
        "us_a_read": 12.318,
        "core_us_a_read": {"core0": 4.5},
    }
    lines = stream_table(stream).splitlines()
    assert "| deviation | -5.0% |" in lines
    assert "| published | about 1.400 GB/s |" in lines
    assert "| core0, time of a read | 4.50 us |" in lines
    lines = batch_table(ways).splitlines()
    assert lines[0] == (
        "| 10 targets, 4, then 2 neighbours | host draws | SSD draws | SSD draws and chains |"
    )
    assert "| lists | 50 | 50 | 50 |" in lines
    latencies = " | ".join(f"{lists['latency_us'] / 1000:.1f} ms" for lists in ways.values())
    assert f"| latency | {latencies} |" in lines


def test_the_command_writes_report_and_page(tmp_path):
    page, report = tmp_path / "page.md", tmp_path / "report.json"
    names = ("stream", "mini-batch", "lists", "large")
    page.write_text("".join(f"<!-- {n} -->\nstale\n<!-- end of {n} -->\n" for n in names))
    options = ["--platform", "tiny", "--reads", "64", "--depth", "8", "--fan-outs", "2"]
    options += ["--targets", "5", "--nodes", "50", "--json", str(report), "--docs", str(page)]
    found = CliRunner().invoke(bench_app, ["firmware", *options])
    assert found.exit_code == 0, found.output
    lists = json.loads(report.read_text())["lists"]
    assert {way: found["ids"] for way, found in lists.items()} == dict.fromkeys(WAY_NAMES, 10)
    assert "stale" not in page.read_text()
    assert "| deviation |" in page.read_text()
    assert "| gather | core1 |" in found.output
    assert "| edge list array | 0.034 GB |" in found.output  # all that the tiny flash holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--targets", "9", "--nodes", "8"], "--targets must be at most --nodes, 8, not 9"),
        (["--depth", "50", "--reads", "99"], "--reads must be at least twice --depth, 100, not 99"),
    ],
)
def test_impossible_options_are_refused(options, message):
    found = CliRunner().invoke(bench_app, ["firmware", *options])
    assert isinstance(found.exception, UserError)
    assert str(found.exception) == message
