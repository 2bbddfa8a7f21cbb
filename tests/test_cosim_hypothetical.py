"""A system that no real one could be is marked wherever it is reported, and others are not."""

import pytest
from matplotlib.figure import Figure

from cosim import compare as compare_module
from cosim.compare import compare
from cosim.config.load import load_config
from cosim.errors import UserError
from cosim.report.html import render_page
from cosim.report.plots import draw_stages
from cosim.report.table import latency_table, ratio_sentence
from cosim.results import load_system, save_system, summarize
from tests.scenarios.results import example_run, hypothetical_run
from tests.system_runs import as_text, configuration, systems

MARK = "hops (hypothetical)"
HOPS = {"positions": "device", "hops": "device"}


@pytest.fixture
def summary():
    return summarize(hypothetical_run())


def test_the_summary_says_what_is_hypothetical_of_that_system_alone(summary):
    found = {name: one.get("hypothetical") for name, one in summary["systems"].items()}
    assert found == {"firmware-csd": None, "fpga-csd": None, "hops": "No card has it."}
    assert "hypothetical" not in str(summarize(example_run()))


def test_it_comes_back_from_the_files_of_a_system(tmp_path):
    for system in hypothetical_run().systems:
        save_system(system, tmp_path)
        assert load_system(tmp_path).hypothetical == system.hypothetical


def test_tables_carry_the_mark(summary):
    heads = [column.header for column in latency_table(summary).columns]
    assert heads == ["", "firmware-csd", "fpga-csd", MARK]
    assert f"takes 7.000 us on {MARK} on average" in ratio_sentence(summary)


def test_the_plot_carries_it(summary):
    axes = draw_stages(summary, Figure().add_subplot())
    marked = [label.get_text() for label in axes.get_yticklabels() if MARK in label.get_text()]
    assert marked == [f"{MARK}, batch 0", f"{MARK}, batch 1"]
    assert "hop sequencer" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_page_carries_it(summary, tmp_path):
    (tmp_path / "c.yaml").write_text(as_text())
    loaded = load_config(tmp_path / "c.yaml")
    page = render_page(summary, loaded, "", b"")
    assert "<strong>hops is hypothetical.</strong> No card has it." in page
    # Latencies, stages of two batches, bytes, subgraphs and the sentence in front.
    assert page.count(MARK) == 6
    plain = render_page(summarize(example_run()), loaded, "", b"")
    assert "is hypothetical" not in plain
    assert "(hypothetical)" not in plain


@pytest.fixture
def refusal(tmp_path, monkeypatch):
    """Message of the refusal of the small example, changed, before anything is built."""

    def build(*arguments, **options):
        raise AssertionError("it must have been refused")

    monkeypatch.setattr(compare_module, "build", build)
    monkeypatch.setattr(compare_module, "require", lambda simulator: None)

    def refusal(**changes):
        path = tmp_path / "c.yaml"
        path.write_text(as_text(configuration(**{"systems": systems(fpga=HOPS), **changes})))
        with pytest.raises(UserError) as error:
            compare(load_config(path), out=tmp_path / "run")
        assert not (tmp_path / "run").exists()
        assert "\n" not in str(error.value)
        return str(error.value)

    return refusal


def test_the_device_must_draw_where_it_goes_from_hop_to_hop(refusal):
    found = refusal(systems=systems(fpga={"hops": "device"}))
    assert found.endswith("systems[1] must give positions: device where hops is device")


def test_no_ring_where_the_card_orders_by_itself(refusal):
    found = refusal(systems=systems(fpga={**HOPS, "launch": "ring"}))
    assert found.endswith("systems[1] must not give launch: ring where hops is device")


def test_row_pointers_must_fit_the_window(refusal):
    # The example has 2,939 nodes or so: six pages of row pointers.
    found = refusal(platform_overrides={"fpga.window": "32 KiB"})
    assert "platform_overrides.fpga.window must hold" in found
    assert "bytes of row pointers of" in found
    assert found.endswith("and 12288 bytes beside them, not 32768")


def test_every_frontier_must_fit_the_sequencer(refusal):
    found = refusal(platform_overrides={"fpga.hops.frontier": "128 B"})
    rule = "must hold 18 nodes of 8 bytes, of the largest hop, not 128"
    assert found.endswith(f"platform_overrides.fpga.hops.frontier {rule}")
    trace = {"batches": 1, "targets": 17, "fan_outs": [3], "seed": 1}
    found = refusal(platform_overrides={"fpga.hops.frontier": "128 B"}, run__trace=trace)
    assert "must hold 17 nodes" in found
