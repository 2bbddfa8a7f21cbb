# amaranth: UnusedElaboratable=no
# (The parts are made in the constructor, which must refuse what they refuse.)
"""What a die does beyond plain reads: commands, LUNs, and where its data is; simulation only."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.contract.channel import STAMP_BITS, ArrayOperation, DieBegin
from rtl.contract.nand_part import cycles
from rtl.contract.onfi import StatusBit
from rtl.nand.die_arrays import DieArrays
from rtl.nand.die_commands import (
    COLUMN_BITS,
    RESUMES,
    SUSPENDS,
    DieCommands,
    DieRequest,
    row_width,
)
from rtl.nand.die_input import DieInput
from rtl.nand.die_orders import CACHE_READS, DieOrders, place_layout, plane_of
from rtl.nand.die_pages import unit_bytes
from rtl.nand.die_registers import DieRegisters
from rtl.nand.die_sdr import SdrDieInput
from rtl.nand.die_wide_input import WideDieInput

__all__ = ["IDENTITY_BYTES", "DieOperations"]

IDENTITY_BYTES = 8
ONFI_ADDRESS = 0x20
SIGNATURE = b"ONFI"


def _make_input(part, period_ps, phases):
    """Data input of the bus that the part has."""
    waits = {
        "load_wait": cycles(part.extended.t_adl_ps, period_ps),
        "load_more_wait": cycles(part.t_ccs_ps, period_ps),
    }
    if part.sdr is not None:
        return SdrDieInput(**waits)
    return (WideDieInput if phases == 4 else DieInput)(
        phases=phases,
        preamble=cycles(part.extended.t_wpre_ps, period_ps),
        postamble=cycles(part.extended.t_wpst_ps, period_ps),
        **waits,
    )


class DieOperations(wiring.Component):
    """Everything of a die of an extended part but its page registers and its data output.

    A position counts bytes, or pairs of them with more than one phase: ``unit_bytes``.

    Parameters
    ----------
    part : NandPart
        Its ``extended`` times must be given.
    period_ps, phases : int
        As in :class:`rtl.nand.die.NandDie`.
    identity : bytes
        What is read with 90h at address 00h, at most 8 bytes.

    Members
    -------
    now, done : In
        Number of the edge that ends this clock; an :class:`ArrayDone` a LUN.
    ce_n, cle, ale, we_n, re_n, dq, dqs, dqs_oe : In
        The pins; ``dq`` is zero where nobody drives it.
    begin_valid, begin : Out
        An array operation begins at this edge; ``way`` stays zero.
    ready, deadline : Out
        R/B#; edge of the next begin.
    quiet : Out(1)
        Nothing is under way, but perhaps a begin to come.
    advance : In(2)
        So many units have gone out from ``position`` on.
    page : Out
        Number of the page register that the bus sees: (LUN * planes + plane) * 2 + register.
    position : Out
        Where it is read or written next.
    has_data : Out(1)
        The chosen page register goes out at this edge, as far as it reaches; else ``word`` does.
    word : Out(8 * phases)
        Status or identifier.
    take, pair : Out
        Two bytes are to be written at ``position``; with four phases and ``takes_two`` all four of
        ``pair``, whose halves else are equal.

    Raises
    ------
    ValueError
        If the identity is too long.
    """

    def __init__(self, part, *, period_ps, phases, identity):
        if len(identity) > IDENTITY_BYTES:
            raise ValueError(
                f"Identity must be at most {IDENTITY_BYTES} bytes, not {len(identity)}"
            )
        self._part = part
        self._phases = phases
        self._identity = identity
        self._pair_units = 2 // unit_bytes(phases)
        self._arrays = DieArrays(
            luns=part.luns,
            busy_cycles=cycles(part.t_wb_ps, period_ps),
            row_bits=row_width(part),
            has_suspend=part.suspend is not None,
        )
        self._input = _make_input(part, period_ps, phases)
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "done": In(16 * part.luns),
                "ce_n": In(1, init=1),
                "cle": In(1),
                "ale": In(1),
                "we_n": In(1, init=1),
                "re_n": In(phases, init=-1),
                "dq": In(8 * phases),
                "dqs": In(phases),
                "dqs_oe": In(1),
                "begin_valid": Out(1),
                "begin": Out(DieBegin),
                "ready": Out(1),
                "deadline": Out(STAMP_BITS, init=-1),
                "quiet": Out(1),
                "advance": In(2),
                "page": Out(range(2 * part.planes * part.luns)),
                "position": Out(COLUMN_BITS - exact_log2(unit_bytes(phases))),
                "has_data": Out(1),
                "word": Out(8 * phases),
                "take": Out(1),
                "pair": Out(32 if phases == 4 else 16),
                "takes_two": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        part = self._part
        m.submodules.commands = commands = DieCommands(part)
        m.submodules.arrays = arrays = self._arrays
        m.submodules.registers = registers = DieRegisters(luns=part.luns, planes=part.planes)
        m.submodules.orders = orders = DieOrders(part)
        m.submodules.input = data_in = self._input
        for component in (commands, data_in):
            for pin in ("ce_n", "cle", "ale", "we_n"):
                m.d.comb += getattr(component, pin).eq(getattr(self, pin))
        layout = {"position": len(self.position), "is_status": 1, "is_identity": 1}
        chosen = Signal(data.StructLayout(place_layout(part) | layout))
        m.d.comb += [
            commands.dq.eq(self.dq[:8]),
            commands.idle.eq(arrays.free),
            arrays.now.eq(self.now),
            arrays.done.eq(self.done),
            self.ready.eq(arrays.ready.all()),
            self.deadline.eq(arrays.deadline),
            self.quiet.eq(self.ce_n & ~commands.active & ~data_in.active & ~arrays.unseen),
            self.position.eq(chosen.position),
        ]
        self._report(m, arrays)
        self._receive(m, chosen, commands, arrays, data_in)
        self._start(m, chosen, commands, arrays, registers, orders)
        self._choose(m, chosen, commands, arrays, orders)
        self._put_out(m, chosen, arrays, registers)
        return m

    def _report(self, m, arrays):
        m.d.comb += self.begin_valid.eq(arrays.begin)
        with m.If(arrays.begin):
            m.d.comb += [
                self.begin.operation.eq(arrays.begin_word.operation),
                self.begin.number.eq(arrays.number),
                self.begin.lun.eq(arrays.begin_lun),
                self.begin.row.eq(arrays.begin_word.row),
                self.begin.register.eq(arrays.begin_word.register),
            ]

    def _receive(self, m, chosen, commands, arrays, data_in):
        """Take data for the LUN that it was announced to, while that is idle."""
        is_features = commands.request == DieRequest.SET_FEATURES
        m.d.comb += [
            data_in.now.eq(self.now),
            data_in.re_n.eq(self.re_n),
            data_in.dq.eq(self.dq),
            data_in.load.eq((commands.request == DieRequest.LOAD) | is_features),
            data_in.load_more.eq(commands.request == DieRequest.LOAD_MORE),
            data_in.enable.eq(commands.takes_data & arrays.idle.bit_select(chosen.lun, 1)),
            self.pair.eq(data_in.pair),
            self.take.eq(data_in.take),
        ]
        if self._part.sdr is None:
            m.d.comb += [data_in.dqs.eq(self.dqs), data_in.dqs_oe.eq(self.dqs_oe)]
        if self._phases == 4:
            m.d.comb += [
                data_in.is_odd.eq(chosen.position[0]),
                self.takes_two.eq(data_in.takes_two),
            ]

    def _start(self, m, chosen, commands, arrays, registers, orders):
        """Start what a confirm cycle, a reset or the last byte of a feature asks for."""
        is_feature = Signal()
        operation = Signal(ArrayOperation)
        m.d.comb += [
            # The second pair of bytes completes a feature.
            is_feature.eq(
                self.take & commands.sets_features & (chosen.position == self._pair_units)
            ),
            operation.eq(Mux(is_feature, ArrayOperation.SET_FEATURES, commands.operation)),
            orders.ask.eq(is_feature | (commands.request == DieRequest.ARRAY)),
            orders.asked.eq(operation),
            orders.asked_lun.eq(commands.lun),
            orders.asked_row.eq(commands.row),
            orders.chosen_lun.eq(chosen.lun),
            orders.chosen_row.eq(chosen.row),
            orders.last_row.eq(arrays.last_row),
            orders.reads.eq(registers.reads),
            orders.idle.eq(arrays.idle),
            orders.free.eq(arrays.free),
            registers.lun.eq(orders.lun),
            registers.plane.eq(orders.plane),
            registers.operation.eq(operation),
            registers.start.eq(orders.start),
            registers.reset.eq(orders.start & (operation == ArrayOperation.RESET)),
            arrays.start.eq(orders.start),
            arrays.lun.eq(orders.lun),
            arrays.word.operation.eq(operation),
            arrays.word.row.eq(orders.row),
            arrays.word.register.eq(registers.array),
        ]
        if self._part.suspend is not None:
            m.d.comb += [
                arrays.asked.eq(operation),
                orders.suspends.eq(arrays.suspends),
                orders.resumes.eq(arrays.resumes),
            ]

    def _choose(self, m, chosen, commands, arrays, orders):
        """Follow what the bus sees next: LUN, plane and position, or a status or identifier."""
        addressed = [
            chosen.lun.eq(commands.lun),
            chosen.plane.eq(plane_of(self._part, commands.row)),
        ]
        at_column = chosen.position.eq(commands.column >> exact_log2(unit_bytes(self._phases)))
        shows_data = [chosen.is_status.eq(0), chosen.is_identity.eq(0)]
        with m.If(self.take):
            taken = Mux(self.takes_two, 2 * self._pair_units, self._pair_units)
            m.d.sync += chosen.position.eq(chosen.position + taken)
        with m.If(self.advance.any() & ~chosen.is_status):
            m.d.sync += chosen.position.eq(chosen.position + self.advance)
        with m.Switch(commands.request):
            with m.Case(DieRequest.ARRAY), m.If(orders.start):
                with m.Switch(commands.operation):
                    with m.Case(ArrayOperation.READ, ArrayOperation.READ_PLANE):
                        m.d.sync += [*addressed, at_column, *shows_data]
                    with m.Case(*CACHE_READS):
                        plane = plane_of(self._part, arrays.last_row)
                        m.d.sync += [chosen.lun.eq(orders.lun), chosen.plane.eq(plane)]
                        m.d.sync += [chosen.position.eq(0), *shows_data]
                    with m.Case(ArrayOperation.PARAMETER_PAGE, ArrayOperation.GET_FEATURES):
                        m.d.sync += [chosen.lun.eq(0), chosen.plane.eq(0)]
                        m.d.sync += [chosen.position.eq(0), *shows_data]
                    with m.Case(
                        ArrayOperation.ERASE, ArrayOperation.ERASE_PLANE, *SUSPENDS, *RESUMES
                    ):
                        m.d.sync += chosen.lun.eq(orders.lun)
            with m.Case(DieRequest.SELECT), m.If(arrays.idle.bit_select(commands.lun, 1)):
                m.d.sync += [*addressed, at_column, *shows_data]
            with m.Case(DieRequest.STATUS):
                m.d.sync += chosen.is_status.eq(1)
            with m.Case(DieRequest.STATUS_LUN):
                m.d.sync += [chosen.is_status.eq(1), chosen.lun.eq(commands.lun)]
            with m.Case(DieRequest.RESUME), m.If(arrays.idle.bit_select(chosen.lun, 1)):
                m.d.sync += chosen.is_status.eq(0)
            with m.Case(DieRequest.LOAD):
                m.d.sync += [*addressed, at_column, chosen.row.eq(commands.row)]
            with m.Case(DieRequest.LOAD_MORE):
                m.d.sync += at_column
            with m.Case(DieRequest.SET_FEATURES):
                m.d.sync += [chosen.lun.eq(0), chosen.plane.eq(0), chosen.row.eq(commands.row)]
                m.d.sync += chosen.position.eq(0)
            with m.Case(DieRequest.IDENTIFY), m.If(arrays.free.all()):
                m.d.sync += [chosen.row.eq(commands.row), chosen.position.eq(0)]
                m.d.sync += [chosen.is_status.eq(0), chosen.is_identity.eq(1)]

    def _put_out(self, m, chosen, arrays, registers):
        part = self._part
        plane_bits, lun_bits = exact_log2(part.planes), (part.luns - 1).bit_length()
        plane = Cat(chosen.plane[:plane_bits], chosen.lun[:lun_bits])
        m.d.comb += self.page.eq(Cat(registers.cache.bit_select(plane, 1), plane))
        bits = {
            StatusBit.FAIL: arrays.fail,
            StatusBit.FAILC: arrays.failc,
            StatusBit.ARDY: arrays.at_rest,
            StatusBit.RDY: arrays.ready,
        }
        with m.If(self.advance.any()):
            with m.If(chosen.is_status):
                status = Const(StatusBit.WP_N, 8)
                for bit, levels in bits.items():
                    status |= Mux(levels.bit_select(chosen.lun, 1), Const(bit, 8), 0)
                m.d.comb += self.word.eq(status.replicate(self._phases))
            with m.Elif(chosen.is_identity):
                for address, raw in ((0, self._identity), (ONFI_ADDRESS, SIGNATURE)):
                    with m.If(chosen.row == address):
                        self._identify(m, chosen.position, raw.ljust(IDENTITY_BYTES, b"\0"))
            with m.Else():
                m.d.comb += self.has_data.eq(arrays.idle.bit_select(chosen.lun, 1))

    def _identify(self, m, position, raw):
        with m.Switch(position):
            unit = unit_bytes(self._phases)
            for index in range(IDENTITY_BYTES // unit):
                word = raw[unit * index : unit * index + self._phases]
                with m.Case(index):
                    m.d.comb += self.word.eq(int.from_bytes(word, "little"))
