"""One descriptor ring: its registers, the batch under way, and what is to be told of it."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.codec import byte_size
from rtl.contract.gather import GatherDescriptor, GatherStatus
from rtl.contract.gather_rings import (
    MAX_SIZE_LOG2,
    MORE,
    NO_INDEX,
    RingControl,
    RingError,
    RingRegister,
)
from rtl.gather.ring_place import RingPlace

__all__ = ["DescriptorRing", "RingRun", "RunTally"]

DESCRIPTOR_SHIFT = (byte_size(GatherDescriptor) - 1).bit_length()
INDEX_BITS = MAX_SIZE_LOG2


class RingRun(data.Struct):
    """``count`` descriptors from ``address`` on, none behind the ring's end.

    Their results land from word ``first`` of the ring's results on, where ``room`` words are free.
    """

    address: 64
    count: 16
    first: 32
    room: 32


class RunTally(data.Struct):
    """How a run ended. ``bad``: target number ``index`` of it was the first that was not OK."""

    words: 32
    status: 8
    bad: 1
    index: 16


class DescriptorRing(wiring.Component):
    """Turns doorbells into runs, and runs into completions; see ``rtl.contract.gather_rings``.

    Parameters
    ----------
    quantum : int
        Most descriptors of a run.
    result_words : int
        Room for results; a power of two, at least what a run can need.
    target_words : int
        Most result words of a descriptor.

    Members
    -------
    write, offset, value : In
        A write to a register of this ring.
    registers : Out
        What they read as: ``head``, ``enabled``, ``error``, ``landed``.
    failed : In(1)
        The completion entry could not be written.
    wants : Out(1)
        A run is ready, and there is room for its results.
    run : Out(RingRun)
        That run.
    granted : In(1)
        It is under way: until ``over`` the ring waits for it.
    abort : Out(1)
        The run that is under way is to be given up.
    over, tally : In
        It has ended.
    due : Out(1)
        A completion entry is to be written.
    consumed, words, first_bad, status, flags : Out
        Its content, with ``head`` and ``landed``.
    posted : In(1)
        It has been written.
    erred : Out(1)
        One clock: there is an error.
    busy : Out(1)
        The ring has something to do that waits for nobody outside.
    """

    def __init__(self, *, quantum, result_words, target_words):
        if not isinstance(quantum, int) or not 1 <= quantum < 1 << INDEX_BITS:
            raise ValueError(f"Quantum must be 1 to {(1 << INDEX_BITS) - 1}, not {quantum!r}")
        if not isinstance(result_words, int) or result_words & result_words - 1:
            raise ValueError(f"Result words must be a power of two, not {result_words!r}")
        if result_words < quantum * target_words:
            raise ValueError(
                f"Result words must be at least {quantum * target_words} for a quantum of "
                f"{quantum}, not {result_words}"
            )
        self._quantum = quantum
        self._result_words = result_words
        self._target_words = target_words
        super().__init__(
            {
                "write": In(1),
                "offset": In(6),
                "value": In(32),
                "head": Out(INDEX_BITS),
                "enabled": Out(1),
                "error": Out(8),
                "landed": Out(32),
                "failed": In(1),
                "wants": Out(1),
                "run": Out(RingRun),
                "granted": In(1),
                "abort": Out(1),
                "over": In(1),
                "tally": In(RunTally),
                "due": Out(1),
                "consumed": Out(32),
                "words": Out(32),
                "first_bad": Out(32, init=NO_INDEX),
                "status": Out(8),
                "flags": Out(8),
                "posted": In(1),
                "erred": Out(1),
                "busy": Out(1),
            }
        )
        self._place = RingPlace(DESCRIPTOR_SHIFT)
        self._tail, self._goal = Signal(INDEX_BITS), Signal(INDEX_BITS)
        self._used, self._taken = (Signal(range(result_words + 1)) for _ in range(2))
        """Words that have landed and were not taken; words taken in this clock."""
        self._aborting, self._is_idle = Signal(), Signal()

    def elaborate(self, platform):
        m = Module()
        self._serve(m)
        error = Signal(RingError)
        with m.If(self.write):
            self._registers(m, error)
        with m.If(self.failed):
            m.d.comb += error.eq(RingError.ENTRY_LOST)
        m.d.comb += self.erred.eq(error != RingError.NONE)
        with m.If(self.erred & (self.error == RingError.NONE)):
            m.d.sync += self.error.eq(error)
        return m

    def _registers(self, m, error):
        """A write: take it, or refuse it with an error."""
        value = self.value
        with m.Switch(self.offset):
            registers = RingRegister.BASE, RingRegister.BASE_HIGH, RingRegister.SIZE
            self._place.cases(m, registers, value, error, locked=self.enabled)
            with m.Case(RingRegister.TAIL):
                with m.If(~self.enabled):
                    m.d.comb += error.eq(RingError.DISABLED)
                with m.Elif(value > self._place.last):
                    m.d.comb += error.eq(RingError.BEYOND)
                with m.Else():
                    m.d.sync += self._tail.eq(value)
            with m.Case(RingRegister.CONTROL):
                self._control(m, error)
            with m.Case(RingRegister.STATUS):
                m.d.sync += self.error.eq(RingError.NONE)
            with m.Case(RingRegister.TAKEN):
                taken = Signal(32)
                m.d.comb += taken.eq(value - (self.landed - self._used))
                with m.If(~self.enabled):
                    m.d.comb += error.eq(RingError.DISABLED)
                with m.Elif(taken > self._used):
                    m.d.comb += error.eq(RingError.NOT_LANDED)
                with m.Else():
                    m.d.comb += self._taken.eq(taken)

    def _control(self, m, error):
        enable, abort = self.value[0], self.value[1]
        assert (RingControl.ENABLE, RingControl.ABORT) == (1, 2)
        empty = self._is_idle & (self.head == self._tail)
        with m.If(enable & ~self.enabled):
            with self._place.enabling(m, error, busy=~empty):
                m.d.sync += [
                    self.enabled.eq(1),
                    Cat(self.head, self._tail, self._goal).eq(0),
                    Cat(self.landed, self._used).eq(0),
                    self._aborting.eq(0),
                ]
        with m.Elif(~enable | abort):
            m.d.sync += [self.enabled.eq(enable & self.enabled), self._aborting.eq(~empty)]

    def _serve(self, m):
        """The batch under way."""
        count, need, room = Signal(16), Signal(32), Signal(32)
        left, to_end = Signal(INDEX_BITS), Signal(INDEX_BITS + 1)
        fits, tally = Signal(), self.tally
        m.d.comb += [
            left.eq((self._goal - self.head) & self._place.last),
            to_end.eq(self._place.last - self.head + 1),
            room.eq(self._result_words - self._used),
            fits.eq(room >= need),
            self.run.address.eq(self._place.address(self.head)),
            self.run.count.eq(count),
            self.run.first.eq(self.landed & (self._result_words - 1)),
            self.run.room.eq(room),
        ]
        m.d.sync += self._used.eq(self._used - self._taken)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self._is_idle.eq(~self._aborting)
                with m.If(self._aborting):
                    self._drop(m, otherwise="IDLE")
                with m.Elif(self.head != self._tail):
                    m.d.comb += self.busy.eq(1)
                    m.d.sync += self._goal.eq(self._tail)
                    m.next = "CUT"
            with m.State("CUT"):
                m.d.comb += self.busy.eq(1)
                to_wrap = Mux(left < to_end, left, to_end)
                m.d.sync += count.eq(Mux(to_wrap < self._quantum, to_wrap, self._quantum))
                m.next = "MEASURE"
            with m.State("MEASURE"):
                m.d.comb += self.busy.eq(1)
                m.d.sync += need.eq(count * self._target_words)
                m.next = "READY"
            with m.State("READY"):
                m.d.comb += self.wants.eq(fits & ~self._aborting)
                with m.If(self._aborting):
                    self._drop(m, otherwise="DUE")
                with m.Elif(self.granted):
                    m.next = "RUN"
                with m.Elif(~fits & (self.consumed != 0)):
                    m.d.comb += self.busy.eq(1)
                    m.d.sync += self.flags.eq(MORE)
                    m.next = "DUE"
            with m.State("RUN"):
                m.d.comb += [self.busy.eq(1), self.abort.eq(self._aborting)]
                with m.If(self.over):
                    m.d.sync += [
                        self.head.eq((self.head + count) & self._place.last),
                        self.consumed.eq(self.consumed + count),
                        self.words.eq(self.words + tally.words),
                        self.landed.eq(self.landed + tally.words),
                        self._used.eq(self._used - self._taken + tally.words),
                    ]
                    self._judge(m, tally)
                    m.next = "NEXT"
            with m.State("NEXT"):
                m.d.comb += self.busy.eq(1)
                with m.If(self._aborting):
                    self._drop(m, otherwise="DUE")
                with m.Elif(self.head == self._goal):
                    m.next = "DUE"
                with m.Else():
                    m.next = "CUT"
            with m.State("DUE"):
                m.d.comb += self.due.eq(1)
                with m.If(self.posted):
                    m.d.sync += Cat(self.consumed, self.words, self.status, self.flags).eq(0)
                    m.d.sync += self.first_bad.eq(NO_INDEX)
                    m.next = "GONE"
            with m.State("GONE"):
                m.d.comb += self.busy.eq(1)
                with m.If(self.head == self._goal):
                    m.next = "IDLE"
                with m.Else():
                    m.next = "CUT"

    def _judge(self, m, tally):
        """Keep the first bad status; what was given up is ABORTED whatever came before."""
        with m.If((self.status == GatherStatus.OK) | (tally.status == GatherStatus.ABORTED)):
            m.d.sync += self.status.eq(tally.status)
        with m.If((self.first_bad == NO_INDEX) & tally.bad):
            m.d.sync += self.first_bad.eq(self.consumed + tally.index)

    def _drop(self, m, otherwise):
        """Give up all up to the tail; without any go to ``otherwise``."""
        left = Signal(INDEX_BITS, name=f"dropped_{otherwise.lower()}")
        m.d.comb += [left.eq((self._tail - self.head) & self._place.last), self.busy.eq(1)]
        m.d.sync += self._aborting.eq(0)
        with m.If(left == 0):
            m.next = otherwise
        with m.Else():
            m.d.sync += [
                self.head.eq(self._tail),
                self._goal.eq(self._tail),
                self.consumed.eq(self.consumed + left),
                self.status.eq(GatherStatus.ABORTED),
            ]
            with m.If(self.first_bad == NO_INDEX):
                m.d.sync += self.first_bad.eq(self.consumed)
            m.next = "DUE"
