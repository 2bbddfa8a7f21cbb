# amaranth: UnusedElaboratable=no
"""A die puts a program or an erase aside, reads, and goes on: ready, status, numbers and data."""

from dataclasses import replace

import pytest

from rtl.contract.channel import ArrayOperation
from tests.die_operations_bench import WAY, OperationPlay
from tests.scenarios.onfi_bus import one_lun
from tests.scenarios.onfi_die_luns import KINDS, RESUMES, SUSPENDS, Answer, Begin
from tests.scenarios.onfi_kernel import BUSY, WORK, Kernel, stored
from tests.scenarios.onfi_operations import PLANES, SUSPEND, SUSPENDING, OperationBus

pytestmark = pytest.mark.slow

PROGRAM, ERASE = ArrayOperation.PROGRAM, ArrayOperation.ERASE
OPCODES = {
    PROGRAM: (SUSPEND.program_suspend, SUSPEND.program_resume),
    ERASE: (SUSPEND.erase_suspend, SUSPEND.erase_resume),
}
BY_NAME = {"ids": lambda kind: kind.name}
ASIDE = 15
"""Clocks from the begin of a suspend to its answer."""
REST = 50
"""Clocks from a resume's begin to the end."""


class SuspendingKernel(Kernel):
    """Lets each suspend have its way; what goes on ends as ``fails`` says."""

    def __init__(self, part, *, fails=False):
        super().__init__(part)
        self._fails = fails

    def __call__(self, begin):
        if begin.operation in KINDS:
            return []
        if begin.operation in SUSPENDS:
            return [(ASIDE, Answer(begin.lun, begin.number, is_cached=True))]
        if begin.operation in RESUMES:
            return [(REST, Answer(begin.lun, begin.number, fail=self._fails))]
        return super().__call__(begin)


def work(bus, kind, lun, row):
    """A program or erase, up to its begin; returns that edge."""
    if kind is PROGRAM:
        confirm = bus.program(WAY, lun, row, 0, b"some data.")
    else:
        confirm = bus.erase(WAY, lun, row)
    begin = confirm + bus.limit("wb")
    bus.until(begin + 1)
    return begin


def aside(bus, kind, lun, row):
    """A suspend, until it has its way; returns the edge of its begin."""
    begin = bus.suspend(WAY, lun, row, OPCODES[kind][0]) + bus.limit("wb")
    bus.until(begin + ASIDE + 1)
    return begin


def read(bus, lun, row, count=6):
    """A page, put out; returns the start of its burst."""
    bus.until(bus.sense(WAY, lun, row) + bus.limit("wb") + BUSY + bus.limit("rr"))
    bus.until(bus.choose(WAY, lun, row, 0) + bus.limit("ccs"))
    return bus.burst(count)


def played(bus, kernel=None, **arguments):
    bus.tick(20)
    return OperationPlay(bus, kernel or SuspendingKernel(bus.part), **arguments).check()


def operations(play):
    return [begin.operation for begin in play.begins]


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("kind", KINDS, **BY_NAME)
def test_reads_come_between_a_suspend_and_its_resume(kind, stop):
    bus = OperationBus(SUSPENDING)
    begin = work(bus, kind, 1, 4)
    polls = [bus.status_bytes(WAY, 1)]
    suspend = aside(bus, kind, 1, 4)
    polls.append(bus.status_bytes(WAY, 1))
    start = read(bus, 1, 9)
    polls.append(bus.status_bytes(WAY, 1))
    resume = bus.suspend(WAY, 1, 4, OPCODES[kind][1]) + bus.limit("wb")
    bus.until(resume + 1)
    polls.append(bus.status_bytes(WAY, 1))
    bus.until(resume + REST + 1)
    polls.append(bus.status_bytes(WAY, 1))
    play = played(bus, SuspendingKernel(bus.part, fails=True), stop=stop)
    assert [play.data(poll, 2)[0] for poll in polls] == [0x80, 0xC0, 0xC0, 0x80, 0xE1]
    assert play.data(start, 6) == stored(bus.part, 1, 9)[:6]
    suspends, resumes = KINDS[kind]
    assert play.begins[0] == Begin(begin, 1, 1, kind, 4, 0)
    assert play.begins[1] == Begin(suspend, 1, 1, suspends, 4, 0)
    assert play.begins[2][1:4] == (1, 2, ArrayOperation.READ)
    assert play.begins[3] == Begin(resume, 1, 3, resumes, 4, 0)
    ready = [pins["rb_n"] for pins in play.pins]
    assert not any(ready[begin : suspend + ASIDE])
    assert ready[suspend + ASIDE]
    assert not any(ready[resume : resume + REST])
    assert ready[resume + REST]


@pytest.mark.parametrize("reads", [True, False])
def test_a_suspend_may_come_again_and_again(reads):
    bus = OperationBus(one_lun(SUSPENDING))
    work(bus, ERASE, 0, 4)
    for _ in range(2):
        aside(bus, ERASE, 0, 4)
        if reads:
            read(bus, 0, 1, 2)
        begin = bus.suspend(WAY, 0, 4, SUSPEND.erase_resume) + bus.limit("wb")
        bus.until(begin + 1)
    bus.until(begin + REST + 1)
    poll = bus.status_bytes(WAY, 0)
    play = played(bus)
    assert play.data(poll, 2) == b"\xe0\xe0"
    numbers = [1, 1, 2, 3, 3, 4, 5] if reads else [1, 1, 2, 2, 3]
    assert [begin.number for begin in play.begins] == numbers


@pytest.mark.parametrize("late", [0, 1])
def test_what_is_over_when_the_suspend_would_begin_is_not_suspended(late):
    """The erase ends an edge before the suspend's begin, or at it."""
    bus = OperationBus(SUSPENDING)
    begin = work(bus, ERASE, 1, 4)
    suspend = bus.suspend(WAY, 1, 4, SUSPEND.erase_suspend) + bus.limit("wb")
    bus.until(suspend + 2)
    poll = bus.status_bytes(WAY, 1)
    bus.erase(WAY, 1, 8)

    def kernel(found):
        return [(suspend - 1 + late - begin, Answer(1, found.number, fail=True))]

    play = played(bus, kernel)
    assert operations(play) == [ERASE, ERASE]
    assert play.data(poll, 2) == b"\xe1\xe1"


def test_the_end_may_come_instead_of_a_suspend():
    """The kernel lets end what would be over before it could be put aside."""
    bus = OperationBus(SUSPENDING)
    begin = work(bus, PROGRAM, 0, 4)
    suspend = bus.suspend(WAY, 0, 4, SUSPEND.program_suspend) + bus.limit("wb")
    bus.until(suspend + 4)
    polls = [bus.status_bytes(WAY, 0)]
    bus.until(begin + 120)
    polls.append(bus.status_bytes(WAY, 0))
    bus.suspend(WAY, 0, 4, SUSPEND.program_resume)
    play = played(bus, lambda found: [(115, Answer(0, 1))] if found.operation is PROGRAM else [])
    assert [play.data(poll, 2)[0] for poll in polls] == [0x80, 0xE0]
    assert operations(play) == [PROGRAM, ArrayOperation.PROGRAM_SUSPEND]


def start(bus, first):
    """An operation on LUN 0 of which nothing can be suspended, at work."""
    if first == "read":
        confirm = bus.sense(WAY, 0, 4)
    elif first == "cached program":
        confirm = bus.program(WAY, 0, 4, 0, b"ab", 0x15)
    elif first == "plane":
        confirm = bus.program(WAY, 0, 4, 0, b"ab", 0x11)
    elif first == "plane to erase":
        confirm = bus.erase(WAY, 0, 4, 0xD1)
    elif first == "parameters":
        confirm = bus.ask(WAY, 0xEC)
    elif first == "reset of a program":
        work(bus, PROGRAM, 0, 4)
        confirm = bus.reset(WAY)
    elif first == "program behind a cache":
        bus.until(bus.program(WAY, 0, 4, 0, b"ab", 0x15) + bus.limit("wb") + BUSY)
        confirm = bus.program(WAY, 0, 5, 0, b"ab")
    else:
        confirm = bus.edge
    bus.until(confirm + bus.limit("wb") + 1)


def slow(begin):
    """Answers that come after all that is tried, but for the first one of a cached program."""
    last = Answer(begin.lun, begin.number)
    if begin.operation is ArrayOperation.PROGRAM_CACHE:
        return [(BUSY, last._replace(is_cached=True)), (WORK + 900, last)]
    return [(900, last)]


@pytest.mark.parametrize(
    "first",
    [
        *("nothing", "read", "cached program", "plane", "plane to erase", "parameters"),
        *("reset of a program", "program behind a cache"),
    ],
)
def test_nothing_else_is_suspended(first):
    bus = OperationBus(replace(PLANES, suspend=SUSPEND))
    start(bus, first)
    for opcode in (SUSPEND.program_suspend, SUSPEND.erase_suspend, SUSPEND.program_resume):
        bus.suspend(WAY, 0, 4, opcode)
        bus.tick(30)
    assert not {*SUSPENDS, *RESUMES} & set(operations(played(bus, slow)))


@pytest.mark.parametrize("kind", KINDS, **BY_NAME)
def test_a_suspend_is_for_its_kind_and_lun_and_for_once(kind):
    (other,) = set(KINDS) - {kind}
    bus = OperationBus(SUSPENDING)
    work(bus, kind, 0, 4)
    for place, opcode in (
        (0, OPCODES[other][0]),
        (1, OPCODES[kind][0]),
        (3, OPCODES[kind][0]),
        (0, OPCODES[kind][1]),
    ):
        bus.suspend(WAY, place, 4, opcode)
        bus.tick(20)
    bus.suspend(WAY, 0, 4, OPCODES[kind][0])
    bus.suspend(WAY, 0, 4, OPCODES[kind][0])
    bus.tick(40)
    bus.suspend(WAY, 0, 4, OPCODES[kind][0])
    bus.suspend(WAY, 0, 4, OPCODES[other][1])
    bus.tick(20)
    assert operations(played(bus)) == [kind, KINDS[kind][0]]


@pytest.mark.parametrize("second", ["program", "erase", "31h", "features", "identifier", "80h"])
def test_a_held_lun_takes_reads_only(second):
    """LUN 0 still takes what is not about the whole die."""
    bus = OperationBus(SUSPENDING)
    work(bus, ERASE, 1, 4)
    aside(bus, ERASE, 1, 4)
    read(bus, 1, 1)
    {
        "program": lambda: bus.program(WAY, 1, 8, 0, b"ab"),
        "erase": lambda: bus.erase(WAY, 1, 8),
        "31h": lambda: bus.single(WAY, 0x31),
        "features": lambda: bus.set_features(WAY),
        "identifier": lambda: bus.ask(WAY, 0x90, 0x20),
        "80h": lambda: bus.load(WAY, 1, 8, 0, b"ab"),
    }[second]()
    out = bus.output(WAY, 4) if second == "identifier" else None
    bus.tick(30)
    bus.erase(WAY, 0, 4)
    play = played(bus)
    reads = [ERASE, ArrayOperation.ERASE_SUSPEND, ArrayOperation.READ]
    assert operations(play) == [*reads, ERASE]
    assert out is None or play.data(out, 4) != b"ONFI"


def test_a_reset_forgets_what_is_held():
    bus = OperationBus(SUSPENDING)
    work(bus, PROGRAM, 1, 4)
    aside(bus, PROGRAM, 1, 4)
    bus.until(bus.reset(WAY) + bus.limit("wb") + BUSY + 1)
    poll = bus.status_bytes(WAY, 1)
    bus.suspend(WAY, 1, 4, SUSPEND.program_resume)
    bus.erase(WAY, 1, 8)
    play = played(bus)
    assert play.data(poll, 2) == b"\xe0\xe0"
    assert operations(play)[2:] == [ArrayOperation.RESET, ERASE]


def test_the_lun_of_a_suspend_is_that_of_a_status():
    bus = OperationBus(SUSPENDING)
    work(bus, ERASE, 0, 4)
    work(bus, PROGRAM, 1, 4)
    aside(bus, ERASE, 0, 4)
    polls = [bus.status_bytes(WAY, None), bus.status_bytes(WAY, 1)]
    play = played(bus)
    assert [play.data(poll, 2)[0] for poll in polls] == [0xC0, 0x80]
