"""A flash port on channels that a test plays by hand: mailboxes and memories without any RTL."""

from dataclasses import replace

from cosim.bench.frame import flash_array
from cosim.config.build import page_layout
from cosim.config.load import load_platform
from cosim.kernel import Kernel
from cosim.lockstep import Report
from cosim.units.channel import ChannelPort
from rtl.contract.channel import ArrayDone, ChannelEvent
from rtl.contract.codec import pack, unpack
from tests.controller_bench import TIMES

__all__ = ["FULL", "LAYOUT", "PERIOD_PS", "PLAIN", "HandChannel", "answers"]

ARRAY = flash_array("tiny")
PLAIN = ARRAY.part
PERIOD_PS = ARRAY.period_ps
LAYOUT = page_layout(load_platform("tiny"))
TIMES = replace(TIMES, t_rcbsy_ps=350_000)
"""No two busy times are the same."""
FULL = replace(PLAIN, planes=2, extended=TIMES)
"""The same part with all operations: two LUNs a way, of two planes each."""


class Box:
    def __init__(self):
        self.value = 0
        self.history = []

    def set(self, value):
        self.value = value
        self.history.append(value)

    def flip(self, bit=0):
        self.set(self.value ^ (1 << bit))


class Memory:
    word_bytes = 128

    def __init__(self):
        self.data = {}

    def read(self, first, length):
        return self.data[first][:length]

    def write(self, first, data):
        self.data[first] = data


class HandEngine:
    """Mailboxes and memories without any RTL."""

    def __init__(self):
        self.boxes = {}
        self.memories = {}

    def mailbox(self, unit, name):
        return self.boxes.setdefault((unit, name), Box())

    def memory(self, unit, path):
        return self.memories.setdefault((unit, path), Memory())


class HandLockStep:
    """Makes writes at once and delivers what the test says."""

    def __init__(self):
        self.kernel = Kernel()
        self.writes = []

    def attach(self, units, deliver, waiting):
        self.deliver = deliver
        self.waiting = waiting

    def post(self, write):
        self.writes.append(int(self.kernel.env.now))
        write()


class PlainMedium:
    """Each page holds its place, again and again; ``log`` is what was done to the cells.

    ``failing`` are rows whose program or erase fails.
    """

    def __init__(self, part):
        self.part = part
        self.log = []
        self.failing = set()

    def sense(self, channel, way, lun, row, level):
        return bytes([channel, way, lun, row ^ 16 * level]) * (self.part.raw_page_bytes // 4)

    def program(self, channel, way, lun, row, image):
        self.log.append(("program", channel, way, lun, row, image))
        return row not in self.failing

    def erase(self, channel, way, lun, row):
        self.log.append(("erase", channel, way, lun, row))
        return row not in self.failing

    def spoil_page(self, *place):
        self.log.append(("spoil page", *place))

    def spoil_block(self, *place):
        self.log.append(("spoil block", *place))


class HandChannel:
    """Channels 4 and 5 of two ways, and two slots each, with a port on them."""

    def __init__(self, part=PLAIN, **options):
        self.engine = HandEngine()
        self.lockstep = HandLockStep()
        self.kernel = self.lockstep.kernel
        self.medium = PlainMedium(part)
        self.port = ChannelPort(
            self.lockstep,
            self.engine,
            self.medium,
            part,
            LAYOUT,
            units=[4, 5],
            ways=2,
            slots=2,
            period_ps=PERIOD_PS,
            **options,
        )

    @property
    def now(self):
        return int(self.kernel.env.now)

    def read(self, channel=0, way=1, lun=0, row=3, column=0, length=128):
        cause = self.kernel.origin("test", "test.start")
        return self.port.read(channel, way, lun, row, column, length, cause, request=9)

    def submit(self, operation, way=1, lun=0, channel=0, **arguments):
        cause = self.kernel.origin("test", "test.start")
        return self.port.submit(channel, operation, way, lun, cause, request=9, **arguments)

    def event(self, unit, edge, **fields):
        word = int.from_bytes(pack(ChannelEvent, **fields), "little")
        if edge * PERIOD_PS > self.now:
            self.kernel.env.run(edge * PERIOD_PS)
        self.lockstep.deliver(Report(unit, edge * PERIOD_PS, word))

    def begin(self, edge, number, operation, *, way=1, lun=0, row=3, register=0):
        fields = {"number": number, "operation": operation, "way": way, "lun": lun, "row": row}
        self.event(4, edge, begin_valid=1, begin=fields | {"register": register})

    def complete(self, edge, **completion):
        self.event(4, edge, completion_valid=1, completion=completion)

    def register(self, number, way=1):
        """Memory of a page register of channel 4."""
        return self.engine.memory(4, f"die{way}.page{number}.ram.mem")

    def answer(self, place):
        """The last answer to a LUN of channel 4, without its toggle: None if there was none."""
        word = self.engine.boxes[4, "array_done"].value >> 16 * place & 0xFFFF
        if not word:
            return None
        done = unpack(ArrayDone, word.to_bytes(2, "little"))
        return done.number, done.is_cached, done.fail, done.failc


def answers(bench, until_ps, place=2):
    """(time, answer) of a LUN of channel 4, LUN 0 of way 1 by default, up to ``until_ps``."""
    box, found = bench.engine.boxes[4, "array_done"], []
    known = len(box.history)

    def look():
        nonlocal known
        if len(box.history) > known:
            known = len(box.history)
            found.append((bench.now, bench.answer(place)))

    env = bench.kernel.env
    while env.peek() <= until_ps:
        env.step()
        look()
    env.run(until_ps + 1)
    return found
