"""A small device with a graph on its flash, NS_config built by hand, and a reference in NumPy."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from zlib import crc32

import numpy as np

from cosim.kernel import Kernel
from cosim.medium import FlashMedium, IdArray
from cosim.spans import critical_path
from firmware_model.cost_table import CostTable, Linear, RoutineCost, load_costs
from firmware_model.device import Device
from firmware_model.parameters import (
    CoreParameters,
    DmaParameters,
    FirmwareParameters,
    NvmeParameters,
    Task,
)
from rtl.contract.bch import BchCode
from rtl.contract.codec import pack
from rtl.contract.mixer import positions
from rtl.contract.nand_part import NandPart
from rtl.contract.ns_config import (
    BLOCK_BYTES,
    BODY_LIST_OFFSET,
    CHAIN_HEADER_OFFSET,
    LIST_SLOTS,
    MAGIC,
    RESULT_LIST_OFFSET,
    VERSION,
    BodyEntry,
    Header,
    Mode,
    Segment,
    SegmentFlag,
)
from rtl.contract.nvme import SAMPLING_BIT, Opcode
from rtl.contract.page import PageLayout
from rtl.contract.sampling import distinct_positions
from rtl.contract.striping import Striping
from tests.fakes import FakeDevicePort, FakeFlash, FakeHost, FakeMemory

PART = NandPart(
    name="small",
    page_bytes=8192,
    spare_bytes=1024,
    pages_per_block=8,
    blocks_per_lun=16,
    luns=2,
    t_r_ps=50_000_000,
    t_wc_ps=25_000,
    t_wp_ps=12_000,
    t_wh_ps=10_000,
    t_cs_ps=20_000,
    t_ch_ps=5_000,
    t_cals_ps=10_000,
    t_cah_ps=5_000,
    t_wb_ps=100_000,
    t_rr_ps=20_000,
    t_whr_ps=80_000,
    t_ccs_ps=200_000,
    t_rhw_ps=100_000,
    t_rpre_ps=15_000,
    t_rpst_ps=10_000,
    t_dqsre_ps=20_000,
    poll_first_ps=1_000_000,
    poll_period_ps=1_000_000,
)
LAYOUT = PageLayout(page_bytes=8192, spare_bytes=1024)
STRIPING = Striping(channels=2, ways=2, luns=2, rows=PART.rows)
CORE = CoreParameters(
    name="core0",
    kind="cortex_a9",
    period_ps=1000,
    issue_rate=Fraction(1),
    load_ps={"stack": 4000, "table": 30_000, "page_buffer": 110_000, "registers": 120_000},
    poll_cycles=20,
)
FIRST_TASKS = (Task.FRONT_END, Task.ISP_CONTROL, Task.TRANSLATE, Task.WRITE_BACK, Task.BLOCK_IO)
PARAMETERS = FirmwareParameters(
    cores=(CORE, replace(CORE, name="core1")),
    binding={task: "core0" if task in FIRST_TASKS else "core1" for task in Task},
    layout=LAYOUT,
    striping=STRIPING,
    nvme=NvmeParameters(
        namespace_blocks=STRIPING.pages * LAYOUT.lbas,
        transfer_limit_bytes=4 << 20,
        command_slots=8,
        io_queues=3,
        queue_entries=64,
    ),
    dma=DmaParameters(setup_ps=50_000, slots=4, descriptor_bytes=4096),
    dram_bytes_per_second=4_266_666_666,
    page_buffer_pages=8,
    page_jobs=16,
    subgraph_buffer_bytes=1 << 20,
)
COSTS = load_costs()


def slowed(costs, routine, factor):
    """The same table with one routine ``factor`` times as long."""

    def scale(form):
        return Linear(form.base * factor, {name: rate * factor for name, rate in form.per.items()})

    old = costs.routines[routine]
    new = RoutineCost(
        instructions=scale(old.instructions),
        loads={name: scale(form) for name, form in old.loads.items()},
        counts=old.counts,
        assumed=old.assumed,
    )
    return CostTable({**costs.routines, routine: new})


def random_graph(seed, nodes=200, longest=3000, empty=0.1):
    """Offsets and 40-bit ids of a graph with some empty and some long lists."""
    generator = np.random.default_rng(seed)
    degrees = (generator.pareto(0.7, nodes) * 5 + 1).astype(np.int64).clip(0, longest)
    degrees[generator.random(nodes) < empty] = 0
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return indptr, generator.integers(0, 1 << 31, indptr[-1])


@dataclass
class Request:
    """One sampling request in host memory."""

    header: int
    result: int
    expected: bytes
    pieces: list


class Bench:
    """Kernel, fake world and device with ``ids`` on flash from block ``first_block`` on."""

    def __init__(
        self,
        indptr,
        ids,
        *,
        id_bytes=8,
        first_page=0,
        parameters=PARAMETERS,
        costs=COSTS,
        entries=8,
        completion_entries=None,
        queues=1,
    ):
        self.indptr, self.ids, self.id_bytes = np.asarray(indptr), np.asarray(ids), id_bytes
        self.kernel = Kernel()
        striping = parameters.striping
        code = BchCode(m=12, t=14, chunk_bytes=256)
        self.medium = FlashMedium(PART, parameters.layout, code, striping)
        self.first_byte = first_page * parameters.layout.page_bytes
        pages = self.medium.load_extent(first_page, IdArray(self.ids, id_bytes))
        self.flash = FakeFlash(self.kernel, self.medium)
        self.memory = FakeMemory()
        self.port = FakeDevicePort(self.kernel, self.memory)
        self.hosts = [
            FakeHost(
                self.kernel,
                self.port,
                number=number,
                entries=entries,
                completion_entries=completion_entries,
            )
            for number in range(1, queues + 1)
        ]
        self.host = self.hosts[0]
        self.device = Device(
            self.kernel,
            self.port,
            self.flash,
            parameters,
            queues=[host.registers for host in self.hosts],
            costs=costs,
            code=code,
        )
        for page, content in self.device.load_extent(first_page, pages):
            self.medium.load_extent(page, content)
        self._pages = range(first_page, first_page + pages)

    @cached_property
    def image(self):
        """All bytes of the extent."""
        layout, physical = self.device.parameters.layout, self.medium.striping.physical
        return b"".join(
            layout.strip(self.medium.sense(*physical(page))[: layout.data_bytes])
            for page in self._pages
        )

    def place(self, node):
        """LBA and offset of a node's list."""
        byte = self.first_byte + int(self.indptr[node]) * self.id_bytes
        return divmod(byte, self.device.parameters.layout.lba_bytes)

    def taken(self, mode, node, fan_out, key):
        degree = int(self.indptr[node + 1] - self.indptr[node])
        if mode is Mode.DRAW:
            return degree, positions(key, degree, fan_out)
        if mode is Mode.DRAW_DISTINCT:
            return degree, distinct_positions(key, degree, fan_out)
        generator = np.random.default_rng(key)
        return degree, generator.integers(0, degree, fan_out) if degree else np.empty(0, int)

    def body(self, nodes, fan_out, mode):
        """Body bytes and the result that the reference expects for them."""
        body, expected = b"", b""
        for slot, node in enumerate(nodes):
            key = 1000 + slot
            degree, taken = self.taken(mode, node, fan_out, key)
            lba, offset = self.place(node)
            body += pack(BodyEntry, lba=lba, degree=degree, offset=offset, fan_out=fan_out)
            if mode is not Mode.EXPLICIT:
                body += key.to_bytes(4, "little")
            elif degree:
                body += np.asarray(taken).astype("<u4").tobytes()
            ids = self.ids[self.indptr[node] + np.asarray(taken, dtype=int)]
            expected += len(ids).to_bytes(4, "little") + ids.astype("<u8").tobytes()
        return body, expected

    def request(
        self, nodes, fan_out=5, mode=Mode.EXPLICIT, *, piece_bytes=5000, result_piece_bytes=3000
    ):
        """Build NS_config in host memory; header fields can be changed with :meth:`patch`."""
        body, expected = self.body(nodes, fan_out, mode)
        return self.structure(
            {"version": VERSION, "mode": mode, "target_count": len(nodes)},
            body,
            expected,
            piece_bytes=piece_bytes,
            result_piece_bytes=result_piece_bytes,
        )

    def structure(
        self, fields, body, expected, tail=b"", *, room=None, piece_bytes=5000,
        result_piece_bytes=3000
    ):  # fmt: skip
        """The same of any body, with ``room`` bytes for the result, or as many as are expected."""
        pieces = self._scatter(body, piece_bytes)
        places = self._scatter(bytes(room or len(expected)), result_piece_bytes)
        header = self.memory.allocate(BLOCK_BYTES)
        body_slots, result_slots = self._list(pieces), self._list(places)
        block = bytearray(BLOCK_BYTES)
        block[BODY_LIST_OFFSET : BODY_LIST_OFFSET + len(body_slots)] = body_slots
        block[RESULT_LIST_OFFSET : RESULT_LIST_OFFSET + len(result_slots)] = result_slots
        block[:64] = pack(
            Header,
            magic=MAGIC,
            length=BLOCK_BYTES,
            id_bytes=self.id_bytes,
            body_bytes=len(body),
            result_bytes=room or len(expected),
            body_segments=len(body_slots) // 16,
            result_segments=len(result_slots) // 16,
            **fields,
        )
        block[CHAIN_HEADER_OFFSET : CHAIN_HEADER_OFFSET + len(tail)] = tail
        self.memory.store(header, bytes(block))
        self.seal(header)
        return Request(header, places[0][0], expected, places)

    def seal(self, header):
        block = bytearray(self.memory.load(header, BLOCK_BYTES))
        block[8:12] = bytes(4)
        block[8:12] = crc32(block).to_bytes(4, "little")
        self.memory.store(header, bytes(block))

    def patch(self, header, at, value, size, *, seal=True):
        self.memory.store(header + at, value.to_bytes(size, "little"))
        if seal:
            self.seal(header)

    def _scatter(self, data, piece_bytes):
        pieces = []
        for at in range(0, len(data), piece_bytes):
            part = data[at : at + piece_bytes]
            address = self.memory.allocate(len(part), 4)
            self.memory.store(address, part)
            pieces.append((address, len(part)))
        return pieces

    def _list(self, pieces, slots=LIST_SLOTS):
        """Slots of a segment list, with chained pages where they do not fit."""
        if len(pieces) <= slots:
            return b"".join(pack(Segment, address=a, length=n) for a, n in pieces)
        here, more = pieces[: slots - 1], self._list(pieces[slots - 1 :], 256)
        page = self.memory.allocate(4096)
        self.memory.store(page, more)
        return self._list(here, slots) + pack(
            Segment, address=page, length=len(more), flags=SegmentFlag.CHAIN
        )

    def submit(self, request, *, number=1, host=None, **fields):
        fields = {
            "opcode": Opcode.WRITE,
            "cdw12": 1 << SAMPLING_BIT,
            "prp1": request.header,
            "cdw3": number,
        } | fields
        return (host or self.host).put(**fields)

    def result(self, request):
        return b"".join(self.memory.load(address, length) for address, length in request.pieces)

    def status(self, **fields):
        """Submit one command and return its status."""
        self.host.put(**fields)
        return int(self.host.wait(1)[0].status.status)

    def sample_status(self, request, **fields):
        self.submit(request, **fields)
        return int(self.host.wait(1)[0].status.status)

    def check_spans(self):
        """Spans of one core never overlap; returns the log."""
        by_core = {}
        for span in self.kernel.spans:
            if span.unit.startswith("core"):
                by_core.setdefault(span.unit, []).append((span.start_ps, span.end_ps))
        for spans in by_core.values():
            spans.sort()
            for (_, end), (start, _) in pairwise(spans):
                assert start >= end
        return self.kernel.spans

    def path(self, cause, start_ps):
        return critical_path(self.kernel.spans, cause, start_ps)
