"""What claims are made of: transfers counted, payloads held, distances of events measured."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Signal, Value

__all__ = ["claim_calm", "claim_conserved", "claim_distance", "claim_stable", "transfers"]

COUNT_BITS = 4


def transfers(stream):
    """A word passes in this clock."""
    return stream.valid & stream.ready


def claim_stable(m, stream):
    """A word on offer stays, unchanged, until it is taken.

    Ref: the rules of ``amaranth.lib.stream`` (valid and payload while ready is low).
    """
    payload = Value.cast(stream.payload)
    held, before = Signal(), Signal(len(payload))
    m.d.sync += [held.eq(stream.valid & ~stream.ready), before.eq(payload)]
    with m.If(held):
        m.d.comb += Assert(stream.valid & (payload == before))


def claim_calm(m, calm, clocks, holds):
    """After ``clocks`` clocks in a row with ``calm`` it ``holds``."""
    passed = Signal(range(clocks + 1))
    with m.If(~calm):
        m.d.sync += passed.eq(0)
    with m.Elif(passed != clocks):
        m.d.sync += passed.eq(passed + 1)
    with m.If(passed == clocks):
        m.d.comb += Assert(holds)


def claim_conserved(m, put, word, head, depth):
    """Words come out of a queue in order, each once, and never more than ``depth`` are in it.

    The model checker chooses which word is followed. Counts wrap after 16 words: a bounded check
    must be shorter.

    Parameters
    ----------
    put : Value
        ``word`` goes in at the end of this clock; it may come out from the next clock on, and is on
        offer as soon as it is the oldest.
    head : stream.Interface
        Words out.
    depth : int
        Places.
    """
    word, out = Value.cast(word), Value.cast(head.payload)
    count_in, count_out = Signal(COUNT_BITS), Signal(COUNT_BITS)
    level, followed, kept = Signal(COUNT_BITS), AnyConst(COUNT_BITS), Signal(len(word))
    m.d.sync += [count_in.eq(count_in + put), count_out.eq(count_out + transfers(head))]
    with m.If(put & (count_in == followed)):
        m.d.sync += kept.eq(word)
    m.d.comb += [
        level.eq(count_in - count_out),
        Assert(level <= depth),
        Assert(head.valid == (level != 0)),
    ]
    with m.If(head.valid & (count_out == followed)):
        m.d.comb += Assert(out == kept)


def claim_distance(m, start, end, clocks):
    """After a clock with ``start`` none with ``end`` comes before ``clocks`` clocks have passed.

    The count is this function's own; a ``start`` within the distance begins it anew.
    """
    passed = Signal(range(clocks + 1), init=clocks)
    with m.If(start):
        m.d.sync += passed.eq(1)
    with m.Elif(passed != clocks):
        m.d.sync += passed.eq(passed + 1)
    with m.If(end):
        m.d.comb += Assert(passed == clocks)
