"""Hit rates of the page buffer's policies, beside computations that share nothing with them."""

import json
from collections import OrderedDict, deque

import numpy as np
import pytest
import simpy
from typer.testing import CliRunner

from cosim.bench.commands import bench_app
from cosim.bench.firmware import ID_BYTES, list_graph
from cosim.bench.page_buffer import BEST, hit_rates, hits, most_hits, pages_of
from cosim.errors import UserError
from firmware_model.page_buffer import PageBuffer
from firmware_model.replacement import POLICIES
from host.trace import Trace
from rtl.contract.kernel import Cause
from rtl.contract.mixer import draw, list_key
from rtl.contract.page import PageLayout

FRAMES = (1, 2, 3, 8, 21, 64, 200)


def stack_distances(pages):
    """Different pages since the last look-up of the same one, by a plain list; None at first."""
    stack, found = [], []
    for page in pages:
        found.append(stack.index(page) if page in stack else None)
        if page in stack:
            stack.remove(page)
        stack.insert(0, page)
    return found


def clock_hits(frames, pages):
    """The textbook's second chance: a circular list of pages with a bit each."""
    circle, bits, hand, found = [], {}, 0, 0
    for page in pages:
        if page in bits:
            found += 1
        elif len(circle) < frames:
            circle.append(page)
        else:
            while bits[circle[hand]]:
                bits[circle[hand]] = False
                hand = (hand + 1) % frames
            del bits[circle[hand]]
            circle[hand] = page
            hand = (hand + 1) % frames
        bits[page] = True
    return found


def two_queue_hits(frames, pages):
    """Johnson and Shasha's full version, figure 2: Kin a quarter of the frames, Kout a half.

    A page that is taken out of A1out leaves it before another one enters.
    """
    most_in, most_out = max(1, frames // 4), max(1, frames // 2)
    am, a1in, a1out, found = OrderedDict(), deque(), deque(), 0
    for page in pages:
        if page in am:
            found += 1
            am.move_to_end(page)
            continue
        if page in a1in:
            found += 1
            continue
        is_hot = page in a1out
        if is_hot:
            a1out.remove(page)
        if len(am) + len(a1in) == frames:
            if len(a1in) > most_in or not am:
                a1out.append(a1in.popleft())
                if len(a1out) > most_out:
                    a1out.popleft()
            else:
                am.popitem(last=False)
        if is_hot:
            am[page] = None
        else:
            a1in.append(page)
    return found


@pytest.fixture(scope="module")
def pages():
    """A few pages are looked up often, and others once in a while or in runs."""
    generator = np.random.default_rng(3)
    hot = generator.zipf(1.3, 4000) % 150
    runs = np.repeat(np.arange(400), 3) + 1000
    mixed = np.where(generator.random(4000) < 0.7, hot, np.resize(runs, 4000))
    return mixed.tolist()


@pytest.mark.parametrize("frames", FRAMES)
def test_lru_hits_are_those_of_the_stack_distances(pages, frames):
    expected = sum(d is not None and d < frames for d in stack_distances(pages))
    assert hits("lru", frames, pages) == expected


@pytest.mark.parametrize("frames", FRAMES)
def test_clock_hits_are_the_textbook_s(pages, frames):
    assert hits("clock", frames, pages) == clock_hits(frames, pages)


@pytest.mark.parametrize("frames", FRAMES[3:])
def test_two_queue_hits_are_those_of_its_authors_figure(pages, frames):
    assert hits("2q", frames, pages) == two_queue_hits(frames, pages)


def test_no_policy_beats_the_best_possible_one(pages):
    for frames in FRAMES:
        found = {policy: hits(policy, frames, pages) for policy in POLICIES}
        assert max(found.values()) <= most_hits(frames, pages)
    assert most_hits(10**6, pages) == len(pages) - len(set(pages))
    # Belady's own kind of case: with two frames c is not worth its place beside a and b.
    assert most_hits(2, list("abcabab")) == 3
    assert most_hits(1, list("aabba")) == 2


@pytest.mark.parametrize("policy", POLICIES)
def test_the_page_buffer_itself_hits_as_often(pages, policy):
    env = simpy.Environment()
    buffer = PageBuffer(env, PageLayout(page_bytes=8192, spare_bytes=1024), 21, policy)
    found = 0
    for page in pages:
        found += buffer.frame(page) is not None
        (claim,) = ended(buffer.claim(page, Cause(0, 0)))
        buffer.release(claim.frame, Cause(0, 0))
    assert found == hits(policy, 21, pages)
    assert buffer.evictions == len(pages) - found - 21


def ended(generator):
    """The value of a generator that has nothing to wait for."""
    try:
        next(generator)
    except StopIteration as stop:
        return (stop.value,)
    raise AssertionError("it waits")


def test_pages_are_those_of_the_drawn_ids():
    graph = list_graph(40, 28)
    (batch,) = Trace.generate(graph, seed=1, batches=1, targets=6, fan_outs=(3, 2)).batches
    expected, frontier = [], batch.targets.tolist()
    for hop, fan_out in enumerate(batch.fan_outs):
        following = []
        for slot, node in enumerate(frontier):
            first, end = (int(place) for place in graph.indptr[node : node + 2])
            key = list_key(batch.seed, batch.index, hop, slot)
            places = [first + (draw(key, n) * (end - first) >> 32) for n in range(fan_out)]
            expected += dict.fromkeys(place * ID_BYTES // 512 for place in places)
            following += [int(graph.indices[place]) for place in places]
        frontier = following
    assert list(pages_of(graph, batch, 512)) == expected


def test_the_command_writes_report_and_page(tmp_path):
    page, report = tmp_path / "page.md", tmp_path / "report.json"
    page.write_text("<!-- hit-rates -->\nold\n<!-- end of hit-rates -->\n")
    options = ["--platform", "tiny", "--targets", "20", "--nodes", "4000", "--batches", "2"]
    options += ["--fan-outs", "4,2", "--json", str(report), "--docs", str(page)]
    run = CliRunner().invoke(bench_app, ["page-buffer", *options])
    assert run.exit_code == 0, run.output
    found = json.loads(report.read_text())
    work = {"nodes": 4000, "batches": 2, "targets": 20, "fan_outs": (4, 2)}
    assert found == hit_rates("tiny", **work)
    assert run.output in page.read_text()
    assert "old" not in page.read_text()
    assert f"| {found['lookups']:,} look-ups of {found['different']:,} pages | lru |" in run.output
    assert all(of["lru"] <= of[BEST] for of in found["hits"].values())
    wrong = CliRunner().invoke(bench_app, ["page-buffer", "--targets", "9", "--nodes", "8"])
    assert isinstance(wrong.exception, UserError)
    assert str(wrong.exception) == "--targets must be at most --nodes, 8, not 9"
