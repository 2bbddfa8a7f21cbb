"""A device that can be written, on flash that outlives it: writes, reads, losses of power."""

from dataclasses import replace

import numpy as np

from cosim.kernel import Kernel
from cosim.medium import FlashMedium
from firmware_model.device import Device
from firmware_model.ftl.geometry import FtlParameters
from rtl.contract.bch import BchCode
from rtl.contract.nand_part import NandPart
from rtl.contract.nvme import Opcode, Status
from rtl.contract.page import PageLayout
from rtl.contract.striping import Striping
from tests.fakes import FakeDevicePort, FakeFlash, FakeHost, FakeMemory
from tests.firmware_bench import PARAMETERS, PART

__all__ = [
    "CODE",
    "FTL",
    "LAYOUT",
    "SMALL",
    "Pattern",
    "WriteBench",
    "content",
    "loaded_model",
    "parameters_of",
    "play",
    "verify",
]

LAYOUT = PageLayout(page_bytes=8192, spare_bytes=1024)
"""Two blocks a page; a map page has 2,048 entries."""
SMALL = PageLayout(page_bytes=1024, spare_bytes=512, lba_bytes=512)
"""The same with 256 entries."""
CODE = BchCode(m=12, t=14, chunk_bytes=256)
FTL = FtlParameters(pages_per_block=4, map_cache_pages=2, gc_free_blocks=2)


class Pattern:
    """Bytes of a bulk-loaded image, computed where they are read."""

    def __init__(self, length_bytes):
        self.length_bytes = length_bytes

    def read(self, offset, length):
        return bytes((7 * at + (at >> 8)) & 0xFF for at in range(offset, offset + length))


def parameters_of(*, blocks=16, pages, ftl=FTL, layout=SMALL, channels=2, luns=1, **changes):
    """A device of ``channels`` channels of one way, with ``pages`` pages for the host."""
    striping = Striping(channels=channels, ways=1, luns=luns, rows=blocks * ftl.pages_per_block)
    nvme = replace(PARAMETERS.nvme, namespace_blocks=pages * layout.lbas)
    fixed = {"layout": layout, "striping": striping, "nvme": nvme, "ftl": ftl}
    return replace(PARAMETERS, **{**fixed, **changes})


def part_of(parameters):
    layout, striping = parameters.layout, parameters.striping
    fields = {
        "page_bytes": layout.page_bytes,
        "spare_bytes": layout.spare_bytes,
        "pages_per_block": parameters.ftl.pages_per_block,
        "blocks_per_lun": striping.rows // parameters.ftl.pages_per_block,
        "luns": striping.luns,
    }
    assert isinstance(PART, NandPart)
    return replace(PART, **fields)


class WriteBench:
    """``loaded`` pages of a :class:`Pattern`, then whatever is written."""

    def __init__(self, parameters, *, loaded=0):
        self.parameters = parameters
        self.layout = parameters.layout
        self.medium = FlashMedium(
            part_of(parameters), self.layout, CODE, parameters.striping, is_formatted=True
        )
        self.start()
        if loaded:
            source = Pattern(loaded * self.layout.page_bytes)
            self.medium.load_extent(0, source)
            for first, image in self.device.load_extent(0, loaded):
                self.medium.load_extent(first, image)

    def start(self):
        """A new device on the flash as it is."""
        self.kernel = Kernel()
        self.flash = FakeFlash(self.kernel, self.medium)
        self.memory = FakeMemory()
        self.port = FakeDevicePort(self.kernel, self.memory)
        self.host = FakeHost(self.kernel, self.port, entries=32)
        self.device = Device(
            self.kernel,
            self.port,
            self.flash,
            self.parameters,
            queues=[self.host.registers],
            code=CODE,
        )
        self.ftl = self.device.layer.ftl

    def cut_power(self):
        self.flash.cut_power()
        self.start()
        origin = self.kernel.origin("host", "host.power")
        env = self.kernel.env
        env.run(until=env.process(self.device.recover(origin)))

    def put(self, opcode, block, data_or_blocks):
        """Queue a command; returns its cid and the address of its data."""
        lba = self.layout.lba_bytes
        data = data_or_blocks if opcode == Opcode.WRITE else bytes(data_or_blocks * lba)
        address = self.memory.allocate(len(data))
        self.memory.store(address, data)
        pages = [*range(address + 4096, address + len(data), 4096)]
        prp2 = pages[0] if pages else 0
        if len(pages) > 1:
            prp2 = self.memory.allocate(4096)
            entries = b"".join(page.to_bytes(8, "little") for page in pages)
            self.memory.store(prp2, entries)
        cid = self.host.put(
            opcode=opcode,
            cdw10=block,
            cdw12=len(data) // lba - 1,
            prp1=address,
            prp2=prp2,
            cdw3=1,
        )
        return cid, address

    def write(self, block, data):
        self.put(Opcode.WRITE, block, data)
        return Status(self.host.wait(1)[0].status.status)

    def read(self, block, blocks=1):
        _, address = self.put(Opcode.READ, block, blocks)
        (entry,) = self.host.wait(1)
        assert entry.status.status == Status.SUCCESS, Status(entry.status.status)
        return self.memory.load(address, blocks * self.layout.lba_bytes)

    def place(self, page):
        """Where a page lies, looked up as a command does; None if it was never written."""
        origin = self.kernel.origin("host", "host.look")
        found = self.device.layer.places.find(page, origin, request=0)
        place, _ = self.kernel.env.run(until=self.kernel.env.process(found))
        return place

    @property
    def counts(self):
        return self.device.counts()


def content(seed, length):
    return np.random.default_rng(seed).bytes(length)


def play(bench, model, *, writes, seed=0, depth=8, longest=6):
    """Random writes, ``depth`` at a time, checked by reads; every one must succeed."""
    generator = np.random.default_rng(seed)
    blocks = bench.parameters.nvme.namespace_blocks
    size = bench.layout.lba_bytes
    for _ in range(writes // depth):
        busy = set()
        for _ in range(depth):
            first = int(generator.integers(blocks))
            count = int(generator.integers(1, longest + 1))
            span = {*range(first, min(first + count, blocks))} - busy
            if not span or max(span) - min(span) + 1 != len(span):
                continue
            busy |= span
            data = generator.bytes(size * len(span))
            bench.put(Opcode.WRITE, min(span), data)
            for number, block in enumerate(sorted(span)):
                model[block] = data[number * size : (number + 1) * size]
        while len(bench.host.completions) < bench.host._cid:
            (entry,) = bench.host.wait(1)
            assert entry.status.status == Status.SUCCESS


def verify(bench, model):
    for block, data in model.items():
        assert bench.read(block) == data, block


def loaded_model(bench, pages):
    size = bench.layout.lba_bytes
    image = Pattern(pages * bench.layout.page_bytes)
    return {block: image.read(block * size, size) for block in range(pages * bench.layout.lbas)}
