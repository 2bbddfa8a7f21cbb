"""Storage of simulation-only components: big, without initialiser, reachable from outside.

Amaranth emits an initial value for each memory word, which is slow to write and to build for a
16 MB window, so in emitted Verilog the storage is an instance of ``rtl/verilog/sim_ram.v``; in
Amaranth's own simulator it is an ordinary memory. Both have the same ports and one clock of read
latency.
"""

from amaranth.hdl import ClockSignal, Instance, Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SimMemory"]


class SimMemory(wiring.Component):
    """Synchronous memory with one read and one write port; reading is not transparent.

    Parameters
    ----------
    depth, width : int
        Words and bits of a word.
    emitted : bool
        Whether the storage is the Verilog instance (HDL simulators) or an Amaranth memory.
    is_zeroed : bool
        All words are zero at the start in Verilog, too.
    ahead : int
        Low bits of the following word that are read with each word.

    Members
    -------
    read_address, read_enable : In
        Word to read; the data follows one clock later and stays while ``read_enable`` is low.
    read_data : Out(width)
        The word.
    read_ahead : Out(ahead)
        The beginning of the word after it; of the last word, nothing that counts.
    write_address, write_data, write_enable, write_mask : In
        Word to write in this clock; ``write_mask`` has one bit a byte.
    """

    def __init__(self, *, depth, width, emitted=False, is_zeroed=False, ahead=0):
        if depth < 2 or width % 8:
            raise ValueError(
                f"Depth must be at least 2 and width whole bytes, not {depth} x {width}"
            )
        self.depth = depth
        self.width = width
        self.emitted = emitted
        self._is_zeroed = is_zeroed
        self._ahead = ahead
        bits = (depth - 1).bit_length()
        super().__init__(
            ({"read_ahead": Out(ahead)} if ahead else {})
            | {
                "read_address": In(bits),
                "read_enable": In(1),
                "read_data": Out(width),
                "write_address": In(bits),
                "write_data": In(width),
                "write_mask": In(width // 8),
                "write_enable": In(1),
            }
        )
        if not emitted:
            self.data = memory.MemoryData(shape=width, depth=depth, init=[])

    def elaborate(self, platform):
        m = Module()
        if self.emitted:
            options = {"p_ZEROED": 1} if self._is_zeroed else {}
            if self._ahead:
                options |= {"p_AHEAD_BITS": self._ahead, "o_read_ahead": self.read_ahead}
            m.submodules.ram = Instance(
                "sim_ram",
                p_DEPTH=self.depth,
                p_WIDTH=self.width,
                p_ADDRESS_BITS=len(self.read_address),
                i_clk=ClockSignal(),
                i_read_address=self.read_address,
                i_read_enable=self.read_enable,
                o_read_data=self.read_data,
                i_write_address=self.write_address,
                i_write_data=self.write_data,
                i_write_mask=self.write_mask,
                i_write_enable=self.write_enable,
                **options,
            )
            return m
        m.submodules.memory = storage = memory.Memory(self.data)
        read = storage.read_port()
        write = storage.write_port(granularity=8)
        m.d.comb += [
            read.addr.eq(self.read_address),
            read.en.eq(self.read_enable),
            self.read_data.eq(read.data),
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write_mask & self.write_enable.replicate(self.width // 8)),
        ]
        if self._ahead:
            following = storage.read_port()
            m.d.comb += [
                following.addr.eq(self.read_address + 1),
                following.en.eq(self.read_enable),
                self.read_ahead.eq(following.data),
            ]
        return m
