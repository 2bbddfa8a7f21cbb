# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""NAND die: the counterpart of the flash-channel controller on the bus; simulation only."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, Signature
from amaranth.utils import exact_log2

from rtl.contract.channel import STAMP_BITS, ArrayOperation, DieBegin
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import ROW_CYCLES, StatusBit, row_bits
from rtl.nand.die_decoder import COLUMN_BITS, DieDecoder, DieRequest
from rtl.nand.die_luns import DieLuns
from rtl.nand.die_operations import DieOperations
from rtl.nand.die_output import DieOutput
from rtl.nand.die_pages import (
    AHEAD_BITS,
    WORD_BYTES,
    advance,
    connect_registers,
    cut_to_page,
    page_word,
    pick_lane,
    read_ahead,
    unit_bytes,
)
from rtl.nand.die_sdr import SdrDieOutput
from rtl.nand.limits import check_bus
from rtl.sim_memory import SimMemory

__all__ = ["DiePhySignature", "NandDie"]

REGISTERS = 2
"""Page registers of a plane of a part with ``extended`` times."""
READY_STATUS = StatusBit.WP_N | StatusBit.RDY | StatusBit.ARDY


class DiePhySignature(Signature):
    """One way's share of :class:`rtl.nand.phy.PhySignature`, seen from the controller.

    ``oe`` is this die's bit of ``die_oe``; a die that does not drive gives zeros, so that the OR
    of all dies' ``dq_i`` and ``dqs_i`` is the bus.
    """

    def __init__(self, phases=2):
        super().__init__(
            {
                "ce_n": Out(1, init=1),
                "cle": Out(1),
                "ale": Out(1),
                "we_n": Out(1, init=1),
                "re_n": Out(phases, init=(1 << phases) - 1),
                "dq_o": Out(8 * phases),
                "dq_oe": Out(1),
                "dqs_o": Out(phases),
                "dqs_oe": Out(1),
                "dq_i": In(8 * phases),
                "dqs_i": In(phases),
                "oe": In(1),
                "rb_n": In(1),
            }
        )


class NandDie(wiring.Component):
    """One way: ``part.luns`` LUNs behind one chip enable and one ready/busy line.

    It takes the commands of the read path (00h-30h, 05h-E0h, 70h, 78h, FFh; ONFI 3.1, section 5)
    and never complains: data that was not asked for by the rules is zero, and the bus checker
    reports the rule. All edges are those that sample a level. With WE# of a 30h high at edge n,
    R/B# is low and ``begin`` valid at edge n + cycles(tWB); until then R/B# and status still say
    ready. An array operation ends at the first edge after its ``ArrayDone``, which shows R/B# high.
    In clock n + cycles(tDQSRE) DQS repeats RE#'s levels of clock n; on an SDR bus a byte is there
    from clock n + cycles(tREA) on (:class:`SdrDieOutput`). After 30h and after E0h data
    comes from the column given there; a status burst gives the status byte at each edge. FFh ends
    all operations at once (the part has no tRST) and answers to them are then stale.

    A part with ``extended`` times also takes programs with data (80h, 85h, 10h, 15h, 11h), erases
    (60h, D0h, D1h), cached and multi-plane reads (31h, 3Fh, 32h), 06h as 05h, 90h, ECh, EEh, EFh,
    and 00h alone, which ends the output of a status; FFh makes the whole die busy. A busy LUN takes
    nothing but status commands, a reset, and, of a part with ``suspend`` opcodes, a suspend of what
    it is busy with (see :class:`DieSuspends`); what is not complete does nothing. See
    :class:`DieArrays` for ready and busy, :class:`DieRegisters` for the roles of page registers,
    :class:`DieInput` for the data that a program takes. The busy time of EFh counts from the edge
    that ends the postamble. Each byte goes over the bus once, also those that ONFI repeats in its
    DDR interfaces. Bytes of a register that no data came for keep what they were.

    The page register of LUN l is the :class:`SimMemory` submodule ``page{l}`` of 1,024-bit words
    (``die.pages[l]``; in emitted Verilog ``page{l}.ram.mem`` below the die's instance), byte b of
    the page in bits 8 * (b mod 128) and up of word b div 128. A part with ``extended`` times has
    two registers a plane: register r of plane p is ``page{(l * planes + p) * 2 + r}``. The kernel
    works on the one that ``begin`` names between ``begin`` and the answer. Answers of ECh and EEh
    go there, too, and the four bytes of EFh come from there.

    Parameters
    ----------
    part : NandPart
        Geometry and times.
    period_ps : int
        Clock period.
    ways : int
        Ways of the channel: the bound of ``way``.
    phases : int
        Transfers a clock: 1, 2 or 4; 1 on an SDR bus.
    emitted : bool
        Whether the page registers are Verilog instances (see :class:`SimMemory`).
    identity : bytes
        What 90h reads at address 00h, zeros after it; only of a part with ``extended`` times.

    Members
    -------
    phy : In(DiePhySignature)
        The pins.
    way : In(8)
        Constant: the die's place on the channel, for ``begin``.
    now : In(48)
        Number of the edge that ends this clock.
    array_done : In(16 * luns)
        An :class:`ArrayDone` word a LUN, LUN 0 in the low bits.
    begin_valid, begin : Out
        An array operation begins at this edge.
    quiet : Out(1)
        No edge before ``wake_edge`` would change anything while the inputs stay.
    wake_edge : Out(48)
        Edge of the next ``begin``; all ones if there is none.

    Raises
    ------
    ValueError
        If ``ways`` or ``phases`` is out of range, the page is longer than a column address reaches,
        the LUNs do not fit the row address, or the identity is too long.
    """

    def __init__(self, part, *, period_ps, ways, phases=2, emitted=False, identity=b""):
        check_bus(part, ways=ways, phases=phases)
        if part.raw_page_bytes > 1 << COLUMN_BITS:
            raise ValueError(
                f"Raw page must be at most {1 << COLUMN_BITS} bytes, not {part.raw_page_bytes}"
            )
        if row_bits(part) + (part.luns - 1).bit_length() > 8 * ROW_CYCLES:
            raise ValueError(
                f"Row address must fit in {8 * ROW_CYCLES} bits, "
                f"not {part.luns} LUNs of {part.rows} pages"
            )
        self._part = part
        self._period_ps = period_ps
        self._phases = phases
        self._operations, registers = None, part.luns
        if part.extended is not None:
            self._operations = DieOperations(
                part, period_ps=period_ps, phases=phases, identity=identity
            )
            registers = part.luns * part.planes * REGISTERS
        words = max(2, -(-part.raw_page_bytes // WORD_BYTES))
        # A program takes whole registers, also where no data ever came.
        is_zeroed = part.extended is not None
        self.pages = [
            SimMemory(
                depth=words,
                width=8 * WORD_BYTES,
                emitted=emitted,
                is_zeroed=is_zeroed,
                ahead=AHEAD_BITS if phases == 4 else 0,
            )
            for _ in range(registers)
        ]
        super().__init__(
            {
                "phy": In(DiePhySignature(phases)),
                "way": In(8),
                "now": In(STAMP_BITS),
                "array_done": In(16 * part.luns),
                "begin_valid": Out(1),
                "begin": Out(DieBegin),
                "quiet": Out(1),
                "wake_edge": Out(STAMP_BITS, init=-1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        phy = self.phy
        m.submodules.output = output = self._make_output()
        m.d.comb += [
            output.ce_n.eq(phy.ce_n),
            output.re_n.eq(phy.re_n),
            phy.dq_i.eq(output.dq_i),
            phy.dqs_i.eq(output.dqs_i),
            phy.oe.eq(output.oe),
        ]
        if self._operations is None:
            self._connect_reads(m, output)
        else:
            self._connect_operations(m, output, self._operations)
        return m

    def _make_output(self):
        part, period_ps = self._part, self._period_ps
        if part.sdr is not None:
            return SdrDieOutput(part.sdr, period_ps=period_ps)
        return DieOutput(phases=self._phases, delay=cycles(part.t_dqsre_ps, period_ps))

    def _connect_reads(self, m, output):
        phy = self.phy
        m.submodules.decoder = decoder = DieDecoder(self._part)
        m.d.comb += [
            decoder.ce_n.eq(phy.ce_n),
            decoder.cle.eq(phy.cle),
            decoder.ale.eq(phy.ale),
            decoder.we_n.eq(phy.we_n),
            decoder.dq.eq(phy.dq_o),
        ]
        m.submodules.luns = luns = DieLuns(
            luns=self._part.luns,
            busy_cycles=cycles(self._part.t_wb_ps, self._period_ps),
            row_bits=len(decoder.row),
        )
        self._connect_luns(m, decoder, luns)
        self._connect_pages(m, decoder, output, luns)
        m.d.comb += self.quiet.eq(phy.ce_n & ~decoder.active & ~output.active & ~luns.unseen)

    def _connect_operations(self, m, output, operations):
        phy = self.phy
        m.submodules.operations = operations
        m.d.comb += [
            operations.now.eq(self.now),
            operations.done.eq(self.array_done),
            operations.ce_n.eq(phy.ce_n),
            operations.cle.eq(phy.cle),
            operations.ale.eq(phy.ale),
            operations.we_n.eq(phy.we_n),
            operations.re_n.eq(phy.re_n),
            operations.dq.eq(phy.dq_o & phy.dq_oe.replicate(len(phy.dq_o))),
            operations.dqs.eq(phy.dqs_o),
            operations.dqs_oe.eq(phy.dqs_oe),
            operations.advance.eq(Mux(output.take, advance(output, self._phases), 0)),
            self.begin_valid.eq(operations.begin_valid),
            self.wake_edge.eq(operations.deadline),
            self.quiet.eq(operations.quiet & ~output.active),
            phy.rb_n.eq(operations.ready),
        ]
        with m.If(self.begin_valid):
            m.d.comb += [self.begin.eq(operations.begin), self.begin.way.eq(self.way)]
        for index, page in enumerate(self.pages):
            m.submodules[f"page{index}"] = page
        page_bytes = self._part.raw_page_bytes
        connect_registers(m, self.pages, output, operations, page_bytes, self._phases)

    def _connect_luns(self, m, decoder, luns):
        m.d.comb += [
            luns.now.eq(self.now),
            luns.done.eq(self.array_done),
            luns.start.eq(decoder.request == DieRequest.READ),
            luns.lun.eq(decoder.lun),
            luns.row.eq(decoder.row),
            luns.abort.eq(decoder.request == DieRequest.RESET),
            self.phy.rb_n.eq(luns.ready.all()),
            self.wake_edge.eq(luns.deadline),
            self.begin_valid.eq(luns.begin),
        ]
        with m.If(luns.begin):
            m.d.comb += [
                self.begin.operation.eq(ArrayOperation.READ),
                self.begin.number.eq(luns.number),
                self.begin.way.eq(self.way),
                self.begin.lun.eq(luns.begin_lun),
                self.begin.row.eq(luns.begin_row),
            ]

    def _connect_pages(self, m, decoder, output, luns):
        """Choose what goes out: a LUN's page register from a position on, or its status."""
        unit = unit_bytes(self._phases)
        position_bits = COLUMN_BITS - exact_log2(unit)
        layout = {"position": position_bits, "chosen": decoder.lun.shape(), "status": 1}
        source = Signal(data.StructLayout(layout))
        position = source.position
        with m.If(output.take):
            m.d.sync += position.eq(position + advance(output, self._phases))
        with m.Switch(decoder.request):
            with m.Case(DieRequest.READ, DieRequest.SELECT):
                m.d.sync += [
                    source.status.eq(0),
                    source.chosen.eq(decoder.lun),
                    position.eq(decoder.column >> exact_log2(unit)),
                ]
            with m.Case(DieRequest.STATUS):
                m.d.sync += source.status.eq(1)
            with m.Case(DieRequest.STATUS_LUN):
                m.d.sync += [source.status.eq(1), source.chosen.eq(decoder.lun)]
        for index, page in enumerate(self.pages):
            m.submodules[f"page{index}"] = page
            with m.If((output.fetch | output.take) & (source.chosen == index)):
                read_ahead(m, page, output, position, self._phases)
            with m.If(output.take & (source.chosen == index)):
                with m.If(source.status):
                    state = Mux(luns.ready[index], READY_STATUS, StatusBit.WP_N)
                    m.d.comb += output.word.eq(state[:8].replicate(self._phases))
                with m.Elif(luns.idle[index] & (position < self._part.raw_page_bytes // unit)):
                    pick_lane(m, output.word, page_word(page), position)
                    cut_to_page(m, output.word, position, self._part.raw_page_bytes)
