"""Flow control of PCIe: packets by hand, transfers on a link, and the room for completions."""

from dataclasses import replace

import pytest

from cosim.credits import PostedCredits, ReadWindow
from cosim.host_memory import HostMemory
from cosim.kernel import BOOT_PS, Kernel
from cosim.links import DevicePort, PcieLink
from tests.links_bench import LINK

LATENCY_PS = 300_000
HEADER = 24
PACKET_PS = 280_000  # 256 bytes and a header, 1,000 ps a byte


def credits(headers, data_bytes):
    return PostedCredits(
        Kernel(), "credits", headers=headers, data_bytes=data_bytes, latency_ps=LATENCY_PS
    )


def sent(ledger, start_ps, packets):
    return ledger.send(start_ps, packets, lambda count: 1000 * count, HEADER)


@pytest.mark.parametrize(
    ("headers", "data_bytes", "end", "waits"),
    [
        # Room for all: five packets one after the other.
        (5, 5 * 256, 5 * PACKET_PS, 0),
        # One at a time: each leaves a round trip after the one before has left.
        (1, 4096, 5 * PACKET_PS + 4 * 600_000, 4),
        (4096, 256, 5 * PACKET_PS + 4 * 600_000, 4),
        # Two: the third when the first is given back, at 280 + 600, not at 560; the fifth likewise.
        (2, 4096, 880_000 + 880_000 + PACKET_PS, 2),
        # Three: the fourth at 280 + 600, not at 840; the fifth behind it, at 280 + 280 + 600.
        (3, 4096, 880_000 + 2 * PACKET_PS, 1),
        # Data for two and a half is as good as data for two.
        (4096, 640, 880_000 + 880_000 + PACKET_PS, 2),
    ],
)
def test_packets_by_hand(headers, data_bytes, end, waits):
    ledger = credits(headers, data_bytes)
    assert sent(ledger, 0, [256] * 5) == end
    assert ledger.waits == waits


def test_a_credit_is_sixteen_bytes():
    ledger = credits(99, 48)
    assert sent(ledger, 0, [17, 1]) == 1000 * (18 + 2 * HEADER)
    assert sent(ledger, 66_000, [1]) == 41_000 + 600_000 + 25_000
    assert ledger.waits == 1


def test_credits_are_given_back_between_transfers():
    ledger = credits(1, 256)
    sent(ledger, 0, [256])
    assert sent(ledger, 880_000, [256]) == 880_000 + PACKET_PS
    assert sent(ledger, 1_759_000, [256]) == 1_760_000 + PACKET_PS
    assert ledger.waits == 1


class Port:
    """A device port on one link."""

    def __init__(self, **changes):
        self.kernel = Kernel()
        memory = HostMemory()
        self.address = memory.allocate(4096)
        link = PcieLink(self.kernel, "pcie.ssd", replace(LINK, **changes))
        self.port = DevicePort(self.kernel, link, memory)
        self.ends = []
        memory.store(self.address, bytes(range(256)) * 16)

    def read(self, length):
        data, cause = yield from self.port.read(
            self.address, length, self.kernel.origin("device", "start")
        )
        assert data == (bytes(range(256)) * 16)[:length]
        assert cause.at_ps == self.kernel.env.now
        self.ends.append(self.kernel.env.now - BOOT_PS)

    def write(self, length):
        cause = self.kernel.origin("device", "start")
        yield from self.port.write(self.address, bytes(length), cause)
        self.ends.append(self.kernel.env.now - BOOT_PS)

    def run(self, *flows):
        for flow in flows:
            self.kernel.env.process(flow)
        self.kernel.env.run()
        return self.ends


def waits(port):
    return {one.name: one.waits for one in port.kernel.resources}


def test_a_write_holds_the_link_while_it_waits_for_credits():
    port = Port(posted_headers=2)
    assert port.run(port.write(1024), port.write(4)) == [
        880_000 + 2 * PACKET_PS,
        # The third packet of the first write comes back at 1,760.
        1_760_000 + 28_000,
    ]
    assert waits(port)["pcie.ssd.up.credits"] == 2
    (first, *_) = port.kernel.spans
    spans = [span for span in port.kernel.spans if span.stage == "pcie.ssd.up"]
    assert [span.payload_bytes for span in spans] == [1024, 4]
    assert first.end_ps == BOOT_PS


def one_read_ps(length):
    """Requests, completions and their headers, and two flights."""
    return 1000 * (HEADER * (-(-length // 512) + -(-length // 128)) + length) + 2 * LATENCY_PS


def test_a_read_larger_than_the_room_is_several():
    port = Port(read_window_bytes=512)
    assert port.run(port.read(1100)) == [2 * one_read_ps(512) + one_read_ps(76)]


def test_reads_wait_for_room():
    port = Port(read_window_bytes=512)
    first, second = port.run(port.read(512), port.read(512))
    assert (first, second) == (one_read_ps(512), 2 * one_read_ps(512))
    assert waits(port)["pcie.ssd.read-window"] == 1
    port = Port(read_window_bytes=1024)
    assert port.run(port.read(512), port.read(512))[1] < second


def test_room_is_given_first_come_first_served():
    kernel, order = Kernel(), []
    window = ReadWindow(kernel, "window", 100)

    def use(length, hold):
        cause = yield from window.acquire(length, kernel.origin("test", "start"))
        order.append((length, kernel.env.now - BOOT_PS))
        assert cause.at_ps == kernel.env.now
        yield kernel.env.timeout(hold)
        window.release(length, kernel.origin("test", "end"))

    for length, hold in ((60, 10), (50, 10), (30, 10), (100, 10)):
        kernel.env.process(use(length, hold))
    kernel.env.run()
    assert order == [(60, 0), (50, 10), (30, 10), (100, 20)]
    assert window.waits == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"posted_headers": 0}, "posted_headers must be an integer of at least 1, not 0"),
        (
            {"posted_data_bytes": 128},
            "posted_data_bytes must be a multiple of 16 from 256 up, not 128",
        ),
        (
            {"posted_data_bytes": 257},
            "posted_data_bytes must be a multiple of 16 from 256 up, not 257",
        ),
        ({"read_window_bytes": 0}, "read_window_bytes must be an integer of at least 1, not 0"),
    ],
)
def test_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(LINK, **changes)
