# amaranth: UnusedElaboratable=no
"""The circuit of ``rtl.contract.mixer``: 32 random bits a clock, and their place in a list."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.mixer import MULTIPLIERS, SHIFTS
from rtl.gather.queue import QUEUED, RunUp
from rtl.product import FACTOR_BITS, PRODUCT_CLOCKS, Product

__all__ = ["PositionMixer"]

LOW_CLOCKS = PRODUCT_CLOCKS + 1
"""Clocks of a multiplication of which the low half counts: products of halves, and their sum."""
HIGH_CLOCKS = PRODUCT_CLOCKS + 3
"""Clocks of one of which the high half counts."""
STEPS = len(MULTIPLIERS) * LOW_CLOCKS + HIGH_CLOCKS


def halves(word):
    return word[:FACTOR_BITS], word[FACTOR_BITS:]


class PositionMixer(wiring.Component):
    """Mixes counter words and maps them to positions; one a clock, in order.

    Entry ``word`` gives ``mix(word) * degree / 2^32``, rounded down: draw i of a list is the word
    key + GOLDEN * (i + 1), modulo 2^32. An entry with ``bypass`` set gives ``word`` itself, so that
    given and drawn positions can share the way and keep their order.

    Multiplications are those of halves of 16 bits, each a :class:`Product` with registers at both
    ends. What has been taken runs through without a stop, into a queue that has room for it: no
    stall of the output reaches further than that. Latency is :attr:`latency` clocks.

    Parameters
    ----------
    tag : ShapeLike
        What travels beside each entry, unchanged.

    Members
    -------
    words : In(stream of word, degree, bypass, tag)
        What to mix.
    positions : Out(stream of position, degree, tag)
        The positions, and the degree that each was drawn for.
    """

    def __init__(self, tag):
        self._tag = tag
        self._entry = data.StructLayout({"word": 32, "degree": 32, "bypass": 1, "tag": tag})
        position = data.StructLayout({"position": 32, "degree": 32, "tag": tag})
        self.run_up = RunUp(position, STEPS)
        super().__init__(
            {
                "words": In(stream.Signature(self._entry)),
                "positions": Out(stream.Signature(position)),
            }
        )

    @property
    def latency(self):
        """Clocks from a word to its position: the registers, and the queue."""
        return STEPS + QUEUED

    def elaborate(self, platform):
        m = Module()
        m.submodules.run_up = run_up = self.run_up
        beside = self._beside(m)
        word = self.words.payload.word
        for number, (shift, factor) in enumerate(zip(SHIFTS, MULTIPLIERS, strict=False)):
            word = _low_product(m, f"mixed{number}", word ^ word >> shift, factor)
        degree = beside[len(MULTIPLIERS) * LOW_CLOCKS].degree
        word = _high_product(m, "position", word ^ word >> SHIFTS[-1], degree)
        last = beside[STEPS]
        m.d.comb += [
            run_up.asked.eq(self.words.valid),
            self.words.ready.eq(run_up.ready),
            run_up.arrived.position.eq(Mux(last.bypass, last.word, word)),
            run_up.arrived.degree.eq(last.degree),
            run_up.arrived.tag.eq(last.tag),
            self.positions.payload.eq(run_up.head.payload),
            self.positions.valid.eq(run_up.head.valid),
            run_up.head.ready.eq(self.positions.ready),
        ]
        return m

    def _beside(self, m):
        """The entry as it is given, and behind each register."""
        entries = [self.words.payload]
        for number in range(STEPS):
            entry = Signal(self._entry, name=f"entry{number}")
            m.d.sync += entry.eq(entries[-1])
            entries.append(entry)
        return entries


def _product(m, name, left, right):
    m.submodules[name] = product = Product()
    m.d.comb += [product.left.eq(left), product.right.eq(right)]
    return product.product


def _register(m, name, value):
    after = Signal(len(value), name=name)
    m.d.sync += after.eq(value)
    return after


def _low_product(m, name, word, factor):
    """The low 32 bits of word * factor, :data:`LOW_CLOCKS` later."""
    low, high = halves(word)
    factor_low, factor_high = factor & (1 << FACTOR_BITS) - 1, factor >> FACTOR_BITS
    whole = _product(m, f"{name}_low", low, factor_low)
    crossed = _product(m, f"{name}_crossed", low, factor_high)
    other = _product(m, f"{name}_other", high, factor_low)
    rest, carried = halves(whole)
    return _register(m, name, Cat(rest, (carried + crossed + other)[:FACTOR_BITS]))


def _high_product(m, name, word, degree):
    """The high 32 bits of word * degree, :data:`HIGH_CLOCKS` later."""
    (low, high), (degree_low, degree_high) = halves(word), halves(degree)
    bottom = _product(m, f"{name}_low", low, degree_low)[FACTOR_BITS:]
    crossed = _product(m, f"{name}_crossed", low, degree_high)
    other = _product(m, f"{name}_other", high, degree_low)
    top = _product(m, f"{name}_high", high, degree_high)
    middle = _register(m, f"{name}_middle", crossed + other)
    bottom = _register(m, f"{name}_bottom", bottom)
    carried = _register(m, f"{name}_carried", (middle + bottom)[FACTOR_BITS:])
    for number in range(2):
        top = _register(m, f"{name}_top{number}", top)
    return _register(m, name, (top + carried)[:32])
