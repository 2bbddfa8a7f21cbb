# amaranth: UnusedElaboratable=no
"""Field arithmetic, remainders, key equation and encoder."""

import numpy as np
import pytest
from amaranth.sim import Simulator

from rtl.bch.encoder import BchEncoder
from rtl.bch.gf import Field, LinearMap, Products
from rtl.bch.key_equation import KeyEquation, solving_clocks
from rtl.bch.remainder import RemainderStep
from rtl.contract.bch import BchCode
from tests.bch_bench import encode_transfers
from tests.gather_bench import simulate
from tests.scenarios.bch import COSMOS, DOUBLE, PADDED, WIDE, codewords

pytestmark = pytest.mark.slow

FORMS = [pytest.param(True, id="tables"), pytest.param(False, id="trees")]
ENCODERS = [
    pytest.param(DOUBLE, 1, id="double-by-one"),
    pytest.param(DOUBLE, 2, id="double-by-two"),
    pytest.param(BchCode(m=9, t=2, chunk_bytes=30), 2, id="pad-bits-by-two"),
    pytest.param(COSMOS, 1, id="cosmos-by-one"),
    pytest.param(COSMOS, 2, id="cosmos-by-two"),
    pytest.param(COSMOS, 4, id="cosmos-by-four"),
    pytest.param(WIDE, 4, id="wide-by-four"),
    pytest.param(PADDED, 4, id="padded-by-four"),
]


def settle(dut, bench):
    async def run(ctx):
        bench(ctx)

    simulator = Simulator(dut)
    simulator.add_testbench(run)
    simulator.run()


def remainder_of(polynomial, code):
    """Modulo the generator, bit by bit."""
    for place in reversed(range(code.parity_bits, polynomial.bit_length())):
        if polynomial >> place & 1:
            polynomial ^= code.generator << place - code.parity_bits
    return polynomial


@pytest.mark.parametrize("tables", FORMS)
def test_linear_map_adds_the_columns_of_the_set_bits(tables):
    draws = np.random.default_rng(1)
    columns = [int(value) for value in draws.integers(0, 1 << 50, 23)]
    dut = LinearMap(columns, 50, tables=tables)

    def bench(ctx):
        for value in [0, *(1 << bit for bit in range(23)), *draws.integers(0, 1 << 23, 100)]:
            ctx.set(dut.input, int(value))
            total = 0
            for bit, column in enumerate(columns):
                total ^= column * (int(value) >> bit & 1)
            assert ctx.get(dut.output) == total

    settle(dut, bench)


@pytest.mark.parametrize("tables", FORMS)
def test_products_by_hand(tables):
    # x^8 = x^4 + x^3 + x^2 + 1. 0x80 * 2 = x^8. 3 * 5 = (x+1)(x^2+1) = x^3+x^2+x+1.
    # 0x80 * 0x80 = x^14 = x^6 * x^8 = x^10+x^9+x^8+x^6, and x^10+x^9 = x^2 * x^8 + x * x^8:
    # 0x74 ^ 0x3A ^ 0x1D ^ 0x40 = 0x13.
    cases = [(0x80, 2, 0x1D), (3, 5, 15), (0x80, 0x80, 0x13), (0, 7, 0), (7, 0, 0), (0, 0, 0)]
    field = Field(8)
    dut = Products(field, len(cases), tables=tables)

    def bench(ctx):
        for index, (left, right, _) in enumerate(cases):
            ctx.set(dut.left[index], left)
            ctx.set(dut.right[index], right)
        found = [ctx.get(output) for output in dut.output]
        assert found == [product for *_, product in cases]

    settle(dut, bench)


@pytest.mark.parametrize("tables", FORMS)
def test_products_of_random_elements(tables):
    field = Field(12)
    draws = np.random.default_rng(2)
    dut = Products(field, 1, tables=tables)

    def bench(ctx):
        for left, right in draws.integers(0, field.order, (300, 2)).tolist():
            ctx.set(dut.left[0], field.power(left))
            ctx.set(dut.right[0], field.power(right))
            assert ctx.get(dut.output[0]) == field.power(left + right)

    settle(dut, bench)


@pytest.mark.parametrize("tables", FORMS)
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_remainder_steps(count, ahead, tables):
    code = COSMOS
    dut = RemainderStep(code, count, ahead=ahead, tables=tables)
    draws = np.random.default_rng(3)

    def bench(ctx):
        for bit in range(0, code.parity_bits, 7):
            remainder = 1 << bit
            raw = draws.bytes(count)
            ctx.set(dut.remainder, remainder)
            ctx.set(dut.word, int.from_bytes(raw, "little"))
            fresh = int.from_bytes(raw, "big") << (code.parity_bits if ahead else 0)
            assert ctx.get(dut.output) == remainder_of(remainder << 8 * count ^ fresh, code)

    settle(dut, bench)


@pytest.mark.parametrize("tables", FORMS)
@pytest.mark.parametrize(
    ("remainder", "locator", "errors"),
    [
        # One error at x^0: all syndromes are 1, and the locator 1 + x.
        (0b1, [1, 1, 0], 1),
        # At x^1: S_1 = 2, S_2 = 4, S_3 = 8; 8 + 2 * 4 = 0, so 1 + 2 x stays but for the factor 2.
        (0b10, [2, 4, 0], 1),
        # At both: S_1 = 3, S_2 = 3^2 = 5, S_3 = 1 + 8 = 9. First 1 + 3 x; then the discrepancy is
        # 9 + 3 * 5 = 6, and the locator 3 (1 + 3 x) + 6 x^2, that is 3 (1 + x) (1 + 2 x).
        (0b11, [3, 5, 6], 2),
    ],
)
def test_locators_by_hand(remainder, locator, errors, tables):
    code = BchCode(m=8, t=2, chunk_bytes=8)
    dut = KeyEquation(code, tables=tables)
    told = []

    async def bench(ctx):
        for _ in range(2):  # nothing stays from one codeword to the next
            ctx.set(dut.remainder, remainder)
            ctx.set(dut.start, 1)
            clocks = 0
            while not ctx.get(dut.done):
                await ctx.tick()
                ctx.set(dut.start, 0)
                clocks += 1
            told.append(([ctx.get(one) for one in dut.locator], ctx.get(dut.errors), clocks))
            await ctx.tick()
            assert not ctx.get(dut.done)

    simulate(dut, bench)
    assert told == [(locator, errors, solving_clocks(code))] * 2


@pytest.mark.parametrize("stalls", [0, 3])
@pytest.mark.parametrize(("code", "phases"), ENCODERS)
def test_encoder_puts_the_parity_behind_each_chunk(code, phases, stalls):
    words = codewords(code, 8, seed=4)
    parts = [words[:5], words[5:6], words[6:]]
    chunks = [part[:, : code.chunk_bytes].tobytes() for part in parts]
    filled = [part.tobytes() + b"\xff" * (-part.size % phases) for part in parts]
    limit = 20_000
    assert (
        encode_transfers(code, chunks, phases=phases, stalls=stalls, limit_cycles=limit) == filled
    )


def test_encoder_of_xor_trees():
    words = codewords(DOUBLE, 3, seed=5)
    chunks = [words[:, : DOUBLE.chunk_bytes].tobytes()]
    assert encode_transfers(DOUBLE, chunks, phases=2, tables=False) == [words.tobytes()]


@pytest.mark.parametrize("phases", [1, 2, 4])
def test_encoder_sends_a_word_a_clock(phases):
    words = codewords(COSMOS, 4, seed=6)
    chunks = [words[:, : COSMOS.chunk_bytes].tobytes()]
    # All words, and one clock for the first to come through.
    encode_transfers(COSMOS, chunks, phases=phases, limit_cycles=words.size // phases + 2)


@pytest.mark.parametrize(
    ("code", "phases", "message"),
    [
        (COSMOS, 8, "Phases must be 1, 2 or 4, not 8"),
        (BchCode(m=10, t=4, chunk_bytes=90), 4, "whole words of 4 bytes, not 90 bytes"),
        (DOUBLE, 4, "at least 32 bits, those of a word, not 16"),
    ],
)
def test_encoder_refuses(code, phases, message):
    with pytest.raises(ValueError, match=message):
        BchEncoder(code, phases)
