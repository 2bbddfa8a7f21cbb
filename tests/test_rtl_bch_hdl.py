"""The Verilog of the decoder in HDL simulators, against the reference."""

import json
import os

import numpy as np
import pytest
from cocotb_tools.runner import get_runner

from cosim.engines.tools import verilator_root
from rtl.contract.bch import BchCode
from rtl.emit import emit_component
from tests.bch_bench import DecoderPins, expected, stream_words
from tests.scenarios.bch import codewords, weights

BUILD = {"verilator": ["-Wno-fatal", "-Wno-lint", "-fno-table"], "icarus": ["-g2012"]}
MAKE_FLAGS = "-- CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0"
TOP = "bch_decoder"


@pytest.fixture
def decode(simulator, waves, tmp_path, monkeypatch):
    """Emit, build and run a decoder: transfers in, (transfers, verdicts, counts, edges) out."""
    if simulator == "verilator":
        root = verilator_root()
        monkeypatch.setenv("VERILATOR_ROOT", str(root))
        monkeypatch.setenv("PATH", f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("MAKEFLAGS", MAKE_FLAGS)
        monkeypatch.delenv("OPT", raising=False)

    def run(code, transfers, phases):
        pins = DecoderPins(code, phases)
        emit_component(tmp_path / f"{TOP}.v", pins, TOP)
        latency = pins.decoder.latency
        words = []
        for raw in transfers:
            words += [[1, word, 0, 1] for word in stream_words(raw, phases)]
            words[-1][2] = 1
        words += [[0, 0, 0, 0]] * (latency + 1)
        sent, told = tmp_path / "words.json", tmp_path / "told.json"
        sent.write_text(json.dumps(words))
        runner = get_runner(simulator)
        runner.build(
            sources=[tmp_path / f"{TOP}.v"],
            hdl_toplevel=TOP,
            build_dir=tmp_path / "build",
            build_args=BUILD[simulator],
            timescale=("1ps", "1ps"),
            waves=waves,
            log_file=tmp_path / "build.log",
        )
        log = tmp_path / "test.log"
        try:
            runner.test(
                hdl_toplevel=TOP,
                test_module="tests.benches.bch_decoder",
                build_dir=tmp_path / "build",
                test_dir=tmp_path,
                results_xml=str(tmp_path / "results.xml"),
                waves=waves,
                log_file=log,
                extra_env={"BCH_WORDS": str(sent), "BCH_TOLD": str(told)},
            )
        except SystemExit:
            pytest.fail(log.read_text(), pytrace=False)
        return read(json.loads(told.read_text()), code, transfers, phases, latency)

    return run


def read(told, code, transfers, phases, latency):
    """Check times, and cut what came out into transfers, verdicts and counts."""
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


@pytest.mark.hdl
@pytest.mark.slow
def test_two_simulators_decode_as_the_reference(decode):
    code, phases = BchCode(m=10, t=4, chunk_bytes=114), 4
    chosen = np.arange(12) % (code.t + 3)
    received = weights(code, codewords(code, len(chosen), seed=1), chosen, seed=2)
    transfers = [received[:8].tobytes(), received[8:10].tobytes(), received[10:].tobytes()]
    assert decode(code, transfers, phases) == expected(code, transfers)
