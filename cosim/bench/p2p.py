"""Reads from SSD to card, one after the other, by size, beside published figures.

Driver, firmware, DMA and links are those of every run. Flash and the card's DRAM are times alone
(:class:`TimedFlash`, :class:`TimedCard`), so that no HDL simulator is needed.
"""

from collections.abc import Generator, Sequence
from statistics import geometric_mean
from typing import Any

import numpy as np

from cosim.bench.firmware import ID_BYTES, Ssd
from cosim.bench.gather_case import fpga_platform
from cosim.config.load import load_platform
from cosim.config.platform import FpgaPlatform, SsdPlatform
from cosim.errors import UserError
from host.graph import Graph
from host.ns_config import Placement
from host.peer_reads import PeerReads
from host.window import BlockRead
from rtl.contract.kernel import P2P_BASE, Cause
from rtl.contract.nvme import Status

__all__ = ["PUBLISHED", "measure", "sizes_to"]

KIB, MIB = 1 << 10, 1 << 20
PUBLISHED = dict(
    zip(
        (4 * KIB << n for n in range(16)),
        (50, 170, 310, 540, 870, 1210, 1550, 1370, 1590, 1990, 2150, 2260, 2280, 2330, 2350, 2360),
        strict=True,
    )
)
"""MB/s by bytes of a request: Xilinx/Vitis_Accel_Examples, host/p2p_bandwidth/details.rst, U.2 card
(a SmartSSD), reads from SSD to FPGA, one after the other."""
MOST_REPEATS = 16
ENOUGH_BYTES = 2 * MIB
"""A size is repeated until it has moved as much, or so often."""
MB = 10**6


def sizes_to(largest: int) -> list[int]:
    """The published sizes of a request up to ``largest`` bytes."""
    return [size for size in PUBLISHED if size <= largest]


def measure(
    ssd: str = "smartssd_ssd", card: str = "smartssd", *, largest: int = 128 * MIB
) -> dict[str, Any]:
    """Read each size several times, each time blocks that were not read before.

    A request above the SSD's transfer limit is several NVMe commands, all at a time as far as the
    queue holds them, as the block layer of a host makes them. Every byte on the card is compared.

    Raises
    ------
    UserError
        If a platform is not one, or ``largest`` is less than the least size.
    """
    sizes = sizes_to(largest)
    if not sizes:
        raise UserError(f"largest size must be at least {min(PUBLISHED)} bytes, not {largest}")
    platform = load_platform(ssd)
    if not isinstance(platform, SsdPlatform):
        raise UserError(f"platform must be that of an SSD, not {ssd!r}")
    fpga = fpga_platform(card)
    repeats = {size: min(MOST_REPEATS, max(1, ENOUGH_BYTES // size)) for size in sizes}
    total = sum(size * times for size, times in repeats.items())
    reader = _Reader(platform, ssd, fpga, total, max(sizes))
    points, place = [], 0
    for size, times in repeats.items():
        took = []
        for _ in range(times):
            took.append(reader.read(place, size))
            place += size
        points.append(_point(size, took))
    return {
        "ssd": ssd,
        "card": card,
        "transfer_limit_bytes": platform.nvme.transfer_limit.value,
        "points": points,
        "geometric_mean_ratio": round(geometric_mean([1 + one["error"] for one in points]), 4),
    }


def _point(size: int, took_ps: Sequence[int]) -> dict[str, Any]:
    mean = sum(took_ps) / len(took_ps)
    rate = size * 10**12 / mean
    published = PUBLISHED[size] * MB
    return {
        "bytes": size,
        "reads": len(took_ps),
        "us": round(mean / 10**6, 3),
        "bytes_per_s": round(rate),
        "published_bytes_per_s": published,
        "published_us": round(size * 10**6 / published, 3),
        "error": round(rate / published - 1, 4),
    }


class _Reader:
    """A host that reads from SSD to card."""

    def __init__(
        self, platform: SsdPlatform, ssd: str, card: FpgaPlatform, total: int, window_bytes: int
    ) -> None:
        self._ids = np.arange(total // ID_BYTES, dtype=np.uint32)
        indptr = np.array([0, *[len(self._ids)] * len(self._ids)], dtype=np.int64)
        self._ssd = Ssd(
            ssd,
            Graph(indptr, self._ids, name="stream"),
            whole_page=False,
            card=card,
            window_bytes=window_bytes,
        )
        self._lba_bytes = self._ssd.layout.lba_bytes
        self._limit = platform.nvme.transfer_limit.value
        self._reads = PeerReads(
            self._ssd.kernel,
            self._ssd.driver,
            P2P_BASE,
            Placement(lba_bytes=self._lba_bytes, id_bytes=ID_BYTES),
            in_flight=platform.nvme.queue_entries.value,
        )

    def read(self, place: int, size: int) -> int:
        """Read ``size`` bytes from byte ``place`` on; returns the picoseconds that it took."""
        reads = [
            BlockRead(
                (place + start) // self._lba_bytes,
                min(self._limit, size - start) // self._lba_bytes,
                start,
            )
            for start in range(0, size, self._limit)
        ]
        start_ps = int(self._ssd.kernel.env.now)
        end: Cause = self._ssd.run(self._flow(reads))
        card = self._ssd.card
        assert card is not None
        ids = self._ids[place // ID_BYTES : (place + size) // ID_BYTES]
        if card.memory[:size] != ids.astype("<u8").tobytes():
            raise AssertionError(f"{size} bytes must be on the card as they are on the flash")
        return end.at_ps - start_ps

    def _flow(self, reads: Sequence[BlockRead]) -> Generator[Any, Any, Cause]:
        start = self._ssd.kernel.origin("host-cpu", "host.start")
        failed, cause = yield from self._reads.copy(reads, start, 0)
        if failed is not None:
            raise AssertionError(f"A read must succeed, not {Status(failed.status).name}")
        return cause
