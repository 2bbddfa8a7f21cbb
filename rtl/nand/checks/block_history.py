"""Rules about the order in which the pages of a block are programmed."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits
from rtl.sim_memory import SimMemory

__all__ = ["BlockHistory"]

UNKNOWN = 0
ERASED = 1
FIRST_PAGE = 2
"""State of a block: one of these, or this and the number of the last page programmed."""


class BlockHistory(wiring.Component):
    """Rules PROGRAM_ORDER and PROGRAM_ERASED. ONFI 3.1, sections 5.9 (Block Erase) and 5.18.

    A block of which nothing has been seen may hold anything: it is to be erased before it is
    programmed, unless all blocks are erased at the start. Pages may be skipped.

    Parameters
    ----------
    part : NandPart
        Geometry.
    ways : int
        Ways of the channel.
    are_erased : bool
        All blocks are erased at the start.
    emitted : bool
        As for :class:`rtl.sim_memory.SimMemory`.

    Members
    -------
    request, target, row : In
        A command that its LUN can take, that LUN's number, and the row; else ``NONE``.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, ways, are_erased=False, emitted=False):
        luns = part.luns * ways
        self._are_erased = are_erased
        self._page_bits = exact_log2(part.pages_per_block)
        self._blocks_per_lun = part.blocks_per_lun
        width = (FIRST_PAGE + part.pages_per_block - 1).bit_length()
        self.blocks = SimMemory(
            depth=max(2, luns * part.blocks_per_lun),
            width=-(-width // 8) * 8,
            emitted=emitted,
            is_zeroed=True,
        )
        super().__init__(
            {
                "request": In(Request),
                "target": In(range(max(luns, 2))),
                "row": In(range(max(part.rows, 2))),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.blocks = blocks = self.blocks
        place = self.target * self._blocks_per_lun + self.row[self._page_bits :]
        programmed = self.row[: self._page_bits] + FIRST_PAGE
        state = blocks.read_data
        m.d.comb += blocks.write_mask.eq(-1)
        with m.Switch(self.request):
            with m.Case(Request.LOAD):
                # The state is there long before the confirm cycle, and nothing else can change it.
                m.d.comb += [blocks.read_enable.eq(1), blocks.read_address.eq(place)]
            with m.Case(Request.PROGRAM, Request.PROGRAM_CACHE, Request.PROGRAM_PLANE):
                m.d.comb += [
                    blocks.write_enable.eq(1),
                    blocks.write_address.eq(place),
                    blocks.write_data.eq(programmed),
                    self.broken.program_order.eq(state > programmed),
                    self.broken.program_erased.eq(
                        (state == programmed) | ((state == UNKNOWN) & (not self._are_erased))
                    ),
                ]
            with m.Case(Request.ERASE, Request.ERASE_PLANE):
                m.d.comb += [
                    blocks.write_enable.eq(1),
                    blocks.write_address.eq(place),
                    blocks.write_data.eq(ERASED),
                ]
        return m
