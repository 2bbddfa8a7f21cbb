"""Results: made from spans only, complete, and the same bytes every time."""

import json
import re
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from cosim.config.load import load_config
from cosim.conservation import BOUNDARIES, BytesLost, check_bytes
from cosim.errors import UserError
from cosim.report.stages import FAMILIES, by_family, family_of
from cosim.report.table import duration, latency_table, ratio_sentence, size
from cosim.results import (
    SubgraphsDiffer,
    UnknownBytes,
    load_system,
    moved_bytes,
    save_system,
    summarize,
)
from cosim.run_folder import RunFolder, write_run
from cosim.spans import CausalityError
from host.graph import Graph
from host.trace import Trace
from tests.scenarios.results import (
    FIRMWARE_STEPS,
    FPGA_STEPS,
    US,
    chain,
    example_run,
    hypothetical_run,
)

FILES = [
    "config.resolved.yaml",
    "index.html",
    "latencies.parquet",
    "queues.parquet",
    "spans.parquet",
    "stages.png",
    "summary.json",
    "versions.json",
]


@pytest.fixture
def loaded(write_config):
    return load_config(write_config())


def test_the_trace_is_kept_and_can_be_read(loaded, tmp_path):
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], dtype=np.uint32))
    trace = Trace.generate(graph, seed=1, batches=2, targets=1, fan_outs=[1])
    write_run(tmp_path, loaded, example_run(), trace)
    assert Trace.load(tmp_path / "trace.json").sha256 == trace.sha256


def test_background_traces_are_told_by_their_digests(loaded, tmp_path):
    write_run(tmp_path, loaded, example_run(), background_sha256={"firmware-csd": "ab"})
    versions = json.loads((tmp_path / "versions.json").read_text())
    assert versions["background_traces"] == {"firmware-csd": "ab"}
    write_run(tmp_path, loaded, example_run())
    assert "background_traces" not in json.loads((tmp_path / "versions.json").read_text())


@pytest.mark.parametrize(
    ("engine", "told"), [("verilator", r"Verilator \d"), ("icarus", r"Icarus Verilog version \d")]
)
def test_the_simulator_has_its_version(loaded, tmp_path, engine, told):
    write_run(tmp_path, loaded, replace(example_run(), engine=engine))
    versions = json.loads((tmp_path / "versions.json").read_text())
    found = versions["simulator"]
    assert found == "not installed" or re.match(told, found)


def test_stages_add_up_to_the_latency():
    systems = summarize(example_run())["systems"]
    for name, steps in (("firmware-csd", FIRMWARE_STEPS), ("fpga-csd", FPGA_STEPS)):
        first, second = systems[name]["batches"]
        whole = sum(step[2] for step in steps) * US
        assert first["latency_ps"] == sum(first["stages_ps"].values()) == whole
        assert second["latency_ps"] == whole - steps[0][2] * US
    stages = systems["firmware-csd"]["batches"][0]["stages_ps"]
    assert stages["flash.transfer"] == 89 * US
    assert stages["pcie.ssd.down"] == 4 * US


def test_overlapped_work_is_busy_time_and_no_stage():
    log, batch = chain(FIRMWARE_STEPS[:2])
    chain([("core0", "firmware.other", 500, 0, 0, "")], log=log)
    run = example_run()
    system = replace(run.systems[0], spans=log, batches=(batch,))
    found = summarize(replace(run, systems=(system,)))["systems"]["firmware-csd"]
    assert found["batches"][0]["stages_ps"] == {"host.draw": 2 * US, "pcie.ssd.down": US}
    assert found["busy_ps"]["firmware.other"] == 500 * US


def test_time_that_nobody_owns_is_an_error():
    run = example_run()
    system = run.systems[0]
    early = replace(system.batches[0], start_ps=0)
    with pytest.raises(CausalityError, match="has no cause"):
        summarize(replace(run, systems=(replace(system, batches=(early,)),)))


def test_subgraphs_that_differ_are_no_result():
    run = example_run()
    wrong = replace(run.systems[1], subgraph_sha256="0" * 64)
    with pytest.raises(SubgraphsDiffer, match=f"Subgraphs of fpga-csd must be .* not {'0' * 64}"):
        summarize(replace(run, systems=(run.systems[0], wrong)))


def test_bytes_are_counted_by_boundary_and_kind():
    payload, overheads = moved_bytes(chain(FIRMWARE_STEPS)[0])
    assert payload == {"flash": 16_384, "host_to_device": 0, "device_to_host": 84, "p2p": 0}
    assert overheads == {
        "flash_spare": 1344,
        "link_headers": 6 * 24 + 384,
        "ns_config": 4096,
        "descriptors": 0,
        "positions": 0,
        "queue_entries": 64 + 16,
        "prp_lists": 0,
        "doorbells": 4,
        "interrupts": 4,
        "hop_orders": 0,
    }
    payload, overheads = moved_bytes(chain(FPGA_STEPS)[0])
    assert payload == {"flash": 16_384, "host_to_device": 0, "device_to_host": 88, "p2p": 4096}
    assert (overheads["descriptors"], overheads["positions"]) == (64, 64)
    assert (overheads["prp_lists"], overheads["doorbells"]) == (16, 4)


def test_bytes_of_an_unknown_kind_are_not_lost():
    log, _ = chain([("pcie.ssd.up", "pcie.ssd.up", 1, 8, 24, "gossip")])
    with pytest.raises(UnknownBytes, match=r"Span 0 on pcie.ssd.up must move .* not 'gossip'"):
        moved_bytes(log)


def test_bytes_on_an_unknown_link_are_not_lost():
    log, _ = chain([("pcie.p2p.down", "pcie.p2p.down", 1, 8, 24, "data")])
    with pytest.raises(UnknownBytes, match=r"Span 0 must be on a known link, not 'pcie.p2p.down'"):
        moved_bytes(log)


def test_bytes_in_flight_are_counted_once():
    log, _ = chain(
        [
            ("pcie.ssd.up", "pcie.ssd.up", 1, 8, 24, "data"),
            ("pcie.ssd.up.flight", "pcie.ssd.latency", 1, 8, 24, "data"),
        ]
    )
    assert moved_bytes(log)[0]["device_to_host"] == 8


def test_a_system_survives_the_way_through_files(tmp_path):
    system = example_run().systems[0]
    save_system(system, tmp_path)
    again = load_system(tmp_path)
    assert list(again.spans) == list(system.spans)
    assert replace(again, spans=system.spans) == system


def test_numbers_that_were_reserved_and_not_used_stay_free(tmp_path):
    run = example_run()
    log, batch = chain(FIRMWARE_STEPS[:1])
    log.reserve()
    chain(FIRMWARE_STEPS[1:2], log=log)
    save_system(replace(run.systems[0], spans=log, batches=(batch,)), tmp_path)
    assert [span.number for span in load_system(tmp_path).spans] == [0, 2]


def test_the_same_run_gives_the_same_bytes(tmp_path, loaded):
    for name in ("a", "b"):
        with RunFolder(tmp_path / name) as folder:
            write_run(folder.partial, loaded, example_run())
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == FILES
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_files_hold_what_the_summary_says(tmp_path, loaded):
    run = example_run()
    with RunFolder(tmp_path / "run") as folder:
        summary = write_run(folder.partial, loaded, run)
    text = (tmp_path / "run" / "summary.json").read_text()
    assert text == json.dumps(summary, indent=2, sort_keys=True) + "\n"
    spans = pq.read_table(tmp_path / "run" / "spans.parquet")
    assert len(spans) == sum(len(system.spans) for system in run.systems)
    assert set(spans["system"].to_pylist()) == {"firmware-csd", "fpga-csd"}
    rows = pq.read_table(tmp_path / "run" / "latencies.parquet").to_pylist()
    assert rows[0] == {
        "system": "firmware-csd",
        "batch": 0,
        "start_ps": US,
        "end_ps": 175 * US,
        "latency_ps": 174 * US,
    }
    page = (tmp_path / "run" / "index.html").read_text()
    assert "A mini-batch takes 158.000 us on fpga-csd on average" in page
    assert "not yet written in C" in page
    assert "<code>ssd.nand.t_r</code></td><td >25 us</td>" in page
    assert page.count("http") == 0


def test_the_page_leaves_out_what_no_system_moved(tmp_path, loaded):
    orders = []
    for name, run in (("today", example_run()), ("card", hypothetical_run())):
        with RunFolder(tmp_path / name) as folder:
            write_run(folder.partial, loaded, run)
        page = (tmp_path / name / "index.html").read_text()
        rows = [row for row in page.split("<tr>") if "<td >overhead<" in row]
        assert rows
        for row in rows:
            assert set(re.findall(r'class="n">([^<]+)<', row)) != {"0 B"}
        orders.append(any("hop orders" in row for row in rows))
    assert orders == [False, True]


def test_the_page_explains_the_parts_that_occur(tmp_path, loaded):
    run = example_run()
    log, batch = chain([("flash.ch0", "flash.ecc", 3, 0, 0, "")])
    decoded = replace(run.systems[1], spans=log, batches=(batch,))
    pages = []
    for name, systems in (("without", run.systems), ("with", (run.systems[0], decoded))):
        with RunFolder(tmp_path / name) as folder:
            write_run(folder.partial, loaded, replace(run, systems=systems))
        pages.append((tmp_path / name / "index.html").read_text())
    assert ["</span>flash: ECC" in page for page in pages] == [False, True]
    assert all("</span>flash: sensing" in page for page in pages)
    assert ["</span>gather unit" in page for page in pages] == [True, False]


def test_the_page_says_what_the_gather_unit_did(tmp_path, loaded):
    run = example_run()
    counts = {"busy": 2000, "transfers": 1500, "output_stalls": 0, "memory_stalls": 480, "gaps": 20}
    counts |= {"ids": 1400, "beats": 1450, "id_reads": 1370, "merges": 30}
    counters = {f"gather.{name}": count for name, count in counts.items()}
    counted = replace(run.systems[1], counters=counters)
    pages = []
    for name, systems in (("without", run.systems), ("with", (run.systems[0], counted))):
        with RunFolder(tmp_path / name) as folder:
            write_run(folder.partial, loaded, replace(run, systems=systems))
        pages.append((tmp_path / name / "index.html").read_text())
    assert ["The gather unit" in page for page in pages] == [False, True]
    assert '<td class="n">2,000</td>' in pages[1]
    assert '<td class="n">480 (24.0 %)</td>' in pages[1]
    assert '<td class="n">1,400</td>' in pages[1]


def test_names_are_escaped_in_the_page(tmp_path, loaded):
    run = example_run()
    odd = replace(run.systems[0], assumed_costs={"<b>": "because <script>"})
    with RunFolder(tmp_path / "run") as folder:
        write_run(folder.partial, loaded, replace(run, systems=(odd,)))
    page = (tmp_path / "run" / "index.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<script>" not in page


def test_a_folder_that_holds_a_run_is_refused(tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "summary.json").write_text("{}")
    with pytest.raises(UserError) as error, RunFolder(out):
        pytest.fail("entered")
    assert str(error.value) == f"{out}: output folder must be new or empty, and holds a run"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    with (
        pytest.raises(UserError, match="must be new or empty, and holds something"),
        RunFolder(tmp_path / "run"),
    ):
        pytest.fail("entered")


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "run").mkdir()
    with RunFolder(tmp_path / "run") as folder:
        (folder.partial / "x").write_text("")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["x"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt])
def test_a_failed_run_leaves_nothing(tmp_path, failure):
    def run():
        with RunFolder(tmp_path / "run") as folder:
            (folder.partial / "summary.json").write_text("{}")
            assert not (tmp_path / "run").exists()
            raise failure

    with pytest.raises(failure):
        run()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_appeared_meanwhile_is_not_overwritten(tmp_path):
    def run():
        with RunFolder(tmp_path / "run"):
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "mine").write_text("")

    with pytest.raises(UserError, match="must be new or empty"):
        run()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["mine"]


def test_every_family_has_a_colour_of_its_own_and_keeps_all_time():
    assert len({family.colour for family in FAMILIES}) == len(FAMILIES)
    stages = {step[1]: 1 for step in (*FIRMWARE_STEPS, *FPGA_STEPS)} | {"unheard.of": 5}
    parts = by_family(stages)
    assert sum(parts.values()) == sum(stages.values())
    assert [family.title for family in parts][-1] == "unheard.of"
    assert all(family_of(step[1]) in FAMILIES for step in (*FIRMWARE_STEPS, *FPGA_STEPS))


def test_the_table_has_a_row_for_all_that_happened():
    table = latency_table(summarize(example_run()))
    rows = list(zip(*(column.cells for column in table.columns), strict=True))
    assert rows[0] == ("batch 0: latency", "174.000 us", "159.000 us", "0.91")
    assert ("  flash: sensing", "50.000 us", "50.000 us", "1.00") in rows
    assert ("  gather unit", "-", "4.000 us", "") in rows
    assert ("bytes, p2p", "-", "8.19 KB", "") in rows


def test_the_ratio_names_the_faster_one_first():
    run = example_run()
    assert ratio_sentence(summarize(run)) == (
        "A mini-batch takes 158.000 us on fpga-csd on average, and 1.09 times as long on "
        "firmware-csd."
    )
    alone = summarize(replace(run, systems=run.systems[:1]))
    assert ratio_sentence(alone) == "firmware-csd takes 173.000 us for a mini-batch on average."


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (duration(999), "999 ps"),
        (duration(1_500), "1.500 ns"),
        (duration(2 * 10**12), "2.000 s"),
        (size(999), "999 B"),
        (size(32_768), "32.77 KB"),
    ],
)
def test_figures_are_written_in_a_fitting_unit(shown, text):
    assert shown == text


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda boundary: boundary.name)
@pytest.mark.parametrize("side", ["leaves", "enters"])
def test_bytes_that_get_lost_are_no_result(boundary, side):
    spans = [span for system in hypothetical_run().systems for span in system.spans]
    check_bytes(spans)
    picked = next(span for span in spans if getattr(boundary, side)(span) and span.payload_bytes)
    lost = [span for span in spans if span is not picked]
    with pytest.raises(BytesLost, match=r"From .*, \d+ bytes left"):
        check_bytes(lost)
