"""Cost of the BCH decoder in simulation: saturated words with and without it, on Verilator.

``python benchmarks/bch.py [--seconds S] [--docs PAGE] [PHASES ...]`` prints clocks a second of
processor time, for a page read over and over into a landing buffer, through a plain register and
through the decoder, by errors a codeword and by bytes a clock.
"""

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import Out

from cosim.bench.page import markdown_table, rewrite_page
from cosim.engines.build import MAKE_FLAGS, VERILATOR_FLAGS
from cosim.engines.tools import verilator_root
from rtl.bch.decoder import BchDecoder
from rtl.bch.verdict import TransferVerdict
from rtl.contract.bch import BchCode
from rtl.emit import SIM_RAM, emit_component
from rtl.nand.landing import Landing

CODE = BchCode(m=12, t=14, chunk_bytes=256)
CODEWORDS = 64
ERRORS = (0, 1, 4, 14)
FLAGS = [flag for flag in VERILATOR_FLAGS if flag not in ("--timing", "--vpi")]
TOP = "bch_load"
WRAPPER = f"""
// Reset is made inside: an input that feeds logic would be evaluated at both edges.
module bch_bench(input wire clk, output wire [31:0] transfer);
    reg [1:0] up = 0;
    always @(posedge clk) up <= {{up[0], 1'b1}};
    {TOP} load(.clk(clk), .rst(~up[1]), .transfer(transfer));
endmodule
"""
MAIN = """
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include "Vtop.h"
int main(int argc, char** argv) {
    VerilatedContext context;
    Vtop top{&context};
    const double limit = atof(argv[1]);
    const std::clock_t begin = std::clock();
    double elapsed = 0;
    long clocks = 0;
    while (elapsed < limit) {
        for (int n = 0; n < 20000; ++n, ++clocks) {
            top.clk = 1; top.eval();
            top.clk = 0; top.eval();
        }
        elapsed = double(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    std::printf("%.0f %u\\n", clocks / elapsed, top.transfer);
}
"""


class Load(wiring.Component):
    """A page with ``errors`` flipped bits a codeword, over and over, into a landing buffer."""

    transfer: Out(TransferVerdict)

    def __init__(self, errors, phases, *, has_decoder):
        self._errors = errors
        self._phases = phases
        self._has_decoder = has_decoder
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        page = received_page(self._errors)
        words = np.frombuffer(page.tobytes(), dtype=f"<u{self._phases}").tolist()
        m.submodules.page = storage = memory.Memory(
            shape=8 * self._phases, depth=len(words), init=words
        )
        m.submodules.landing = landing = Landing(
            transfer_bytes=page.size, slots=2, phases=self._phases, emitted=True
        )
        read = storage.read_port()
        place = Signal(range(len(words)))
        valid, last = Signal(), Signal()
        is_end = place == len(words) - 1
        m.d.comb += read.addr.eq(place)
        m.d.sync += [place.eq(Mux(is_end, 0, place + 1)), last.eq(is_end), valid.eq(1)]
        data = landing.data
        if self._has_decoder:
            m.submodules.decoder = decoder = BchDecoder(CODE, self._phases)
            m.d.comb += [
                decoder.input.valid.eq(valid),
                decoder.input.payload.word.eq(read.data),
                decoder.input.payload.last.eq(last),
                decoder.enable.eq(1),
                data.valid.eq(decoder.output.valid),
                data.payload.word.eq(decoder.output.payload.word),
                data.payload.last.eq(decoder.output.payload.last),
            ]
            with m.If(data.valid & data.payload.last):
                m.d.sync += self.transfer.eq(decoder.transfer)
        else:
            m.d.sync += [
                data.valid.eq(valid),
                data.payload.word.eq(read.data),
                data.payload.last.eq(last),
            ]
        return m


def received_page(errors):
    """Codewords with flipped bits: ``uint8[CODEWORDS, codeword_bytes]``."""
    draws = np.random.default_rng(1)
    chunks = draws.integers(0, 256, (CODEWORDS, CODE.chunk_bytes), dtype=np.uint8)
    bits = np.unpackbits(np.hstack([chunks, CODE.encode(chunks)]), axis=1)
    for word in bits:
        word[draws.choice(word.size, errors, replace=False)] ^= 1
    return np.packbits(bits, axis=1)


def build(folder, errors, phases, has_decoder):
    """Verilate the load; returns the program."""
    folder.mkdir()
    root = verilator_root()
    source, wrapper, main = folder / f"{TOP}.v", folder / "bench.v", folder / "main.cpp"
    emit_component(source, Load(errors, phases, has_decoder=has_decoder), TOP)
    wrapper.write_text(WRAPPER)
    main.write_text(MAIN)
    environment = {key: value for key, value in os.environ.items() if key != "OPT"} | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": MAKE_FLAGS,
    }
    command = [
        "verilator", "-cc", "--exe", "--build", "-Mdir", folder / "objects", "--prefix", "Vtop",
        "--top-module", "bch_bench", "-o", folder / TOP, *FLAGS, SIM_RAM, source, wrapper, main,
    ]  # fmt: skip
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=600)
    return folder / TOP


def measure(program, seconds):
    """Clocks a second, corrected bits and uncorrectable codewords of the last page."""
    done = subprocess.run(
        [program, str(seconds)], check=True, capture_output=True, text=True, timeout=600
    )
    rate, transfer = done.stdout.split()
    return float(rate), int(transfer) & 0xFFFF, int(transfer) >> 16


def compare(phases, seconds):
    """Rows of the table: for each number of errors, clocks a second without and with."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, _, _ = measure(build(folder / "plain", 0, phases, False), seconds)
        for errors in ERRORS:
            program = build(folder / f"errors{errors}", errors, phases, True)
            rate, corrected, failed = measure(program, seconds)
            assert (corrected, failed) == (errors * CODEWORDS, 0)
            yield (
                f"{phases}, {errors}",
                f"{plain / 1e6:.2f}",
                f"{rate / 1e6:.2f}",
                f"{1e9 / rate - 1e9 / plain:.0f}",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=2, help="of processor time, each")
    parser.add_argument("--docs", type=Path, help="page whose table to bring up to date")
    parser.add_argument("phases", type=int, nargs="*", metavar="PHASES", help="1, 2 or 4")
    options = parser.parse_args()
    head = ("bytes a clock, errors a codeword", "without, million clocks/s", "with", "ns more")
    phases = options.phases or (1, 2, 4)
    rows = [row for each in phases for row in compare(each, options.seconds)]
    table = markdown_table(head, rows)
    print(table, end="")
    if options.docs is not None:
        rewrite_page(options.docs, {"decoder-alone": table})


if __name__ == "__main__":
    main()
