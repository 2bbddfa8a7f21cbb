"""``make bch-campaign``: the decoder's RTL on Verilator against two libraries and the reference.

Each round of a case has every number of errors from 0 to t + 5 and some more, errors in the parity
alone, bursts, errors at both ends, errors whose first syndrome is zero, and words that are nothing
but noise; in transfers of random lengths, without gaps. The reference must be met in every bit,
verdict, count and clock; bchlib in what is corrected and what is given up; galois in what is
corrected up to t errors, which it finds by another algorithm.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import galois
import numpy as np

from rtl.contract.bch import BchCode
from tests.bch_bench import expected, read_pins
from tests.bch_player import build_player, play
from tests.scenarios.bch import (
    COSMOS,
    DOUBLE,
    TRIPLE,
    WIDE,
    by_bchlib,
    codewords,
    decodable_share,
    flip,
    weights,
    zero_sum,
)

__all__ = ["CASES", "Case", "campaign", "miscorrections"]

BYTES_BEHIND = BchCode(m=10, t=4, chunk_bytes=92)
"""Of 97 bytes: with four bytes a clock the word that ends a transfer has up to three more."""
BEYOND = 5
MOST_CODEWORDS = 9
"""Of a transfer."""
BY_GALOIS = 12
GALOIS_ROUNDS = 2
"""Codewords of a round at most, and rounds of a case: it takes its time."""


@dataclass(frozen=True)
class Case:
    """A decoder, and how many rounds the campaign has."""

    code: BchCode
    phases: int
    rounds: int
    noise: int = 8
    """Words of a round that are nothing but noise."""


CASES = {
    **{f"m12-t14-256-by-{n}": Case(COSMOS, n, 20) for n in (1, 2, 4)},
    **{f"m13-t8-512-by-{n}": Case(WIDE, n, 20) for n in (1, 2, 4)},
    "m8-t2-16-by-1": Case(DOUBLE, 1, 20, noise=2_000),
    "m8-t3-18-by-1": Case(TRIPLE, 1, 20, noise=2_000),
    "m10-t4-92-by-4": Case(BYTES_BEHIND, 4, 20, noise=200),
}


def campaign(name, folder, *, rounds=None, with_galois=True):
    """Run a case; returns what differs, as text, and counts of what was done."""
    case = CASES[name]
    code = case.code
    pins, program = build_player(Path(folder) / name, code, case.phases)
    differences, words, corrected, failed = [], 0, 0, 0
    for number in range(rounds or case.rounds):
        good, received = round_of(case, seed=number)
        transfers = cut(received, seed=number)
        told = play(pins, program, transfers).tolist()
        found = read_pins(told, code, transfers, case.phases, pins.decoder.latency)
        results, verdicts, _ = found
        decoded = np.frombuffer(
            b"".join(
                raw[: len(raw) // code.codeword_bytes * code.codeword_bytes] for raw in results
            ),
            np.uint8,
        ).reshape(-1, code.codeword_bytes)
        ok = np.array([not is_bad for _, is_bad in verdicts])
        counts = np.where(ok, [bits for bits, _ in verdicts], -1)
        within = np.unpackbits(good ^ received, axis=1).sum(axis=1) <= code.t
        checks = {
            "reference": found == expected(code, transfers),
            "what was sent": np.array_equal(decoded[within], good[within]) and ok[within].all(),
            "bchlib": same(decoded, counts, *by_bchlib(code, received)),
        }
        if with_galois and number < GALOIS_ROUNDS:
            checks["galois"] = same_as_galois(code, received, within, decoded, counts)
        wrong = [what for what, holds in checks.items() if not holds]
        differences += [f"{name}, round {number}: must be as {what}" for what in wrong]
        words += len(received)
        corrected += int(ok.sum() - (counts == 0).sum())
        failed += int((~ok).sum())
    return differences, {"codewords": words, "corrected": corrected, "uncorrectable": failed}


def round_of(case, seed):
    """Sent and received codewords of one round, in random order."""
    code, draws = case.code, np.random.default_rng([1, seed])
    t, bits = code.t, 8 * code.chunk_bytes + code.parity_bits
    parity_bits = code.parity_bits
    sent = []
    received = []

    def add(words, wrong):
        sent.append(words)
        received.append(wrong)

    def fresh(count):
        return codewords(code, count, seed=int(draws.integers(1 << 30)))

    chosen = [*range(t + BEYOND + 1), 2 * t, 3 * t]
    words = fresh(len(chosen))
    add(words, weights(code, words, chosen, seed=int(draws.integers(1 << 30))))
    chosen = range(1, t + 2)
    words = fresh(len(chosen))
    first = 8 * code.chunk_bytes
    add(words, weights(code, words, chosen, seed=int(draws.integers(1 << 30)), first=first))
    lengths = [t, t, min(t + 3, parity_bits)]
    starts = [int(draws.integers(0, bits - length)) for length in lengths]
    words = fresh(len(lengths))
    add(words, flip(words, [range(at, at + n) for at, n in zip(starts, lengths, strict=True)]))
    ends = [[0, bits - 1], [first - 1, first], *(zero_sum(code, draws) for _ in range(4))]
    words = fresh(len(ends))
    add(words, flip(words, ends))
    noise = draws.integers(0, 256, (case.noise, code.codeword_bytes), dtype=np.uint8)
    noise[:, -1] &= 0xFF << (8 * code.parity_bytes - code.parity_bits) & 0xFF
    add(np.full_like(noise, 0), noise)
    order = draws.permutation(sum(map(len, sent)))
    return np.concatenate(sent)[order], np.concatenate(received)[order]


def cut(words, seed):
    """Transfers of 1 to :data:`MOST_CODEWORDS` codewords each, made even."""
    draws = np.random.default_rng([2, seed])
    raws = []
    while len(words):
        count = int(draws.integers(1, MOST_CODEWORDS + 1))
        raw, words = words[:count].tobytes(), words[count:]
        raws.append(raw + b"\x77" * (len(raw) % 2))
    return raws


def same(decoded, counts, words, library_counts):
    """Equal verdicts, and equal words where the verdict is good."""
    good = counts >= 0
    return np.array_equal(counts, library_counts) and np.array_equal(decoded[good], words[good])


def same_as_galois(code, received, within, decoded, counts):
    """Of words with up to t errors; beyond that galois corrects in the bits that were cut off."""
    chosen = np.flatnonzero(within)[:BY_GALOIS]
    bits = np.unpackbits(received[chosen], axis=1)[:, : 8 * code.chunk_bytes + code.parity_bits]
    library = galois.BCH(code.length_bits, d=2 * code.t + 1)
    words, found = library.decode(bits, output="codeword", errors=True)
    corrected = np.packbits(np.asarray(words).astype(np.uint8), axis=1)
    return np.array_equal(found, counts[chosen]) and np.array_equal(corrected, decoded[chosen])


def miscorrections(folder, words=10_000, code=DOUBLE):
    """Share of noise that the RTL takes for a codeword with errors, the bound, and a sigma."""
    pins, program = build_player(Path(folder) / "miscorrections", code, 1)
    draws = np.random.default_rng(3)
    noise = draws.integers(0, 256, (words, code.codeword_bytes), dtype=np.uint8)
    transfers = [noise.tobytes()]
    told = play(pins, program, transfers).tolist()
    _, verdicts, _ = read_pins(told, code, transfers, 1, pins.decoder.latency)
    share = np.mean([not is_bad for _, is_bad in verdicts])
    bound = decodable_share(code)
    return float(share), bound, (bound * (1 - bound) / words) ** 0.5


def main():
    """Run all, print what came of each, and fail if anything differs."""
    is_right = True
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            begin = time.perf_counter()
            differences, done = campaign(name, folder)
            counts = ", ".join(f"{what} {count}" for what, count in done.items())
            seconds = time.perf_counter() - begin
            print(f"{name}: {counts}, differences {len(differences)}, {seconds:.0f} s", flush=True)
            for difference in differences[:10]:
                print(f"    {difference}")
            is_right &= not differences
        share, bound, sigma = miscorrections(folder, words=40_000)
        print(f"miscorrected noise: {share:.2%}, bound {bound:.2%}, sigma {sigma:.2%}")
        is_right &= abs(share - bound) < 5 * sigma
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
