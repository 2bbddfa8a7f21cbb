# amaranth: UnusedElaboratable=no
# (The memory is made before what else is.)
"""Rules about suspends and resumes, and about LUNs that hold what was suspended."""

from amaranth.hdl import Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits

__all__ = ["SuspendCheck"]

SENSES = (Request.READ, Request.READ_PLANE)
CACHE_READS = (Request.READ_CACHE, Request.READ_NEXT, Request.READ_END)
OTHERS = (Request.LOAD, Request.ERASE_PLANE, *CACHE_READS)
"""Begin something else than what can be suspended."""


class SuspendCheck(wiring.Component):
    """Rules SUSPEND_ORDER to SUSPENDED_ROW. LUN l of way w is number w * luns + l.

    From its confirm cycle, 10h or D0h, until a status byte with ARDY a LUN is taken to program or
    erase. A suspend may come too late, so what is held is known only from a status byte with RDY
    and without ARDY; before that, the rules for a LUN that holds something hold for it already.

    Parameters
    ----------
    part : NandPart
        Geometry.
    ways : int
        Ways of the channel.

    Members
    -------
    request, target, row : In
        A command that its LUN can take, that LUN's number, and the row; else ``NONE``.
    on_way : In(ways * luns)
        LUNs of the way of ``request``.
    answers, rests : In(ways * luns)
        The LUN says in a status byte that it is ready, or that its array rests.
    holds : Out(ways * luns)
        The LUN may hold what was suspended.
    refused : Out(1)
        A resume of what is not held: nothing begins.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, ways):
        self._page_bits = exact_log2(part.pages_per_block)
        self._row = row = range(max(part.rows, 2))
        self._number = number = part.luns * ways
        super().__init__(
            {
                "request": In(Request),
                "target": In(range(max(number, 2))),
                "row": In(row),
                "on_way": In(number),
                "answers": In(number),
                "rests": In(number),
                "holds": Out(number),
                "refused": Out(1),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        programs, erases, asked, held, told = (Signal(self._number) for _ in range(5))
        work = Signal(self._row)
        m.d.comb += self.holds.eq(asked | held)
        with m.If((self.answers | self.rests).any()):
            gone = self.rests
            m.d.sync += [
                programs.eq(programs & ~gone),
                erases.eq(erases & ~gone),
                asked.eq(asked & ~(self.answers | gone)),
                held.eq((held | asked & self.answers) & ~gone),
            ]
        with m.If(self.request != Request.NONE):
            m.d.comb += told.eq(1 << self.target)
        holds = (self.holds & told).any()
        kinds = (
            (programs, Request.PROGRAM_SUSPEND, Request.PROGRAM_RESUME),
            (erases, Request.ERASE_SUSPEND, Request.ERASE_RESUME),
        )
        with m.Switch(self.request):
            for kind, suspend, resume in kinds:
                is_at_work = (kind & told).any()
                with m.Case(suspend):
                    m.d.comb += self.broken.suspend_order.eq(~is_at_work | holds)
                    with m.If(is_at_work & ~holds):
                        m.d.sync += asked.eq(asked | told)
                with m.Case(resume):
                    m.d.comb += self.refused.eq(~(kind & held & told).any())
                    m.d.comb += self.broken.suspend_order.eq(self.refused)
                    with m.If(~self.refused):
                        m.d.sync += held.eq(held & ~told)
            with m.Case(Request.RESET):
                for luns in (programs, erases, asked, held):
                    m.d.sync += luns.eq(luns & ~self.on_way)
            with m.Case(*SENSES):
                is_same = self.row == work
                is_near = self.row[self._page_bits :] == work[self._page_bits :]
                is_erase = (erases & told).any()
                m.d.comb += self.broken.suspended_row.eq(holds & (is_same | is_erase & is_near))
            with m.Case(Request.ERASE, *OTHERS):
                m.d.comb += self.broken.suspended.eq(holds)
        with m.If(~holds), m.Switch(self.request):
            with m.Case(Request.PROGRAM):
                m.d.sync += [programs.eq(programs | told), erases.eq(erases & ~told)]
            with m.Case(Request.ERASE):
                m.d.sync += [programs.eq(programs & ~told), erases.eq(erases | told)]
            with m.Case(*SENSES, *OTHERS):
                m.d.sync += [programs.eq(programs & ~told), erases.eq(erases & ~told)]
        self._keep_rows(m, holds, work)
        return m

    def _keep_rows(self, m, holds, work):
        """``work`` is the row that LUN ``target`` programs or erases."""
        store = memory.Memory(shape=self._row, depth=max(2, self._number), init=[])
        m.submodules.rows = store
        read, write = store.read_port(domain="comb"), store.write_port()
        is_work = self.request.as_value().matches(Request.PROGRAM, Request.ERASE)
        m.d.comb += [
            read.addr.eq(self.target),
            work.eq(read.data),
            write.addr.eq(self.target),
            write.data.eq(self.row),
            write.en.eq(is_work & ~holds),
        ]
