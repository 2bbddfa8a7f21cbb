"""How a die's page registers are read and written, a transfer of the bus at a time."""

from amaranth.hdl import Cat, Const, Mux, Signal
from amaranth.utils import exact_log2

__all__ = [
    "AHEAD_BITS",
    "WORD_BYTES",
    "advance",
    "connect_registers",
    "cut_to_page",
    "page_word",
    "pick_lane",
    "read_ahead",
    "unit_bytes",
]

WORD_BYTES = 128
AHEAD_BITS = 16
"""Of the following word, where a lane may reach into it."""


def unit_bytes(phases):
    """Bytes that a position counts: a transfer of the bus, at most a pair of them."""
    return min(phases, 2)


def advance(output, phases):
    """Units that ``output`` has taken: with four phases two, or the one that a burst ends with."""
    return 1 if phases <= 2 else Mux(output.is_half, 1, 2)


def read_ahead(m, page, output, position, phases):
    """Have the word at ``position`` read from a page register in the clock before it goes out."""
    bits = exact_log2(WORD_BYTES // unit_bytes(phases))
    step = exact_log2(phases // unit_bytes(phases))
    following = position + Mux(output.take, 1 << step, 0)
    m.d.comb += [
        page.read_address.eq(following >> bits),
        page.read_enable.eq(output.fetch | position[step:bits].all()),
    ]


def pick_lane(m, lane, word, position):
    """Take the lane of a wide word that begins at ``position``, as a case a lane.

    A wide shift is slow to simulate. ``word`` is a word of a page register and, for four phases,
    what it was read with of the following one.
    """
    unit = 8 * unit_bytes(len(lane) // 8)
    bits = exact_log2(8 * WORD_BYTES // unit)
    with m.Switch(position[:bits]):
        for number in range(1 << bits):
            with m.Case(number):
                m.d.comb += lane.eq(word[unit * number : unit * number + len(lane)])


def cut_to_page(m, lane, position, page_bytes):
    """Clear what of a lane of four bytes is beyond the page."""
    if len(lane) == 32:
        with m.If(position == page_bytes // 2 - 1):
            m.d.comb += lane[16:].eq(0)


def page_word(page):
    """The word that was read from a page register, and what may follow it."""
    return Cat(page.read_data, page.read_ahead) if hasattr(page, "read_ahead") else page.read_data


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
    byte = Cat(Const(0, exact_log2(unit_bytes(phases))), position)
    word_bits = exact_log2(WORD_BYTES)
    is_inside = position < page_bytes // unit_bytes(phases)
    word = Signal(len(page_word(pages[0])))
    written, mask = Signal(8 * WORD_BYTES), Signal(WORD_BYTES)
    taken_bytes = len(operations.pair) // 8
    m.d.comb += written.eq(operations.pair.replicate(WORD_BYTES // taken_bytes))
    with m.If(operations.take):
        m.d.comb += mask.eq(Const(0b11, 2) << byte[:word_bits])
        if phases == 4:
            with m.If(operations.takes_two & (position != page_bytes // 2 - 1)):
                m.d.comb += mask.eq(Const(0b1111, 4) << byte[:word_bits])
    with m.If(output.take):
        m.d.comb += output.word.eq(operations.word)
        with m.If(operations.has_data & is_inside):
            pick_lane(m, output.word, word, position)
            cut_to_page(m, output.word, position, page_bytes)
    for index, page in enumerate(pages):
        is_chosen = operations.page == index
        with m.If((output.fetch | output.take) & is_chosen):
            read_ahead(m, page, output, position, phases)
        with m.If(operations.has_data & is_chosen):
            m.d.comb += word.eq(page_word(page))
        m.d.comb += [
            page.write_enable.eq(operations.take & is_chosen & is_inside),
            page.write_address.eq(byte >> word_bits),
            page.write_mask.eq(mask),
            page.write_data.eq(written),
        ]
