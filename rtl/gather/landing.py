# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Where result words land, for the kernel to take out. Simulation only."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.gather.results import ResultWord
from rtl.sim_memory import SimMemory

__all__ = ["ResultLanding"]


class ResultLanding(wiring.Component):
    """Packs the 64-bit result words of one launch into a memory of wide words, from its start.

    Word n of the launch is bits 64 * (n mod k) of memory word n div k, with k words in each. What
    does not fit is dropped and reported.

    Parameters
    ----------
    capacity_bytes : int
        Size, a power of two of at least two memory words.
    data_bits : int
        Width of a memory word.
    emitted : bool
        As of :class:`SimMemory`.

    Members
    -------
    results : In(stream of ResultWord)
        Result words; always taken.
    start : In(1)
        A launch begins: its words land from the start of the memory, which is the launch's until
        ``free``.
    free : In(1)
        Toggle: the kernel has taken the results.
    occupied : Out(1)
        The memory belongs to a launch.
    unread : Out(1)
        The next clock edge sees ``free`` changed.
    overflow : Out(1)
        One clock: a word did not fit.
    """

    def __init__(self, *, capacity_bytes=1 << 20, data_bits=512, emitted=False):
        least = data_bits // 4
        if (
            not isinstance(capacity_bytes, int)
            or capacity_bytes < least
            or (capacity_bytes & capacity_bytes - 1)
        ):
            raise ValueError(
                f"Result capacity must be a power of two of bytes from {least} up, "
                f"not {capacity_bytes!r}"
            )
        self._capacity_bytes = capacity_bytes
        self._data_bits = data_bits
        self.storage = SimMemory(
            depth=8 * capacity_bytes // data_bits, width=data_bits, emitted=emitted
        )
        super().__init__(
            {
                "results": In(stream.Signature(ResultWord)),
                "start": In(1),
                "free": In(1),
                **dict.fromkeys(("occupied", "unread", "overflow"), Out(1)),
            }
        )

    @property
    def capacity_bytes(self):
        return self._capacity_bytes

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        words = self._capacity_bytes // 8
        each = self._data_bits // 64
        lane_bits = (each - 1).bit_length()
        count, seen, fire = Signal(range(words + 1)), Signal(), Signal()
        lane = count[:lane_bits]
        m.d.comb += [
            self.results.ready.eq(1),
            fire.eq(self.results.valid),
            self.overflow.eq(fire & (count == words)),
            self.unread.eq(self.free != seen),
            self.storage.write_address.eq(count[lane_bits:]),
            self.storage.write_data.eq(self.results.payload.word.replicate(each)),
            self.storage.write_mask.word_select(lane, 8).eq(0xFF),
            self.storage.write_enable.eq(fire & ~self.overflow),
        ]
        m.d.sync += seen.eq(self.free)
        with m.If(self.unread):
            m.d.sync += self.occupied.eq(0)
        with m.If(self.start):
            m.d.sync += [self.occupied.eq(1), count.eq(0)]
        with m.Elif(fire & ~self.overflow):
            m.d.sync += count.eq(count + 1)
        return m
