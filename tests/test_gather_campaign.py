# amaranth: UnusedElaboratable=no
"""What the campaign of random descriptors is worth: units that are wrong at a port are found."""

import pytest
from amaranth.hdl import Signal

from cosim.engines.tools import Simulator
from rtl.contract.axi import Response
from rtl.gather.core import GatherUnit
from tests.formal.meddled import Meddled
from tests.gather_campaign import CORES, Player, table

DESCRIPTORS = 800
SEED = 4


def trusts_decerr(m, inner, ours):
    with m.If(ours.axi.r.payload.resp == Response.DECERR):
        m.d.comb += inner.axi.r.payload.resp.eq(Response.OKAY)


def drops_a_word_that_waits(m, inner, ours):
    """A word that has waited for 40 clocks is handed over to nobody."""
    waited = Signal(range(40))
    m.d.sync += waited.eq(waited + (inner.results.valid & ~inner.results.ready))
    with m.If(waited == 39):
        m.d.comb += [inner.results.ready.eq(1), ours.results.valid.eq(0)]
        m.d.sync += waited.eq(0)


def forgets_high_address_bits(m, inner, ours):
    m.d.comb += ours.axi.ar.payload.addr[48:].eq(0)


def gives_up_the_next_launch_too(m, inner, ours):
    """An abort lasts until a launch begins."""
    lasts, was_busy = Signal(), Signal()
    m.d.sync += was_busy.eq(inner.busy)
    with m.If(ours.abort):
        m.d.sync += lasts.eq(1)
    with m.Elif(inner.busy & ~was_busy):
        m.d.sync += lasts.eq(0)
    m.d.comb += inner.abort.eq(ours.abort | (lasts & inner.busy & ~was_busy))


def longer_bursts(m, inner, ours):
    """Bursts of two beats become one of three, which may leave the 4 KB block."""
    with m.If(inner.axi.ar.payload.len == 1):
        m.d.comb += ours.axi.ar.payload.len.eq(2)


@pytest.mark.hdl
@pytest.mark.slow
@pytest.mark.parametrize(
    "meddle",
    [
        trusts_decerr,
        drops_a_word_that_waits,
        forgets_high_address_bits,
        gives_up_the_next_launch_too,
        longer_bursts,
    ],
)
def test_a_wrong_unit_is_found(meddle, tmp_path):
    def make(**parameters):
        return Meddled(GatherUnit(**parameters), meddle)

    found = Player("single", Simulator.ICARUS, tmp_path, make).play(DESCRIPTORS, SEED)
    assert found["differences"]


def test_the_table_adds_runs_up():
    counts = {"descriptors": 1000, "launches": 90, "ids": 5000, "targets OK": 900, "clocks": 7}
    run = {"counts": counts, "differences": ["one"]}
    lines = table([("wide", "icarus", run), ("wide", "icarus", run), ("narrow", "icarus", run)])
    assert "| wide, icarus | 2,000 | 180 | 10,000 | 1,800 | 0 | 0 | 0 | 14 | 2 |" in lines
    assert "| narrow, icarus | 1,000 | 90 | 5,000 | 900 | 0 | 0 | 0 | 7 | 1 |" in lines


def test_cores_are_what_a_unit_may_be():
    for parameters in CORES.values():
        assert GatherUnit(**parameters).result_words == parameters["result_words"]
