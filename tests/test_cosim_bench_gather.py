"""The benchmark of the gather unit: its work and figures by hand, and the real thing in small."""

import re

import numpy as np
import pytest

from cosim.bench.gather import bench_gather, cases, figures, report
from cosim.bench.gather_case import GatherBuild, GatherCase
from cosim.bench.gather_command import tables
from cosim.bench.gather_work import gather_work
from cosim.errors import UserError
from rtl.contract.codec import unpack
from rtl.contract.gather import GatherDescriptor, GatherMode
from rtl.contract.mixer import positions
from tests.test_architecture import ROOT

DRAM = GatherBuild(platform="smartssd", memory="dram", lanes=2, outstanding=16)
FAST = GatherBuild(platform="smartssd", memory="fast", lanes=2, outstanding=16)
WINDOW = 1 << 20

COUNTED = {
    "one": {"first_clocks": 60, "last_clocks": 64},
    "many": {
        "descriptors": 10,
        "first_clocks": 60,
        "last_clocks": 199,
        "trace_reads": 45,
        "trace_clocks": 100,
        "counters": {
            "busy": 200,
            "transfers": 60,
            "words": 60,
            "output_stalls": 10,
            "memory_stalls": 120,
            "gaps": 10,
            "ids": 50,
            "id_reads": 45,
            "merges": 5,
            "beats": 50,
        },
    },
}


def test_figures_by_hand():
    found = figures(GatherCase(build=DRAM, fan_out=5), COUNTED)
    expected = {
        "name": "dram-2-16-draw-5-8B",
        "clocks": 199,
        "ids_per_s": round(50 / 199 * 250e6, 1),
        # 140 clocks from the first word to the last, 60 words.
        "ids_per_clock": round(50 / 140, 6),
        "words_per_clock": round(60 / 140, 6),
        "beats_per_clock": round(50 / 199, 6),
        "share_of_dram_bound": round(100 / 199, 6),
        "first_word_clocks": 60,
        "last_word_clocks": 64,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["busy_shares"] == {
        "transfers": 0.3,
        "output_stalls": 0.05,
        "memory_stalls": 0.6,
        "gaps": 0.05,
    }


def test_clocks_that_get_lost_are_no_figures():
    counters = {**COUNTED["many"]["counters"], "gaps": 9}
    counted = {**COUNTED, "many": {**COUNTED["many"], "counters": counters}}
    with pytest.raises(
        AssertionError, match="dram-2-16-draw-5-8B: clocks by part must add up to 200"
    ):
        figures(GatherCase(build=DRAM, fan_out=5), counted)


def test_the_report_says_what_is_missed():
    measured = [figures(GatherCase(build=build, fan_out=5), COUNTED) for build in (FAST, DRAM)]
    whole = report(measured, seed=1)
    assert (whole["case"], whole["share_of_dram_bound"]) == ("dram-2-16-draw-5-8B", 0.502513)
    met = {(target["case"], target["key"]): target["met"] for target in whole["targets"]}
    assert met == {
        ("fast-2-16-draw-5-8B", "beats_per_clock"): False,
        ("dram-2-16-draw-5-8B", "share_of_dram_bound"): False,
    }
    better = [
        {**measured[0], "beats_per_clock": 0.99},
        # One lane asks for an id a clock, and some need no beat.
        {**measured[0], "lanes": 1},
        {**measured[1], "share_of_dram_bound": 0.9},
    ]
    assert [target["met"] for target in report(better)["targets"]] == [True, True]
    assert "| `share_of_dram_bound` at least 0.9 | 0 of 1 |" in tables(whole)["targets"]
    assert "| `dram-2-16-draw-5-8B` | 199 | 100 | 50.3 % |" in tables(whole)["dram"]


@pytest.mark.parametrize("id_bytes", [4, 8])
def test_the_trace_is_where_the_ids_of_the_result_are(id_bytes):
    case = GatherCase(build=DRAM, fan_out=3, id_bytes=id_bytes)
    work = gather_work(case, 4, window_bytes=WINDOW, seed=3)
    image = b"".join(work.beats.get(beat, bytes(64)) for beat in range(WINDOW // 64))
    words, expected, trace = np.frombuffer(work.result, "<u8").tolist(), [], []
    for number in range(4):
        given = unpack(GatherDescriptor, image[32 * number : 32 * number + 32])
        assert given.mode == GatherMode.DRAW
        assert 3 < given.degree <= 4000
        at = [given.list_address + id_bytes * int(p) for p in positions(given.key, given.degree, 3)]
        ids = [int.from_bytes(image[address : address + id_bytes], "little") for address in at]
        expected += [3, *ids]
        trace += [address & -64 for address in at]
    assert words == expected
    kept = [now for before, now in zip([None, *trace], trace, strict=False) if now != before]
    assert work.trace == kept


def test_explicit_positions_are_in_the_window():
    case = GatherCase(build=DRAM, fan_out=20, mode="explicit")
    work = gather_work(case, 2, window_bytes=WINDOW, seed=3)
    second = unpack(GatherDescriptor, work.beats[0][32:])
    assert second.positions_address == WINDOW // 16 + 80
    orders = b"".join(work.beats[WINDOW // 16 // 64 + n] for n in range(3))
    assert all(np.frombuffer(orders, "<u4")[20:40] < second.degree)


def test_cases_share_their_builds():
    chosen = cases(outstanding=(8,))
    assert {case.build.name for case in chosen} == {
        "dram-2-8",
        "fast-1-64",
        "fast-2-64",
        "fast-4-64",
    }
    assert len({case.name for case in chosen}) == len(chosen)
    assert {case.build.outstanding for case in cases()} == {16, 32, 64}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GatherBuild(platform="smartssd", memory="sram", lanes=1, outstanding=8),
            "dram or fast",
        ),
        (
            lambda: GatherBuild(platform="smartssd", memory="dram", lanes=2, outstanding=12),
            "must be a power of two from 4 to 256, not 12",
        ),
        (
            lambda: GatherBuild(platform="smartssd", memory="dram", lanes=5, outstanding=64),
            "lanes must be 1, 2, 4 or 8, not 5",
        ),
        (lambda: cases("cosmos_plus"), "must be that of an FPGA card, not 'cosmos_plus'"),
        (lambda: GatherCase(build=DRAM, mode="walk"), "mode must be one of explicit, draw,"),
        (lambda: GatherCase(build=DRAM, fan_out=257), "fan-out must be from 1 to 256, not 257"),
        (lambda: GatherCase(build=DRAM, id_bytes=2), "id width must be 4 or 8 bytes, not 2"),
        (
            lambda: bench_gather([GatherCase(build=DRAM)], descriptors=2521),
            "descriptors must be from 2 to 2520, not 2521",
        ),
        (lambda: bench_gather([GatherCase(build=DRAM)], seed=-1), "seed must be at least 0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(UserError, match=re.escape(message)):
        make()


@pytest.mark.hdl
@pytest.mark.slow
def test_the_real_unit_in_small():
    chosen = [
        GatherCase(build=DRAM, fan_out=6, mode=mode) for mode in ("explicit", "draw_distinct")
    ]
    measured = bench_gather(chosen, engine="icarus", descriptors=24)
    for case in measured["cases"]:
        # As many ids as 24 descriptors of fan-out 25 give.
        assert case["ids"] == case["id_reads"] + case["merges"] == 24 * 25 // 6 * 6
        # Nothing is faster than the bare trace, whose reads have nothing to wait for.
        assert 0.2 < case["share_of_dram_bound"] < 1
        assert case["trace_clocks"] > case["id_reads"]
        # A descriptor, then ids: two accesses to closed rows of DRAM.
        # Seven words are four transfers.
        assert case["last_word_clocks"] == case["first_word_clocks"] + 3
        assert case["first_word_clocks"] > 2 * (14_160 + 14_160 + 50_000) // 4_000


def test_the_page_has_the_places_of_all_tables():
    page = (ROOT / "docs" / "gather.md").read_text()
    for name in tables(report([figures(GatherCase(build=DRAM, fan_out=5), COUNTED)])):
        assert f"<!-- {name} -->\n" in page
        assert f"<!-- end of {name} -->" in page
