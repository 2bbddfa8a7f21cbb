# amaranth: UnusedElaboratable=no
# (The parts are made in constructors, which must refuse what their parts refuse.)
"""Where result words land, for the kernel to take out. Simulation only."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.gather import result_transfer
from rtl.gather.rings import RingPlace
from rtl.sim_memory import SimMemory

__all__ = ["ResultLanding"]


class ResultLanding(wiring.Component):
    """Packs 64-bit result words into a memory of wide words.

    Word n of the memory is bits 64 * (n mod k) of memory word n div k, with k words in each. What
    of a transfer belongs to the memory word behind is kept for a clock, or until the next transfer.
    A launch of the kernel's has the first ``capacity_bytes``, from their start. Behind them each
    descriptor ring has ``ring_bytes``, in which the words of its launches follow each other, round
    and round. What does not fit is dropped and reported.

    Parameters
    ----------
    capacity_bytes : int
        Of the kernel's launches, a power of two of at least two memory words.
    rings : int
        Descriptor rings.
    ring_bytes : int
        Of each of them; a power of two, at most ``capacity_bytes``.
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
        A launch begins; the first ``capacity_bytes`` are its own until ``free``, unless it
        ``is_of_ring``.
    is_of_ring, place : In
        It is of a ring, and its words land there; only with ``rings``.
    free : In(1)
        Toggle: the kernel has taken the results.
    occupied : Out(1)
        The memory belongs to a launch.
    unread : Out(1)
        The next clock edge sees ``free`` changed.
    overflow : Out(1)
        One clock: a word did not fit.
    """

    def __init__(
        self,
        *,
        capacity_bytes=1 << 20,
        data_bits=512,
        result_words=2,
        rings=0,
        ring_bytes=1 << 20,
        emitted=False,
    ):
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
        if rings and (
            not isinstance(ring_bytes, int)
            or not least <= ring_bytes <= capacity_bytes
            or (ring_bytes & ring_bytes - 1)
        ):
            raise ValueError(
                f"Result capacity of a ring must be a power of two of bytes from {least} to "
                f"{capacity_bytes}, not {ring_bytes!r}"
            )
        self._capacity_bytes = capacity_bytes
        self._rings = rings
        self._ring_bytes = ring_bytes
        self._result_words = result_words
        self._each = width // 64
        size = capacity_bytes + rings * ring_bytes
        self.storage = SimMemory(depth=8 * size // width, width=width, emitted=emitted)
        super().__init__(
            {
                "results": In(stream.Signature(result_transfer(result_words))),
                "start": In(1),
                "free": In(1),
                **dict.fromkeys(("occupied", "unread", "overflow"), Out(1)),
                **({"is_of_ring": In(1), "place": In(RingPlace)} if rings else {}),
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
        count, seen = Signal(range(words + self._rings * self._ring_bytes // 8 + 1)), Signal()
        room, fits, after = Signal(32), Signal(given.count.shape()), Signal.like(count)
        m.d.comb += [
            self.results.ready.eq(1),
            fits.eq(Mux(given.count > room, room, given.count)),
            self.overflow.eq(self.results.valid & (fits != given.count)),
            self.unread.eq(self.free != seen),
        ]
        taken = Mux(self.results.valid, fits, 0)
        m.d.comb += after.eq(count + taken)
        self._write(m, count, taken)
        m.d.sync += seen.eq(self.free)
        with m.If(self.unread):
            m.d.sync += self.occupied.eq(0)
        with m.If(self.start):
            m.d.sync += [self.occupied.eq(1), count.eq(0), room.eq(words)]
        with m.Else():
            m.d.sync += [count.eq(after), room.eq(room - taken)]
        if self._rings:
            self._of_ring(m, count, after, room, taken)
        return m

    def _of_ring(self, m, count, after, room, taken):
        """Where words of a ring's launch land: its place in the memory, and round and round."""
        low = (self._ring_bytes // 8 - 1).bit_length()
        before = self._capacity_bytes // self._ring_bytes
        mine, place = Signal(), self.place
        with m.If(mine):
            m.d.comb += after.eq(Cat((count[:low] + taken)[:low], count[low:]))
        with m.If(self.start):
            m.d.sync += mine.eq(self.is_of_ring)
        with m.If(self.start & self.is_of_ring):
            m.d.sync += [
                self.occupied.eq(self.occupied & ~self.unread),
                count.eq(Cat(place.first[:low], before + place.ring)),
                room.eq(place.room),
            ]

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
