"""Counts what the clocks of a flash bus are spent on; simulation only."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.bus_causes import BusCause
from rtl.contract.onfi import ROW_CYCLES, Opcode, StatusBit, split_row
from rtl.nand.idle_causes import IdleCauses

__all__ = ["BusMonitor", "Counts"]

COUNT_BITS = 48

Counts = data.ArrayLayout(COUNT_BITS, len(BusCause))
"""Clocks of each :class:`BusCause`, at its number."""


class Operation(enum.Enum, shape=2):
    """What the command cycles under way belong to."""

    READ = 0
    TRANSFER = 1
    POLL = 2
    OTHER = 3


class Gap(enum.Enum, shape=2):
    """What must pass before RE# may fall."""

    NONE = 0
    T_CCS = 1
    T_WHR = 2


OPERATIONS = {
    Opcode.READ: Operation.READ,
    Opcode.CHANGE_READ_COLUMN_ENHANCED: Operation.TRANSFER,
    Opcode.READ_STATUS: Operation.POLL,
    Opcode.READ_STATUS_ENHANCED: Operation.POLL,
}
CYCLES = {
    Operation.READ: BusCause.READ_COMMAND,
    Operation.TRANSFER: BusCause.TRANSFER_COMMAND,
    Operation.POLL: BusCause.POLL_COMMAND,
    Operation.OTHER: BusCause.OTHER_COMMAND,
}


class BusMonitor(wiring.Component):
    """Gives every clock after reset to exactly one :class:`BusCause`, from the pins alone.

    Where causes overlap, bytes and strobes come before gaps, gaps before the cycles that began
    them, and what a rule asks for before idleness: with CE# high, the first ``turn`` clocks after
    that of a burst's last data edge are turn-round whatever the controller does in them. Why the
    bus is idle follows from shadows of the LUNs (:class:`IdleCauses`), not from the state of the
    controller. The clock must not stop.

    Parameters
    ----------
    part : NandPart
        Its address bits; its LUNs are polled if there are several a way.
    ways, phases, slots : int
        As in :class:`FlashChannelController`.
    turn : int
        Clocks of tRHW after those of the last data, in which CE# may be high.
    transfer : int
        On an SDR bus, the clocks from a fall of RE#, that fetches a byte, to the next one.

    Members
    -------
    ce_n, cle, ale, we_n, re_n : In
        Pins; see :class:`PhySignature`.
    dq_o, dq_i : In(8)
        Low bytes of the data pins.
    handed_over : In(ways * luns)
        Strobes: a command for this LUN came into the unit.
    sensed : In(ways * luns)
        Toggles: the LUN's array is done.
    landing_ready : In(slots)
        Free landing slots.
    counts : Out(Counts)
        A clock counts from the edge on that ends it.
    """

    def __init__(self, part, *, ways, phases=2, slots=2, turn, transfer=1):
        if not isinstance(turn, int) or turn < 0:
            raise ValueError(f"Turn must be a number of clocks, not {turn!r}")
        if not isinstance(transfer, int) or transfer < 1:
            raise ValueError(f"Transfer must be a positive number of clocks, not {transfer!r}")
        self._part = part
        self._ways = ways
        self._turn = turn
        self._transfer = transfer
        luns = ways * part.luns
        super().__init__(
            {
                "ce_n": In(ways, init=-1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "re_n": In(phases, init=-1),
                "dq_o": In(8),
                "dq_i": In(8),
                "handed_over": In(luns),
                "sensed": In(luns),
                "landing_ready": In(slots),
                "counts": Out(Counts),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.shadows = shadows = IdleCauses(
            self._ways * self._part.luns, is_polled=self._part.luns > 1
        )
        m.d.comb += [
            shadows.handed_over.eq(self.handed_over),
            shadows.sensed.eq(self.sensed),
            shadows.landing_is_free.eq(self.landing_ready.any()),
        ]
        selected, operation, gap = Signal(), Signal(Operation), Signal(Gap)
        m.d.comb += selected.eq(~self.ce_n.all())
        self._follow_cycles(m, shadows, selected, operation, gap)
        cause = Signal(BusCause)
        self._classify(m, selected, operation, gap, shadows.idle, cause)
        with m.Switch(cause):
            for number in BusCause:
                with m.Case(number):
                    m.d.sync += self.counts[number].eq(self.counts[number] + 1)
        return m

    def _follow_cycles(self, m, shadows, selected, operation, gap):
        """Decode command and address cycles: the operation, the gap after it, and its LUN."""
        we_before = Signal(init=1)
        written = Signal()
        held, begun_gap = Signal.like(operation), Signal.like(gap)
        row = Signal(8 * ROW_CYCLES)
        addresses = Signal(range(ROW_CYCLES + 1))
        lun = Signal(self._ways * self._part.luns)
        m.d.sync += [we_before.eq(self.we_n), held.eq(operation), begun_gap.eq(gap)]
        m.d.comb += [
            written.eq(selected & self.we_n & ~we_before),
            operation.eq(held),
            gap.eq(begun_gap),
            lun.eq(self._lun(row)),
        ]
        confirms = (Opcode.READ_CONFIRM, Opcode.CHANGE_READ_COLUMN_CONFIRM)
        is_confirm = Cat(*(self.dq_o == opcode for opcode in confirms)).any()
        with m.If(selected & ~self.we_n & self.cle & ~is_confirm), m.Switch(self.dq_o):
            for opcode, kind in OPERATIONS.items():
                with m.Case(opcode):
                    m.d.comb += operation.eq(kind)
            with m.Default():
                m.d.comb += operation.eq(Operation.OTHER)
        with m.If(~selected | ~self.we_n | ~self.re_n.all()):
            m.d.comb += gap.eq(Gap.NONE)
        with m.Elif(written & self.cle):
            m.d.sync += addresses.eq(0)
            with m.Switch(self.dq_o):
                with m.Case(Opcode.READ_CONFIRM):
                    m.d.comb += shadows.confirmed.eq(lun)
                with m.Case(Opcode.CHANGE_READ_COLUMN_CONFIRM):
                    m.d.comb += [shadows.chosen.eq(lun), gap.eq(Gap.T_CCS)]
                with m.Case(Opcode.READ_STATUS):
                    m.d.comb += gap.eq(Gap.T_WHR)
        with m.Elif(written & self.ale):
            shifted = Cat(row[8:], self.dq_o)
            m.d.sync += [row.eq(shifted), addresses.eq(addresses + 1)]
            with m.If((operation == Operation.POLL) & (addresses == ROW_CYCLES - 1)):
                m.d.comb += gap.eq(Gap.T_WHR)
                m.d.sync += shadows.asked.eq(self._lun(shifted))
        with m.If(operation == Operation.POLL):
            m.d.comb += shadows.says_ready.eq((self.dq_i & StatusBit.RDY).any())

    def _lun(self, row):
        """The LUN that ``row`` and the chip enables name, one bit each."""
        number, _ = split_row(self._part, row)
        return Cat(
            *(
                ~self.ce_n[way] & (number == lun)
                for way in range(self._ways)
                for lun in range(self._part.luns)
            )
        )

    def _classify(self, m, selected, operation, gap, idle, cause):
        re_before, we_has_been_low = Signal(init=1), Signal()
        bursting, has_had_data = Signal(), Signal()
        has_data = Signal()
        since = Signal(range(self._turn + 2), init=self._turn + 1)
        turning = Signal()
        is_reading = ~self.re_n.all()
        m.d.comb += [
            has_data.eq(self._has_data(m, selected & bursting, re_before)),
            turning.eq(since <= self._turn),
        ]
        m.d.sync += [
            re_before.eq(self.re_n[-1]),
            bursting.eq(selected & (bursting | is_reading)),
            has_had_data.eq(selected & (has_had_data | has_data)),
            we_has_been_low.eq(selected & ~is_reading & (we_has_been_low | ~self.we_n)),
        ]
        with m.If(has_data):
            m.d.sync += since.eq(1)
        with m.Elif(turning):
            m.d.sync += since.eq(since + 1)
        is_poll = operation == Operation.POLL
        with m.If(has_data):
            m.d.comb += cause.eq(BusCause.DATA)
            with m.If(is_poll):
                m.d.comb += cause.eq(BusCause.STATUS_DATA)
        with m.Elif(selected & is_reading):
            m.d.comb += cause.eq(BusCause.T_RPRE)
            with m.If(has_had_data):
                m.d.comb += cause.eq(BusCause.T_RPST)
        with m.Elif(gap == Gap.T_CCS):
            m.d.comb += cause.eq(BusCause.T_CCS)
        with m.Elif(gap == Gap.T_WHR):
            m.d.comb += cause.eq(BusCause.T_WHR)
        with m.Elif(selected & (~self.we_n | we_has_been_low)), m.Switch(operation):
            for kind, cycles in CYCLES.items():
                with m.Case(kind):
                    m.d.comb += cause.eq(cycles)
        with m.Elif(turning & (~selected | has_had_data)):
            m.d.comb += cause.eq(BusCause.T_RHW)
        with m.Elif(selected):
            m.d.comb += cause.eq(BusCause.SELECT)
        with m.Else():
            m.d.comb += cause.eq(idle)

    def _has_data(self, m, bursting, re_before):
        """Whether this clock belongs to bytes: it has edges of a burst, or is in an SDR cycle."""
        if self._part.sdr is None:
            return bursting & (self.re_n ^ Cat(re_before, self.re_n[:-1])).any()
        left = Signal(range(self._transfer))
        falls = re_before & ~self.re_n[0]
        with m.If(falls):
            m.d.sync += left.eq(self._transfer - 1)
        with m.Elif(left != 0):
            m.d.sync += left.eq(left - 1)
        return falls | (left != 0)
