# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Where result words land, for the kernel to take out. Simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import result_transfer
from rtl.sim_memory import SimMemory

__all__ = ["ResultLanding"]


class ResultLanding(wiring.Component):
    """Packs the 64-bit result words of one launch into a memory of wide words, from its start.

    Word n of the launch is bits 64 * (n mod k) of memory word n div k, with k words in each. What
    of a transfer belongs to the memory word behind is kept for a clock, or until the next transfer.
    What does not fit is dropped and reported.

    Parameters
    ----------
    capacity_bytes : int
        Size, a power of two of at least two memory words.
    data_bits : int
        Width of a memory word at least; it holds one transfer.
    result_words : int
        Words of a transfer at most.
    emitted : bool
        As of :class:`SimMemory`.

    Members
    -------
    results : In(stream of result_transfer)
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

    def __init__(self, *, capacity_bytes=1 << 20, data_bits=512, result_words=2, emitted=False):
        width = max(data_bits, 64 * result_words)
        least = width // 4
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
        self._result_words = result_words
        self._each = width // 64
        self.storage = SimMemory(depth=8 * capacity_bytes // width, width=width, emitted=emitted)
        super().__init__(
            {
                "results": In(stream.Signature(result_transfer(result_words))),
                "start": In(1),
                "free": In(1),
                **dict.fromkeys(("occupied", "unread", "overflow"), Out(1)),
            }
        )

    @property
    def capacity_bytes(self):
        return self._capacity_bytes

    @property
    def result_words(self):
        return self._result_words

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self.storage
        words = self._capacity_bytes // 8
        given = self.results.payload
        count, seen = Signal(range(words + 1)), Signal()
        room, fits = Signal(range(words + 1)), Signal(given.count.shape())
        m.d.comb += [
            self.results.ready.eq(1),
            room.eq(words - count),
            fits.eq(Mux(given.count > room, room, given.count)),
            self.overflow.eq(self.results.valid & (fits != given.count)),
            self.unread.eq(self.free != seen),
        ]
        taken = Mux(self.results.valid, fits, 0)
        self._write(m, count, taken)
        m.d.sync += seen.eq(self.free)
        with m.If(self.unread):
            m.d.sync += self.occupied.eq(0)
        with m.If(self.start):
            m.d.sync += [self.occupied.eq(1), count.eq(0)]
        with m.Else():
            m.d.sync += count.eq(count + taken)
        return m

    def _write(self, m, count, taken):
        """Write what is kept and what is ``taken`` from word ``count`` on; keep what is left."""
        each, lane_bits = self._each, (self._each - 1).bit_length()
        kept, kept_count = Signal(64 * self._result_words), Signal(range(self._result_words + 1))
        place, end = Signal(range(each)), Signal(range(2 * each + 1))
        row = Signal(len(self.storage.write_address))
        given = self.results.payload.words
        # What is not taken must be zero, as the next transfer may come to lie there.
        fresh = Cat(Mux(number < taken, word, 0) for number, word in enumerate(given))
        # Words and mask of two memory words: that of the first word to write, and the one behind.
        image, mask = Signal(2 * 64 * each), Signal(2 * each)
        begin = Signal(count.shape())
        m.d.comb += [
            begin.eq(count - kept_count),
            place.eq(begin[:lane_bits]),
            row.eq(begin[lane_bits:]),
            end.eq(place + kept_count + taken),
            mask.eq(((1 << end) - 1) & ~((1 << place) - 1)),
            image.eq((kept << (place * 64)) | (fresh << ((place + kept_count) * 64))),
            self.storage.write_address.eq(row),
            self.storage.write_data.eq(image[: 64 * each]),
            self.storage.write_mask.eq(Cat(bit.replicate(8) for bit in mask[:each])),
            self.storage.write_enable.eq(mask[:each].any()),
        ]
        m.d.sync += [
            kept.eq(image[64 * each :]),
            kept_count.eq(Mux(end > each, end - each, 0)),
        ]
