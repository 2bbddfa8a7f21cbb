"""Command and address cycles of one bus operation."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.onfi import COLUMN_CYCLES, ROW_CYCLES, Opcode

__all__ = ["BusOperation", "BusOperationKind", "CommandCycles"]

FIRST_ROW = 1 + COLUMN_CYCLES
LAST_ADDRESS = FIRST_ROW + ROW_CYCLES - 1


class BusOperationKind(enum.IntEnum, shape=2):
    """What the bus does between two decisions."""

    READ = 0
    """00h, column, row, 30h."""
    POLL = 1
    """78h, row, then a burst of two status bytes."""
    TRANSFER = 2
    """05h, column, row, E0h, then a burst of data."""


class BusOperation(data.Struct):
    """One bus operation; ``row`` is as on the bus, with the LUN's bits on top."""

    kind: BusOperationKind
    row: 8 * ROW_CYCLES
    column: 8 * COLUMN_CYCLES


class CommandCycles(wiring.Component):
    """Plays the command and address cycles of an operation; all bus outputs are registers.

    ::

        start     -__________________________
        began     ___-_______________________   (setup = 3)
        cle       ____-------________________   first cycle; setup before WE# rises, hold after
        we_n      ------___----___----...
        latched   _________________...-______   the last cycle's byte is being latched
        done      _________________...___-___   tail clocks after the last rising WE#

    Parameters
    ----------
    timing : BusTiming
        Lengths of ``setup``, ``low``, ``high`` and ``tail``.
    phases : int
        Transfers a clock; bytes go out in the low bits of ``dq_o``.

    Members
    -------
    start : In(1)
        Begin ``operation`` (which must stay) in the next clock. Only while nothing is under way.
    began, latched, done : Out(1)
        Strobes in the clock before the edge at which WE# first falls; at which the die latches the
        last cycle; and at which CE# may rise.
    cle, ale, we_n, dq_o, dq_oe : Out
        As in :class:`PhySignature`.
    """

    def __init__(self, timing, phases=2):
        self._timing = timing
        super().__init__(
            {
                "start": In(1),
                "operation": In(BusOperation),
                "began": Out(1),
                "latched": Out(1),
                "done": Out(1),
                "cle": Out(1),
                "ale": Out(1),
                "we_n": Out(1, init=1),
                "dq_o": Out(8 * phases),
                "dq_oe": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        timing = self._timing
        longest = max(timing.setup, timing.low, timing.high, timing.tail)
        wait = Signal(range(longest))
        index = Signal(range(LAST_ADDRESS + 2))
        is_poll = Signal()
        is_last = Signal()
        rose = Signal()
        m.d.comb += [
            is_poll.eq(self.operation.kind == BusOperationKind.POLL),
            is_last.eq(index == Mux(is_poll, LAST_ADDRESS, LAST_ADDRESS + 1)),
            self.latched.eq(rose & is_last),
        ]
        m.d.sync += rose.eq(0)
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.start):
                m.d.sync += [wait.eq(timing.setup - 1), index.eq(0)]
                m.next = "SETUP"
            with m.State("SETUP"), m.If(wait == 0):
                m.d.comb += self.began.eq(1)
                self._present(m, index)
                m.d.sync += [self.we_n.eq(0), self.dq_oe.eq(1), wait.eq(timing.low - 1)]
                m.next = "LOW"
            with m.State("LOW"), m.If(wait == 0):
                m.d.sync += [self.we_n.eq(1), rose.eq(1)]
                m.d.sync += wait.eq(Mux(is_last, timing.tail, timing.high) - 1)
                m.next = "HIGH"
            with m.State("HIGH"), m.If(wait == 0):
                with m.If(is_last):
                    m.d.comb += self.done.eq(1)
                    m.d.sync += [self.cle.eq(0), self.ale.eq(0), self.dq_oe.eq(0)]
                    m.next = "IDLE"
                with m.Else():
                    following = Signal.like(index)
                    m.d.comb += following.eq(Mux(is_poll & (index == 0), FIRST_ROW, index + 1))
                    self._present(m, following)
                    m.d.sync += [index.eq(following), self.we_n.eq(0), wait.eq(timing.low - 1)]
                    m.next = "LOW"
        return m

    def _present(self, m, index):
        """Drive the byte of cycle ``index``, and its latch enable, from the next edge on."""
        kind = self.operation.kind
        with m.Switch(index):
            with m.Case(0):
                first = Signal(8)
                with m.Switch(kind):
                    with m.Case(BusOperationKind.POLL):
                        m.d.comb += first.eq(Opcode.READ_STATUS_ENHANCED)
                    with m.Case(BusOperationKind.TRANSFER):
                        m.d.comb += first.eq(Opcode.CHANGE_READ_COLUMN_ENHANCED)
                    with m.Default():
                        m.d.comb += first.eq(Opcode.READ)
                m.d.sync += [self.dq_o.eq(first), self.cle.eq(1), self.ale.eq(0)]
            for byte in range(COLUMN_CYCLES):
                with m.Case(1 + byte):
                    m.d.sync += self.dq_o.eq(self.operation.column.word_select(byte, 8))
                    m.d.sync += [self.cle.eq(0), self.ale.eq(1)]
            for byte in range(ROW_CYCLES):
                with m.Case(FIRST_ROW + byte):
                    m.d.sync += self.dq_o.eq(self.operation.row.word_select(byte, 8))
                    m.d.sync += [self.cle.eq(0), self.ale.eq(1)]
            with m.Default():
                confirm = Mux(
                    kind == BusOperationKind.READ,
                    Opcode.READ_CONFIRM,
                    Opcode.CHANGE_READ_COLUMN_CONFIRM,
                )
                m.d.sync += [self.dq_o.eq(confirm), self.cle.eq(1), self.ale.eq(0)]
