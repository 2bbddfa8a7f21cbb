"""The state machine that owns the bus: one operation from CE# low to CE# high and turned round."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.onfi import Opcode
from rtl.contract.operations import Finish
from rtl.nand.burst import ReadBurst, ReadCapture, WriteBurst
from rtl.nand.command_cycles import BusOperation, BusOperationKind, CommandCycles
from rtl.nand.operation_sets import is_any
from rtl.nand.phy import PhySignature
from rtl.nand.sdr_burst import SdrReadBurst, SdrReadCapture, SdrWriteBurst

__all__ = ["STATUS_BYTES", "BusSequencer"]

BURSTS = (BusOperationKind.POLL, BusOperationKind.TRANSFER)
STATUS_BYTES = 2
"""The status byte comes on every edge, and a DDR burst is even: it is read twice."""


class BusSequencer(wiring.Component):
    """Executes bus operations, one at a time, with CE# high between them.

    An operation ends when CE# is high, the bus has turned round and its last word is captured.

    Parameters
    ----------
    timing : BusTiming
    ways, phases : int
        As in :class:`PhySignature`.

    Members
    -------
    start, operation, way, length : In
        Strobe, while ``idle``, with what to do, which must stay until ``idle`` again; ``length``
        counts the bytes of a transfer, or of the data that goes to the die.
    idle : Out(1)
        The next operation may start.
    began : Out(1)
        Strobe in the clock before the edge at which the operation's first command is on the bus.
    latched : Out(1)
        Strobe in the clock of the edge at which the die latches the last command or address cycle
        or, without one after it, has taken all data.
    launch : In(stream.Signature(8 * phases))
        Data that goes to the die, as :class:`WriteBurst` takes it; only of an extended part.
    valid, word, last : Out
        Captured bytes; they belong to the operation under way.
    phy : Out(PhySignature)
    """

    def __init__(self, timing, ways, phases=2):
        self._timing = timing
        self._phases = phases
        self._is_extended = timing.part.extended is not None
        self._is_sdr = timing.part.sdr is not None
        launch = {"launch": In(stream.Signature(8 * phases))} if self._is_extended else {}
        super().__init__(
            launch
            | {
                "start": In(1),
                "operation": In(BusOperation),
                "way": In(range(ways)),
                "length": In(16),
                "idle": Out(1),
                "began": Out(1),
                "latched": Out(1),
                "valid": Out(1),
                "word": Out(8 * phases),
                "last": Out(1),
                "phy": Out(PhySignature(ways, phases)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.cycles = cycles = CommandCycles(self._timing, self._phases)
        m.submodules.burst = burst = self._read_burst()
        m.submodules.capture = capture = self._read_capture()
        operation, length = self.operation, Signal(16)
        is_burst = Signal()
        turn = Signal(range(self._timing.turn))
        m.d.comb += [
            cycles.operation.eq(operation),
            length.eq(Mux(operation.kind == BusOperationKind.POLL, STATUS_BYTES, self.length)),
            is_burst.eq(operation.kind.matches(*BURSTS)),
            self.began.eq(cycles.began),
            self.latched.eq(cycles.latched),
            burst.start.eq(cycles.latched & is_burst),
            burst.is_status.eq(operation.kind == BusOperationKind.POLL),
            burst.length.eq(length),
            capture.start.eq(burst.start),
            capture.length.eq(length),
        ]
        self._connect_pads(m, cycles, burst, capture)
        if self._is_extended:
            self._write(m, cycles, operation, length)
            # Without cycles the operation begins on the bus with RE#.
            with m.If(self._is_output(operation)):
                m.d.comb += self.began.eq(burst.began)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.start):
                    m.d.comb += cycles.start.eq(1)
                    m.d.sync += self.phy.ce_n.eq(~(1 << self.way))
                    m.next = "CYCLES"
                    if self._is_extended:
                        with m.If(self._is_output(operation)):
                            m.d.comb += cycles.start.eq(0)
                            m.next = "OUTPUT"
            if self._is_extended:
                with m.State("OUTPUT"):
                    m.d.comb += [burst.start.eq(1), burst.is_output.eq(1)]
                    m.next = "BURST"
            with m.State("CYCLES"), m.If(cycles.done):
                with m.If(is_burst):
                    m.next = "BURST"
                with m.Else():
                    m.d.sync += self.phy.ce_n.eq(~0)
                    m.next = "IDLE"
            with m.State("BURST"), m.If(burst.done):
                m.d.sync += [self.phy.ce_n.eq(~0), turn.eq(self._timing.turn - 1)]
                m.next = "TURN"
            with m.State("TURN"):
                with m.If(turn != 0):
                    m.d.sync += turn.eq(turn - 1)
                with m.Elif(~capture.busy & ~capture.valid):
                    m.next = "IDLE"
        return m

    def _read_burst(self):
        if self._is_sdr:
            return SdrReadBurst(self._timing)
        return ReadBurst(self._timing, self._phases)

    def _read_capture(self):
        return SdrReadCapture(self._timing.response) if self._is_sdr else ReadCapture(self._phases)

    @staticmethod
    def _is_output(operation):
        """Data is read without the cycles of a choice."""
        return (operation.kind == BusOperationKind.TRANSFER) & is_any(
            operation.operation, lambda steps: steps.finish is Finish.OUTPUT
        )

    def _write(self, m, cycles, operation, length):
        """Data that goes to the die, between address and confirm."""
        if self._is_sdr:
            write = SdrWriteBurst(self._timing)
            m.d.comb += self.phy.we_n.eq(cycles.we_n & write.we_n)
        else:
            write = WriteBurst(self._timing, self._phases)
            m.d.comb += [self.phy.dqs_o.eq(write.dqs_o), self.phy.dqs_oe.eq(write.dqs_oe)]
        m.submodules.write = write
        wiring.connect(m, wiring.flipped(self.launch), write.data)
        m.d.comb += [
            write.start.eq(cycles.load),
            write.is_more.eq(
                is_any(operation.operation, lambda steps: steps.first is Opcode.CHANGE_WRITE_COLUMN)
            ),
            write.length.eq(length),
            cycles.loaded.eq(write.done),
        ]
        with m.If(write.dq_oe):
            m.d.comb += [self.phy.dq_o.eq(write.dq_o), self.phy.dq_oe.eq(1)]

    def _connect_pads(self, m, cycles, burst, capture):
        m.d.comb += [
            self.phy.cle.eq(cycles.cle),
            self.phy.ale.eq(cycles.ale),
            self.phy.we_n.eq(cycles.we_n),
            self.phy.dq_o.eq(cycles.dq_o),
            self.phy.dq_oe.eq(cycles.dq_oe),
            self.phy.re_n.eq(burst.re_n),
            capture.dq_i.eq(self.phy.dq_i),
            capture.falls.eq(burst.falls) if self._is_sdr else capture.dqs_i.eq(self.phy.dqs_i),
            self.valid.eq(capture.valid),
            self.word.eq(capture.word),
            self.last.eq(capture.last),
        ]
