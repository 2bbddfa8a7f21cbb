# amaranth: UnusedElaboratable=no
# (The memory is made before what else is.)
"""What an observer of the bus knows about all LUNs: busy since when, ready since when."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import STAMP_BITS
from rtl.nand.checks.rules import age, stamp

__all__ = ["LunShadows"]


class LunShadows(wiring.Component):
    """Each LUN is busy from a confirm cycle until R/B# is high after tWB, or a status byte says so.

    LUN l of way w is number w * luns + l, and bit number of each vector. What needs numbers is
    computed only at edges at which somebody asks.

    Parameters
    ----------
    luns : int
        LUNs of the channel.
    busy_cycles, rest_cycles : int
        tWB and tRR in clocks.
    obeys_always : bool
        Busy or not, a LUN begins what it is told.

    Members
    -------
    now, rb_n : In
        Number of the edge that ends this clock, and the level of each LUN's R/B# at it.
    confirm, target : In
        LUN ``target`` was told to do something, and obeys unless it is busy.
    reset : In(luns)
        The LUN was told to reset.
    status_ready : In(luns)
        The LUN says in a status byte that it is ready.
    source : In
        LUN that ``is_fresh`` asks for.
    opened : In(48)
        Edge that ``is_early`` asks for.
    ask : In(luns)
        LUNs that ``is_early`` asks for.
    busy : Out(luns)
        The LUN is not known to be ready.
    late : Out(luns)
        R/B# is still high tWB after the last confirm cycle (rule T_WB_BUSY).
    is_early : Out(1)
        ``opened`` is less than tWB after the last confirm cycle of one of ``ask``.
    is_fresh : Out(1)
        ``source`` was last seen to become ready less than tRR ago.
    """

    def __init__(self, *, luns, busy_cycles, rest_cycles, obeys_always=False):
        self._luns = luns
        self._busy_cycles = busy_cycles
        self._rest_cycles = rest_cycles
        self._obeys_always = obeys_always
        index = range(max(luns, 2))
        super().__init__(
            {
                "now": In(STAMP_BITS),
                "rb_n": In(luns),
                "confirm": In(1),
                "target": In(index),
                "reset": In(luns),
                "status_ready": In(luns),
                "source": In(index),
                "opened": In(STAMP_BITS),
                "ask": In(luns),
                "busy": Out(luns),
                "late": Out(luns),
                "is_early": Out(1),
                "is_fresh": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        held, waiting, was_told = (Signal(self._luns) for _ in range(3))
        over, starting, appearing = (Signal(self._luns) for _ in range(3))
        windows = self._windows(m, starting)
        with m.If(waiting.any()):
            m.d.comb += over.eq(waiting & Cat(self.now >= window for window in windows))
        with m.If(self.confirm):
            free = ~0 if self._obeys_always else ~self.busy
            m.d.comb += starting.eq((1 << self.target) & free)
        with m.If(self.ask.any()):
            told = self.ask & was_told
            early = told & Cat(self.opened < window for window in windows)
            m.d.comb += self.is_early.eq(early.any())
        m.d.comb += [
            self.late.eq(over & self.rb_n),
            appearing.eq(held & ~waiting & (self.rb_n | self.status_ready)),
            self.busy.eq(held & ~appearing),
        ]
        m.d.sync += [
            held.eq((self.busy | starting) & ~self.reset),
            waiting.eq((waiting & ~over | starting) & ~self.reset),
            was_told.eq((was_told | starting) & ~self.reset),
        ]
        self._remember_ready(m, appearing)
        return m

    def _windows(self, m, starting):
        """Edge tWB after the last confirm cycle of each LUN."""
        m.submodules.windows = store = memory.Memory(
            shape=STAMP_BITS, depth=max(self._luns, 2), init=[]
        )
        write = store.write_port()
        m.d.comb += [
            write.en.eq(starting.any()),
            write.addr.eq(self.target),
            write.data.eq(self.now + self._busy_cycles),
        ]
        windows = []
        for number in range(self._luns):
            read = store.read_port(domain="comb")
            m.d.comb += read.addr.eq(number)
            windows.append(read.data)
        return windows

    def _remember_ready(self, m, appearing):
        """Answer ``is_fresh`` from the latest edges at which LUNs became ready.

        Beside this one, no more than tRR - 1 clocks of them can be less than tRR ago.
        """
        asked = Signal(self._luns)
        m.d.comb += asked.eq(1 << self.source)
        moments = [(appearing, self.now)] if self._rest_cycles else []
        for number in range(1, self._rest_cycles):
            moment = (Signal(self._luns, name=f"luns{number}"), stamp(f"edge{number}"))
            with m.If(appearing.any()):
                m.d.sync += [
                    field.eq(later) for field, later in zip(moment, moments[-1], strict=True)
                ]
            moments.append(moment)
        fresh = [
            (luns & asked).any() & (age(self.now, edge) < self._rest_cycles)
            for luns, edge in moments
        ]
        m.d.comb += self.is_fresh.eq(Cat(fresh).any())
