"""How a die's page registers are read and written, a transfer of the bus at a time."""

from amaranth.hdl import Cat, Const, Signal
from amaranth.utils import exact_log2

__all__ = ["WORD_BYTES", "connect_registers", "pick_lane", "read_ahead"]

WORD_BYTES = 128


def lane_bits(phases):
    """Low bits of a position, which counts ``phases`` bytes: the lane of a word."""
    return exact_log2(WORD_BYTES // phases)


def read_ahead(m, page, output, position, phases):
    """Have the word at ``position`` read from a page register in the clock before it goes out."""
    bits = lane_bits(phases)
    m.d.comb += [
        page.read_address.eq((position + output.take) >> bits),
        page.read_enable.eq(output.fetch | position[:bits].all()),
    ]


def pick_lane(m, lane, word, position):
    """Take one lane of a wide word, as a case a lane: a wide shift is slow to simulate."""
    bits = exact_log2(len(word) // len(lane))
    with m.Switch(position[:bits]):
        for number in range(1 << bits):
            with m.Case(number):
                m.d.comb += lane.eq(word.word_select(number, len(lane)))


def connect_registers(m, pages, output, operations, page_bytes, phases):
    """Join the page registers of an extended part with its operations and its output.

    Parameters
    ----------
    m : Module
        Of the die, of which ``pages`` are submodules.
    pages : list of SimMemory
        By their numbers in :class:`DieOperations`.
    output, operations : DieOutput, DieOperations
    page_bytes : int
        Of these, only this many are there.
    phases : int
        Bytes of a position.
    """
    position = operations.position
    byte = Cat(Const(0, exact_log2(phases)), position)
    word_bits = exact_log2(WORD_BYTES)
    is_inside = position < page_bytes // phases
    word, written, mask = Signal(8 * WORD_BYTES), Signal(8 * WORD_BYTES), Signal(WORD_BYTES)
    m.d.comb += written.eq(operations.pair.replicate(WORD_BYTES // 2))
    with m.If(operations.take):
        m.d.comb += mask.eq(Const(0b11, 2) << byte[:word_bits])
    with m.If(output.take):
        m.d.comb += output.word.eq(operations.word)
        with m.If(operations.has_data & is_inside):
            pick_lane(m, output.word, word, position)
    for index, page in enumerate(pages):
        is_chosen = operations.page == index
        with m.If((output.fetch | output.take) & is_chosen):
            read_ahead(m, page, output, position, phases)
        with m.If(operations.has_data & is_chosen):
            m.d.comb += word.eq(page.read_data)
        m.d.comb += [
            page.write_enable.eq(operations.take & is_chosen & is_inside),
            page.write_address.eq(byte >> word_bits),
            page.write_mask.eq(mask),
            page.write_data.eq(written),
        ]
