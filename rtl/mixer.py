"""The circuit of ``rtl.contract.mixer``: 32 random bits a clock, and their place in a list."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.mixer import MULTIPLIERS, SHIFTS

__all__ = ["PositionMixer"]


class PositionMixer(wiring.Component):
    """Mixes counter words and maps them to positions; one a clock, in order.

    Entry ``word`` gives ``mix(word) * degree / 2^32``, rounded down: draw i of a list is the word
    key + GOLDEN * (i + 1), modulo 2^32. An entry with ``bypass`` set gives ``word`` itself, so that
    given and drawn positions can share the way and keep their order.

    Latency is :attr:`latency` clocks; a stalled output holds the whole pipeline.

    Parameters
    ----------
    tag : ShapeLike
        What travels beside each entry, unchanged.
    multiply_stages : int
        Registers behind each of the three multipliers, for a synthesiser to move into them.

    Members
    -------
    words : In(stream of word, degree, bypass, tag)
        What to mix.
    positions : Out(stream of position, degree, tag)
        The positions, and the degree that each was drawn for.
    """

    def __init__(self, tag, *, multiply_stages=2):
        if not isinstance(multiply_stages, int) or multiply_stages < 1:
            raise TypeError(f"Multiply stages must be a positive integer, not {multiply_stages!r}")
        self._multiply_stages = multiply_stages
        self._entry = data.StructLayout({"word": 32, "degree": 32, "bypass": 1, "tag": tag})
        position = data.StructLayout({"position": 32, "degree": 32, "tag": tag})
        super().__init__(
            {
                "words": In(stream.Signature(self._entry)),
                "positions": Out(stream.Signature(position)),
            }
        )

    @property
    def multiply_stages(self):
        return self._multiply_stages

    @property
    def latency(self):
        """Clocks from a word to its position."""
        return len(self._steps())

    def _steps(self):
        """Functions of (word, degree), one a register."""
        hold = [lambda word, _: word] * (self._multiply_stages - 1)
        steps = []
        for shift, factor in zip(SHIFTS, MULTIPLIERS, strict=False):
            steps.append(lambda word, _, shift=shift: word ^ word >> shift)
            steps.append(lambda word, _, factor=factor: (word * factor)[:32])
            steps += hold
        steps.append(lambda word, _: word ^ word >> SHIFTS[-1])
        steps.append(lambda word, degree: (word * degree)[32:])
        return steps + hold

    def elaborate(self, platform):
        m = Module()
        advance = Signal()
        entry, valid = self.words.payload, self.words.valid
        for number, step in enumerate(self._steps()):
            after = Signal(self._entry, name=f"stage{number}")
            after_valid = Signal(name=f"valid{number}")
            word = Signal(unsigned(32), name=f"word{number}")
            m.d.comb += word.eq(step(entry.word, entry.degree))
            with m.If(advance):
                m.d.sync += after_valid.eq(valid)
                with m.If(valid):
                    m.d.sync += [
                        after.eq(entry),
                        after.word.eq(Mux(entry.bypass, entry.word, word)),
                    ]
            entry, valid = after, after_valid
        m.d.comb += [
            advance.eq(~valid | self.positions.ready),
            self.words.ready.eq(advance),
            self.positions.valid.eq(valid),
            self.positions.payload.position.eq(entry.word),
            self.positions.payload.degree.eq(entry.degree),
            self.positions.payload.tag.eq(entry.tag),
        ]
        return m
