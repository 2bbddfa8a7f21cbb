"""One LUN's array in the kernel's time: what it works on, and what it answers when."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from cosim.units.answers import Answers
from rtl.contract.channel import ArrayOperation
from rtl.contract.nand_array import NandArrayTimes
from rtl.contract.nand_part import NandPart
from rtl.contract.onfi import plane

__all__ = ["LunArray", "Medium", "Place", "Work"]

SENSE, PROGRAM, ERASE = "flash.sense", "flash.program", "flash.erase"
CACHE, PLANE = "flash.cache", "flash.plane"
SUSPEND, HELD = "flash.suspend", "flash.held"
TIMES = {
    ArrayOperation.READ: "t_r_ps",
    ArrayOperation.READ_CACHE_RANDOM: "t_r_ps",
    ArrayOperation.READ_CACHE_SEQUENTIAL: "t_r_ps",
    ArrayOperation.PROGRAM: "t_prog_ps",
    ArrayOperation.PROGRAM_CACHE: "t_prog_ps",
    ArrayOperation.ERASE: "t_bers_ps",
}
"""Array time of what the cells do."""
PROGRAMS = (ArrayOperation.PROGRAM, ArrayOperation.PROGRAM_CACHE)
MOVES = {
    ArrayOperation.READ_CACHE_RANDOM: "t_rcbsy_ps",
    ArrayOperation.READ_CACHE_SEQUENTIAL: "t_rcbsy_ps",
    ArrayOperation.READ_CACHE_END: "t_rcbsy_ps",
    ArrayOperation.PROGRAM_CACHE: "t_cbsy_ps",
}
"""Busy time of what moves pages between the registers of a plane."""
QUEUES = {
    ArrayOperation.READ_PLANE: "t_plrbsy_ps",
    ArrayOperation.PROGRAM_PLANE: "t_plpbsy_ps",
    ArrayOperation.ERASE_PLANE: "t_plebsy_ps",
}
"""Busy time of what queues a plane."""


class Medium(Protocol):
    """What the flash cells hold; images are of the part's raw page size."""

    def sense(self, channel: int, way: int, lun: int, row: int, level: int) -> bytes:
        """Image of one page as it is read at a read level."""

    def program(self, channel: int, way: int, lun: int, row: int, image: bytes) -> bool:
        """Store a page; returns whether the cells took it."""

    def erase(self, channel: int, way: int, lun: int, row: int) -> bool:
        """Erase the block of ``row``; returns whether it is erased."""

    def spoil_page(self, channel: int, way: int, lun: int, row: int) -> None:
        """A program of the page was cut off."""

    def spoil_block(self, channel: int, way: int, lun: int, row: int) -> None:
        """An erase of the block of ``row`` was cut off."""


class Place(NamedTuple):
    """Where a LUN is in the device."""

    channel: int
    way: int
    lun: int


@dataclass(eq=False, slots=True)
class Work:
    """How a LUN was busy from ``begin_ps`` on: stages with their ends, the last one at RDY."""

    begin_ps: int
    operation: ArrayOperation
    stages: list[tuple[str, int]] = field(default_factory=list)


class _Page(NamedTuple):
    """A page of a job: its row, the memory of its page register and, of a program, its image."""

    row: int
    register: Any
    image: bytes


@dataclass(eq=False, slots=True)
class _Job:
    """What the cells do, in ``duration_ps`` from their start on."""

    stage: str
    pages: list[_Page]
    duration_ps: int
    goes_on: bool
    """The program before it was a cached one."""
    is_behind: bool
    """The LUN is ready meanwhile."""
    failc: bool = False
    """That cached program failed."""
    end_ps: int = -1


class _Held(NamedTuple):
    """A job that was put aside, what was left of its time, and how its LUN has been busy."""

    job: _Job
    left_ps: int
    work: Work


class LunArray:
    """Does one thing at a time; see :class:`cosim.units.array.DieArrays`.

    Parameters
    ----------
    place : Place
        For ``medium``.
    index : int
        LUN of the channel, for ``answers``.
    env : simpy.Environment
    medium : Medium
    part : NandPart
    times : NandArrayTimes
    registers : sequence of sequence
        Memories of the page registers, by plane and number.
    answers : Answers
    read_level : callable
        Gives the read level of the die.
    """

    def __init__(
        self,
        place: Place,
        index: int,
        *,
        env: Any,
        medium: Medium,
        part: NandPart,
        times: NandArrayTimes,
        registers: Sequence[Sequence[Any]],
        answers: Answers,
        read_level: Callable[[], int],
    ) -> None:
        self.works: deque[Work] = deque()
        """Of what has begun, and whose command has not completed."""
        self.registers = registers
        self._place = place
        self._index = index
        self._env = env
        self._medium = medium
        self._part = part
        self._times = times
        self._answers = answers
        self._read_level = read_level
        self._number = 0
        self._begins = 0
        self._is_busy = False
        self._work: Work
        self._job: _Job | None = None
        self._then: Callable[[], None] | None = None
        """What waits for the end of that job."""
        self._held: _Held | None = None
        self._planes: list[_Page] = []
        """Queued ones."""
        self._failed = False
        """The last program or erase did."""
        self._is_cached = False
        """The last program was a cached one."""

    def begin(self, number: int, operation: ArrayOperation) -> None:
        """The LUN is busy from now on, until it is answered."""
        self._begins += 1
        self._number, self._is_busy = number, True
        self._work = Work(int(self._env.now), operation)
        self.works.append(self._work)

    def do(self, operation: ArrayOperation, row: int, register: int) -> None:
        """Do what has begun, one of the operations of a single LUN."""
        page = self._page(operation, row, register)
        if operation in QUEUES:
            self._planes.append(page)
            self.be_busy(PLANE, getattr(self._times, QUEUES[operation]))
            return
        job = None
        if operation in TIMES:
            job = self._make_job(operation, [*self._planes, page])
            self._planes = []
            self._is_cached = operation is ArrayOperation.PROGRAM_CACHE
        self._when_free(lambda: self._go_on(operation, job))

    def be_busy(
        self, stage: str, duration_ps: int, effect: Callable[[], None] | None = None
    ) -> None:
        """Be ready after ``duration_ps``; ``effect`` writes what lies in page registers then."""

        def end() -> None:
            self._ready(stage, effect=effect, is_cached=self._job is not None)

        self._later(duration_ps, end)

    def put_aside(self, operation: ArrayOperation) -> None:
        """Hold the program or erase under way, if it would not be over by the time that takes."""
        job, now_ps = self._job, int(self._env.now)
        name = f"t_{operation.name.lower()}_ps"
        aside_ps: int = getattr(self._part.suspend, name)
        if job is None or job.end_ps - now_ps <= aside_ps:
            return
        work = self._work
        self._job, self._held = None, _Held(job, job.end_ps - now_ps, work)
        self.works.remove(work)
        work.stages.append((job.stage, now_ps))

        def hold() -> None:
            self._is_busy = False
            work.stages.append((SUSPEND, int(self._env.now)))
            self._answer(self._number, is_cached=True)

        self._later(aside_ps, hold)

    def resume(self, number: int) -> None:
        """Go on with what is held, under a new number."""
        assert self._held is not None, "a die resumes nothing else"
        (job, left_ps, self._work), self._held = self._held, None
        self._begins += 1
        self._number, self._is_busy = number, True
        self._work.stages.append((HELD, int(self._env.now)))
        self.works.append(self._work)
        self._run(job, left_ps)

    def cut_off(self) -> str | None:
        """Give up everything, as a reset does; returns the stage that was cut off."""
        job = self._job if self._held is None else self._held.job
        self._job, self._held, self._then, self._planes = None, None, None, []
        self._failed = self._is_cached = False
        self._begins += 1
        if job is None:
            return None
        spoil = {PROGRAM: self._medium.spoil_page, ERASE: self._medium.spoil_block}.get(job.stage)
        if spoil is not None:
            for page in job.pages:
                spoil(*self._place, page.row)
        return job.stage

    def _page(self, operation: ArrayOperation, row: int, register: int) -> _Page:
        memory = self.registers[plane(self._part, row)][register]
        if operation in PROGRAMS or operation is ArrayOperation.PROGRAM_PLANE:
            return _Page(row, memory, memory.read(0, self._part.raw_page_bytes))
        return _Page(row, memory, b"")

    def _make_job(self, operation: ArrayOperation, pages: list[_Page]) -> _Job:
        is_program = operation in PROGRAMS
        stage = ERASE if operation is ArrayOperation.ERASE else PROGRAM if is_program else SENSE
        return _Job(
            stage,
            pages,
            getattr(self._times, TIMES[operation]),
            goes_on=is_program and self._is_cached,
            is_behind=operation in MOVES,
        )

    def _when_free(self, then: Callable[[], None]) -> None:
        if self._job is None:
            then()
        else:
            self._then = then

    def _go_on(self, operation: ArrayOperation, job: _Job | None) -> None:
        """The array is free: move pages between registers if need be, then let it work."""
        if operation not in MOVES:
            self._start(job)
            return

        def moved() -> None:
            self._start(job)
            failc = job is not None and job.failc
            self._ready(CACHE, is_cached=job is not None, failc=failc)

        self._later(getattr(self._times, MOVES[operation]), moved)

    def _start(self, job: _Job | None) -> None:
        if job is None:
            return
        if job.stage == SENSE:
            job.pages = [
                page._replace(image=self._medium.sense(*self._place, page.row, self._read_level()))
                for page in job.pages
            ]
        job.failc = job.goes_on and self._failed
        self._run(job, job.duration_ps)

    def _run(self, job: _Job, duration_ps: int) -> None:
        job.end_ps = int(self._env.now) + duration_ps
        self._job = job

        def end() -> None:
            if self._job is job and job.end_ps == self._env.now:
                self._finish(job)

        self._env.timeout(duration_ps).callbacks.append(lambda _: end())

    def _finish(self, job: _Job) -> None:
        """The cells have done their work: keep its outcome, and say so."""
        self._job = None
        flags: dict[str, Any] = {}
        if job.stage == SENSE:
            flags["effect"] = lambda: _show(job.pages)
        else:
            self._failed = not self._store(job)
            flags |= {"fail": self._failed, "failc": job.failc}
        if not job.is_behind:
            self._ready(job.stage, **flags)
            return
        if self._is_busy:
            self._work.stages.append((job.stage, job.end_ps))
        self._answer((self._number - self._is_busy) & 0xFF, **flags)
        then, self._then = self._then, None
        if then is not None:
            then()

    def _store(self, job: _Job) -> bool:
        """Program or erase all pages of ``job``; returns whether all came out right."""
        place, medium = self._place, self._medium
        if job.stage == ERASE:
            outcomes = [medium.erase(*place, page.row) for page in job.pages]
        else:
            outcomes = [medium.program(*place, page.row, page.image) for page in job.pages]
        return all(outcomes)

    def _ready(self, stage: str, **flags: Any) -> None:
        """Answer what has begun."""
        self._is_busy = False
        self._work.stages.append((stage, int(self._env.now)))
        self._answer(self._number, **flags)

    def _answer(
        self, number: int, *, effect: Callable[[], None] | None = None, **flags: bool
    ) -> None:
        self._answers.send(self._index, number, before=effect, **flags)

    def _later(self, duration_ps: int, then: Callable[[], None]) -> None:
        """Call ``then``, unless something else begins first, or a reset."""
        begins = self._begins

        def end(_: Any) -> None:
            if self._begins == begins:
                then()

        self._env.timeout(duration_ps).callbacks.append(end)


def _show(pages: Sequence[_Page]) -> None:
    for page in pages:
        page.register.write(0, page.image)
