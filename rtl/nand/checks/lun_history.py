# amaranth: UnusedElaboratable=no
# (The memory is made before what else is.)
"""Rules about what a LUN was told before: cached and multi-plane sequences, page registers."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, enum, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from rtl.nand.checks.command_set import RESUMES, TARGET
from rtl.nand.checks.request import Request
from rtl.nand.checks.rules import rule_bits

__all__ = ["LunHistory"]


class Queue(enum.Enum, shape=2):
    """What planes are queued for."""

    NONE = 0
    READ = 1
    PROGRAM = 2
    ERASE = 3


READS = (Request.READ, Request.READ_PLANE, Request.READ_CACHE)
NEXT_READS = (Request.READ_CACHE, Request.READ_NEXT, Request.READ_END)
PROGRAMS = (Request.PROGRAM, Request.PROGRAM_CACHE, Request.PROGRAM_PLANE)
ERASES = (Request.ERASE, Request.ERASE_PLANE)
TOLD = (*READS, *NEXT_READS, *PROGRAMS, *ERASES, *RESUMES, Request.LOAD)
"""What changes the state of a LUN."""
LEAVE_DATA = (*READS, *NEXT_READS, *ERASES, Request.LOAD, Request.CHOOSE, Request.STATUS_LUN)
"""What a LUN with data of a program must not get."""


class LunHistory(wiring.Component):
    """Rules LOAD_LEFT, CACHE_ORDER to PAGE_REGISTER. LUN l of way w is number w * luns + l.

    ONFI 3.1, sections 5.14 to 5.16 (Read, Read Cache), 5.18 to 5.20 (Page Program, Page Cache
    Program), 5.9 (Block Erase), with their multi-plane forms.

    A plane's page register holds a page from its read on, until 80h addresses the plane or FFh, or
    what asks for an identifier, parameters or a feature, comes to the way. What the bus sees after
    31h or 3Fh is the page, or pages, read before it, and nothing else of the LUN.

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
    rests : In(ways * luns)
        The LUN says in a status byte that its array rests.
    working : Out(ways * luns)
        The array may be at work behind 31h or 15h.
    refused : Out(1)
        A cached read that follows no read: nothing begins.
    broken : Out
        Rules broken in this clock.
    """

    def __init__(self, part, *, ways):
        self._luns = part.luns
        self._number = part.luns * ways
        self._page_bits = exact_log2(part.pages_per_block)
        self._plane_bits = exact_log2(part.planes)
        planes, page = part.planes, max(1, self._page_bits)
        self._layout = data.StructLayout(
            {
                "queue": Queue,
                "queued": planes,
                "page": page,
                "reads": 1,
                "cached": 1,
                "sensed": planes,
                "held": planes,
            }
        )
        super().__init__(
            {
                "request": In(Request),
                "target": In(range(max(self._number, 2))),
                "row": In(range(max(part.rows, 2))),
                "on_way": In(self._number),
                "rests": In(self._number),
                "working": Out(self._number),
                "refused": Out(1),
                "broken": Out(rule_bits()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        own, then = self._remember(m)
        told = Signal(self._number)
        with m.If(self.request != Request.NONE):
            m.d.comb += told.eq(1 << self.target)
            self._judge(m, own, told)
            self._follow(m, own, then)
        self._watch_loads(m, told)
        self._watch_arrays(m, told)
        return m

    @property
    def _plane(self):
        return (1 << self.row[self._page_bits :][: self._plane_bits])[: 1 << self._plane_bits]

    @property
    def _page(self):
        return self.row[: self._page_bits]

    def _remember(self, m):
        """State of LUN ``target`` before the request, and a place for that after it."""
        store = memory.Memory(shape=self._layout, depth=max(2, self._number), init=[])
        m.submodules.store = store
        own, then = Signal(self._layout), Signal(self._layout)
        is_blank = Signal(self._number)
        read, write = store.read_port(domain="comb"), store.write_port()
        m.d.comb += [
            read.addr.eq(self.target),
            own.as_value().eq(Mux(is_blank.bit_select(self.target, 1), 0, read.data.as_value())),
            then.eq(own),
            write.addr.eq(self.target),
            write.data.eq(then),
        ]
        with m.Switch(self.request):
            with m.Case(*TOLD):
                m.d.comb += write.en.eq(~self.refused)
                m.d.sync += is_blank.eq(is_blank & ~(1 << self.target))
            with m.Case(*TARGET):
                m.d.sync += is_blank.eq(is_blank | self.on_way)
        return own, then

    def _judge(self, m, own, told):
        broken = self.broken
        is_working = (self.working & told).any()
        is_other_plane = (own.queued & self._plane) == 0
        is_same_page = self._page == own.page if self._page_bits else 1
        is_free = own.queue == Queue.NONE
        goes_on = is_other_plane & is_same_page
        with m.Switch(self.request):
            with m.Case(*READS):
                fits = (own.queue == Queue.READ) & goes_on
                m.d.comb += broken.plane_order.eq(~is_free & ~fits)
            with m.Case(Request.LOAD):
                fits = (own.queue == Queue.PROGRAM) & goes_on
                m.d.comb += broken.plane_order.eq(~is_free & ~fits)
                m.d.comb += broken.array_busy.eq(is_working & own.cached)
            with m.Case(*ERASES):
                fits = (own.queue == Queue.ERASE) & is_other_plane
                m.d.comb += broken.plane_order.eq(~is_free & ~fits)
                m.d.comb += broken.array_busy.eq(is_working)
            with m.Case(Request.READ_NEXT, Request.READ_END, Request.CHOOSE):
                m.d.comb += broken.plane_order.eq(~is_free)
        with m.Switch(self.request):
            with m.Case(Request.READ):
                m.d.comb += broken.array_busy.eq(is_working)
            with m.Case(Request.READ_PLANE):
                m.d.comb += broken.array_busy.eq(is_working & ~own.cached)
            with m.Case(Request.READ_CACHE):
                m.d.comb += self.refused.eq(~own.reads)
            with m.Case(Request.READ_NEXT):
                is_several = (own.sensed & (own.sensed - 1)).any()
                is_last = own.page == (1 << self._page_bits) - 1
                m.d.comb += self.refused.eq(~own.reads)
                m.d.comb += broken.cache_order.eq(~own.reads | is_several | is_last)
            with m.Case(Request.READ_END):
                m.d.comb += self.refused.eq(~own.cached)
            with m.Case(Request.CHOOSE):
                m.d.comb += broken.page_register.eq((own.held & self._plane) == 0)
        with m.If(self.refused):
            m.d.comb += broken.cache_order.eq(1)

    def _follow(self, m, own, then):
        planes = own.queued | self._plane
        with m.Switch(self.request):
            with m.Case(Request.READ_PLANE, Request.PROGRAM_PLANE, Request.ERASE_PLANE):
                m.d.comb += then.queued.eq(planes)
            with m.Case(*TOLD):
                with m.If(self.request != Request.LOAD):
                    m.d.comb += [then.queue.eq(Queue.NONE), then.queued.eq(0)]
        with m.Switch(self.request):
            with m.Case(Request.READ_PLANE):
                m.d.comb += [then.queue.eq(Queue.READ), then.page.eq(self._page)]
            with m.Case(Request.READ):
                m.d.comb += [
                    then.reads.eq(1),
                    then.cached.eq(0),
                    then.page.eq(self._page),
                    then.sensed.eq(planes),
                    then.held.eq(own.held | planes),
                ]
            with m.Case(Request.READ_CACHE):
                m.d.comb += [
                    then.cached.eq(1),
                    then.page.eq(self._page),
                    then.sensed.eq(planes),
                    then.held.eq(own.sensed),
                ]
            with m.Case(Request.READ_NEXT):
                m.d.comb += [
                    then.cached.eq(1),
                    then.page.eq(own.page + 1),
                    then.held.eq(own.sensed),
                ]
            with m.Case(Request.READ_END):
                m.d.comb += [then.reads.eq(0), then.cached.eq(0), then.held.eq(own.sensed)]
            with m.Case(Request.LOAD):
                m.d.comb += [
                    then.reads.eq(0),
                    then.cached.eq(0),
                    then.held.eq(own.held & ~self._plane),
                ]
            with m.Case(Request.PROGRAM_PLANE):
                m.d.comb += [then.queue.eq(Queue.PROGRAM), then.page.eq(self._page)]
            with m.Case(*ERASES, *RESUMES):
                m.d.comb += [then.reads.eq(0), then.cached.eq(0)]
                with m.If(self.request == Request.ERASE_PLANE):
                    m.d.comb += then.queue.eq(Queue.ERASE)

    def _watch_loads(self, m, told):
        """Data of a program that waits for more, or for its confirm cycle."""
        loaded = Signal(self._number)
        left = Signal()
        with m.Switch(self.request):
            with m.Case(*LEAVE_DATA):
                m.d.comb += left.eq((loaded & told).any())
            with m.Case(Request.STATUS):
                m.d.comb += left.eq(loaded.any() & (self.on_way == loaded))
            with m.Case(*TARGET):
                is_reset = self.request == Request.RESET
                m.d.comb += left.eq((loaded & self.on_way).any() & ~is_reset)
        m.d.comb += self.broken.load_left.eq(left)
        with m.Switch(self.request):
            with m.Case(Request.LOAD):
                m.d.sync += loaded.eq(told)
            with m.Case(*PROGRAMS):
                m.d.sync += loaded.eq(0)
            with m.Case(Request.RESET):
                m.d.sync += loaded.eq(loaded & ~self.on_way)
            with m.Default(), m.If(left):
                m.d.sync += loaded.eq(0)

    def _watch_arrays(self, m, told):
        begins, ends = Signal(self._number), Signal(self._number)
        with m.Switch(self.request):
            with m.Case(Request.READ_CACHE, Request.READ_NEXT, Request.PROGRAM_CACHE):
                m.d.comb += begins.eq(Mux(self.refused, 0, told))
            with m.Case(Request.READ_END, Request.PROGRAM, Request.READ):
                m.d.comb += ends.eq(told)
            with m.Case(Request.RESET):
                m.d.comb += ends.eq(self.on_way)
        with m.If((begins | ends | self.rests).any()):
            m.d.sync += self.working.eq(self.working & ~ends & ~self.rests | begins)
