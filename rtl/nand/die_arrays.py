# amaranth: UnusedElaboratable=no
# (The part is made in the constructor, which must refuse what it refuses.)
"""Ready and busy of a die's LUNs and of their arrays, and how they ended; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS, ArrayDone, ArrayOperation
from rtl.nand.die_starts import NEVER, DieStarts

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
    LUNs that are busy stay so.

    Parameters
    ----------
    luns, busy_cycles : int
        As in :class:`DieStarts`.
    row_bits : int
        Width of a row address within a LUN.

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
    unseen : Out(1)
        An answer has come that no edge has taken yet.
    deadline : Out(48)
        Edge of the next ``begin``; all ones if there is none.
    """

    def __init__(self, *, luns, busy_cycles, row_bits):
        self._luns = luns
        word = start_layout(row_bits)
        self._starts = DieStarts(luns=luns, busy_cycles=busy_cycles, width=word.size)
        super().__init__(
            {
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
        is_reset, begins_reset = Signal(), Signal()
        finished = self._take_answers(m, busy, numbers)
        m.d.comb += [
            is_reset.eq(self.start & (self.word.operation == ArrayOperation.RESET)),
            starts.now.eq(self.now),
            starts.start.eq(self.start),
            starts.lun.eq(self.lun),
            starts.word.eq(self.word),
            starts.cancel.eq(is_reset),
            self.begin.eq(starts.begin),
            self.begin_lun.eq(starts.begin_lun),
            self.begin_word.eq(starts.begin_word),
            begins_reset.eq(starts.begin & (self.begin_word.operation == ArrayOperation.RESET)),
            self.last_row.eq(data.View(self.word.shape(), starts.last_word).row),
            self.deadline.eq(starts.deadline),
            ready.eq(~starts.beginning & (~busy | finished)),
            self.ready.eq(ready & ~(for_all & ~ready[0]).replicate(luns)),
            waits.eq(starts.armed | (for_all & starts.armed[0]).replicate(luns)),
            self.idle.eq(self.ready & ~waits),
        ]
        with m.If(starts.begin):
            m.d.comb += self.number.eq(numbers[starts.begin_lun])
        with m.If(self.unseen | starts.begin):
            others = busy & ~finished & ~begins_reset.replicate(luns)
            m.d.sync += busy.eq(others | starts.beginning)
        with m.If(self.start):
            for lun in range(luns):
                with m.If((self.lun == lun) | is_reset):
                    m.d.sync += numbers[lun].eq(numbers[lun] + 1)
            with m.If(self.lun == 0):
                m.d.sync += for_all.eq(self._is_target(self.word.operation))
        return m

    @staticmethod
    def _is_target(operation):
        return Cat(operation == target for target in TARGET_OPERATIONS).any()

    def _take_answers(self, m, busy, numbers):
        """Follow the answers; returns the LUNs of which one makes ready."""
        luns, armed = self._luns, self._starts.armed
        seen, unseen, finished = (Signal(luns, name=name) for name in ("seen", "unseen", "done_"))
        works, working = Signal(luns), Signal(luns)
        fail, failc = Signal(luns), Signal(luns)
        answers = [ArrayDone(self.done.word_select(lun, 16)) for lun in range(luns)]
        m.d.comb += [
            unseen.eq(Cat(answer.toggle for answer in answers) ^ seen),
            self.unseen.eq(unseen.any()),
            working.eq(works),
            self.at_rest.eq(self.ready & ~working),
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
                        working[lun].eq(is_own & answer.is_cached),
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
        return finished
