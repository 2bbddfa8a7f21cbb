"""What the ECP5 has and Yosys does not find by itself: registers in multipliers and block RAMs."""

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Const, Elaboratable, Instance, Module, Signal

from rtl.gather.row_ring import ROW_CLOCKS, RowRing
from rtl.product import PRODUCT_CLOCKS, Product

__all__ = ["Ecp5"]

FACTOR_BITS, PRODUCT_BITS = 18, 36
REGISTERED = ("INPUTA", "INPUTB", "OUTPUT")
"""Registers in use; that between them, ``PIPELINE``, is not.
Ref: Lattice FPGA-TN-02205, ECP5 and ECP5-5G sysDSP Usage Guide."""


RAM_ROWS, WORD_BITS, RAM_BITS, ADDRESS_PINS = 512, 36, 32, 14
"""A DP16KD has 512 words of 36 bits, of which 32 are used, with a port to write and one to read.
Ref: Lattice FPGA-TN-02204, ECP5 and ECP5-5G Memory Usage Guide, pseudo dual-port RAM."""
assert (PRODUCT_CLOCKS, ROW_CLOCKS) == (2, 2)


class Ecp5:
    """Given to :meth:`elaborate` as the platform."""

    def get_product(self, product: Product) -> Elaboratable:
        """A MULT18X18D with registers at its factors and its product."""
        m = Module()
        wide = Signal(PRODUCT_BITS)
        clocks = {
            f"p_REG_{name}_CLK": "CLK0" if name in REGISTERED else "NONE"
            for name in (*REGISTERED, "INPUTC", "PIPELINE")
        }
        m.submodules.multiplier = Instance(
            "MULT18X18D",
            **clocks,
            p_CLK0_DIV="ENABLED",
            p_GSR="DISABLED",
            i_CLK0=ClockSignal(),
            i_CE0=Const(1),
            i_RST0=Const(0),
            i_SIGNEDA=Const(0),
            i_SIGNEDB=Const(0),
            i_SOURCEA=Const(0),
            i_SOURCEB=Const(0),
            **_pins("i_A", product.left, FACTOR_BITS),
            **_pins("i_B", product.right, FACTOR_BITS),
            **_pins("o_P", wide, PRODUCT_BITS),
        )
        m.d.comb += product.product.eq(wide)
        return m

    def get_row_ring(self, ring: RowRing) -> Elaboratable:
        """Block RAMs with registers at what is read; up to 512 rows."""
        if ring.rows > RAM_ROWS:
            raise ValueError(f"Ring must have at most {RAM_ROWS} rows, not {ring.rows}")
        m = Module()
        for place in range(ring.result_words):
            for half in range(64 // RAM_BITS):
                m.submodules += _block_ram(
                    ring.write_enable[place],
                    ring.write_row,
                    ring.write_data.word_select(half, RAM_BITS),
                    ring.row,
                    ring.ids.word_select(2 * place + half, RAM_BITS),
                )
        return m


def _block_ram(enable: Any, write_row: Any, written: Any, read_row: Any, found: Any) -> Instance:
    """One DP16KD: port A writes where its four byte enables say so, port B reads.

    The lower 18 bits that are written are those of A, that are read those of B; the upper ones
    those of the other port.
    """
    half = WORD_BITS // 2
    pins: dict[str, Any] = {
        **_pins("i_DIA", written[:half], half),
        **_pins("i_DIB", written[half:], half),
        **{f"o_DOB{n}": found[n] for n in range(half)},
        **{f"o_DOA{n}": found[half + n] for n in range(RAM_BITS - half)},
        **_pins("i_ADA", Cat(enable.replicate(4), Const(0), write_row), ADDRESS_PINS),
        **_pins("i_ADB", Cat(Const(0, 5), read_row), ADDRESS_PINS),
    }
    for port, writes in (("A", 1), ("B", 0)):
        pins |= {
            f"i_CLK{port}": ClockSignal(),
            f"i_WE{port}": Const(writes),
            **dict.fromkeys((f"i_CE{port}", f"i_OCE{port}"), Const(1)),
            **dict.fromkeys((f"i_RST{port}", *(f"i_CS{port}{n}" for n in range(3))), Const(0)),
            f"p_DATA_WIDTH_{port}": WORD_BITS,
            f"p_REGMODE_{port}": "OUTREG",
            f"p_CLK{port}MUX": f"CLK{port}",
            f"p_CSDECODE_{port}": "0b000",
        }
    return Instance("DP16KD", p_GSR="DISABLED", **pins)


def _pins(name: str, value: Any, bits: int) -> dict[str, Any]:
    """A pin for each bit; zero where the value has none."""
    return {f"{name}{n}": value[n] if n < len(value) else Const(0) for n in range(bits)}
