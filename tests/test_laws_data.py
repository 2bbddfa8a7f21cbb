"""Ids are real bytes that come from the flash cells, and no byte is lost or counted twice."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cosim.config.build import page_layout
from cosim.config.load import load_platform
from cosim.results import moved_bytes
from host.graph import Graph
from host.reference import sample
from host.sampler import plan_hop
from host.trace import Trace
from tests.system_runs import hub_configuration, hub_graph, reference, result_bytes, run, systems

pytestmark = [pytest.mark.hdl, pytest.mark.slow]

SYSTEMS = ["firmware-csd", "fpga-csd"]
ID_BYTES = 4
LAYOUT = page_layout(load_platform("tiny"))
LBA = LAYOUT.lba_bytes
HOPS = 2
UNCHECKED = {"ssd.flash.decoder": "absent"}


def unchecked():
    """What the cells hold reaches the hosts as it is read."""
    return hub_configuration(platform_overrides=UNCHECKED)


@pytest.fixture(scope="module")
def graph():
    return hub_graph()


@pytest.fixture(scope="module")
def batch(graph):
    return Trace.load(Path(hub_configuration()["run"]["trace"]["file"])).batches[0]


def cell(place, byte_of_id=0):
    """Logical page, and number of the byte in the raw page, of the id at ``place`` of the array."""
    page, byte = divmod(place * ID_BYTES + byte_of_id, LAYOUT.page_bytes)
    chunk, rest = divmod(byte, LAYOUT.chunk_bytes)
    return page, chunk * LAYOUT.codeword_bytes + rest


def sampled_place(graph, batch, slot):
    """Place in the edge list array of the first id that a root target yields."""
    plan = plan_hop(graph, batch, 0, batch.targets)
    return int(plan.starts[slot] + plan.positions()[slot, 0])


def sampled_words(graph, batch, place):
    """Words of the first hop's result that hold the id at ``place`` of the edge list array."""
    plan = plan_hop(graph, batch, 0, batch.targets)
    places = (plan.starts[:, None] + plan.positions()).ravel()
    taken = np.repeat(plan.degrees > 0, plan.fan_out)
    before = np.cumsum(np.repeat(1, len(plan)))  # counts up to and with each slot's own
    word = 2 * (np.cumsum(taken) - 1) + np.repeat(before, plan.fan_out)
    return set(word[taken & (places == place)])


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_flipped_bit_changes_its_id_and_nothing_before_it(system, graph, batch):
    slot = int(np.flatnonzero(plan_hop(graph, batch, 0, batch.targets).degrees)[1])
    place = sampled_place(graph, batch, slot)
    page, column = cell(place)
    found = run(system, "icarus", unchecked(), flips=[(page, 8 * column + 1)])

    indices = graph.indices.copy()
    indices[place] ^= 2
    expected = sample(Graph(graph.indptr, indices), batch)
    assert found.subgraphs == result_bytes([expected])

    right = np.frombuffer(reference(hub_configuration())[0][0], "<u4")
    wrong = np.frombuffer(found.subgraphs[0][0], "<u4")
    # In words: a count a slot, two an id; the targets before this one have no part in it.
    first = int((1 + 2 * expected.hops[0].counts.astype(int))[:slot].sum()) + 1
    assert np.flatnonzero(right != wrong)[0] == first
    assert set(np.flatnonzero(right != wrong)) <= sampled_words(graph, batch, place)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_flipped_parity_bit_changes_nothing_without_a_decoder(system, graph, batch):
    place = sampled_place(graph, batch, 0)
    page, column = cell(place)
    codeword = column // LAYOUT.codeword_bytes
    parity = 8 * (codeword * LAYOUT.codeword_bytes + LAYOUT.chunk_bytes)
    found = run(system, "icarus", unchecked(), flips=[(page, parity + 3)])
    assert found.subgraphs == reference(hub_configuration())
    assert found.spans == run(system, "icarus", unchecked()).spans


@pytest.mark.parametrize("positions", ["host", "device"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_host_does_not_need_the_ids(system, positions):
    keys = {"positions": positions}
    document = hub_configuration(systems=systems(keys, keys))
    found = run(system, "icarus", document, blind=True)
    assert found.subgraphs == reference(document)


@pytest.fixture(scope="module", params=SYSTEMS)
def outcome(request):
    return run(request.param, "icarus", hub_configuration())


def payload(outcome, unit, kind):
    spans = outcome.spans
    return sum(span.payload_bytes for span in spans if (span.unit, span.kind) == (unit, kind))


def kinds(outcome, unit):
    """Payload that crossed a link, by kind, without what is nothing."""
    found = Counter()
    for span in outcome.spans:
        if span.unit == unit and span.payload_bytes:
            found[span.kind] += span.payload_bytes
    return dict(found)


def test_every_page_that_was_sensed_crosses_the_bus_and_reaches_dram(outcome):
    counters = outcome.result.counters
    pages = counters["medium.sensed"]
    assert pages == counters["firmware.flash_reads"] == counters["channel.transfers"] > 0
    bytes_, overheads = moved_bytes(outcome.result.spans)
    assert bytes_["flash"] == pages * LAYOUT.page_bytes
    assert overheads["flash_spare"] == pages * LAYOUT.codewords * LAYOUT.parity_bytes
    arrived = [span for span in outcome.spans if span.stage == "dram.flash-in"]
    assert sum(span.payload_bytes for span in arrived) == bytes_["flash"]


def sizes(graph, batch):
    """Per hop the number of targets and of ids."""
    subgraph = sample(graph, batch)
    return [(len(hop.counts), len(hop.ids)) for hop in subgraph.hops]


def test_bytes_of_the_firmware_csd_are_those_of_its_protocol(graph, batch):
    outcome = run("firmware-csd", "icarus", hub_configuration())
    counters = outcome.result.counters
    commands = counters["driver.submitted"]
    targets, found = map(sum, zip(*sizes(graph, batch), strict=True))
    body = 16 * targets + 4 * found
    # The last one, of the completion queue's head, is still on its way.
    doorbells = counters["firmware.doorbells"] + 1
    assert kinds(outcome, "pcie.ssd.down") == {
        "sqe": 64 * commands,
        "ns_config": 4096 * commands + body,
        "doorbell": 4 * doorbells,
    }
    assert kinds(outcome, "pcie.ssd.up") == {
        "result": 4 * targets + 8 * found,
        "cqe": 16 * commands,
        "interrupt": 4 * commands,
    }
    assert 4 * targets + 8 * found == sum(map(len, reference(hub_configuration())[0]))
    dma_in = [span for span in outcome.spans if span.stage == "dram.dma-in"]
    assert sum(span.payload_bytes for span in dma_in) == 4096 * commands + body


def test_bytes_of_the_fpga_csd_are_those_of_its_protocol(graph, batch):
    outcome = run("fpga-csd", "icarus", hub_configuration())
    counters = outcome.result.counters
    reads, rounds = counters["host.reads"], counters["host.rounds"]
    assert (reads, rounds) == (counters["driver.submitted"], HOPS)
    assert kinds(outcome, "pcie.ssd.down") == {
        "sqe": 64 * reads,
        "doorbell": 4 * counters["firmware.doorbells"],
    }
    assert kinds(outcome, "pcie.ssd.up") == {"cqe": 16 * reads, "interrupt": 4 * reads}
    assert kinds(outcome, "pcie.p2p") == {"data": LBA * reads}

    def words(length):
        return -(-length // 64) * 64

    hops = sizes(graph, batch)
    orders = {
        "descriptor": sum(words(32 * targets) for targets, _ in hops),
        "positions": sum(words(4 * found) for _, found in hops),
    }
    # A round is two copies to the card, a launch and a copy back, each with its registers.
    assert kinds(outcome, "pcie.fpga.down") == {**orders, "card_registers": 16 * 4 * rounds}
    assert kinds(outcome, "pcie.fpga.up") == {
        "result": sum(8 * targets + 8 * found for targets, found in hops),
        "interrupt": 4 * 4 * rounds,
    }
    assert payload(outcome, "gather", "stage") == LBA * reads + sum(orders.values())
    sent = [span for span in outcome.spans if span.stage == "dram.dma-out"]
    assert sum(span.payload_bytes for span in sent) == LBA * reads


def test_headers_are_counted_apart(outcome):
    """Write packets of 256 bytes at most, requests of 512 and completions of 256: 24 bytes each."""
    for span in outcome.spans:
        if not span.unit.startswith("pcie.") or span.unit.endswith(".flight"):
            continue
        packets = -(-span.payload_bytes // 256)
        if not span.payload_bytes:
            assert span.unit.endswith(".up")  # a device asks for data
            packets = 1 if span.kind == "sqe" else None
        if packets is not None:
            assert span.overhead_bytes == 24 * packets
        else:
            assert span.overhead_bytes % 24 == 0 < span.overhead_bytes
