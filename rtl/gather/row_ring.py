"""Where a lane keeps the ids of its targets until they leave: rows of a few ids each."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["ROW_CLOCKS", "RowRing"]

ROW_CLOCKS = 2
"""Clocks from a row's number to what is in it."""


class RowRing(wiring.Component):
    """A memory of rows; an id is written, and a row read, in each clock.

    What is read has a register. A platform with a method ``get_row_ring(self)`` says what is put in
    place: block RAMs of FPGAs are slow without the register that they have inside, which tools do
    not always find. A row must not be read in the clock in which it is written.

    Parameters
    ----------
    rows : int
        Of the ring.
    result_words : int
        Places of a row.

    Members
    -------
    write_enable, write_row, write_data : In
        An id, the places that it goes to, a bit each, and their row.
    row : In
        The row to be read.
    ids : Out(64 * result_words)
        What is in it, :data:`ROW_CLOCKS` clocks later.
    """

    def __init__(self, rows, result_words):
        self._rows = rows
        self._result_words = result_words
        super().__init__(
            {
                "write_enable": In(result_words),
                "write_row": In(range(rows)),
                "write_data": In(64),
                "row": In(range(rows)),
                "ids": Out(64 * result_words),
            }
        )

    @property
    def rows(self):
        return self._rows

    @property
    def result_words(self):
        return self._result_words

    def elaborate(self, platform):
        if hasattr(platform, "get_row_ring"):
            return platform.get_row_ring(self)
        m = Module()
        row = data.ArrayLayout(64, self._result_words)
        m.submodules.places = places = memory.Memory(shape=row, depth=self._rows, init=[])
        write, read = places.write_port(granularity=1), places.read_port()
        ids = Signal(64 * self._result_words, reset_less=True)
        m.d.comb += [
            write.en.eq(self.write_enable),
            write.addr.eq(self.write_row),
            write.data.eq(self.write_data.replicate(self._result_words)),
            read.addr.eq(self.row),
            self.ids.eq(ids),
        ]
        m.d.sync += ids.eq(read.data)
        return m
