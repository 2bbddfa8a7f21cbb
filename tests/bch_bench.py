"""Decoder and encoder of the BCH code in Amaranth's simulator."""

from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from rtl.bch.decoder import BchDecoder
from rtl.bch.encoder import BchEncoder
from rtl.bch.verdict import TransferVerdict, codeword_verdict
from tests.gather_bench import Stalls, collect, feed, simulate

__all__ = [
    "Decoded",
    "DecoderPins",
    "decode_transfers",
    "encode_transfers",
    "expected",
    "read_pins",
    "stream_words",
]


class DecoderPins(wiring.Component):
    """The decoder with ports of its own in place of always ready streams, for Verilog."""

    def __init__(self, code, phases, *, tables=True):
        self.decoder = BchDecoder(code, phases, tables=tables)
        bits = 8 * phases
        super().__init__(
            {
                "valid": In(1),
                "word": In(bits),
                "last": In(1),
                "enable": In(1),
                "out_valid": Out(1),
                "out_word": Out(bits),
                "out_last": Out(1),
                "codeword_valid": Out(1),
                "codeword": Out(codeword_verdict(code)),
                "transfer": Out(TransferVerdict),
                "quiet": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.decoder = decoder = self.decoder
        m.d.comb += [
            decoder.input.valid.eq(self.valid),
            decoder.input.payload.word.eq(self.word),
            decoder.input.payload.last.eq(self.last),
            decoder.enable.eq(self.enable),
            self.out_valid.eq(decoder.output.valid),
            self.out_word.eq(decoder.output.payload.word),
            self.out_last.eq(decoder.output.payload.last),
            self.codeword_valid.eq(decoder.codeword_valid),
            self.codeword.eq(decoder.codeword),
            self.transfer.eq(decoder.transfer),
            self.quiet.eq(decoder.quiet),
        ]
        return m


@dataclass
class Decoded:
    """What came out: transfers, verdicts a codeword, and counts a transfer; edges by number."""

    latency: int
    transfers: list
    verdicts: list
    counts: list
    in_edges: list
    out_edges: list
    quiet: list


def stream_words(raw, phases):
    """Bus words of a transfer; what fills the last one is the bytes A5h."""
    raw = bytes(raw) + b"\xa5" * (-len(raw) % phases)
    return [int.from_bytes(raw[i : i + phases], "little") for i in range(0, len(raw), phases)]


def decode_transfers(code, transfers, *, phases, gap=0, pauses=0, tables=True, disabled=()):
    """Send ``transfers`` (bytes), ``gap`` clocks between them; those of ``disabled`` undecoded.

    Up to ``pauses`` clocks pass between words.
    """
    dut = BchDecoder(code, phases, tag=4, tables=tables)
    out = Decoded(dut.latency, [b""], [], [], [], [], [])
    words = []
    stall = Stalls(pauses, seed=3)
    for number, raw in enumerate(transfers):
        sent = stream_words(raw, phases)
        flags = [(number % 16, number not in disabled)] * len(sent)
        for index, (word, flag) in enumerate(zip(sent, flags, strict=True)):
            words += [(word, index == len(sent) - 1, *flag), *[None] * stall()]
        words += [None] * gap

    async def drive(ctx):
        for word in words + [None] * (dut.latency + 4):
            ctx.set(dut.input.valid, word is not None)
            if word is not None:
                value, last, tag, enable = word
                ctx.set(dut.input.payload, {"word": value, "last": last, "tag": tag})
                ctx.set(dut.enable, enable)
            await ctx.tick()

    async def watch(ctx):
        signals = (
            dut.input.valid, dut.output.valid, dut.output.payload, dut.codeword_valid,
            dut.codeword, dut.transfer, dut.quiet,
        )  # fmt: skip
        edge = 0
        async for _, _, took, valid, payload, ends, verdict, counts, quiet in ctx.tick().sample(
            *signals
        ):
            out.quiet.append(quiet)
            if took:
                out.in_edges.append(edge)
            if ends:
                assert valid
                out.verdicts.append((verdict.corrected, verdict.uncorrectable))
            if valid:
                out.out_edges.append(edge)
                assert payload.tag == (len(out.transfers) - 1) % 16
                out.transfers[-1] += int(payload.word).to_bytes(phases, "little")
                if payload.last:
                    out.counts.append((counts.corrected, counts.uncorrectable))
                    out.transfers.append(b"")
            edge += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-8)
    simulator.add_testbench(drive)
    simulator.add_testbench(watch, background=True)
    simulator.run()
    assert out.transfers.pop() == b""
    out.transfers = [part[: len(raw)] for part, raw in zip(out.transfers, transfers, strict=True)]
    return out


def expected(code, transfers, disabled=()):
    """What :func:`decode_transfers` must give: bytes, verdicts, counts."""
    results, verdicts, counts = [], [], []
    for number, raw in enumerate(transfers):
        whole = 0 if number in disabled else len(raw) // code.codeword_bytes
        received = np.frombuffer(raw[: whole * code.codeword_bytes], dtype=np.uint8)
        corrected, bits, ok = code.decode(received.reshape(whole, code.codeword_bytes))
        results.append(corrected.tobytes() + raw[received.size :])
        verdicts += list(zip(bits.tolist(), (~ok).astype(int).tolist(), strict=True))
        counts.append((int(bits.sum()), int((~ok).sum())))
    return results, verdicts, counts


def encode_transfers(code, transfers, *, phases, stalls=0, tables=True, limit_cycles=10_000):
    """Bytes of the transfers that the encoder makes of chunks (bytes), whole words each."""
    dut = BchEncoder(code, phases, tables=tables)
    words = []
    for raw in transfers:
        words += [{"word": word, "last": 0} for word in stream_words(raw, phases)]
        words[-1]["last"] = 1
    results = []

    async def drive(ctx):
        await feed(ctx, dut.chunks, words, Stalls(stalls, seed=1))

    async def watch(ctx):
        pauses = Stalls(stalls, seed=2)
        for _ in transfers:
            results.append(b"")
            is_last = 0
            while not is_last:
                (word,) = await collect(ctx, dut.codewords, 1, pauses)
                results[-1] += int(word.word).to_bytes(phases, "little")
                is_last = word.last

    simulate(dut, drive, watch, limit_cycles=limit_cycles)
    return results


def read_pins(told, code, transfers, phases, latency):
    """Check times, and cut what the pins said into transfers, verdicts and counts.

    ``told`` has a row a clock, of the outputs of :class:`DecoderPins` in their order.
    """
    count_bits = code.t.bit_length()
    results, verdicts, counts = [b""], [], []
    for edge, (valid, word, last, ends, verdict, transfer, quiet) in enumerate(told):
        assert quiet == (edge == len(told) - 1)
        assert valid == (edge >= latency and edge < len(told) - 1)
        if ends:
            verdicts.append((verdict & (1 << count_bits) - 1, verdict >> count_bits))
        if valid:
            results[-1] += word.to_bytes(phases, "little")
            if last:
                counts.append((transfer & 0xFFFF, transfer >> 16))
                results.append(b"")
    assert results.pop() == b""
    cut = [part[: len(raw)] for part, raw in zip(results, transfers, strict=True)]
    return cut, verdicts, counts
