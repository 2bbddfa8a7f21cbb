# amaranth: UnusedElaboratable=no
# (The part is made in the constructor, which must refuse what it refuses.)
"""Ready and busy of a die's LUNs and of their arrays, and how they ended; simulation only."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import NEVER, STAMP_BITS, ArrayDone, ArrayOperation
from rtl.nand.die_commands import SUSPENDS
from rtl.nand.die_starts import DieStarts
from rtl.nand.die_suspends import DieSuspends

__all__ = ["DieArrays", "start_layout"]

TARGET_OPERATIONS = (
    ArrayOperation.RESET,
    ArrayOperation.PARAMETER_PAGE,
    ArrayOperation.GET_FEATURES,
    ArrayOperation.SET_FEATURES,
)


def start_layout(row_bits):
    """What is known of an operation when it starts."""
    return data.StructLayout({"operation": ArrayOperation, "row": row_bits, "register": 1})


class DieArrays(wiring.Component):
    """Counts tWB, says when an array operation begins, and follows the kernel's answers.

    ::

        edge     n    n+1  ...  n+tWB        c             d
        start   _-_________________________________________
        begin   _____________-_____________________________
        ready   -------------__________--------------------     RDY, R/B#
        at_rest -------------_________________________-----     ARDY

    ``c`` and ``d`` are the edges that see the two answers of a cached operation; others have one,
    at which both levels rise. Until n + tWB the LUN still looks as before, as a real one may. The
    final answer of a cached operation may also come after the next start: it counts, and then the
    answers to the next one. Answers with any other number are dropped.

    An operation of the whole target (reset, parameter page, features) starts in LUN 0 and keeps
    all LUNs busy. A reset may start at any time: the operations before end without an answer, but
    LUNs that are busy stay so. A suspend starts in a busy LUN, whose operation it has the number
    of: see :class:`DieSuspends`.

    Parameters
    ----------
    luns, busy_cycles : int
        As in :class:`DieStarts`.
    row_bits : int
        Width of a row address within a LUN.
    has_suspend : bool
        There are suspends and resumes.

    Members
    -------
    now : In(48)
        Number of the edge that ends this clock.
    start, lun, word : In
        An operation starts in ``lun``, which must be idle but for a reset; see
        :func:`start_layout`.
    done : In(16 * luns)
        The kernel's answers, an :class:`ArrayDone` a LUN.
    begin, begin_lun, number, begin_word : Out
        An array operation begins at this edge.
    last_row : Out(row_bits)
        Row of the last start of ``lun``.
    ready, at_rest, fail, failc : Out(luns)
        What R/B# and status bytes show at this edge; bits RDY, ARDY, FAIL and FAILC.
    idle : Out(luns)
        Ready, and no start is waiting for its tWB.
    free : Out(luns)
        Idle, and nothing is held.
    asked, suspends, resumes
        As in :class:`DieSuspends`; only with ``has_suspend``.
    unseen : Out(1)
        An answer has come that no edge has taken yet.
    deadline : Out(48)
        Edge of the next ``begin``; all ones if there is none.
    """

    def __init__(self, *, luns, busy_cycles, row_bits, has_suspend=False):
        self._luns = luns
        self._suspends = DieSuspends(luns) if has_suspend else None
        suspend = {"asked": In(ArrayOperation), "suspends": Out(luns), "resumes": Out(luns)}
        word = start_layout(row_bits)
        self._starts = DieStarts(luns=luns, busy_cycles=busy_cycles, width=word.size)
        super().__init__(
            (suspend if has_suspend else {})
            | {
                "now": In(STAMP_BITS),
                "start": In(1),
                "lun": In(range(max(luns, 2))),
                "word": In(word),
                "done": In(16 * luns),
                "begin": Out(1),
                "begin_lun": Out(range(max(luns, 2))),
                "number": Out(8),
                "begin_word": Out(word),
                "last_row": Out(row_bits),
                "ready": Out(luns),
                "at_rest": Out(luns),
                "fail": Out(luns),
                "failc": Out(luns),
                "idle": Out(luns),
                "free": Out(luns),
                "unseen": Out(1),
                "deadline": Out(STAMP_BITS, init=NEVER),
            }
        )

    def elaborate(self, platform):
        m = Module()
        luns = self._luns
        m.submodules.starts = starts = self._starts
        numbers = Signal(data.ArrayLayout(8, luns))
        busy, for_all = Signal(luns), Signal()
        ready, waits = Signal(luns), Signal(luns)
        waiting = starts.armed & ~starts.beginning
        is_reset, begins_reset = Signal(), Signal()
        beginning = Signal(luns)
        finished, working = self._take_answers(m, busy, numbers)
        going_on = busy & ~finished
        m.d.comb += [
            is_reset.eq(self.start & (self.word.operation == ArrayOperation.RESET)),
            starts.now.eq(self.now),
            starts.start.eq(self.start),
            starts.lun.eq(self.lun),
            starts.word.eq(self.word),
            starts.cancel.eq(is_reset),
            beginning.eq(starts.beginning),
            self.begin.eq(beginning.any()),
            self.begin_lun.eq(starts.begin_lun),
            self.begin_word.eq(starts.begin_word),
            begins_reset.eq(self.begin & (self.begin_word.operation == ArrayOperation.RESET)),
            self.last_row.eq(data.View(self.word.shape(), starts.last_word).row),
            self.deadline.eq(starts.deadline),
            ready.eq(~beginning & (~busy | finished)),
            self.ready.eq(ready & ~(for_all & ~ready[0]).replicate(luns)),
            waits.eq(waiting | (for_all & waiting[0]).replicate(luns)),
            self.idle.eq(self.ready & ~waits),
            self.free.eq(self.idle),
        ]
        takes_number = self.start
        if self._suspends is not None:
            takes_number = self._suspend(m, beginning, going_on, working, is_reset)
        with m.If(self.begin):
            m.d.comb += self.number.eq(numbers[starts.begin_lun])
        with m.If(self.unseen | self.begin):
            m.d.sync += busy.eq(going_on & ~begins_reset.replicate(luns) | beginning)
        with m.If(self.start):
            for lun in range(luns):
                with m.If((self.lun == lun) & takes_number | is_reset):
                    m.d.sync += numbers[lun].eq(numbers[lun] + 1)
            with m.If(self.lun == 0):
                m.d.sync += for_all.eq(self._is_target(self.word.operation))
        return m

    @staticmethod
    def _is_target(operation):
        return Cat(operation == target for target in TARGET_OPERATIONS).any()

    def _take_answers(self, m, busy, numbers):
        """Follow the answers; returns the LUNs that are made ready, and those whose array works."""
        luns, armed, suspends = self._luns, self._starts.armed, self._suspends
        suspending = held = Const(0, luns)
        if suspends is not None:
            suspending, held = suspends.suspending, suspends.held
        seen, unseen, finished = (Signal(luns, name=name) for name in ("seen", "unseen", "done_"))
        works, working, cached = Signal(luns), Signal(luns), Signal(luns)
        fail, failc = Signal(luns), Signal(luns)
        answers = [ArrayDone(self.done.word_select(lun, 16)) for lun in range(luns)]
        m.d.comb += [
            unseen.eq(Cat(answer.toggle for answer in answers) ^ seen),
            self.unseen.eq(unseen.any()),
            working.eq(works),
            self.at_rest.eq(self.ready & ~working & ~held),
            self.fail.eq(fail),
            self.failc.eq(failc),
        ]
        with m.If(self.unseen):
            for lun, answer in enumerate(answers):
                is_newer, is_own, is_before = Signal(), Signal(), Signal()
                m.d.comb += [
                    is_newer.eq(armed[lun] | busy[lun]),
                    is_own.eq(
                        (answer.number == numbers[lun]) & (busy[lun] | works[lun] & ~armed[lun])
                    ),
                    is_before.eq((answer.number == (numbers[lun] - 1)[:8]) & works[lun] & is_newer),
                ]
                with m.If(unseen[lun] & (is_own | is_before)):
                    m.d.comb += [
                        finished[lun].eq(is_own),
                        cached[lun].eq(is_own & answer.is_cached),
                        working[lun].eq(cached[lun] & ~suspending[lun]),
                        self.fail[lun].eq(answer.fail),
                        self.failc[lun].eq(answer.failc),
                    ]
            m.d.sync += [
                seen.eq(seen ^ unseen),
                works.eq(working),
                fail.eq(self.fail),
                failc.eq(self.failc),
            ]
        with m.If(self.start & (self.word.operation == ArrayOperation.RESET)):
            m.d.sync += [works.eq(0), fail.eq(0), failc.eq(0)]
        if suspends is not None:
            m.d.comb += [suspends.answered.eq(finished), suspends.cached.eq(cached)]
        return finished, working

    def _suspend(self, m, beginning, busy, working, is_reset):
        """Follow what is put aside; returns whether the start has a number of its own."""
        m.submodules.suspends = suspends = self._suspends
        starts = self._starts
        m.d.comb += [
            suspends.start.eq(self.start),
            suspends.lun.eq(self.lun),
            suspends.operation.eq(self.word.operation),
            suspends.reset.eq(is_reset),
            suspends.begins.eq(starts.beginning),
            suspends.begin_operation.eq(self.begin_word.operation),
            suspends.busy.eq(busy),
            suspends.waits.eq(starts.armed & ~starts.beginning),
            suspends.works.eq(working),
            suspends.idle.eq(self.idle),
            suspends.asked.eq(self.asked),
            self.suspends.eq(suspends.suspends),
            self.resumes.eq(suspends.resumes),
            self.free.eq(self.idle & ~suspends.held),
        ]
        with m.If(suspends.void):
            m.d.comb += beginning.eq(0)
        return ~self.word.operation.matches(*SUSPENDS)
