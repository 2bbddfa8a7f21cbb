"""The circuit of ``rtl.contract.mixer``: 32 random bits a clock, and their place in a list."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.contract.mixer import MULTIPLIERS, SHIFTS
from rtl.gather.queue import QUEUED, RunUp

__all__ = ["PositionMixer"]

HALF = 16
"""Bits of a factor: products of two halves fit the multipliers of FPGAs."""


def halves(word):
    return word[:HALF], word[HALF:]


class PositionMixer(wiring.Component):
    """Mixes counter words and maps them to positions; one a clock, in order.

    Entry ``word`` gives ``mix(word) * degree / 2^32``, rounded down: draw i of a list is the word
    key + GOLDEN * (i + 1), modulo 2^32. An entry with ``bypass`` set gives ``word`` itself, so that
    given and drawn positions can share the way and keep their order.

    Multiplications are those of halves of 16 bits, with registers between products and sums. What
    has been taken runs through without a stop, into a queue that has room for it: no stall of the
    output reaches further than that. Latency is :attr:`latency` clocks.

    Parameters
    ----------
    tag : ShapeLike
        What travels beside each entry, unchanged.
    multiply_stages : int
        Registers behind the products of each of the three multiplications.

    Members
    -------
    words : In(stream of word, degree, bypass, tag)
        What to mix.
    positions : Out(stream of position, degree, tag)
        The positions, and the degree that each was drawn for.
    """

    def __init__(self, tag, *, multiply_stages=1):
        if not isinstance(multiply_stages, int) or multiply_stages < 1:
            raise TypeError(f"Multiply stages must be a positive integer, not {multiply_stages!r}")
        self._multiply_stages = multiply_stages
        self._tag = tag
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
        """Clocks from a word to its position: the registers, and the queue."""
        return len(self._steps()) + QUEUED

    def _steps(self):
        """Functions from (fields, degree) to the new fields, one a register.

        Fields are signals by name: ``word``, or the products and sums that it is going to be.
        """
        hold = [lambda fields, _: fields] * (self._multiply_stages - 1)
        steps = []
        for shift, factor in zip(SHIFTS, MULTIPLIERS, strict=False):
            steps.append(lambda fields, _, shift=shift: _shifted(fields, shift))
            steps.append(lambda fields, _, factor=factor: _low_products(fields, factor))
            steps += [*hold, _low_sum]
        steps.append(lambda fields, _: _shifted(fields, SHIFTS[-1]))
        steps.append(_products)
        return [*steps, *hold, _middle, _middle_sum, _high_sum]

    def elaborate(self, platform):
        m = Module()
        steps = self._steps()
        position = self.positions.payload.shape()
        m.submodules.run_up = run_up = RunUp(position, len(steps))
        entry = Signal(data.StructLayout({"degree": 32, "bypass": 1, "tag": self._tag}))
        given, bypassed = self.words.payload, self.words.payload.word
        m.d.comb += [
            entry.degree.eq(given.degree),
            entry.bypass.eq(given.bypass),
            entry.tag.eq(given.tag),
            run_up.asked.eq(self.words.valid),
            self.words.ready.eq(run_up.ready),
        ]
        fields = {"word": given.word}
        for number, step in enumerate(steps):
            after = Signal.like(entry, name=f"entry{number}")
            word = Signal(32, name=f"bypassed{number}")
            m.d.sync += [after.eq(entry), word.eq(bypassed)]
            fields = {
                name: self._register(m, f"{name}{number}", value)
                for name, value in step(fields, entry.degree).items()
            }
            entry, bypassed = after, word
        m.d.comb += [
            run_up.arrived.position.eq(Mux(entry.bypass, bypassed, fields["word"])),
            run_up.arrived.degree.eq(entry.degree),
            run_up.arrived.tag.eq(entry.tag),
            self.positions.payload.eq(run_up.head.payload),
            self.positions.valid.eq(run_up.head.valid),
            run_up.head.ready.eq(self.positions.ready),
        ]
        return m

    @staticmethod
    def _register(m, name, value):
        after = Signal(len(value), name=name)
        m.d.sync += after.eq(value)
        return after


def _shifted(fields, shift):
    word = fields["word"]
    return {"word": word ^ word >> shift}


def _low_products(fields, factor):
    """What the low 32 bits of word * factor are summed from."""
    low, high = halves(fields["word"])
    return {
        "low": low * (factor & (1 << HALF) - 1),
        "crossed": ((low * (factor >> HALF))[:HALF]),
        "other": ((high * (factor & (1 << HALF) - 1))[:HALF]),
    }


def _low_sum(fields, _):
    low, high = halves(fields["low"])
    return {"word": Cat(low, (high + fields["crossed"] + fields["other"])[:HALF])}


def _products(fields, degree):
    """What the high 32 bits of word * degree are summed from."""
    (low, high), (degree_low, degree_high) = halves(fields["word"]), halves(degree)
    return {
        "low": (low * degree_low)[HALF:],
        "crossed": low * degree_high,
        "other": high * degree_low,
        "high": high * degree_high,
    }


def _middle(fields, _):
    return {
        "low": fields["low"],
        "middle": fields["crossed"] + fields["other"],
        "high": fields["high"],
    }


def _middle_sum(fields, _):
    return {"middle": (fields["middle"] + fields["low"])[HALF:], "high": fields["high"]}


def _high_sum(fields, _):
    return {"word": (fields["high"] + fields["middle"])[:32]}
