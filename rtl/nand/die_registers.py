"""Which page register of a plane is its cache register, and which the array works with."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.channel import ArrayOperation

__all__ = ["DieRegisters"]

CACHE_READS = (ArrayOperation.READ_CACHE_RANDOM, ArrayOperation.READ_CACHE_SEQUENTIAL)


class DieRegisters(wiring.Component):
    """Two page registers a plane, whose roles change; simulation only.

    The bus sees a plane's cache register. A plain read or program uses it for the array, too. After
    a cached program (15h) the array works with what was the cache register, and the other one takes
    its role. A cached read (31h) makes cache registers of those with the pages sensed before, and
    senses into the others; 3Fh does only the former. Planes queued by 32h or 11h take part in what
    the confirm cycle that follows does; a plane queued by 32h is sensed into the register that is
    not its cache register, so that pages sensed before can still be put out after a 31h. Roles
    change at the confirm cycle: until the die is ready again nobody can tell. Ref: ONFI 3.1,
    sections 5.15 (Read Cache), 5.19 (Page Cache Program).

    Parameters
    ----------
    luns, planes : int
        LUNs of the die, and planes of each.

    Members
    -------
    lun, plane, operation : In
        Where an operation is to begin, and which.
    start : In(1)
        It does, and changes the roles.
    reset : In(1)
        Register 0 becomes each plane's cache register.
    array : Out(1)
        Register that the array would work with.
    reads : Out(1)
        Reads are all that ``lun`` has done since the one with which it began: 31h may go on.
    cache : Out(luns * planes)
        Number of the cache register of each plane, LUN 0 in the low bits.
    """

    def __init__(self, *, luns, planes):
        self._luns = luns
        self._planes = planes
        super().__init__(
            {
                "lun": In(range(max(luns, 2))),
                "plane": In(range(max(planes, 2))),
                "operation": In(ArrayOperation),
                "start": In(1),
                "reset": In(1),
                "array": Out(1),
                "reads": Out(1),
                "cache": Out(luns * planes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        planes = self._planes
        roles = data.StructLayout({"sensed": planes, "queued": planes, "reads": 1})
        roles = Signal(data.ArrayLayout(roles, self._luns))
        caches = data.View(data.ArrayLayout(planes, self._luns), self.cache)
        own, cache = roles[self.lun], caches[self.lun]
        m.d.comb += [
            self.reads.eq(own.reads),
            self.array.eq(cache.bit_select(self.plane, 1)),
        ]
        with m.Switch(self.operation):
            with m.Case(ArrayOperation.READ_PLANE, *CACHE_READS):
                m.d.comb += self.array.eq(~own.sensed.bit_select(self.plane, 1))
            with m.Case(ArrayOperation.READ_CACHE_END):
                m.d.comb += self.array.eq(own.sensed.bit_select(self.plane, 1))
            with m.Case(ArrayOperation.RESET):
                m.d.comb += self.array.eq(0)
        with m.If(self.start):
            self._change(m, own, cache)
        with m.If(self.reset):
            m.d.sync += [roles.eq(0), self.cache.eq(0)]
        return m

    def _change(self, m, own, cache):
        chosen = Signal(self._planes)
        following = Signal(self._planes)
        m.d.comb += [chosen.eq(own.queued | 1 << self.plane), following.eq(cache)]
        m.d.sync += own.queued.eq(0)
        with m.Switch(self.operation):
            with m.Case(ArrayOperation.READ_PLANE):
                m.d.sync += own.queued.eq(chosen)
            with m.Case(ArrayOperation.READ):
                m.d.comb += following.eq(own.queued & ~own.sensed | ~own.queued & cache)
                m.d.sync += own.reads.eq(1)
            with m.Case(*CACHE_READS):
                m.d.comb += following.eq(own.sensed)
                m.d.sync += own.reads.eq(1)
            with m.Case(ArrayOperation.READ_CACHE_END):
                m.d.comb += following.eq(own.sensed)
                m.d.sync += own.reads.eq(0)
            with m.Case(ArrayOperation.PROGRAM_CACHE):
                m.d.comb += following.eq(cache ^ chosen)
                m.d.sync += own.reads.eq(0)
            with m.Case(ArrayOperation.PROGRAM_PLANE, ArrayOperation.ERASE_PLANE):
                m.d.sync += [own.queued.eq(chosen), own.reads.eq(0)]
            with m.Default():
                m.d.sync += own.reads.eq(0)
        m.d.sync += [cache.eq(following), own.sensed.eq(following)]
        with m.Switch(self.operation):
            with m.Case(ArrayOperation.READ_PLANE):
                m.d.sync += own.sensed.eq(own.sensed)
            with m.Case(*CACHE_READS):
                m.d.sync += own.sensed.eq(following ^ chosen)
