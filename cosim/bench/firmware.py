"""What the firmware does on a platform: a stream of reads, and one large mini-batch.

Host, links, DMA and the firmware on its cores are those of every run. The flash is
:class:`TimedFlash`: a page takes the array's time and what its bus needs at least, so that no HDL
simulator is needed.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cosim.bench.flash_channel_bound import BusBound
from cosim.bench.timed_card import TimedCard
from cosim.bench.timed_flash import TimedFlash
from cosim.config.build import (
    bus_phases,
    dram_times,
    firmware_parameters,
    host_costs,
    link_parameters,
    nand_part,
    page_layout,
    period_ps,
    queue_registers,
    striping,
    wire_parameters,
)
from cosim.config.load import default_platforms, load_platform
from cosim.config.model import FirmwareCsd
from cosim.config.platform import FpgaPlatform
from cosim.host_memory import HostMemory
from cosim.kernel import Kernel
from cosim.links import DevicePort, Direction, HostPort, PcieLink
from cosim.medium import IdArray
from cosim.spans import SpanLog
from firmware_model.device import Device
from host import reference
from host.block_read import read_blocks
from host.costs import HostCpu
from host.driver import NvmeDriver
from host.firmware_csd import FirmwareCsdHost, FirmwareCsdParameters
from host.firmware_hops import FirmwareHopsHost, FirmwareHopsParameters
from host.graph import Graph
from host.ns_config import Placement
from host.subgraph import subgraph_sha256
from host.trace import MiniBatch, Trace

__all__ = [
    "PUBLISHED_BYTES_PER_S",
    "WAYS",
    "CoreTime",
    "SamplingWay",
    "Ssd",
    "core_times",
    "read_stream",
    "sample_batch",
    "sample_lists",
]

PUBLISHED_BYTES_PER_S = 1_400_000_000
"""About that, by a user's fio on a Cosmos+: CRZ-Technology/OpenSSD-OpenChannelSSD, issue 2."""
READ_BYTES = 16_384
ID_BYTES = 8


@dataclass(frozen=True)
class SamplingWay:
    """Who draws the positions, and who goes from hop to hop; as of a system."""

    name: str
    positions: Literal["host", "device"] = "host"
    hops: Literal["host", "device"] = "host"


WAYS = (
    SamplingWay("host draws"),
    SamplingWay("SSD draws", "device"),
    SamplingWay("SSD draws and chains", "device", "device"),
)


@dataclass(frozen=True, order=True)
class CoreTime:
    """All steps of one routine on one core."""

    time_ps: int
    core: str
    routine: str
    steps: int


def core_times(spans: SpanLog, cores: Sequence[str], *, since_ps: int = 0) -> list[CoreTime]:
    """Time of the firmware's steps by core and routine, most first; polling is not among them."""
    sums: dict[tuple[str, str], list[int]] = {}
    for span in spans:
        if span.unit in cores and span.stage != "firmware.poll" and span.start_ps >= since_ps:
            routine = span.stage.removeprefix("firmware.")
            entry = sums.setdefault((span.unit, routine), [0, 0])
            entry[0] += span.end_ps - span.start_ps
            entry[1] += 1
    return sorted(
        (CoreTime(time, core, name, steps) for (core, name), (time, steps) in sums.items()),
        reverse=True,
    )


class Ssd:
    """Host, link and SSD of a platform on one kernel, with ``graph`` on the flash.

    Parameters
    ----------
    platform : str
        SSD platform.
    graph : Graph, or what acts like one
        Its edge list array lies on the flash from block 0 on.
    whole_page : bool
        As of a system.
    way : SamplingWay
        As of a system; row pointers are in the SSD's DRAM where it chains hops.
    card : FpgaPlatform, optional
        A card beside it, whose DRAM takes peer-to-peer writes; see :class:`TimedCard`.
    window_bytes : int
        Of the card's DRAM.
    flash : callable
        What makes the flash channels; takes the arguments of :class:`TimedFlash`.
    """

    def __init__(
        self,
        platform: str,
        graph: Any,
        *,
        whole_page: bool = True,
        way: SamplingWay = WAYS[0],
        card: FpgaPlatform | None = None,
        window_bytes: int = 0,
        flash: Callable[..., TimedFlash] = TimedFlash,
    ) -> None:
        platforms = default_platforms()
        ssd = load_platform(platform)
        part, layout, places = nand_part(ssd), page_layout(ssd), striping(ssd)
        ids = IdArray(graph.indices, ID_BYTES)
        parameters = firmware_parameters(
            ssd,
            FirmwareCsd(
                kind="firmware-csd",
                name="firmware-csd",
                whole_page=whole_page,
                positions=way.positions,
                hops=way.hops,
            ),
            ids.length_bytes,
        )
        clock_ps = period_ps(ssd.flash.clock.value)
        bound = BusBound(part=part, period_ps=clock_ps, phases=bus_phases(ssd))
        page_ps = clock_ps * sum(bound.page(layout.data_bytes).values())
        self.layout = layout
        self.way = way
        self.kernel = Kernel()
        self.flash = flash(
            self.kernel,
            layout,
            places,
            ids,
            array_ps=part.t_r_ps,
            page_ps=page_ps,
            slots=ssd.flash.landing_slots.value,
        )
        self.bus_bytes_per_s = places.channels * layout.page_bytes * 10**12 // page_ps
        """Of all channels, without parity."""
        memory = HostMemory()
        link = PcieLink(self.kernel, "pcie.ssd", link_parameters(ssd.pcie))
        self.card: TimedCard | None = None
        peer: Direction | None = None
        if card is not None:
            self.card = TimedCard(self.kernel, dram_times(card), window_bytes)
            peer = Direction(
                self.kernel, wire_parameters(card.p2p), "pcie.p2p", "pcie.p2p", shares=link.up
            )
        port = DevicePort(self.kernel, link, memory, peer=peer, card=self.card)
        self.driver = NvmeDriver(
            self.kernel,
            HostPort(self.kernel, memory, link, port),
            HostCpu(self.kernel, host_costs(platforms.host)),
            depth=ssd.nvme.queue_entries.value,
        )
        registers = queue_registers(
            ssd, submission=self.driver.sq_address, completion=self.driver.cq_address
        )
        channels: Any = self.flash  # reads are all that is asked of it
        self.device = Device(self.kernel, port, channels, parameters, queues=[registers])
        self.device.load_extent(0, self.flash.pages)
        if way.hops == "device":
            self.device.load_row_pointers(graph.indptr)

    @cached_property
    def cores(self) -> tuple[str, ...]:
        """Names of the SSD's cores."""
        return tuple(core.name for core in self.device.cores.cores)

    def run(self, flow: Generator[Any, Any, Any]) -> Any:
        """Run a flow of the host to its end; returns its value."""
        return self.kernel.env.run(until=self.kernel.env.process(flow))


def read_stream(
    platform: str = "cosmos_plus", *, reads: int = 2048, depth: int = 128
) -> dict[str, Any]:
    """Read 16 KiB pages one after the other, ``depth`` commands at a time.

    The rate is that of the reads after the first quarter, up to the last that was asked for while
    the queue was full. Every byte is compared.
    """
    ids = np.arange(reads * READ_BYTES // ID_BYTES, dtype=np.uint32)
    nodes = len(ids)
    graph = Graph(np.array([0, *[len(ids)] * nodes], dtype=np.int64), ids, name="stream")
    ssd = Ssd(platform, graph)
    blocks = READ_BYTES // ssd.layout.lba_bytes
    ended: list[int] = []
    order = iter(range(reads))

    def worker() -> Generator[Any, Any, None]:
        cause = ssd.kernel.origin("host-cpu", "host.start")
        for number in order:
            data, cause = yield from read_blocks(
                ssd.driver, number * blocks, blocks, ssd.layout.lba_bytes, cause
            )
            part = ids[number * READ_BYTES // ID_BYTES :][: READ_BYTES // ID_BYTES]
            if data != part.astype("<u8").tobytes():
                raise AssertionError(f"Read {number} must return what is on the flash")
            ended.append(int(ssd.kernel.env.now))

    env = ssd.kernel.env
    env.run(until=env.all_of([env.process(worker()) for _ in range(depth)]))
    warm_up, full = reads // 4, reads - depth
    first, last = ended[warm_up], ended[full]
    count = full - warm_up
    rate = count * READ_BYTES * 10**12 / (last - first)
    busy = {core.name: core.busy_ps for core in ssd.device.cores.cores}
    return {
        "platform": platform,
        "bytes_per_s": round(rate),
        "published_bytes_per_s": PUBLISHED_BYTES_PER_S,
        "deviation": round(rate / PUBLISHED_BYTES_PER_S - 1, 4),
        "bus_bytes_per_s": ssd.bus_bytes_per_s,
        "depth": depth,
        "us_a_read": round((last - first) / count / 10**6, 3),
        "core_us_a_read": {name: round(time / reads / 10**6, 3) for name, time in busy.items()},
    }


def list_graph(nodes: int, degree: int, seed: int = 1) -> Graph:
    """A graph of ``nodes`` lists of ``degree`` ids on average, lengths spread as e^N(0, 1).

    A node is a neighbour as often as it has neighbours itself.
    """
    generator = np.random.default_rng(seed)
    degrees = generator.lognormal(sigma=1.0, size=nodes)
    degrees = np.maximum(1, np.rint(degrees * degree / degrees.mean())).astype(np.int64)
    indices = np.repeat(np.arange(nodes, dtype=np.uint32), degrees)
    generator.shuffle(indices)
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return Graph(indptr, indices, name="lists")


def sample_batch(ssd: Ssd, graph: Any, batch: MiniBatch) -> int:
    """Sample a mini-batch of the graph on ``ssd``; returns its latency in picoseconds.

    :exc:`AssertionError` if the subgraph is not that of the reference.
    """
    placement = Placement(lba_bytes=ssd.layout.lba_bytes, id_bytes=ID_BYTES)
    host: FirmwareCsdHost | FirmwareHopsHost
    if ssd.way.hops == "device":
        chained = FirmwareHopsParameters(nodes=graph.nodes, placement=placement)
        host = FirmwareHopsHost(ssd.driver, chained)
    else:
        known = FirmwareCsdParameters(placement=placement, positions=ssd.way.positions)
        host = FirmwareCsdHost(ssd.driver, graph, known)
    start = ssd.kernel.origin("host-cpu", "host.start")
    found, end = ssd.run(host.sample(batch, start))
    if subgraph_sha256([found]) != subgraph_sha256([reference.sample(graph, batch)]):
        raise AssertionError("The subgraph must be that of the reference")
    return int(end.at_ps - start.at_ps)


def sample_lists(
    platform: str = "cosmos_plus",
    *,
    nodes: int = 1_000_000,
    degree: int = 28,
    targets: int = 1024,
    fan_outs: Sequence[int] = (25, 10),
) -> dict[str, dict[str, Any]]:
    """Sample one mini-batch in each way, and say where the cores' time went.

    Subgraphs are compared with the reference's. Keys are the names of :data:`WAYS`.
    """
    graph = list_graph(nodes, degree)
    trace = Trace.generate(graph, seed=1, batches=1, targets=targets, fan_outs=fan_outs)
    (batch,) = trace.batches
    return {way.name: _sampled(Ssd(platform, graph, way=way), graph, batch) for way in WAYS}


def _sampled(ssd: Ssd, graph: Graph, batch: MiniBatch) -> dict[str, Any]:
    latency_ps = sample_batch(ssd, graph, batch)
    counts = ssd.device.counts()
    return {
        "targets": len(batch.targets),
        "fan_outs": list(batch.fan_outs),
        "lists": counts["targets"],
        "ids": counts["ids"],
        "page_jobs": counts["page_jobs"],
        "flash_reads": counts["flash_reads"],
        "latency_us": round(latency_ps / 10**6, 1),
        "flash_bus_us": round(
            counts["flash_reads"] * ssd.layout.page_bytes / ssd.bus_bytes_per_s * 10**6, 1
        ),
        "core_times": core_times(ssd.kernel.spans, ssd.cores),
    }
