"""The Verilog of the decoder in HDL simulators, against the reference."""

import json

import numpy as np
import pytest

from rtl.contract.bch import BchCode
from rtl.emit import emit_component
from tests.bch_bench import DecoderPins, expected, read_pins, stream_words
from tests.hdl_bench import build_module, find_tools, run_module
from tests.scenarios.bch import codewords, weights

MAKE_FLAGS = "-- CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0"
TOP = "bch_decoder"


@pytest.fixture
def decode(simulator, waves, tmp_path, monkeypatch):
    """Emit, build and run a decoder: transfers in, (transfers, verdicts, counts, edges) out."""
    find_tools(simulator, monkeypatch, MAKE_FLAGS)

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
        more = ["-fno-table"] if simulator == "verilator" else []
        built = build_module(
            simulator,
            [tmp_path / f"{TOP}.v"],
            TOP,
            tmp_path / "build",
            waves=waves,
            more=more,
        )
        run_module(
            simulator,
            built,
            TOP,
            "tests.benches.bch_decoder",
            tmp_path,
            waves=waves,
            environment={"BCH_WORDS": str(sent), "BCH_TOLD": str(told)},
        )
        return read_pins(json.loads(told.read_text()), code, transfers, phases, latency)

    return run


@pytest.mark.hdl
@pytest.mark.slow
def test_two_simulators_decode_as_the_reference(decode):
    code, phases = BchCode(m=10, t=4, chunk_bytes=114), 4
    chosen = np.arange(12) % (code.t + 3)
    received = weights(code, codewords(code, len(chosen), seed=1), chosen, seed=2)
    transfers = [received[:8].tobytes(), received[8:10].tobytes(), received[10:].tobytes()]
    assert decode(code, transfers, phases) == expected(code, transfers)
