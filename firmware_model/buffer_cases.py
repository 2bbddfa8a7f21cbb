"""The page buffer in C beside the model's: one random story, told to both, step by step.

After each step the tables of both must say the same: which page is in which frame, what the policy
keeps, hash chains, reads in flight, jobs that wait, and for what.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import simpy

from firmware_model.arm_machine import ArmProgram, Run
from firmware_model.buffer_work import (
    claim_work,
    fill_work,
    grant_work,
    release_work,
    wake_work,
)
from firmware_model.fits import Rows
from firmware_model.mismatch import equal
from firmware_model.page_buffer import Claim, Fill, Frame, PageBuffer
from firmware_model.replacement_cases import compare_policy, prepare_policy
from firmware_model.tables import empty_tables, entries, listed
from rtl.contract.kernel import Cause
from rtl.contract.page import PageLayout

__all__ = ["buffer_rows", "tell"]

LAYOUT = PageLayout(page_bytes=4096, spare_bytes=1024)
EVERYTHING = (1 << LAYOUT.codewords // 2) - 1
NOW = Cause(0, 0)
FRAMES, PAGES, REQUESTS = 6, 20, 3
HIT, MERGE, MISS, WAIT = range(4)
STORIES = {
    "lru": (
        (0, 0.2, 3, PAGES),
        (1, 0.2, 5, PAGES),
        (2, 0.7, 3, PAGES),
        (5, 0.95, 5, PAGES),
        (7, 0.99, 5, PAGES),
        (28, 0.97, 3, PAGES),
        (50, 0.97, 3, PAGES),
        (21, 0.97, 3, PAGES),
    ),
    "clock": ((0, 0.2, 3, PAGES), (1, 0.2, 5, PAGES)),
    # Of few pages one is often claimed anew while it is remembered.
    "2q": ((0, 0.2, 3, PAGES), (1, 0.2, 5, PAGES), (2, 0.7, 3, PAGES), (3, 0.7, 3, 9)),
}
"""By policy: seeds and habits with which every case occurs."""


@dataclass(eq=False)
class _Job:
    number: int
    page: int
    pairs: int
    widen: int
    frame: Frame | None = None
    claim: Any = None
    """Its unfinished claim, while it waits for a frame."""
    turn: Any = None
    fill: Fill | None = None
    """The read that it asked for, or waits for."""


@dataclass(eq=False)
class _Story:
    """Both buffers, and the jobs by what they wait for."""

    program: ArmProgram
    buffer: PageBuffer
    memory: np.ndarray
    number_of: dict[Frame, int] = field(default_factory=dict)
    read_of: dict[Fill, int] = field(default_factory=dict)
    reading: list[_Job] = field(default_factory=list)
    merged: dict[Fill, deque[_Job]] = field(default_factory=dict)
    woken: deque[tuple[Fill, bool]] = field(default_factory=deque)
    granted: deque[_Job] = field(default_factory=deque)
    waiting: list[_Job] = field(default_factory=list)
    ready: list[_Job] = field(default_factory=list)
    rows: dict[str, Rows] = field(default_factory=dict)

    def step(self, routine: str, counts: dict[str, int], *arguments: int) -> Run:
        run = self.program.run(
            routine, "table", *arguments, objects={"table": self.memory.tobytes()}
        )
        self.memory = np.frombuffer(run.memory["table"], self.memory.dtype).copy()
        self.rows.setdefault(routine, []).append((counts, run))
        return run

    def claim(self, page: int, pairs: int, widen: int, request: int) -> None:
        table = self.memory[0]
        job = _Job(int(table["free_job"]), page, pairs, widen)
        entry = table["jobs"][job.number]
        table["free_job"] = entry["next"]
        for name in ("page", "pairs", "widen"):
            entry[name] = getattr(job, name)
        entry["request"] = request
        table["requests"][request]["jobs"] += 1
        counts = claim_work(self.buffer, page, pairs)
        policy = self.buffer.replacement
        leaves = policy.has_idle and not self.buffer.has_fresh
        leaver = self.buffer.frame(policy.leaver()) if leaves else None
        fresh = self.buffer.has_fresh
        run = self.step("buffer_claim", counts, job.number)
        job.claim = self.buffer.claim(page, NOW)
        try:
            job.turn = next(job.claim)
        except StopIteration as end:
            frame = end.value.frame
            if frame not in self.number_of:
                number = len(self.number_of) if fresh else self.number_of.pop(_sure(leaver))
                self.number_of[frame] = number
            equal("claim of buffer_claim", run.value, self._judge(job, end.value))
        else:
            equal("claim of buffer_claim", run.value, WAIT)
            self.waiting.append(job)

    def _judge(self, job: _Job, claim: Claim) -> int:
        """What PageReader does with a frame."""
        frame = job.frame = claim.frame
        equal("frame of a job", int(self._entry(job)["frame"]), self.number_of[frame])
        missing = job.pairs & ~frame.valid & ~frame.arriving
        if missing:
            job.fill = self.buffer.begin_fill(frame, job.widen or missing)
            self.reading.append(job)
            # The C code has taken it off its list; it is the last one of the frame.
            fills = self._reads(self.number_of[frame])
            self.read_of[job.fill] = fills[-1]
            return MISS
        return MERGE if self._go_on(job, ok=True) else HIT

    def _go_on(self, job: _Job, *, ok: bool) -> bool:
        """Whether the job waits for (another) read; otherwise it is ready, or lost."""
        frame = _sure(job.frame)
        missing = job.pairs & ~frame.valid if ok else 0
        rest = [fill for fill in frame.fills if fill.pairs & missing]
        if rest:
            job.fill = rest[0]
            job.fill.waiting += 1
            self.merged.setdefault(job.fill, deque()).append(job)
            return True
        self._pushed("ready", job)
        equal("outcome of a job", int(self._entry(job)["ok"]), int(ok and not missing))
        self.ready.append(job)
        return False

    def grant(self) -> None:
        job = self.granted.popleft()
        run = self.step("buffer_grant", grant_work(_sure(job.frame), job.pairs))
        equal("job of buffer_grant", run.value >> 2, job.number)
        equal("claim of buffer_grant", run.value & 3, self._judge(job, job.turn.value))

    def fill(self, which: int, *, ok: bool) -> None:
        job = self.reading.pop(which)
        frame, fill = _sure(job.frame), _sure(job.fill)
        counts = fill_work(frame, fill, job.pairs, ok=ok)
        self.step("buffer_fill", counts, self.read_of.pop(fill), int(ok))
        raw = bytes(fill.count * LAYOUT.pair_bytes)
        self.buffer.end_fill(frame, fill, raw if ok else None, NOW)
        if fill.waiting:
            self.woken.append((fill, ok))
        self._go_on(job, ok=ok)

    def wake(self) -> None:
        fill, ok = self.woken[0]
        job = self.merged[fill].popleft()
        frame = _sure(job.frame)
        run = self.step("buffer_wake", wake_work(frame, fill, job.pairs, ok=ok))
        equal("job of buffer_wake", run.value, job.number)
        fill.waiting -= 1
        if not fill.waiting:
            self.woken.popleft()
        self._go_on(job, ok=ok)

    def release(self, which: int) -> None:
        job = self.ready.pop(which)
        frame = _sure(job.frame)
        self.step("buffer_release", release_work(self.buffer, frame), job.number)
        self.buffer.release(frame, NOW)
        turns = [one for one in self.waiting if one.turn.triggered]
        self.waiting = [one for one in self.waiting if not one.turn.triggered]
        if turns:
            number = self.number_of.pop(frame)
            self.number_of[turns[0].turn.value.frame] = number
        for one in turns:
            one.frame = one.turn.value.frame
        self.granted += turns
        equal("free job of buffer_release", int(self.memory[0]["free_job"]), job.number)

    def _pushed(self, name: str, job: _Job) -> None:
        """The C code has pushed the job, and nothing else; it is taken out again."""
        ring = self.memory[0][name]
        equal(f"jobs of {name}", entries(ring), [job.number])
        ring["head"] = ring["tail"]

    def _entry(self, job: _Job) -> Any:
        return self.memory[0]["jobs"][job.number]

    def _reads(self, frame: int) -> list[int]:
        table = self.memory[0]
        return listed(table["fills"], int(table["frames"][frame]["fills"]), "next")

    def compare(self) -> None:
        """All that both keep."""
        table, buffer = self.memory[0], self.buffer
        frames = {name: table["frames"][number] for name, number in self.number_of.items()}
        for frame, other in frames.items():
            for name in ("page", "valid", "pins"):
                equal(f"{name} of a frame", int(other[name]), getattr(frame, name))
            reads = [self.read_of[fill] for fill in frame.fills]
            equal("reads of a frame", self._reads(self.number_of[frame]), reads)
            for fill in frame.fills:
                self._compare_read(fill)
        chains = table["chains"]
        for page in {frame.page & buffer.hashes.mask for frame in frames}:
            chain = listed(table["frames"], int(chains[page]), "chain")
            pages = [int(table["frames"][number]["page"]) for number in chain]
            equal("hash chain", pages, list(buffer.hashes.chain(page)))
        compare_policy(table, buffer.replacement)
        waiting = listed(table["jobs"], int(table["waiting"]), "next")
        pages = [int(table["jobs"][number]["page"]) for number in waiting]
        equal("pages that wait", pages, list(buffer.waiting))
        for first in waiting:
            same = listed(table["jobs"], first, "same")
            page = table["jobs"][first]["page"]
            expected = [job.number for job in self.waiting if job.page == page]
            equal("jobs that wait for a page", same, expected)
        granted = [job.number for job in self.granted]
        equal("jobs with a frame granted", entries(table["granted"]), granted)

    def _compare_read(self, fill: Fill) -> None:
        table = self.memory[0]
        read = table["fills"][self.read_of[fill]]
        equal("pairs of a read", int(read["pairs"]), fill.pairs)
        waiting = listed(table["jobs"], int(read["waiting"]), "next")
        jobs = [job.number for job in self.merged.get(fill, ())]
        equal("jobs that wait for a read", waiting, jobs)


def _sure(value: Any) -> Any:
    assert value is not None
    return value


def tell(
    program: ArmProgram,
    seed: int,
    steps: int,
    *,
    hot: float,
    wide: int,
    pages: int = PAGES,
    policy: str = "lru",
) -> dict[str, Rows]:
    """A story of ``steps`` random steps; the counts and runs of each routine.

    A share ``hot`` of the claims is for two of ``pages`` pages; jobs want fewer than ``wide``
    pairs. The device is busy for a while, then less so: frames become idle. ``program`` must be
    made for ``policy``.
    """
    generator = np.random.default_rng(seed)
    buffer = PageBuffer(simpy.Environment(), LAYOUT, FRAMES, policy)
    memory = empty_tables(FRAMES, buffer.hashes.mask)
    prepare_policy(memory[0], buffer.replacement)
    story = _Story(program, buffer, memory)
    for number in range(steps):
        busy = number // 40 % 2
        weights = {
            "claim": (1 + 4 * busy) * (len(story.waiting) < 9),
            "fill": bool(story.reading) * (3 - 2 * busy) * (0.2 if hot > 0.9 else 1),
            "wake": bool(story.woken) * 2,
            "grant": bool(story.granted) * 2,
            "release": bool(story.ready) * 3,
        }
        share = np.array([*weights.values()]) / sum(weights.values())
        match generator.choice([*weights], p=share):
            case "claim":
                pairs = int(
                    np.bitwise_or.reduce(1 << generator.integers(0, 6, generator.integers(1, wide)))
                )
                widen = EVERYTHING if generator.random() < 0.1 else 0
                page = int(generator.integers(2 if generator.random() < hot else pages))
                story.claim(page, pairs, widen, int(generator.integers(REQUESTS)))
            case "fill":
                which = int(generator.integers(len(story.reading)))
                story.fill(which, ok=bool(generator.random() < 0.7))
            case "wake":
                story.wake()
            case "grant":
                story.grant()
            case _:
                story.release(int(generator.integers(len(story.ready))))
        story.compare()
    return story.rows


def buffer_rows(program: ArmProgram, policy: str) -> dict[str, Rows]:
    """Rows of all routines of the page buffer."""
    rows: dict[str, Rows] = {}
    for seed, hot, wide, pages in STORIES[policy]:
        found = tell(program, seed, 500, hot=hot, wide=wide, pages=pages, policy=policy)
        for routine, some in found.items():
            rows.setdefault(routine, []).extend(some)
    return rows
