"""Reads from SSD to card: times, bytes, what is compared, and the command."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cosim.bench import p2p
from cosim.bench.commands import bench_app
from cosim.bench.p2p import PUBLISHED, measure, sizes_to
from cosim.bench.p2p_command import table
from cosim.bench.timed_card import TimedCard
from cosim.config.build import dram_times, nand_part, wire_parameters
from cosim.config.load import load_platform
from cosim.errors import UserError
from cosim.kernel import BOOT_PS, Kernel

ROOT = Path(__file__).parents[1]
KIB, MIB = 1 << 10, 1 << 20
HEAD = "| request | us | published, us | GB/s | published, GB/s | error |"


@pytest.fixture(scope="module")
def report():
    return measure(largest=64 * KIB)


def test_published_sizes_are_the_powers_of_two():
    assert list(PUBLISHED) == [4 * KIB << n for n in range(16)]
    assert max(PUBLISHED) == 128 * MIB
    assert (PUBLISHED[4 * KIB], PUBLISHED[MIB], PUBLISHED[128 * MIB]) == (50, 1590, 2360)
    assert sizes_to(9000) == [4 * KIB, 8 * KIB]


def test_each_point_has_its_rate_and_error(report):
    points = report["points"]
    assert [point["bytes"] for point in points] == sizes_to(64 * KIB)
    for point in points:
        rate = point["bytes"] * 10**6 / point["us"]
        assert point["bytes_per_s"] == pytest.approx(rate, rel=1e-4)
        assert point["published_bytes_per_s"] == PUBLISHED[point["bytes"]] * 10**6
        assert point["error"] == pytest.approx(rate / point["published_bytes_per_s"] - 1, abs=1e-3)
    assert points[0]["published_us"] == pytest.approx(81.92)


def test_a_read_takes_at_least_flash_and_link(report):
    ssd, card = load_platform("smartssd_ssd"), load_platform("smartssd")
    wire = wire_parameters(card.p2p)
    for point in report["points"]:
        size = point["bytes"]
        on_link = wire.duration_ps(size + wire.write_overhead(size)) + 2 * wire.latency_ps
        least = nand_part(ssd).t_r_ps + on_link
        # Host, firmware, DMA and the flash bus come on top, and they are not idle for long.
        page_ps = 45_000_000
        assert least < point["us"] * 10**6 < least + page_ps + 60_000_000


def test_more_bytes_never_take_less(report):
    times = [point["us"] for point in report["points"]]
    assert times == sorted(times)


def test_the_link_bounds_the_rate():
    slow = load_platform("smartssd").p2p.rate.value
    rates = [point["bytes_per_s"] for point in measure(largest=4 * MIB)["points"][-2:]]
    assert rates[0] < rates[1] < slow * 256 / 280


def test_bytes_are_compared(monkeypatch):
    def stage(self, address, data, cause, *, request=0):
        return staged(self, address, data[:-1] + b"\xff", cause, request=request)

    staged = TimedCard.stage
    monkeypatch.setattr(TimedCard, "stage", stage)
    with pytest.raises(AssertionError, match="4096 bytes must be on the card as they are on the"):
        measure(largest=4 * KIB)


def test_the_card_takes_one_piece_after_the_other():
    kernel, times = Kernel(), dram_times(load_platform("smartssd"))
    card = TimedCard(kernel, times, 16 * KIB)
    ends = []

    def write(offset, length):
        cause = yield from card.write(
            offset, bytes([offset >> 12]) * length, kernel.origin("t", "s")
        )
        assert cause.at_ps == kernel.env.now
        ends.append(kernel.env.now - BOOT_PS)

    for offset, length in ((0, 4096), (4096, 128)):
        kernel.env.process(write(offset, length))
    kernel.env.run()
    opened = times.t_rcd_ps + times.t_cwl_ps
    assert ends == [opened + 64 * times.t_beat_ps, 2 * opened + 66 * times.t_beat_ps]
    assert card.memory[4096 : 4096 + 129] == b"\1" * 128 + b"\0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ssd": "smartssd"}, "platform must be that of an SSD, not 'smartssd'"),
        ({"card": "tiny"}, "platform must be that of an FPGA card, not 'tiny'"),
        ({"largest": 100}, "largest size must be at least 4096 bytes, not 100"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(UserError, match=message):
        measure(**options)


def test_command_writes_report_and_page(tmp_path):
    page, path = tmp_path / "page.md", tmp_path / "p2p.json"
    page.write_text("before\n<!-- p2p -->\nold\n<!-- end of p2p -->\nafter\n")
    arguments = ["p2p", "--largest", "8", "--json", str(path), "--docs", str(page)]
    result = CliRunner().invoke(bench_app, arguments)
    assert result.exit_code == 0
    written = json.loads(path.read_text())
    assert page.read_text() == f"before\n<!-- p2p -->\n{table(written)}<!-- end of p2p -->\nafter\n"
    assert result.stdout == table(written)
    assert result.stdout.startswith(HEAD)


def test_the_page_has_a_row_for_each_published_size():
    text = (ROOT / "docs" / "p2p.md").read_text()
    rows = text.partition("<!-- p2p -->")[2].partition("<!-- end of p2p -->")[0].splitlines()
    assert rows[1] == HEAD
    assert [row.split("|")[1].strip() for row in rows[3:]] == [
        f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB" for size in PUBLISHED
    ]


def test_repeats_are_bounded(report):
    reads = {point["bytes"]: point["reads"] for point in report["points"]}
    assert reads == {size: min(p2p.MOST_REPEATS, 2 * MIB // size) for size in reads}
