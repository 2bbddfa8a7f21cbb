# amaranth: UnusedElaboratable=no
"""The decoder against the reference, and its times."""

import numpy as np
import pytest

from rtl.bch.decoder import BchDecoder
from rtl.bch.framer import longest_window
from rtl.contract.bch import BchCode
from tests.bch_bench import decode_transfers, expected
from tests.scenarios.bch import (
    COSMOS,
    DOUBLE,
    PADDED,
    TRIPLE,
    WIDE,
    codewords,
    flip,
    remainder_of_power,
    weights,
    zero_sum,
)

pytestmark = pytest.mark.slow

SINGLE_BYTES = (DOUBLE, 1)
"""A code, and bytes a clock."""
BYTE_LEFT = (BchCode(m=10, t=4, chunk_bytes=92), 4)
"""Codewords of 97 bytes begin at each byte of a word."""
SHORT_WINDOWS = (BchCode(m=10, t=4, chunk_bytes=114), 4)
"""Of 119 bytes: two of four touch a word less than the others."""
PAD_BITS = (BchCode(m=9, t=2, chunk_bytes=30), 2)
"""Of 33 bytes, the last with six pad bits."""
WHOLE_WORDS = (BchCode(m=10, t=3, chunk_bytes=68), 2)
"""Of 72 bytes: no codeword ends inside a word."""
SMALL = [
    pytest.param(*SINGLE_BYTES, id="one-byte"),
    pytest.param(*BYTE_LEFT, id="97-bytes-by-four"),
    pytest.param(*SHORT_WINDOWS, id="119-bytes-by-four"),
    pytest.param(*PAD_BITS, id="pad-bits"),
    pytest.param(*WHOLE_WORDS, id="whole-words"),
]
REAL = [
    pytest.param(COSMOS, 1, id="cosmos-by-one"),
    pytest.param(COSMOS, 2, id="cosmos-by-two"),
    pytest.param(COSMOS, 4, id="cosmos-by-four"),
    pytest.param(WIDE, 2, id="wide-by-two"),
    pytest.param(PADDED, 4, id="padded-by-four"),
]


def cut(words, counts):
    """Transfers of so many codewords each, made even."""
    ends = np.cumsum(counts)
    raws = [words[end - count : end].tobytes() for count, end in zip(counts, ends, strict=True)]
    return [raw + b"\x77" * (len(raw) % 2) for raw in raws]


def check(code, transfers, **how):
    disabled = how.get("disabled", ())
    out = decode_transfers(code, transfers, **how)
    results, verdicts, counts = expected(code, transfers, disabled)
    assert out.transfers == results
    assert out.verdicts == verdicts
    assert out.counts == counts
    if not how.get("pauses") and not disabled:
        waits = np.subtract(out.out_edges, out.in_edges)
        assert set(waits[in_codewords(code, transfers, how["phases"])]) == {out.latency}
    return out


def in_codewords(code, transfers, phases):
    """Whether each word has bytes of a whole codeword."""
    flags = []
    for raw in transfers:
        whole = len(raw) // code.codeword_bytes * code.codeword_bytes
        flags += [at < whole for at in range(0, len(raw), phases)]
    return flags


@pytest.mark.parametrize("gap", [0, 1])
@pytest.mark.parametrize(("code", "phases"), SMALL)
def test_every_weight_in_transfers_of_all_lengths(code, phases, gap):
    counts = [4, 1, 1, 2, 5]
    chosen = np.arange(sum(counts)) % (code.t + 3)
    received = weights(code, codewords(code, len(chosen), seed=1), chosen, seed=2)
    out = check(code, cut(received, counts), phases=phases, gap=gap)
    assert any(uncorrectable for _, uncorrectable in out.verdicts)
    assert any(corrected == code.t for corrected, _ in out.verdicts)


@pytest.mark.parametrize(("code", "phases"), SMALL)
def test_pauses_between_words(code, phases):
    """A codeword leaves without a pause, in the time after its last word that it always takes."""
    chosen = np.arange(8) % (code.t + 2)
    received = weights(code, codewords(code, len(chosen), seed=17), chosen, seed=18)
    transfers = cut(received, [3, 1, 4])
    out = check(code, transfers, phases=phases, pauses=3)
    first_word = 0
    for raw in transfers:
        for number in range(len(raw) // code.codeword_bytes):
            begin = number * code.codeword_bytes
            end = begin + code.codeword_bytes - 1
            words = end // phases - begin // phases
            ended = out.in_edges[first_word + end // phases]
            is_short = words + 1 < longest_window(code, phases)
            left = ended + out.latency - (longest_window(code, phases) - 1) + is_short
            assert out.out_edges[first_word + begin // phases] == left
            inner = out.out_edges[first_word + begin // phases : first_word + end // phases]
            assert inner == list(range(left, left + words))
        first_word += -(-len(raw) // phases)


@pytest.mark.parametrize(("code", "phases"), SMALL[1:4])
def test_trees_of_xors_do_the_same(code, phases):
    received = weights(code, codewords(code, 6, seed=3), [code.t, 0, 1, code.t + 1, 2, 2], seed=4)
    check(code, cut(received, [4, 2]), phases=phases, tables=False)


@pytest.mark.parametrize(("code", "phases"), REAL)
def test_real_codes(code, phases):
    t = code.t
    received = weights(code, codewords(code, 9, seed=5), [0, 1, t, t + 1, t, 0, 3, 40, t], seed=6)
    check(code, cut(received, [6, 1, 2]), phases=phases)


def test_wide_code_at_every_weight():
    chosen = np.arange(WIDE.t + 5)
    received = weights(WIDE, codewords(WIDE, len(chosen), seed=7), chosen, seed=8)
    check(WIDE, cut(received, [len(chosen)]), phases=2)


@pytest.mark.parametrize(("code", "phases"), SMALL)
def test_errors_at_the_edges_of_codewords(code, phases):
    """First and last bits of neighbours, which share words."""
    bits = 8 * code.chunk_bytes + code.parity_bits
    ends = [[0, bits - 1], [0], [bits - 1], [7, 8 * code.chunk_bytes], [bits - 2, bits - 1], [0, 1]]
    received = flip(codewords(code, 12, seed=9), ends * 2)
    out = check(code, cut(received, [7, 5]), phases=phases)
    assert [corrected for corrected, _ in out.verdicts] == [len(places) for places in ends * 2]


@pytest.mark.parametrize(("code", "phases"), SMALL)
def test_random_words_miscorrect_as_in_the_reference(code, phases):
    draws = np.random.default_rng(10)
    words = draws.integers(0, 256, (24, code.codeword_bytes), dtype=np.uint8)
    check(code, cut(words, [24]), phases=phases)


def test_errors_whose_first_syndrome_is_zero():
    """The locator's length is ahead of the iteration, and waits for it."""
    code, phases = BYTE_LEFT
    draws = np.random.default_rng(19)
    received = flip(codewords(code, 12, seed=20), [zero_sum(code, draws) for _ in range(12)])
    out = check(code, cut(received, [12]), phases=phases)
    assert out.verdicts == [(3, 0)] * 12


def test_what_claims_more_than_t_errors_is_left_as_it_came():
    """Words of a weaker code with one error more: of their locators only a part is left."""
    weak = BchCode(m=8, t=2, chunk_bytes=19)
    assert weak.codeword_bytes == TRIPLE.codeword_bytes
    received = flip(codewords(weak, 40, seed=21), [[3 * n] for n in range(40)])
    out = check(TRIPLE, cut(received, [40]), phases=1)
    assert out.transfers == [received.tobytes() + b"\x77" * (received.size % 2)]
    assert out.verdicts == [(0, 1)] * 40


def test_errors_that_seem_to_lie_behind_a_codeword_are_not_corrected_there():
    """Parity that is wrong as by one error n bits behind the last one: in the byte that follows."""
    code, phases = BYTE_LEFT
    words = codewords(code, 8, seed=22)
    for behind, word in enumerate(words, start=1):
        word[code.chunk_bytes :] ^= np.frombuffer(remainder_of_power(code, -behind), np.uint8)
    out = check(code, cut(words, [1] * 8), phases=phases)
    assert out.verdicts == [(0, 1)] * 8
    assert all(raw[-1] == 0x77 for raw in out.transfers)


def test_transfers_without_codewords_pass_as_they_came():
    code, phases = BYTE_LEFT
    received = weights(code, codewords(code, 6, seed=11), [1, 2, 4, 1, 2, 3], seed=12)
    out = check(code, cut(received, [2, 2, 2]), phases=phases, disabled=(1,), gap=150)
    words = 2 * code.codeword_bytes // phases + 1
    assert set(np.subtract(out.out_edges, out.in_edges)[words : 2 * words]) == {8}
    assert [corrected for corrected, _ in out.verdicts] == [1, 2, 2, 3]


def test_what_follows_the_last_codeword_passes_as_it_came():
    code, phases = SHORT_WINDOWS
    received = weights(code, codewords(code, 4, seed=13), [1, 2, 4, 1], seed=14).tobytes()
    rest = code.codeword_bytes + 1
    transfers = [received[: rest + 1], received[: 2 * rest], received[: 2 * rest + 2], received]
    check(code, transfers, phases=phases)


@pytest.mark.parametrize(
    ("code", "phases", "latency"),
    # Words of a codeword, 4 t + 2 clocks, five registers.
    [
        (COSMOS, 1, 277 + 62 + 6),
        (COSMOS, 2, 139 + 62 + 6),
        (COSMOS, 4, 70 + 62 + 6),
        (WIDE, 2, 263 + 38 + 6),
        # A codeword of 119 bytes touches up to 31 words of four.
        (*SHORT_WINDOWS, 31 + 22 + 6),
    ],
)
def test_latency(code, phases, latency):
    assert BchDecoder(code, phases).latency == latency


def test_quiet_while_no_word_is_inside():
    code, phases = SINGLE_BYTES
    received = weights(code, codewords(code, 3, seed=15), [2, 2, 3], seed=16)
    out = check(code, cut(received, [2, 1]), phases=phases, gap=80)
    busy = [edge for edge, quiet in enumerate(out.quiet) if not quiet]
    spans = [(0, 36), (116, 18)]
    assert busy == [e for first, n in spans for e in range(first, first + n + out.latency)]


@pytest.mark.parametrize(
    ("code", "phases", "message"),
    [
        (COSMOS, 3, "Phases must be 1, 2 or 4, not 3"),
        (BchCode(m=8, t=1, chunk_bytes=16), 1, "t must be at least 2, not 1"),
        (BchCode(m=9, t=2, chunk_bytes=30), 4, "at least 32 bits, those of a word, not 18"),
        (
            BchCode(m=12, t=14, chunk_bytes=128),
            4,
            "at least 256 bytes for t = 14 at 4 bytes a clock, not 149",
        ),
    ],
)
def test_refuses(code, phases, message):
    with pytest.raises(ValueError, match=message):
        BchDecoder(code, phases)
