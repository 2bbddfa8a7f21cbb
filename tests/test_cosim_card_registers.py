"""Reads of the card's registers, by hand."""

import pytest

from cosim.card_registers import CardRegisters
from cosim.kernel import BOOT_PS, Kernel
from cosim.links import PcieLink
from tests.links_bench import LINK

# A header of 24 bytes down, one with four bytes up, 1,000 ps a byte, and two flights.
DOWN_PS = 24_000 + 300_000
READ_PS = DOWN_PS + 28_000 + 300_000


@pytest.fixture
def kernel():
    return Kernel()


def read(kernel, values):
    registers = CardRegisters(kernel, PcieLink(kernel, "pcie.fpga", LINK), values)
    flow = registers.read_all(kernel.origin("host-cpu", "host.start"))
    return kernel.env.run(until=kernel.env.process(flow))


def test_one_register_after_the_other(kernel):
    found, cause = read(kernel, lambda: {"beats": 5, "ids": 7, "merges": 0})
    assert found == {"beats": 5, "ids": 7, "merges": 0}
    assert cause.at_ps == kernel.env.now == BOOT_PS + 3 * READ_PS


def test_a_value_is_that_of_the_moment(kernel):
    found, _ = read(kernel, lambda: dict.fromkeys("ab", int(kernel.env.now) - BOOT_PS))
    assert found == {"a": DOWN_PS, "b": READ_PS + DOWN_PS}


def test_spans_have_the_bytes_and_no_gap(kernel):
    read(kernel, lambda: {"beats": 5})
    spans = [span for span in kernel.spans if span.unit != "host-cpu"]
    assert [(span.unit, span.payload_bytes, span.overhead_bytes) for span in spans] == [
        ("pcie.fpga.down", 0, 24),
        ("pcie.fpga.down.flight", 0, 0),
        ("pcie.fpga.up", 4, 24),
        ("pcie.fpga.up.flight", 0, 0),
    ]
    assert {span.kind for span in spans} == {"card_registers"}
    assert [one.end_ps for one in spans[:-1]] == [two.start_ps for two in spans[1:]]
