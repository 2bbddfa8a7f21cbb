"""The BCH code against two independent libraries, and a code small enough to see through."""

import bchlib
import galois
import numpy as np
import pytest

from rtl.contract.bch import BchCode

COSMOS = {"m": 12, "t": 14, "chunk_bytes": 256}
SETS = [
    pytest.param(COSMOS, id="m12-t14-256"),
    pytest.param({"m": 13, "t": 8, "chunk_bytes": 512}, id="m13-t8-512"),
    pytest.param({"m": 13, "t": 9, "chunk_bytes": 512}, id="m13-t9-512-three-pad-bits"),
]


def random_chunks(code, count, seed=1):
    draws = np.random.default_rng(seed)
    return draws.integers(0, 256, (count, code.chunk_bytes), dtype=np.uint8)


@pytest.mark.parametrize(
    ("parameters", "parity_bits", "parity_bytes"),
    [(SETS[0].values[0], 168, 21), (SETS[1].values[0], 104, 13), (SETS[2].values[0], 117, 15)],
)
def test_sizes(parameters, parity_bits, parity_bytes):
    code = BchCode(**parameters)
    assert (code.parity_bits, code.parity_bytes) == (parity_bits, parity_bytes)
    assert code.codeword_bytes == code.chunk_bytes + parity_bytes


def test_generator_of_a_double_error_code_by_hand():
    # GF(2^8) by x^8+x^4+x^3+x^2+1. alpha is a root of that polynomial itself, 1_0001_1101. The
    # minimal polynomial of alpha^3 is x^8+x^6+x^5+x^4+x^2+x+1 (Lin and Costello, appendix B,
    # m = 8, entry 3), 1_0111_0111. Their product, term by term, each row 0x177 shifted by a term
    # of 0x11D (x^8, x^4, x^3, x^2, 1):
    #   0x17700 ^ 0x1770 ^ 0x0BB8 ^ 0x05DC ^ 0x0177 = 0x16F63
    assert BchCode(m=8, t=1, chunk_bytes=8).generator == 0x11D
    assert BchCode(m=8, t=2, chunk_bytes=8).generator == 0x16F63


def test_parity_is_the_remainder_in_the_documented_bit_order():
    # Data 0...01 (bit 0 of the last byte) is x^16 in this code; x^16 mod 0x16F63 is 0x6F63.
    # One place up (bit 1) it is x^17: 0xDEC6, still below x^16.
    # Two places up: 0x1BD8C ^ 0x16F63 = 0xD2EF.
    code = BchCode(m=8, t=2, chunk_bytes=2)
    chunks = np.array([[0, 1], [0, 2], [0, 4]], dtype=np.uint8)
    assert code.encode(chunks).tobytes().hex(" ", 2) == "6f63 dec6 d2ef"


@pytest.mark.parametrize("parameters", SETS)
def test_parity_equals_bchlib(parameters):
    code = BchCode(**parameters)
    reference = bchlib.BCH(code.t, m=code.m)
    chunks = random_chunks(code, 300)  # more than one slice of the table look-up
    chunks[0] = 0
    chunks[1] = 0xFF
    expected = [bytes(reference.encode(chunk.tobytes())) for chunk in chunks]
    assert [parity.tobytes() for parity in code.encode(chunks)] == expected


@pytest.mark.slow
@pytest.mark.parametrize("parameters", SETS[:2])
def test_parity_equals_galois(parameters):
    code = BchCode(**parameters)
    reference = galois.BCH(2**code.m - 1, d=2 * code.t + 1)
    assert int(reference.generator_poly) == code.generator
    chunks = random_chunks(code, 8, seed=2)
    words = reference.encode(np.unpackbits(chunks, axis=1))
    parity = np.packbits(np.asarray(words)[:, -code.parity_bits :].astype(np.uint8), axis=1)
    assert np.array_equal(code.encode(chunks), parity)


@pytest.mark.parametrize("parameters", SETS)
def test_check_sees_every_single_flipped_bit(parameters):
    code = BchCode(**parameters)
    chunk = random_chunks(code, 1, seed=3)
    word = np.hstack([chunk, code.encode(chunk)])
    assert code.check(word).all()
    bits = 8 * code.codeword_bytes  # the pad bits of the last byte must be zero, too
    flipped = np.unpackbits(np.repeat(word, bits, axis=0), axis=1) ^ np.eye(bits, dtype=np.uint8)
    assert not code.check(np.packbits(flipped, axis=1)).any()


def test_bchlib_repairs_t_flipped_bits_of_our_codewords():
    code = BchCode(**COSMOS)
    reference = bchlib.BCH(code.t, m=code.m)
    draws = np.random.default_rng(4)
    for chunk in random_chunks(code, 10, seed=5):
        data, parity = bytearray(chunk.tobytes()), bytearray(code.encode(chunk[np.newaxis])[0])
        for bit in draws.choice(8 * code.chunk_bytes, code.t, replace=False):
            data[bit // 8] ^= 1 << bit % 8
        assert reference.decode(data, parity) == code.t
        reference.correct(data, parity)
        assert bytes(data) == chunk.tobytes()


def test_no_codewords():
    code = BchCode(**COSMOS)
    assert code.encode(np.empty((0, 256), np.uint8)).shape == (0, 21)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 7}, "m must be in 8 to 15, not 7"),
        ({"m": 12.0}, "m must be in 8 to 15, not 12.0"),
        ({"t": 0}, "t must be a positive integer, not 0"),
        ({"t": 1.5}, "t must be a positive integer, not 1.5"),
        ({"chunk_bytes": 0}, "chunk_bytes must be a positive integer, not 0"),
        # 4,095 bits hold 168 of parity and 3,927 of data, which is 490 bytes and a rest.
        (
            {"chunk_bytes": 491},
            "chunk_bytes must leave the codeword within 4095 bits, not make it 4096",
        ),
        # 17 * 15 = 255: alpha^17 lies in GF(2^4), its minimal polynomial has degree 4, and the
        # other eight (of alpha^1, 3, ..., 15) have degree 8.
        ({"m": 8, "t": 9, "chunk_bytes": 1}, r"degree m \* t = 72, not 68"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        BchCode(**{**COSMOS, **change})


@pytest.mark.parametrize(
    "chunks",
    [np.zeros((1, 255), np.uint8), np.zeros(256, np.uint8), np.zeros((1, 256), np.int64)],
)
def test_refuses_other_shapes_and_types(chunks):
    with pytest.raises(ValueError, match=r"chunks must be uint8\[n, 256\], not "):
        BchCode(**COSMOS).encode(chunks)
