"""The kernel's side of descriptor rings: whose span releases a run, what an interrupt tells of."""

import pytest

from cosim.kernel import BOOT_PS, Kernel
from cosim.lockstep import LockStep, Report
from cosim.units.gather import GatherPort
from cosim.units.gather_rings import RingMemory
from rtl.contract.codec import pack
from rtl.contract.gather import GatherEvent
from rtl.contract.gather_rings import RING_LAUNCH, RingRegister, ring_offset
from rtl.contract.kernel import Cause

PERIOD_PS = 4_000
EDGE = BOOT_PS // PERIOD_PS
ROW = 64


class Box:
    """A mailbox or memory that keeps what was written."""

    word_bytes = ROW

    def __init__(self):
        self.values = []
        self.flips = 0
        self.image = bytes(range(256)) * 64

    def set(self, value):
        self.values.append(value)

    def flip(self):
        self.flips += 1

    def read(self, row, length):
        return self.image[row * ROW : row * ROW + length]


class FakeEngine:
    def __init__(self):
        self.boxes = {}

    def mailbox(self, unit, name):
        return self.boxes.setdefault(name, Box())

    memory = mailbox

    def post(self):
        pass


class Rings:
    """A gather port with rings, and events as the unit would say them; times in edges."""

    def __init__(self):
        self.kernel = Kernel()
        self.engine = FakeEngine()
        lockstep = LockStep(self.kernel, self.engine)
        lockstep.post = lambda write: write()
        memory = RingMemory(launch_bytes=1024, ring_bytes=512)
        self.gather = GatherPort(
            lockstep, self.engine, unit=0, period_ps=PERIOD_PS, stage_slots=2,
            stage_slot_bytes=1024, rings=memory,
        )  # fmt: skip
        self.port = self.gather.rings
        self.told = []
        self.port.on_interrupt = lambda *what: self.told.append(what)
        self.start = self.kernel.origin("test", "start")

    def to(self, edge):
        """Let time pass to ``edge`` edges after the start; returns a cause of then."""
        until = (EDGE + edge) * PERIOD_PS
        now = int(self.kernel.env.now)
        self.kernel.env.run(until)
        return self.kernel.record("test", "test.wait", now, until, Cause(now, self.start.span))

    def ring(self, number, edge, request):
        cause = self.to(edge)
        self.port.write(ring_offset(number, RingRegister.TAIL), 3, cause, request=request)
        return cause

    def run(self, number, started, last, told, words=4):
        self.to(told)
        done = {
            "tag": RING_LAUNCH | number, "words": words, "started": EDGE + started,
            "first": EDGE + started + 1, "last": EDGE + last,
        }  # fmt: skip
        self._event(told, done_valid=1, done=done)

    def interrupt(self, bits, edge):
        self.to(edge)
        self._event(edge, interrupt_valid=1, interrupt_cause=bits)

    def _event(self, edge, **fields):
        word = int.from_bytes(pack(GatherEvent, **fields), "little")
        self.gather._deliver(Report(0, (EDGE + edge) * PERIOD_PS, word))

    def spans(self, stage):
        return [span for span in self.kernel.spans if span.stage == stage]


def ends(span):
    return span.start_ps // PERIOD_PS - EDGE, span.end_ps // PERIOD_PS - EDGE


def test_a_run_begins_with_what_came_last():
    rings = Rings()
    rings.ring(0, 10, request=1)
    rings.ring(1, 20, request=2)
    rings.run(0, 12, 30, 31)  # behind its doorbell
    rings.run(1, 35, 50, 51)  # behind the run before it in the unit
    rings.ring(0, 60, request=3)
    rings.run(0, 62, 70, 71)  # behind its second doorbell
    starts = rings.spans("gather.start")
    assert [ends(span) for span in starts] == [(10, 12), (31, 35), (60, 62)]
    assert [span.request for span in starts] == [1, 2, 3]
    (first, second, _) = rings.spans("gather.complete")
    assert starts[1].cause == first.number
    assert [span.payload_bytes for span in rings.spans("gather.stream")] == [32, 32, 32]
    assert ends(second) == (50, 51)


def test_a_doorbell_that_comes_in_a_run_is_not_what_began_it():
    rings = Rings()
    rings.ring(0, 10, request=1)
    rings.ring(0, 20, request=2)
    rings.run(0, 12, 30, 31)
    rings.run(0, 40, 50, 51)
    starts = rings.spans("gather.start")
    assert [(ends(span), span.request) for span in starts] == [((10, 12), 1), ((31, 40), 2)]


def test_an_interrupt_follows_the_last_run_that_it_tells_of():
    rings = Rings()
    rings.ring(0, 10, request=1)
    rings.ring(1, 11, request=2)
    rings.run(0, 12, 20, 21)
    rings.run(1, 22, 30, 31)
    rings.interrupt(0b01, 40)
    rings.interrupt(0b11, 45)
    posts = rings.spans("gather.post")
    assert [(ends(span), span.request) for span in posts] == [((21, 40), 1), ((31, 45), 2)]
    assert [(bits, cause.at_ps, request) for bits, cause, request in rings.told] == [
        (0b01, posts[0].end_ps, 1), (0b11, posts[1].end_ps, 2),
    ]  # fmt: skip


def test_an_interrupt_of_an_error_follows_the_write():
    rings = Rings()
    rings.ring(0, 10, request=5)
    rings.interrupt(1 << 16, 14)
    (post,) = rings.spans("gather.post")
    assert (ends(post), post.request) == ((10, 14), 5)


def test_words_of_a_ring_come_round_in_its_part_of_the_memory():
    port = Rings().port
    image = bytes(range(256)) * 64
    assert port.words(0, 0, 4) == image[1024 : 1024 + 32]
    assert port.words(1, 3, 9) == image[1024 + 512 + 24 : 1024 + 512 + 96]
    # 64 words round: the last two, and the first three once more.
    assert port.words(1, 64 * 7 - 2, 5) == image[2048 - 16 : 2048] + image[1536 : 1536 + 24]
    assert port.words(0, 12, 0) == b""


def test_bytes_of_the_dram():
    port = Rings().port
    assert port.read(64 * 3 + 32, 32) == (bytes(range(256)) * 64)[224:256]
    with pytest.raises(ValueError, match="32 bytes at 48 must lie within a word of 64"):
        port.read(48, 32)
